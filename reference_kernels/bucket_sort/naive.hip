// Stable bucket sort as it is written first: count with global atomics, one thread adds up, a thread a bucket looks
// through all keys for its own. The order inside a bucket is right because nobody else writes there.
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

extern "C" __global__ __launch_bounds__(256) void naive_clear(uint32_t* __restrict__ counts, int32_t buckets) {
    const int32_t bucket = blockIdx.x * blockDim.x + threadIdx.x;
    if (bucket < buckets) counts[bucket] = 0;
}

extern "C" __global__ __launch_bounds__(256) void naive_count(const uint32_t* __restrict__ keys,
                                                              uint32_t* __restrict__ counts, int32_t n) {
    const int32_t index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < n) atomicAdd(&counts[keys[index]], 1u);
}

// One thread adds up. `cursors` is a second copy of the starts, for naive_scatter to count in.
extern "C" __global__ void naive_offsets(const uint32_t* __restrict__ counts, uint32_t* __restrict__ offsets,
                                         uint32_t* __restrict__ cursors, int32_t buckets) {
    uint32_t sum = 0;
    for (int32_t bucket = 0; bucket < buckets; ++bucket) {
        offsets[bucket] = sum;
        cursors[bucket] = sum;
        sum += counts[bucket];
    }
    offsets[buckets] = sum;
}

extern "C" __global__ __launch_bounds__(256) void naive_walk(const uint32_t* __restrict__ keys,
                                                             const uint32_t* __restrict__ offsets,
                                                             uint32_t* __restrict__ order, int32_t n,
                                                             int32_t buckets) {
    const uint32_t bucket = blockIdx.x * blockDim.x + threadIdx.x;
    if (int32_t(bucket) >= buckets) return;
    uint32_t to = offsets[bucket];
    for (int32_t index = 0; index < n; ++index)
        if (keys[index] == bucket) order[to++] = index;
}

// Unstable: whoever comes first takes the next place, one global atomic a key.
extern "C" __global__ __launch_bounds__(256) void naive_scatter(const uint32_t* __restrict__ keys,
                                                                uint32_t* __restrict__ cursors,
                                                                uint32_t* __restrict__ order, int32_t n) {
    const int32_t index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < n) order[atomicAdd(&cursors[keys[index]], 1u)] = index;
}
