// Grouped 5 x 5 convolution on the matrix cores: the filter row as a Toeplitz matrix, input rows streamed through it once.
//
// Pixels are stored with the C channels of their group together, so a row of a group is W * C neighbouring values. Cut into
// blocks of 16, a block holds 16 / C pixels, and one matrix operation computes 16 blocks for one filter row:
//   D[m][n] += A[m][k] * B[k][n]
//   n  the block, 16 values of the row after the block before it
//   m  the output in the block: pixel m / C, channel m % C
//   k  the inputs around the block, LEFT values to its left and on: both neighbours two pixels away, all C channels
//   A  the weights of the filter row where pixel(k) - pixel(m) is one of the five taps, else 0
// B is the row itself: column n is the row from 16 n on. A lane holds 8 neighbouring values of it, one ds_read_b128.
//
// One workgroup of four wavefronts makes 256 values x 32 rows of a group. A wavefront streams down 12 input rows; each is
// read once and used for up to five of its eight output rows, whose sums stay in registers.
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

namespace {

constexpr int C = KB_CHANNELS, TAPS = 5, PAD = 2;
constexpr int BLOCK = 16, BLOCKS = 16, WIDTH = BLOCK * BLOCKS;  // values of a row, in a workgroup
constexpr int THREADS = 256, WAVES = THREADS / 64, ROWS = 8, IN_ROWS = ROWS + TAPS - 1, TILE_ROWS = WAVES * ROWS + TAPS - 1;
static_assert(BLOCK % C == 0, "a block is whole pixels");

// Two pixels of border, rounded up to the 16 bytes that a lane reads at once.
constexpr int CHUNK = 8, LEFT = PAD * C < CHUNK ? CHUNK : PAD * C;
// Depth of one matrix operation, and how many cover border, block and border: 1 up to C = 4, then 2 (C = 8), 3 (C = 16).
constexpr int K = 32, STEPS = (LEFT + BLOCK + PAD * C + K - 1) / K;
// Values of a row in LDS, up to what the last step of the last block reads. The 64 lanes of a read lie in one row, 16 blocks
// of 32 bytes and quarters of 16: each of its four phases covers the 64 banks once, so that rows need no padding.
constexpr int PITCH = WIDTH - BLOCK + STEPS * K, CHUNKS = PITCH / CHUNK;
constexpr int LOADS = (TILE_ROWS * CHUNKS + THREADS - 1) / THREADS;  // of a thread, to fill the tile
// Weights that lie side by side, in the order [r][s][output channel][input channel].
constexpr int PIECE = C < CHUNK ? C : CHUNK;

typedef uint32_t Words __attribute__((ext_vector_type(4)));  // eight values of a row, of A or of B
typedef float Sums __attribute__((ext_vector_type(4)));      // four rows of D
typedef uint16_t Piece __attribute__((ext_vector_type(PIECE)));
typedef __bf16 Eight __attribute__((ext_vector_type(8)));
typedef float Floats __attribute__((ext_vector_type(2)));
typedef __bf16 Halves __attribute__((ext_vector_type(2)));

// gfx942 has half of the depth: two operations, each with four of the eight values that a lane holds of A and of B.
__device__ Sums multiply(Words a, Words b, Sums sums) {
#ifdef __gfx950__
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(Eight, a), __builtin_bit_cast(Eight, b), sums, 0, 0, 0);
#else
    typedef short Values __attribute__((ext_vector_type(8)));
    const Values left = __builtin_bit_cast(Values, a), right = __builtin_bit_cast(Values, b);
    sums = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(left.lo, right.lo, sums, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(left.hi, right.hi, sums, 0, 0, 0);
#endif
}

__device__ uint32_t pack(float low, float high) {
    return __builtin_bit_cast(uint32_t, __builtin_convertvector(Floats{low, high}, Halves));
}

// Eight values of row m of A for filter row `row`: k = first .. first + 7, in pieces of one pixel.
__device__ Words toeplitz(const uint16_t* weights, int row, int m, int first) {
    Piece pieces[CHUNK / PIECE];
#pragma unroll
    for (int i = 0; i < CHUNK / PIECE; ++i) {
        const int value = first + i * PIECE - LEFT + PAD * C;  // counted from two pixels left of the block
        const int tap = value / C - m / C, channel = value % C;
        const bool inside = value >= 0 && tap >= 0 && tap < TAPS;
        const uint16_t* from = weights + ((row * TAPS + tap) * C + m % C) * C + channel;
        pieces[i] = inside ? *(const Piece*)from : Piece(0);
    }
    return __builtin_bit_cast(Words, pieces);
}

}  // namespace

extern "C" __global__ __launch_bounds__(256) void grouped_conv_toeplitz(const uint16_t* __restrict__ x,
                                                                       const uint16_t* __restrict__ weights,
                                                                       uint16_t* __restrict__ y, uint32_t height,
                                                                       uint32_t width) {
    __shared__ __attribute__((aligned(16))) uint16_t tile[TILE_ROWS * PITCH];
    const int thread = threadIdx.x, lane = thread % 64, wave = thread / 64;
    const uint32_t row_values = width * C, first_value = blockIdx.x * WIDTH, first_row = blockIdx.y * WAVES * ROWS;
    const size_t group = size_t(blockIdx.z) * height * row_values;

    // All loads first, then all writes: the loads wait for memory together. Row and chunk are divided once and carried on.
    Words staged[LOADS];
    uint32_t tile_row = thread / CHUNKS, chunk = thread % CHUNKS;
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
        const uint32_t row = first_row + tile_row - PAD, value = first_value + chunk * CHUNK - LEFT;
        // What lies above or left of the plane has wrapped around and is too large as well.
        const bool inside = row < height && value < row_values && tile_row < TILE_ROWS;
        staged[i] = inside ? *(const Words*)(x + group + (row * row_values + value)) : Words(0);
        chunk += THREADS % CHUNKS;
        const bool wraps = chunk >= CHUNKS;
        tile_row += THREADS / CHUNKS + wraps;
        chunk -= wraps ? CHUNKS : 0;
    }
    const int m = lane % BLOCK, quarter = lane / BLOCK;
    Words a[TAPS][STEPS];
#pragma unroll
    for (int row = 0; row < TAPS; ++row) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const uint16_t* of_group = weights + blockIdx.z * (TAPS * TAPS * C * C);
            a[row][step] = toeplitz(of_group, row, m, step * K + quarter * CHUNK);
        }
    }
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
        const int at = thread + i * THREADS;
        if (at < TILE_ROWS * CHUNKS) *(Words*)(tile + at * CHUNK) = staged[i];
    }
    __syncthreads();

    // Lane (quarter, n): column n of B from k = 8 * quarter on.
    const uint16_t* column = tile + wave * ROWS * PITCH + lane % BLOCKS * BLOCK + quarter * CHUNK;
    Sums sums[ROWS] = {};
#pragma unroll
    for (int in = 0; in < IN_ROWS; ++in) {
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const Words b = *(const Words*)(column + in * PITCH + step * K);
#pragma unroll
            for (int tap = 0; tap < TAPS; ++tap) {
                const int out = in - tap;
                if (out >= 0 && out < ROWS) sums[out] = multiply(a[tap][step], b, sums[out]);
            }
        }
    }

    // Lane (quarter, n) holds rows 4 * quarter .. + 3 of column n of D: four neighbouring values of block n.
    const uint32_t value = first_value + lane % BLOCKS * BLOCK + quarter * 4;
    if (value >= row_values) return;
#pragma unroll
    for (int out = 0; out < ROWS; ++out) {
        const uint32_t row = first_row + wave * ROWS + out;
        if (row >= height) return;
        *(uint2*)(y + group + row * row_values + value) = uint2{pack(sums[out][0], sums[out][1]), pack(sums[out][2], sums[out][3])};
    }
}
