// Step 7: the matrix cores after all. The filter row as a 16 x 32 Toeplitz matrix, fed from the rows as they lie in LDS.
//
// Step 4 gave each of 16 channels a 4 x 4 block and paid 16 times the LDS traffic. Here one channel fills the instruction:
//   D[m][n] += A[m][k] * B[k][n],   v_mfma_f32_16x16x32_bf16
//   n  16 blocks of 16 outputs of a row: block n starts at column 16 n, another row or strip after the last of a row
//   m  the output within its block
//   k  32 neighbouring inputs, from 8 columns left of the block: 16 bytes a lane, aligned, one ds_read_b128
//   A  row m holds the five weights at k = m + 6 .. m + 10 and 27 zeros
// 5 of 32 products are useful. But the instruction makes 8,192 in the 16 clocks in which the VALU issues 4 instructions of
// 64 multiply-adds (or 128, packed): 1,280 useful ones against 256 (512).
// A row in LDS serves five filter rows and two output depths: 36 reads for 150 matrix operations a wavefront.
//
// One workgroup of 192 threads owns two output planes and holds the four input planes that they need in LDS.
//
// A zero times an infinity or NaN is NaN: an infinite input spoils the 32 columns around it.
//
// Layout NCDHW, bfloat16, float accumulation. Padding (0, 2, 2), stride 1. Grid: x = pairs of output depths, y = channel.
// The plane's size is compiled in; its width must be a multiple of 4, the number of channels even.
#include <hip/hip_runtime.h>
#include <stdint.h>

#if !defined(__gfx942__) && !defined(__gfx950__)
#error "global_load_lds exists on gfx942 and gfx950 only"
#endif

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

constexpr int BLOCK = 192, WAVES = BLOCK / 64;
constexpr int KD = 3, KH = 5, KW = 5, PAD = 2, TAPS = KD * KH * KW;
constexpr int DEPTH = KB_DEPTH, HEIGHT = KB_HEIGHT, WIDTH = KB_WIDTH;
constexpr int OUT_DEPTH = DEPTH - KD + 1;
constexpr int PLANES = KD + 1;  // of the input, for two output depths
constexpr int ROWS = 5, STRIPS = (HEIGHT + ROWS - 1) / ROWS;  // output rows that a lane sums at once
constexpr int M = 16, LEFT = 8;                               // outputs of a block, columns of k left of it
constexpr int BLOCKS = (WIDTH + M - 1) / M, TILES = (STRIPS * BLOCKS + 15) / 16;
static_assert(WIDTH % 4 == 0, "a lane stores four columns");

// The tile in LDS, in dwords (pairs of columns). A row is WIDTH values and at least 16 bytes of zeros, which are its right
// border and the left border of the next row. Rows lie in groups of five: a strip starts with a group.
#ifdef __gfx950__
constexpr int CHUNK = WIDTH % 8 == 0 ? 4 : 1;  // dwords a lane copies: 16 bytes where rows are whole numbers of them
#else
constexpr int CHUNK = 1;  // gfx942 copies 4 bytes a lane at most
#endif
constexpr int BORDER = 4, PITCH = (WIDTH / 2 + 3) / 4 * 4 + BORDER;
// Blocks are 8 dwords apart; with groups BLOCKS * 8 dwords apart (modulo 64 banks) so are the last block of a strip and the
// first of the next, and ds_read_b128 has no conflicts: 5 * 44 + 12 = 232 = 40 + 3 * 64. The gap is in front of a group and
// holds zeros, since it is the left border of the group's first row.
constexpr int WANTED_GAP = ((BLOCKS * 8 - ROWS * PITCH) % 64 + 64) % 64;
constexpr int GAP = WANTED_GAP < BORDER ? WANTED_GAP + 64 : WANTED_GAP;
constexpr int GROUP = GAP + ROWS * PITCH, GROUPS = (STRIPS * ROWS + KH - 1 + ROWS - 1) / ROWS;
constexpr int PLANE = GROUPS * GROUP;
constexpr int TAIL = 16;  // dwords behind the last row that its last block reads

// Pairs of neighbouring weights of a row, by the tap s of the first: s = -1 .. 4, and zeros: what a dword of A can be.
constexpr int PAIRS = 8;

typedef uint32_t Chunk __attribute__((ext_vector_type(CHUNK)));
typedef float Floats __attribute__((ext_vector_type(2)));
typedef __bf16 Halves __attribute__((ext_vector_type(2)));
typedef uint32_t Operand __attribute__((ext_vector_type(4)));  // eight values of A or B
typedef float Sums __attribute__((ext_vector_type(4)));        // four rows of D
typedef __bf16 Eight __attribute__((ext_vector_type(8)));
typedef __attribute__((address_space(1))) void *Global;
typedef __attribute__((address_space(3))) void *Lds;

// Dword of the tile where row `row` of a strip starts, from the start of the strip's group.
constexpr int row_offset(int row) { return row / ROWS * GROUP + GAP + row % ROWS * PITCH; }

__device__ __forceinline__ uint32_t pack(float low, float high) {
  return __builtin_bit_cast(uint32_t, __builtin_convertvector(Floats{low, high}, Halves));
}

// Copies group `group` of an input plane to LDS, or clears what lies outside the plane. A lane's chunk is at its place in
// LDS order, as global_load_lds demands; `group` is known when compiling, so only the first and last ones test rows.
__device__ __forceinline__ void stage(const uint16_t *plane, uint32_t *destination, int group, int lane, Chunk zero) {
  const uint16_t *rows = plane + (group * ROWS - PAD) * WIDTH;  // uniform; what a lane adds fits 32 bits
#pragma unroll
  for (int first = 0; first < GROUP / CHUNK; first += 64) {
    const int at = (first + lane) * CHUNK - GAP;  // dword from the group's first row
    const uint32_t row = at / PITCH, pair = at % PITCH;
    const bool inside = at >= 0 && row < ROWS && pair < WIDTH / 2 && (group > 0 || row >= PAD) &&
                        ((group + 1) * ROWS - PAD <= HEIGHT || group * ROWS + row < HEIGHT + PAD);
    if (inside) {
      const Global from = (Global)(rows + (row * WIDTH + pair * 2));
      __builtin_amdgcn_global_load_lds(from, (Lds)(destination + first * CHUNK), sizeof(Chunk), 0, 0);
    } else if (first + lane < GROUP / CHUNK) {
      *(Chunk *)(destination + (first + lane) * CHUNK) = zero;
    }
  }
}

// gfx942 has half of the depth: two operations, each with four of the eight values that a lane holds of A and of B.
__device__ __forceinline__ Sums multiply(Operand a, Operand b, Sums sums) {
#ifdef __gfx950__
  return __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(Eight, a), __builtin_bit_cast(Eight, b), sums, 0, 0, 0);
#else
  typedef short Values __attribute__((ext_vector_type(8)));
  const Values left = __builtin_bit_cast(Values, a), right = __builtin_bit_cast(Values, b);
  sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(left.lo, right.lo, sums, 0, 0, 0);
  return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(left.hi, right.hi, sums, 0, 0, 0);
#endif
}

}  // namespace

extern "C" __global__ void __launch_bounds__(BLOCK)
    step7_toeplitz(const uint16_t *__restrict__ input, const uint16_t *__restrict__ weight,
               uint16_t *__restrict__ output) {
  __shared__ __attribute__((aligned(16))) uint32_t tile[PLANES * PLANE + TAIL];
  __shared__ uint32_t weight_pairs[KD * KH * PAIRS];
  const int depth = blockIdx.x * 2, channel = blockIdx.y;
  const int thread = threadIdx.x, lane = thread % 64;
  const int wave = __builtin_amdgcn_readfirstlane(thread / 64);

  const uint16_t *planes = input + ((int64_t)channel * DEPTH + depth) * (HEIGHT * WIDTH);
  uint32_t nothing = 0;
  asm("" : "+v"(nothing));  // zeros made once, or the compiler makes them anew for each group
  const Chunk zero = nothing;
  for (int slice = wave; slice < PLANES; slice += WAVES) {
    // The last pair has one depth only where the number is odd: its second plane is any plane that exists.
    const int from = depth + slice < DEPTH ? slice : 0;
#pragma unroll
    for (int group = 0; group < GROUPS; ++group)
      stage(planes + from * (HEIGHT * WIDTH), tile + slice * PLANE + group * GROUP, group, lane, zero);
  }
  if (thread < TAIL) tile[PLANES * PLANE + thread] = 0;
  if (thread < KD * KH * PAIRS) {
    const int tap = thread % PAIRS - 1;
    const uint16_t *row = weight + channel * TAPS + thread / PAIRS * KW;
    const uint32_t low = tap >= 0 && tap < KW ? row[tap] : 0, high = tap + 1 < KW ? row[tap + 1] : 0;
    weight_pairs[thread] = low | high << 16;
  }
  __syncthreads();

  // Row m of A, k = 8 * quarter .. + 7: four pairs from tap k - 6 - m on. All that lie beside the filter are pairs of zeros.
  const int m = lane % M, quarter = lane / M;
  Operand a[KD * KH];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int tap = quarter * 8 + i * 2 - (LEFT - PAD) - m;
    const uint32_t *from = weight_pairs + (tap >= -1 && tap < KW ? tap + 1 : PAIRS - 1);
#pragma unroll
    for (int row = 0; row < KD * KH; ++row) a[row][i] = from[row * PAIRS];
  }

  uint16_t *plane_out = output + ((int64_t)channel * OUT_DEPTH + depth) * (HEIGHT * WIDTH);
  for (int of_tile = wave; of_tile < TILES; of_tile += WAVES) {
    const int n = of_tile * 16 + lane % 16, block = n < STRIPS * BLOCKS ? n : STRIPS * BLOCKS - 1;
    const int strip = block / BLOCKS, x = block % BLOCKS * M;
    const uint32_t *window = tile + strip * GROUP + (x - LEFT) / 2 + quarter * 4;
    Sums sums[2][ROWS] = {};
#pragma unroll
    for (int plane = 0; plane < PLANES; ++plane) {
#pragma unroll
      for (int row = 0; row < ROWS + KH - 1; ++row) {
        const Operand b = *(const Operand *)(window + plane * PLANE + row_offset(row));
#pragma unroll
        for (int out = 0; out < ROWS; ++out) {
          const int kh = row - out;
          if (kh < 0 || kh >= KH) continue;
#pragma unroll
          for (int z = 0; z < 2; ++z) {
            const int kd = plane - z;
            if (kd >= 0 && kd < KD) sums[z][out] = multiply(a[kd * KH + kh], b, sums[z][out]);
          }
        }
      }
    }
    // Lane (quarter, n) holds rows 4 * quarter .. + 3 of D: four neighbouring outputs of block n.
    const int column = x + quarter * 4;
    if (n >= STRIPS * BLOCKS || column >= WIDTH) continue;
#pragma unroll
    for (int z = 0; z < 2; ++z) {
      if (depth + z >= OUT_DEPTH) break;
#pragma unroll
      for (int out = 0; out < ROWS; ++out) {
        const int y = strip * ROWS + out;
        if (HEIGHT % ROWS != 0 && y >= HEIGHT) break;
        const Sums &d = sums[z][out];
        *(uint2 *)(plane_out + (z * HEIGHT + y) * WIDTH + column) = uint2{pack(d[0], d[1]), pack(d[2], d[3])};
      }
    }
  }
}
