// Softmax of rows as it is written first: a workgroup a row, two bytes a load, trees in LDS, the row read three times.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>
#include <stddef.h>
#include <stdint.h>

namespace {

__device__ float in_tree(float* values, float mine, bool adds) {
    values[threadIdx.x] = mine;
    __syncthreads();
    for (int32_t step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            const float other = values[threadIdx.x + step];
            values[threadIdx.x] = adds ? values[threadIdx.x] + other : fmaxf(values[threadIdx.x], other);
        }
        __syncthreads();
    }
    const float result = values[0];
    __syncthreads();
    return result;
}

}  // namespace

extern "C" __global__ __launch_bounds__(256) void row_softmax_naive(const __hip_bfloat16* __restrict__ x,
                                                                    __hip_bfloat16* __restrict__ y, int32_t columns) {
    __shared__ float values[256];
    const __hip_bfloat16* from = x + size_t(blockIdx.x) * columns;
    __hip_bfloat16* to = y + size_t(blockIdx.x) * columns;
    float top = -__builtin_inff(), sum = 0.0f;
    for (int32_t i = threadIdx.x; i < columns; i += 256) top = fmaxf(top, __bfloat162float(from[i]));
    top = in_tree(values, top, false);
    for (int32_t i = threadIdx.x; i < columns; i += 256) sum += __expf(__bfloat162float(from[i]) - top);
    sum = in_tree(values, sum, true);
    for (int32_t i = threadIdx.x; i < columns; i += 256)
        to[i] = __float2bfloat16(__expf(__bfloat162float(from[i]) - top) / sum);
}
