// Step 1: one thread, one output; nothing is shared.
//
// Every thread reads its 75 inputs and 75 weights from global memory, testing each tap against the
// border. Neighbouring threads are neighbours in x, so a tap's loads are contiguous over the
// wavefront, but each value crosses the cache hierarchy up to 75 times.
//
// Layout NCDHW, bfloat16, float accumulation in the order kd, kh, kw. Padding (0, 2, 2), stride 1.
// Grid: x = ceil(outputs / 256). The sizes are arguments, so any shape runs on one build.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>
#include <stdint.h>

namespace {
constexpr int BLOCK = 256;
constexpr int KD = 3, KH = 5, KW = 5, PAD = 2;
}  // namespace

extern "C" __global__ void __launch_bounds__(BLOCK)
    step1_naive(const __hip_bfloat16 *input, const __hip_bfloat16 *weight, __hip_bfloat16 *output,
                int channels, int depth, int height, int width) {
  const int out_depth = depth - KD + 1;
  const uint32_t plane_size = (uint32_t)height * width;
  const uint32_t index = blockIdx.x * BLOCK + threadIdx.x;  // fewer than 2^32 outputs
  if (index >= (uint32_t)channels * out_depth * plane_size) return;

  const uint32_t plane = index / plane_size, place = index % plane_size;
  const int channel = plane / out_depth, z = plane % out_depth;
  const int y = place / width, x = place % width;

  const __hip_bfloat16 *w = weight + (int64_t)channel * (KD * KH * KW);
  const __hip_bfloat16 *in = input + ((int64_t)channel * depth + z) * plane_size;
  float sum = 0.0f;
#pragma unroll
  for (int kd = 0; kd < KD; ++kd) {
#pragma unroll
    for (int kh = 0; kh < KH; ++kh) {
#pragma unroll
      for (int kw = 0; kw < KW; ++kw) {
        const int iy = y + kh - PAD, ix = x + kw - PAD;
        if (iy >= 0 && iy < height && ix >= 0 && ix < width) {
          const float value = in[(int64_t)kd * plane_size + iy * width + ix];
          sum = fmaf(value, (float)w[(kd * KH + kh) * KW + kw], sum);
        }
      }
    }
  }
  output[index] = sum;
}
