// Step 2: channels last, eight channels a thread; every access is coalesced, nothing is reused.
//
// 64 threads with 8 channels of 16 bits each read 1,024 contiguous bytes for a tap, the best that
// the memory system can be offered. All 75 taps of all threads still go to it: five times faster
// than step 1, far from what reuse in LDS brings (step 3).
//
// Layout: input and output NDHWC; weights tap-major [3][5][5][C], so that they coalesce as well.
// bfloat16, float accumulation in the order kd, kh, kw. Padding (0, 2, 2), stride 1.
// Grid: x = ceil(positions * (C / 8) / 256), a position being one (z, y, x). C is a multiple of 8.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>
#include <stdint.h>

namespace {

constexpr int BLOCK = 256;
constexpr int KD = 3, KH = 5, KW = 5, PAD = 2;
constexpr int GROUP = 8;

__device__ __forceinline__ float low(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ __forceinline__ float high(uint32_t pair) {
  return __uint_as_float(pair & 0xffff0000u);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(BLOCK)
    step2_nhwc(const __hip_bfloat16 *input, const __hip_bfloat16 *weight, __hip_bfloat16 *output,
               int channels, int depth, int height, int width) {
  const uint32_t groups = channels / GROUP;
  const uint32_t item = blockIdx.x * BLOCK + threadIdx.x;
  const uint32_t group = item % groups, position = item / groups;
  const int x = position % width, y = position / width % height;
  const int z = position / ((uint32_t)width * height);
  if (z >= depth - KD + 1) return;

  float sum[GROUP] = {};
  for (int kd = 0; kd < KD; ++kd) {
    for (int kh = 0; kh < KH; ++kh) {
      const int iy = y + kh - PAD;
      if (iy < 0 || iy >= height) continue;
#pragma unroll
      for (int kw = 0; kw < KW; ++kw) {
        const int ix = x + kw - PAD;
        if (ix < 0 || ix >= width) continue;
        const int64_t from = ((int64_t)(z + kd) * height + iy) * width + ix;
        const uint4 v = *(const uint4 *)(input + from * channels + group * GROUP);
        const int tap = (kd * KH + kh) * KW + kw;
        const uint4 w = *(const uint4 *)(weight + (int64_t)tap * channels + group * GROUP);
        const uint32_t value[4] = {v.x, v.y, v.z, v.w}, factor[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sum[2 * i] = fmaf(low(value[i]), low(factor[i]), sum[2 * i]);
          sum[2 * i + 1] = fmaf(high(value[i]), high(factor[i]), sum[2 * i + 1]);
        }
      }
    }
  }
  uint32_t packed[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) packed[i] = __kb_bf16_pack(sum[2 * i], sum[2 * i + 1]);
  *(uint4 *)(output + (int64_t)position * channels + group * GROUP) =
      make_uint4(packed[0], packed[1], packed[2], packed[3]);
}
