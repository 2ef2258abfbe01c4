// GEMM of bfloat16, one thread an element of C, C = A B^T, straight from global memory.
//
// Every product needs two loads of 2 bytes: a wavefront computes 64 columns, so all lanes read the same element of A
// and 64 elements of B that are a whole row apart, 64 lines. No element is used twice by a lane, no matrix core works.
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

extern "C" __global__ __launch_bounds__(256) void gemm_bf16_naive(const __bf16* __restrict__ a,
                                                                  const __bf16* __restrict__ b,
                                                                  __bf16* __restrict__ c, int32_t m, int32_t n,
                                                                  int32_t k) {
    const int32_t column = blockIdx.x * 64 + threadIdx.x % 64, row = blockIdx.y * 4 + threadIdx.x / 64;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int32_t i = 0; i < k; ++i) sum += float(a[size_t(row) * k + i]) * float(b[size_t(column) * k + i]);
    c[size_t(row) * n + column] = __bf16(sum);
}
