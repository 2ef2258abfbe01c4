// Step 5 in plain C++: step 3's tile, each filter row read and used in turn. Nothing of one vendor.
//
// For comparison: the source asks for the interleaving, no builtin enforces it. Runs on every
// target, and on CUDA GPUs to try the harness on other silicon.
//   phase 1  zero the padded tile [3][H+4][W+4], then copy the 3 x H input rows into its middle
//   phase 2  the channel's 75 weights in registers
//   phase 3  each thread takes output pairs (x, x+1): 3 words of a window row, then
//            the 10 sums that need them, 15 times
//
// Layout NCDHW, bfloat16, float accumulation in the order kd, kh, kw. Padding (0, 2, 2), stride 1.
// Grid: x = output depth, y = channel. The plane's size is compiled in, its width must be even.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>
#include <stdint.h>

#ifndef KB_DEPTH
#define KB_DEPTH 61
#endif
#ifndef KB_HEIGHT
#define KB_HEIGHT 45
#endif
#ifndef KB_WIDTH
#define KB_WIDTH 80
#endif

namespace {

constexpr int BLOCK = 256;
constexpr int KD = 3, KH = 5, KW = 5, PAD = 2, TAPS = KD * KH * KW;
constexpr int DEPTH = KB_DEPTH, HEIGHT = KB_HEIGHT, WIDTH = KB_WIDTH;
constexpr int OUT_DEPTH = DEPTH - KD + 1;
constexpr int TILE_H = HEIGHT + 2 * PAD, TILE_W = WIDTH + 2 * PAD;
constexpr int PAIRS_X = WIDTH / 2, PAIRS = HEIGHT * PAIRS_X;
constexpr int TILE_WORDS = KD * TILE_H * TILE_W / 2, ROW_WORDS = TILE_W / 2;

static_assert(WIDTH % 2 == 0, "rows are copied and read in pairs");

// Value i of a row held as bfloat16 pairs. A bfloat16 is the upper half of a float.
__device__ __forceinline__ float unpack(const uint32_t *pairs, int i) {
  const uint32_t pair = pairs[i / 2];
  return __uint_as_float(i % 2 ? pair & 0xffff0000u : pair << 16);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(BLOCK)
    step5_plain(const __hip_bfloat16 *input, const __hip_bfloat16 *weight, __hip_bfloat16 *output) {
  __shared__ uint32_t tile[TILE_WORDS];
  const int depth = blockIdx.x, channel = blockIdx.y, thread = threadIdx.x;

  for (int i = thread; i < TILE_WORDS; i += BLOCK) tile[i] = 0;
  __syncthreads();

  const uint32_t *planes =
      (const uint32_t *)(input + ((int64_t)channel * DEPTH + depth) * (HEIGHT * WIDTH));
  for (int i = thread; i < KD * PAIRS; i += BLOCK) {
    const int row = i / PAIRS_X, slice = row / HEIGHT, y = row % HEIGHT;
    tile[(slice * TILE_H + y + PAD) * ROW_WORDS + PAD / 2 + i % PAIRS_X] = planes[i];
  }
  float w[TAPS];
#pragma unroll
  for (int i = 0; i < TAPS; ++i) w[i] = (float)weight[channel * TAPS + i];
  __syncthreads();

  uint32_t *plane_out =
      (uint32_t *)(output + ((int64_t)channel * OUT_DEPTH + depth) * (HEIGHT * WIDTH));
  for (int pair = thread; pair < PAIRS; pair += BLOCK) {
    const uint32_t *window = tile + pair / PAIRS_X * ROW_WORDS + pair % PAIRS_X;
    float left = 0.0f, right = 0.0f;
#pragma unroll
    for (int r = 0; r < KD * KH; ++r) {
      const uint32_t *from = window + (r / KH * TILE_H + r % KH) * ROW_WORDS;
      const uint32_t row[3] = {from[0], from[1], from[2]};
#pragma unroll
      for (int k = 0; k < KW; ++k) {
        left = fmaf(unpack(row, k), w[r * KW + k], left);
        right = fmaf(unpack(row, k + 1), w[r * KW + k], right);
      }
    }
    plane_out[pair] = __kb_bf16_pack(left, right);
  }
}
