// RMSNorm of rows as it is written first: a workgroup a row, two bytes a load, a tree in LDS, the row read twice.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>
#include <stddef.h>
#include <stdint.h>

extern "C" __global__ __launch_bounds__(256) void rms_norm_naive(const __hip_bfloat16* __restrict__ x,
                                                                 const __hip_bfloat16* __restrict__ weight,
                                                                 __hip_bfloat16* __restrict__ y, float eps,
                                                                 int32_t columns) {
    __shared__ float values[256];
    const __hip_bfloat16* from = x + size_t(blockIdx.x) * columns;
    __hip_bfloat16* to = y + size_t(blockIdx.x) * columns;
    float squares = 0.0f;
    for (int32_t i = threadIdx.x; i < columns; i += 256) {
        const float value = __bfloat162float(from[i]);
        squares += value * value;
    }
    values[threadIdx.x] = squares;
    __syncthreads();
    for (int32_t step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step) values[threadIdx.x] += values[threadIdx.x + step];
        __syncthreads();
    }
    const float scale = rsqrtf(values[0] / columns + eps);
    for (int32_t i = threadIdx.x; i < columns; i += 256)
        to[i] = __float2bfloat16(__bfloat162float(from[i]) * scale * __bfloat162float(weight[i]));
}
