// What the GEMM kernels share: the tile of a workgroup, where its elements lie in LDS, the product, the store.
//
// C = A B^T, A is M x K, B is N x K: both have K contiguous, as activations and the weights of a linear layer have.
// KB_TILE 128: four wavefronts compute 128 x 128 elements, 64 x 64 each as 4 x 4 blocks of 16 x 16; a wavefront reads
// 64 + 64 rows from LDS for 64 x 64 products a k, 32 products an element. KB_TILE 256: eight wavefronts compute
// 256 x 256, 128 x 64 each; 43 products an element from LDS, and twice as many of what comes from L2.
#pragma once
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

namespace gemm {

constexpr int32_t TILE = KB_TILE, WAVES = TILE / 32, ACROSS = TILE / 64;  // ACROSS wavefronts side by side, two rows
constexpr int32_t ROW_BLOCKS = TILE / 32, COLUMN_BLOCKS = 4;              // of 16 x 16 results in a wavefront
constexpr int32_t CHUNK = 8;               // elements in 16 bytes, what a lane moves at a time
constexpr int32_t DEPTH = KB_DEPTH;        // k of a stage
constexpr int32_t CHUNKS = DEPTH / CHUNK;  // of a row of a stage
constexpr int32_t STEP = 32;               // k of a product: four groups of 16 lanes, a chunk each

constexpr int32_t MFMA = 0x008, DS_READ = 0x100;  // kinds of __builtin_amdgcn_sched_group_barrier
#if defined(__gfx950__)
constexpr int32_t MFMAS = 1;  // a product
#else
constexpr int32_t MFMAS = 2;
#endif

typedef uint32_t Chunk __attribute__((ext_vector_type(4)));
typedef __bf16 Bf16x8 __attribute__((ext_vector_type(8)));
typedef float Floats __attribute__((ext_vector_type(4)));
typedef float Floatx8 __attribute__((ext_vector_type(8)));

// Rows of A and of B for DEPTH values of k.
struct Stage {
    Chunk a[TILE * CHUNKS], b[TILE * CHUNKS];
};

// Returns what a row's chunks are XORed with.
//
// Lanes i = 0 .. 15 of an operand read rows 8 (i / 4) + i % 4, see `row_of`: those differ in bits 0, 1, 3 and 4. Bits
// 0, 1 and 3 tell eight of the sixteen apart. Of the rows that one phase of ds_read_b128 reads no two then meet in a
// bank: eight rows on 32 banks of gfx942, sixteen on 64 banks of gfx950. With four chunks a row bits 0 and 1 are
// enough, since two rows fill the 32 banks.
__device__ inline int32_t key(int32_t row) {
    return KB_SWIZZLE ? ((row & 3) | (row >> 1 & 4)) % CHUNKS : 0;
}

// Returns the place of chunk `chunk` of row `row` in a stage.
__device__ inline int32_t place(int32_t row, int32_t chunk) { return row * CHUNKS + (chunk ^ key(row)); }

// Returns the row of a wavefront's share that is row i of block `block`.
//
// Any assignment is right if operands and results agree. This one gives a lane, which has rows 4 g .. 4 g + 3 of a
// block of results, eight consecutive rows of two blocks: one store of 16 bytes.
__device__ inline int32_t row_of(int32_t block, int32_t i) {
    return block / 2 * 32 + i / 4 * 8 + block % 2 * 4 + i % 4;
}

// Adds a 16 x 16 block of x y^T for 32 values of k. Lane l holds row l % 16, k from 8 (l / 16).
__device__ inline Floats product(Bf16x8 x, Bf16x8 y, Floats sum) {
#if defined(__gfx950__)
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(x, y, sum, 0, 0, 0);
#else
    // Half of each lane's eight a time: a lane's k is not the instruction's, but in both operands alike.
    typedef short Quad __attribute__((ext_vector_type(4)));
    const auto *xs = (const Quad*)&x, *ys = (const Quad*)&y;
    sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(xs[0], ys[0], sum, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(xs[1], ys[1], sum, 0, 0, 0);
#endif
}

// One wavefront's share: the results from row `row` of A and row `column` of B of the tile.
struct Share {
    int32_t row, column, lane;
    Floats sums[ROW_BLOCKS][COLUMN_BLOCKS] = {};

    __device__ Share(int32_t wave, int32_t lane)
        : row(wave / ACROSS * ROW_BLOCKS * 16), column(wave % ACROSS * COLUMN_BLOCKS * 16), lane(lane) {}

    // The compiler would read each operand where it is needed and wait for it. The groups at the end ask for an order:
    // the first step's operands, then one read of the next step's after every two products.
    __device__ void add(const Stage& stage) {
#pragma unroll
        for (int32_t k = 0; k < DEPTH; k += STEP) {
            const int32_t chunk = k / CHUNK + lane / 16;
            // Blocks differ in bits 2, 5 and 6 of the row, which are not in its key: one address, constant offsets.
            const Chunk* from_a = stage.a + place(row + row_of(0, lane % 16), chunk);
            const Chunk* from_b = stage.b + place(column + row_of(0, lane % 16), chunk);
            Bf16x8 a[ROW_BLOCKS], b[COLUMN_BLOCKS];
#pragma unroll
            for (int32_t n = 0; n < COLUMN_BLOCKS; ++n)
                b[n] = __builtin_bit_cast(Bf16x8, from_b[row_of(n, 0) * CHUNKS]);
#pragma unroll
            for (int32_t m = 0; m < ROW_BLOCKS; ++m)
                a[m] = __builtin_bit_cast(Bf16x8, from_a[row_of(m, 0) * CHUNKS]);
#pragma unroll
            for (int32_t m = 0; m < ROW_BLOCKS; ++m)
#pragma unroll
                for (int32_t n = 0; n < COLUMN_BLOCKS; ++n) sums[m][n] = product(b[n], a[m], sums[m][n]);
        }
        constexpr int32_t READS = ROW_BLOCKS + COLUMN_BLOCKS, PRODUCTS = ROW_BLOCKS * COLUMN_BLOCKS;  // a step
        __builtin_amdgcn_sched_group_barrier(DS_READ, READS, 0);
#pragma unroll
        for (int32_t pair = 0; pair < DEPTH / STEP * PRODUCTS / 2; ++pair) {
            __builtin_amdgcn_sched_group_barrier(MFMA, 2 * MFMAS, 0);
            if (pair < (DEPTH / STEP - 1) * READS) __builtin_amdgcn_sched_group_barrier(DS_READ, 1, 0);
        }
    }

    // Writes the results as bfloat16, 16 bytes a lane; `c` is the tile's first element, rows x columns what is left.
    //
    // B was the first operand, so a lane has row l % 16 of A and four consecutive rows of B, of two blocks eight.
    __device__ void store(uint16_t* c, int32_t rows, int32_t columns, int32_t pitch) const {
#pragma unroll
        for (int32_t m = 0; m < ROW_BLOCKS; ++m) {
            const int32_t i = row + row_of(m, lane % 16);
#pragma unroll
            for (int32_t pair = 0; pair < COLUMN_BLOCKS / 2; ++pair) {
                const int32_t j = column + row_of(2 * pair, lane / 16 * 4);
                const Floatx8 values = __builtin_shufflevector(sums[m][2 * pair], sums[m][2 * pair + 1],  //
                                                               0, 1, 2, 3, 4, 5, 6, 7);
                if (i < rows && j < columns)
                    *(Chunk*)(c + size_t(i) * pitch + j) =
                        __builtin_bit_cast(Chunk, __builtin_convertvector(values, Bf16x8));
            }
        }
    }
};

}  // namespace gemm
