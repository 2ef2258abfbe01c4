// SwiGLU: y = gate / (1 + exp(-gate)) * up, bfloat16 in and out, float between; two elements a thread.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

__device__ float activated(float gate, float up) { return gate / (1.0f + __expf(-gate)) * up; }

extern "C" __global__ __launch_bounds__(256) void swiglu(const __hip_bfloat16* __restrict__ gate,
                                                         const __hip_bfloat16* __restrict__ up,
                                                         __hip_bfloat16* __restrict__ y, int n) {
    const int first = 2 * (blockIdx.x * 256 + threadIdx.x);
    for (int i = first; i < first + 2 && i < n; ++i)
        y[i] = __float2bfloat16(activated(__bfloat162float(gate[i]), __bfloat162float(up[i])));
}
