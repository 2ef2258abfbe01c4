// Step 6: two products an instruction on bfloat16 as it lies in LDS, 20 outputs a thread, weights in SGPRs.
//
// Step 5 spends 75 FMA and about 75 other VALU instructions on an output, 45 of them to unpack. Here v_dot2c_f32_bf16
// multiplies pairs of neighbours without unpacking. Even and odd columns need the five weights of a row in different pairs:
//   x even:  (w0 w1) (w2 w3) (w4 0)      x odd:  (0 w0) (w1 w2) (w3 w4)      three dot products, 45 an output
// The pairs are the same for the whole workgroup: they are made by the scalar unit and stay in SGPRs.
// A thread makes 4 x 5 outputs, so that a row of 8 values read from LDS serves up to five output rows.
//
// One workgroup of 192 threads owns one output plane: 20 x 9 strips of the published plane for 180 threads.
//   phase 1  every lane owns a 16-byte chunk of the tile: it copies it from memory to LDS without a VGPR, or clears it
//   phase 2  for each of the three slices: the weights' pairs into 30 SGPRs, 9 rows of three ds_read_b64, 300 dot products
//
// A zero times an infinity or NaN is NaN: an infinite input also spoils a neighbour that the filter does not reach.
//
// Layout NCDHW, bfloat16, float accumulation. Padding (0, 2, 2), stride 1. Grid: x = output depth, y = channel.
// The plane's size is compiled in; its width must be a multiple of 4, the number of channels even.
#include <hip/hip_runtime.h>
#include <stdint.h>

#if !defined(__gfx950__)
#error "v_dot2c_f32_bf16 and 16-byte global_load_lds exist on gfx950 only"
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
constexpr int COLUMNS = 4, ROWS = 5;  // outputs of a thread
constexpr int STRIPS_X = WIDTH / COLUMNS, STRIPS_Y = (HEIGHT + ROWS - 1) / ROWS;
static_assert(WIDTH % COLUMNS == 0, "a strip is four columns");

// The tile in LDS, in dwords (pairs of columns). A row is WIDTH values and 16 bytes of zeros, which are its right border
// and the left border of the next row. Rows lie in groups of five: a thread's strip starts with a group.
constexpr int CHUNK = WIDTH % 8 == 0 ? 4 : 1;  // dwords a lane copies: 16 bytes where rows are whole numbers of them
constexpr int BORDER = 4, PITCH = WIDTH / 2 + BORDER;
// Lanes of a ds_read_b64 that are served together are 32: 20 strips of one group and 12 of the next. They cover the 64
// banks exactly when groups are WIDTH / 2 dwords apart, modulo 64: 5 * 44 + 12 = 232 = 40 + 3 * 64. The gap is in front of
// a group and holds zeros, since it is the left border of the group's first row.
constexpr int WANTED_GAP = ((WIDTH / 2 - ROWS * PITCH) % 64 + 64 + 3) % 64 / 4 * 4;
constexpr int GAP = WANTED_GAP < BORDER ? BORDER : WANTED_GAP;
constexpr int GROUP = GAP + ROWS * PITCH, GROUPS = (STRIPS_Y * ROWS + KH - 1 + ROWS - 1) / ROWS;
constexpr int PLANE = GROUPS * GROUP;

typedef uint32_t Chunk __attribute__((ext_vector_type(CHUNK)));
typedef short Pair __attribute__((ext_vector_type(2)));
typedef float Floats __attribute__((ext_vector_type(2)));
typedef __bf16 Halves __attribute__((ext_vector_type(2)));
typedef __attribute__((address_space(1))) void *Global;
typedef __attribute__((address_space(3))) void *Lds;
typedef __attribute__((address_space(4))) const uint32_t *Scalar;  // read by s_load

// Dword of the tile where row `row` of a strip starts, from the start of the strip's group.
constexpr int row_offset(int row) { return row / ROWS * GROUP + GAP + row % ROWS * PITCH; }

__device__ __forceinline__ float dot2(uint32_t values, uint32_t weights, float sum) {
  return __builtin_amdgcn_fdot2_f32_bf16(__builtin_bit_cast(Pair, weights), __builtin_bit_cast(Pair, values), sum, false);
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

// The pairs of one filter row: three for even columns, three for odd ones.
struct RowWeights {
  uint32_t even[3], odd[3];
};

// The 25 weights of a slice, in pairs. `weights` may start in the middle of a dword: 75 weights a channel.
__device__ __forceinline__ void load_weights(const uint16_t *weights, int first, RowWeights (&rows)[KH]) {
  const Scalar from = (Scalar)weights + first / 2;
  const uint32_t shift = first % 2 * 16;
  uint32_t packed[KH * KW / 2 + 1];  // (w0 w1) (w2 w3) ... of the slice
#pragma unroll
  for (int i = 0; i < KH * KW / 2; ++i) packed[i] = (from[i] | (uint64_t)from[i + 1] << 32) >> shift;
  packed[KH * KW / 2] = from[KH * KW / 2] >> shift;
#pragma unroll
  for (int row = 0; row < KH; ++row) {
    uint32_t w[KW];
#pragma unroll
    for (int k = 0; k < KW; ++k) {
      const int i = row * KW + k;
      w[k] = i % 2 ? packed[i / 2] >> 16 : packed[i / 2] & 0xffff;
    }
    rows[row] = {{w[0] | w[1] << 16, w[2] | w[3] << 16, w[4]}, {w[0] << 16, w[1] | w[2] << 16, w[3] | w[4] << 16}};
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(BLOCK)
    step6_dot2(const uint16_t *__restrict__ input, const uint16_t *__restrict__ weight,
               uint16_t *__restrict__ output) {
  __shared__ __attribute__((aligned(16))) uint32_t tile[KD * PLANE];
  const int depth = blockIdx.x, channel = blockIdx.y;
  const int thread = threadIdx.x, lane = thread % 64;
  const int wave = __builtin_amdgcn_readfirstlane(thread / 64);

  const uint16_t *planes = input + ((int64_t)channel * DEPTH + depth) * (HEIGHT * WIDTH);
  uint32_t nothing = 0;
  asm("" : "+v"(nothing));  // zeros made once, or the compiler makes them anew for each group
  const Chunk zero = nothing;
  for (int slice = wave; slice < KD; slice += WAVES) {
#pragma unroll
    for (int group = 0; group < GROUPS; ++group)
      stage(planes + slice * (HEIGHT * WIDTH), tile + slice * PLANE + group * GROUP, group, lane, zero);
  }
  __syncthreads();

  uint16_t *plane_out = output + ((int64_t)channel * OUT_DEPTH + depth) * (HEIGHT * WIDTH);
  for (int strip = thread; strip < STRIPS_X * STRIPS_Y; strip += BLOCK) {
    const int strip_y = strip / STRIPS_X, x = strip % STRIPS_X * COLUMNS;
    const uint32_t *window = tile + strip_y * GROUP + x / 2;
    float sums[ROWS][COLUMNS] = {};
#pragma unroll 1
    for (int slice = 0; slice < KD; ++slice, window += PLANE) {
      RowWeights weights[KH];
      load_weights(weight, channel * TAPS + slice * (KH * KW), weights);
#pragma unroll
      for (int row = 0; row < ROWS + KH - 1; ++row) {
        // Columns x - 4 .. x + 7; the first and last pair only make the reads whole and aligned.
        const uint32_t *from = window + row_offset(row) - 2;
        const uint2 a = read_8_bytes(from), b = read_8_bytes(from + 2), c = read_8_bytes(from + 4);
        const uint32_t pairs[4] = {a.y, b.x, b.y, c.x};  // x - 2, x, x + 2, x + 4
#pragma unroll
        for (int out = 0; out < ROWS; ++out) {
          const int kh = row - out;
          if (kh < 0 || kh >= KH) continue;
#pragma unroll
          for (int column = 0; column < COLUMNS; ++column) {
            const uint32_t(&w)[3] = column % 2 ? weights[kh].odd : weights[kh].even;
#pragma unroll
            for (int i = 0; i < 3; ++i)
              sums[out][column] = dot2(pairs[column / 2 + i], w[i], sums[out][column]);
          }
        }
      }
    }
#pragma unroll
    for (int out = 0; out < ROWS; ++out) {
      const int y = strip_y * ROWS + out;
      if (HEIGHT % ROWS != 0 && y >= HEIGHT) break;
      *(uint2 *)(plane_out + y * WIDTH + x) = uint2{pack(sums[out][0], sums[out][1]), pack(sums[out][2], sums[out][3])};
    }
  }
}
