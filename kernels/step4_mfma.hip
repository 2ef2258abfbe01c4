// Step 4: the convolution over width as a matrix product on the matrix cores. Correct, and slow.
//
// v_mfma_f32_4x4x4_16b multiplies sixteen independent 4x4 matrices: one block a channel. Over width
// four outputs need eight inputs, through the 4x8 Toeplitz matrix of the five weights of a row,
//   row m: m zeros, g0 g1 g2 g3 g4, 3-m zeros
// which is two MFMA of depth 4. The four columns of the product are four output rows, so one pair
// of MFMA makes 4x4 outputs of 16 channels for one filter row.
//
// One wavefront is the whole workgroup: 16 channels, one output depth, 4 output rows, all columns.
// For each of the three input slices it copies a [16][8][84] tile to LDS by itself (21,504 bytes),
// and that is the failure: 16 channels cost 16 times the LDS traffic of one, and 64 threads bring
// it where step 3 has 256. 12 of the 32 entries of each Toeplitz matrix are zeros on top of that.
//
// A zero times an infinity or NaN is NaN, so a non-finite input also spoils neighbours that the
// convolution would not touch. Finite inputs are exact up to the order of summation.
//
// Layout NCDHW, bfloat16, float accumulation. Padding (0, 2, 2), stride 1.
// Grid: x = ceil(H / 4), y = output depth, z = ceil(C / 16). Width is compiled in, a multiple of 4.
#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>
#include <stdint.h>

#ifndef KB_WIDTH
#define KB_WIDTH 80
#endif

namespace {

constexpr int BLOCK = 64;
constexpr int KD = 3, KH = 5, KW = 5, PAD = 2;
constexpr int CHANNELS = 16, OUT_ROWS = 4;
constexpr int WIDTH = KB_WIDTH, GROUPS = WIDTH / 4;
constexpr int TILE_H = OUT_ROWS + KH - 1, TILE_W = WIDTH + 2 * PAD;
static_assert(WIDTH % 4 == 0, "outputs are made in groups of four columns, read as 8 bytes");

typedef short bf16x4 __attribute__((ext_vector_type(4)));
typedef float floatx4 __attribute__((ext_vector_type(4)));

// Half of row m of the Toeplitz matrix: columns first .. first + 3.
__device__ __forceinline__ bf16x4 toeplitz(const short (&g)[KW], int m, int first) {
  bf16x4 half;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    short value = 0;
#pragma unroll
    for (int k = 0; k < KW; ++k) value = first + i - m == k ? g[k] : value;
    half[i] = value;
  }
  return half;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(BLOCK)
    step4_mfma(const uint16_t *input, const uint16_t *weight, __hip_bfloat16 *output, int channels,
               int depth, int height) {
  __shared__ __attribute__((aligned(16))) uint16_t tile[CHANNELS * TILE_H * TILE_W];
  const int lane = threadIdx.x;
  const int block = lane / 4, m = lane % 4;  // MFMA: A and D rows are m, B columns are m as well
  const int first_row = blockIdx.x * OUT_ROWS, z = blockIdx.y;
  const int first_channel = blockIdx.z * CHANNELS, channel = first_channel + block;
  const bool live = channel < channels;

  floatx4 sum[GROUPS] = {};
  for (int kd = 0; kd < KD; ++kd) {
    __syncthreads();
    for (int i = lane; i < CHANNELS * TILE_H * TILE_W; i += BLOCK) {
      const int c = first_channel + i / (TILE_H * TILE_W);
      const int y = first_row + i / TILE_W % TILE_H - PAD, x = i % TILE_W - PAD;
      const bool inside = c < channels && y >= 0 && y < height && x >= 0 && x < WIDTH;
      const int64_t at = (((int64_t)c * depth + z + kd) * height + y) * WIDTH + x;
      tile[i] = inside ? input[at] : 0;
    }
    __syncthreads();

    for (int kh = 0; kh < KH; ++kh) {
      short g[KW];
#pragma unroll
      for (int k = 0; k < KW; ++k) {
        g[k] = live ? (short)weight[channel * (KD * KH * KW) + (kd * KH + kh) * KW + k] : 0;
      }
      const bf16x4 weights_low = toeplitz(g, m, 0), weights_high = toeplitz(g, m, 4);
      // Lane (block, n) holds column n of B: four inputs of output row n, here n = m.
      const uint16_t *row = tile + (block * TILE_H + m + kh) * TILE_W;
      bf16x4 inputs = *(const bf16x4 *)row;
#pragma unroll
      for (int group = 0; group < GROUPS; ++group) {
        const bf16x4 next = *(const bf16x4 *)(row + group * 4 + 4);
        sum[group] =
            __builtin_amdgcn_mfma_f32_4x4x4bf16_1k(weights_low, inputs, sum[group], 0, 0, 0);
        sum[group] =
            __builtin_amdgcn_mfma_f32_4x4x4bf16_1k(weights_high, next, sum[group], 0, 0, 0);
        inputs = next;
      }
    }
  }

  // Lane (block, n) holds column n of D: output row n, columns group*4 .. group*4 + 3.
  const int y = first_row + m;
  if (!live || y >= height) return;
  const int64_t at = (((int64_t)channel * (depth - KD + 1) + z) * height + y) * WIDTH;
#pragma unroll
  for (int group = 0; group < GROUPS; ++group) {
#pragma unroll
    for (int i = 0; i < 4; ++i) output[at + group * 4 + i] = sum[group][i];
  }
}
