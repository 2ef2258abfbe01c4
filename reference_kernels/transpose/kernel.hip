// Transpose of 16-bit elements through a tile in LDS, 64 x 64 elements a workgroup of 256.
//
// Both global sides move 16 bytes a lane along rows. The tile is written by rows with ds_write_b128; KB_TILE says where
// a row's 16-byte chunks lie, which decides the bank conflicts of the reads by columns:
//   0  one row after the other: the eight chunks of a column of chunks share their banks
//   1  16 bytes of padding after every eight rows: they move to other banks, the tile grows by 128 bytes
//   2  a chunk's place is XORed with the row's group of eight: other banks, no more LDS
//   3  as 2, XORed for what ds_read_b64_tr_b16 of gfx950 reads: four rows of 16 columns in one instruction
// Tiles 0 to 2 are read as pairs of columns, eight rows a lane, and put in order by v_perm_b32; 3 needs no such step.
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

namespace {

constexpr int32_t TILE = 64, CHUNK = 8, CHUNKS = TILE / CHUNK;
constexpr int32_t PADDING = KB_TILE == 1 ? 4 * CHUNKS : 0;  // dwords

typedef uint32_t Words __attribute__((ext_vector_type(4)));

// Returns the dword of the tile where chunk `chunk` of row `row` starts.
__device__ int32_t place(int32_t row, int32_t chunk) {
    if (KB_TILE == 1) return row * (TILE / 2) + row / CHUNK * 4 + chunk * 4;
    if (KB_TILE == 2) chunk ^= row / CHUNK;
    if (KB_TILE == 3) chunk ^= (row & 2) | (row / 2 & 4);
    return row * (TILE / 2) + chunk * 4;
}

}  // namespace

#if KB_TILE == 3
typedef short Quad __attribute__((ext_vector_type(4)));

// Returns four rows of one column: lane i of 16 gets column i of the 4 x 16 elements whose rows the lanes address.
__device__ Quad column_of_four(const uint32_t* source) {
    typedef __attribute__((address_space(3))) Quad* Lds;
    return __builtin_amdgcn_ds_read_tr16_b64_v4i16((Lds)source);
}
#endif

extern "C" __global__ __launch_bounds__(256) void transpose_tile(const uint16_t* __restrict__ x,
                                                                 uint16_t* __restrict__ y, int32_t rows,
                                                                 int32_t columns) {
    __shared__ __attribute__((aligned(16))) uint32_t tile[TILE * TILE / 2 + PADDING];
    const int32_t thread = threadIdx.x, lane = thread % 64, wave = thread / 64;
    const int32_t first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
    for (int32_t half = 0; half < 2; ++half) {
        const int32_t row = half * 32 + thread / CHUNKS, chunk = thread % CHUNKS;
        const uint16_t* from = x + size_t(first_row + row) * columns + first_column + chunk * CHUNK;
        *(Words*)(tile + place(row, chunk)) = *(const Words*)from;
    }
    __syncthreads();
#if KB_TILE == 3
    const int32_t column = wave * 16 + lane % 16, four = wave * 4 + lane % 4;
    // Rows four and 32 further on have the same XOR, so all four reads share an address and differ in their offset.
    const uint32_t* first = tile + place(lane / 16 * CHUNK + lane % 16 / 4, four / 2) + four % 2 * 2;
    for (int32_t half = 0; half < 2; ++half) {
        const int32_t group = half * 4 + lane / 16;  // of eight rows
        Quad quads[2];
        for (int32_t upper = 0; upper < 2; ++upper)
            quads[upper] = column_of_four(first + (half * 32 + upper * 4) * (TILE / 2));
        *(Words*)(y + size_t(first_column + column) * rows + first_row + group * CHUNK) = *(const Words*)quads;
    }
#else
    const int32_t group = lane % CHUNKS, pair = wave * 8 + lane / CHUNKS;
    uint32_t words[CHUNK];
    for (int32_t row = 0; row < CHUNK; ++row) words[row] = tile[place(group * CHUNK + row, pair / 4) + pair % 4];
    Words even, odd;
    for (int32_t i = 0; i < 4; ++i) {
        even[i] = __builtin_amdgcn_perm(words[2 * i + 1], words[2 * i], 0x05040100);
        odd[i] = __builtin_amdgcn_perm(words[2 * i + 1], words[2 * i], 0x07060302);
    }
    uint16_t* to = y + size_t(first_column + 2 * pair) * rows + first_row + group * CHUNK;
    *(Words*)to = even;
    *(Words*)(to + rows) = odd;
#endif
}
