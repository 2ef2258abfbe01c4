// The consumer of the buckets, the same for every variant of the unstable task: an expert scales its tokens.
#pragma once
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

// One workgroup a bucket. Each token is written once, whatever the order inside its bucket: by that a result of
// unstable passes can be compared exactly, and a token that is lost, doubled or in a wrong bucket is seen.
extern "C" __global__ __launch_bounds__(256) void apply_experts(const int32_t* __restrict__ x,
                                                                const int32_t* __restrict__ scale,
                                                                const uint32_t* __restrict__ offsets,
                                                                const uint32_t* __restrict__ order,
                                                                int32_t* __restrict__ y) {
    const uint32_t end = offsets[blockIdx.x + 1];
    for (uint32_t at = offsets[blockIdx.x] + threadIdx.x; at < end; at += blockDim.x) {
        const uint32_t token = order[at];
        y[token] = x[token] * scale[blockIdx.x];
    }
}
