// Step 6 for targets without a bfloat16 dot product: packed float FMA, two output depths in one instruction.
//
// As step6_dot2: 4 x 5 outputs of a plane a thread, weights in SGPRs, each row read from LDS used for up to five output
// rows. v_pk_fma_f32 multiplies two pairs of floats; the pair here is (output depth z, z + 1), which takes the same weight:
//   (sum z, sum z+1) += w[kd] * (input z + kd, input z + kd + 1)
// 37.5 packed FMA an output. The operands must be floats, so that unpacking remains: 2 instructions for a pair of depths,
// 8 columns, 9 rows and 3 slices, 432 for the thread's 40 outputs: 10.8 an output, where step 5 has 45.
//
// One workgroup of 192 threads owns two output planes and holds the four input planes that they need in LDS.
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
constexpr int COLUMNS = 4, ROWS = 5;  // outputs of a thread
constexpr int STRIPS_X = WIDTH / COLUMNS, STRIPS_Y = (HEIGHT + ROWS - 1) / ROWS;
static_assert(WIDTH % COLUMNS == 0, "a strip is four columns");

// The tile in LDS, in dwords (pairs of columns). A row is WIDTH values and 16 bytes of zeros, which are its right border
// and the left border of the next row. Rows lie in groups of five: a thread's strip starts with a group.
#ifdef __gfx950__
constexpr int CHUNK = WIDTH % 8 == 0 ? 4 : 1;  // dwords a lane copies: 16 bytes where rows are whole numbers of them
#else
constexpr int CHUNK = 1;  // gfx942 copies 4 bytes a lane at most
#endif
constexpr int BORDER = 4, PITCH = WIDTH / 2 + BORDER;
// Lanes of a ds_read_b64 that are served together are 32: 20 strips of one group and 12 of the next. They cover the 64
// banks exactly when groups are WIDTH / 2 dwords apart, modulo 64: 5 * 44 + 12 = 232 = 40 + 3 * 64. The gap is in front of
// a group and holds zeros, since it is the left border of the group's first row.
constexpr int WANTED_GAP = ((WIDTH / 2 - ROWS * PITCH) % 64 + 64 + 3) % 64 / 4 * 4;
constexpr int GAP = WANTED_GAP < BORDER ? BORDER : WANTED_GAP;
constexpr int GROUP = GAP + ROWS * PITCH, GROUPS = (STRIPS_Y * ROWS + KH - 1 + ROWS - 1) / ROWS;
constexpr int PLANE = GROUPS * GROUP;

typedef uint32_t Chunk __attribute__((ext_vector_type(CHUNK)));
typedef float Floats __attribute__((ext_vector_type(2)));
typedef __bf16 Halves __attribute__((ext_vector_type(2)));
typedef __attribute__((address_space(1))) void *Global;
typedef __attribute__((address_space(3))) void *Lds;
typedef __attribute__((address_space(4))) const uint32_t *Scalar;  // read by s_load

// Dword of the tile where row `row` of a strip starts, from the start of the strip's group.
constexpr int row_offset(int row) { return row / ROWS * GROUP + GAP + row % ROWS * PITCH; }

// A bfloat16 is the upper half of a float.
__device__ __forceinline__ float unpack(uint32_t pair, int half) {
  return __builtin_bit_cast(float, half ? pair & 0xffff0000u : pair << 16);
}

__device__ __forceinline__ uint32_t pack(float low, float high) {
  return __builtin_bit_cast(uint32_t, __builtin_convertvector(Floats{low, high}, Halves));
}

// ds_read_b64. Without the statement the compiler sees that a half is unused and reads two times 4 bytes, which at a lane
// stride of 8 bytes use every second of 32 banks.
__device__ __forceinline__ uint2 read_8_bytes(const uint32_t *from) {
  uint64_t both = *(const uint64_t *)from;
  asm("" : "+v"(both));
  return __builtin_bit_cast(uint2, both);
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

// The 25 weights of a slice as floats. `weights` may start in the middle of a dword: 75 weights a channel.
__device__ __forceinline__ void load_weights(const uint16_t *weights, int first, float (&w)[KH * KW]) {
  const Scalar from = (Scalar)weights + first / 2;
  const uint32_t shift = first % 2 * 16;
#pragma unroll
  for (int i = 0; i < KH * KW; i += 2) {
    const uint64_t next = i + 2 < KH * KW ? from[i / 2 + 1] : 0;
    const uint32_t pair = (from[i / 2] | next << 32) >> shift;
    w[i] = unpack(pair, 0);
    if (i + 1 < KH * KW) w[i + 1] = unpack(pair, 1);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(BLOCK)
    step6_packed(const uint16_t *__restrict__ input, const uint16_t *__restrict__ weight,
               uint16_t *__restrict__ output) {
  __shared__ __attribute__((aligned(16))) uint32_t tile[PLANES * PLANE];
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
  __syncthreads();

  uint16_t *plane_out = output + ((int64_t)channel * OUT_DEPTH + depth) * (HEIGHT * WIDTH);
  for (int strip = thread; strip < STRIPS_X * STRIPS_Y; strip += BLOCK) {
    const int strip_y = strip / STRIPS_X, x = strip % STRIPS_X * COLUMNS;
    const uint32_t *window = tile + strip_y * GROUP + x / 2;
    Floats sums[ROWS][COLUMNS] = {};  // of depth and depth + 1
#pragma unroll 1
    for (int slice = 0; slice < KD; ++slice, window += PLANE) {
      float weights[KH * KW];
      load_weights(weight, channel * TAPS + slice * (KH * KW), weights);
#pragma unroll
      for (int row = 0; row < ROWS + KH - 1; ++row) {
        Floats values[COLUMNS + KW - 1];  // columns x - 2 .. x + 5 of both planes
#pragma unroll
        for (int plane = 0; plane < 2; ++plane) {
          const uint32_t *from = window + plane * PLANE + row_offset(row) - 2;
          const uint2 a = read_8_bytes(from), b = read_8_bytes(from + 2), c = read_8_bytes(from + 4);
          const uint32_t pairs[4] = {a.y, b.x, b.y, c.x};
#pragma unroll
          for (int i = 0; i < COLUMNS + KW - 1; ++i) values[i][plane] = unpack(pairs[i / 2], i % 2);
        }
#pragma unroll
        for (int out = 0; out < ROWS; ++out) {
          const int kh = row - out;
          if (kh < 0 || kh >= KH) continue;
#pragma unroll
          for (int k = 0; k < KW; ++k) {
            const Floats w = weights[kh * KW + k];
#pragma unroll
            for (int column = 0; column < COLUMNS; ++column)
              sums[out][column] = __builtin_elementwise_fma(values[column + k], w, sums[out][column]);
          }
        }
      }
    }
#pragma unroll
    for (int plane = 0; plane < 2; ++plane) {
      if (depth + plane >= OUT_DEPTH) break;
#pragma unroll
      for (int out = 0; out < ROWS; ++out) {
        const int y = strip_y * ROWS + out;
        if (HEIGHT % ROWS != 0 && y >= HEIGHT) break;
        *(uint2 *)(plane_out + (plane * HEIGHT + y) * WIDTH + x) =
            uint2{pack(sums[out][0][plane], sums[out][1][plane]), pack(sums[out][2][plane], sums[out][3][plane])};
      }
    }
  }
}
