// Two layers in one kernel: Y = gelu(X U^T) W^T, the hidden values never leave the registers.
//
// A wavefront owns 32 rows of X and of Y. X stays in its registers, Y is summed there; U and W pass through LDS, HIDDEN
// hidden units a stage, read by all four wavefronts. Of each 32 units it computes the products with U, applies GELU,
// rounds to bfloat16, and has in its lanes just what the products with W take: lane l of the results holds units
// 8 (l / 16) .. + 7 of row l % 16, and so does lane l of the next operand.
//
// KB_ORDER 1 asks for an order of the instructions of a stage; 0 leaves it to the compiler.
#include "mlp.h"

namespace {

using namespace mlp;

constexpr int32_t WAVES = 4, ROWS = 32, BLOCKS = ROWS / 16;  // rows a wavefront, blocks of 16 of them
constexpr int32_t D = KB_D, OUTPUTS = D / 16;                // blocks of Y
#if defined(__gfx950__)
constexpr int32_t HIDDEN = 64;
#else
constexpr int32_t HIDDEN = 32;  // LDS is 64 KiB: with D = 128 still two workgroups a CU
#endif
constexpr int32_t GROUPS = HIDDEN / STEP;

// Rows of U and W for HIDDEN hidden units.
struct Stage {
    Chunk up[HIDDEN * D / CHUNK], down[D * HIDDEN / CHUNK];
};

// Returns the place of chunk `chunk` of row `row`, CHUNKS to a row.
//
// Lanes i = 0 .. 15 read rows 8 (i / 4) + i % 4, which differ in bits 0, 1, 3 and 4. XORed with these, no two of the
// lanes that ds_read_b128 serves together meet in a bank; blocks differ in other bits, so they share one address.
template <int32_t CHUNKS>
__device__ int32_t place(int32_t row, int32_t chunk) {
    return row * CHUNKS + (chunk ^ ((row & 3) | (row >> 1 & 12)) % CHUNKS);
}

// What one lane loads of one operand: rows of CHUNKS chunks, LOADS of them a stage, `pitch` elements apart in memory.
template <int32_t CHUNKS, int32_t COUNT>
struct Loader {
    static constexpr int32_t LOADS = COUNT / (WAVES * 64), BETWEEN = WAVES * 64 / CHUNKS;
    const uint16_t* source;
    int32_t pitch;
    Chunk held[LOADS];

    __device__ void start(int32_t thread) {
#pragma unroll
        for (int32_t load = 0; load < LOADS; ++load) {
            const uint32_t row = load * BETWEEN + thread / CHUNKS;
            held[load] = *(const Chunk*)(source + (row * pitch + thread % CHUNKS * CHUNK));
        }
    }

    __device__ void finish(Chunk* stage, int32_t thread) const {
#pragma unroll
        for (int32_t load = 0; load < LOADS; ++load)
            stage[place<CHUNKS>(load * BETWEEN + thread / CHUNKS, thread % CHUNKS)] = held[load];
    }
};

// Asks for a stage's order: some operands first, then a read after every two products, a load too while there are any.
//
// With two groups, the second's products with U need nothing of the first's GELU, nor the first's products with W of
// the second's. There the exponentials and reciprocals are spread over the products; the rest of GELU follows them.
// Asked for as VALU they would bring the order down, since that kind has the addresses of the first reads as well.
template <bool LOADS>
__device__ void order() {
    constexpr int32_t MFMA = 0x008, VMEM_READ = 0x020, DS_READ = 0x100, TRANS = 0x400;
    constexpr int32_t UP = 2 * D / STEP, PAIRS = GROUPS * 2 * UP, AHEAD = 4;  // UP pairs of products with U, UP with W
    static_assert(UP == OUTPUTS);
    constexpr int32_t GLOBAL = LOADS ? 2 * HIDDEN * D / CHUNK / (WAVES * 64) : 0;
    constexpr int32_t POWERS = 2 * (STEP * ROWS / 64) / UP;  // a group's GELU: two a value, over its UP pairs
    __builtin_amdgcn_sched_group_barrier(DS_READ, AHEAD, 0);
#pragma unroll
    for (int32_t pair = 0; pair < PAIRS; ++pair) {
        __builtin_amdgcn_sched_group_barrier(MFMA, BLOCKS * MFMAS, 0);
        if (pair + AHEAD < PAIRS) __builtin_amdgcn_sched_group_barrier(DS_READ, 1, 0);
        if (pair < GLOBAL) __builtin_amdgcn_sched_group_barrier(VMEM_READ, 1, 0);
        if (GROUPS == 2 && pair >= UP && pair < 3 * UP) __builtin_amdgcn_sched_group_barrier(TRANS, POWERS, 0);
    }
}

// One wavefront's rows.
struct Share {
    int32_t lane;
    Bf16x8 x[BLOCKS][D / STEP];
    Floats sums[OUTPUTS][BLOCKS] = {};

    // Rows beyond the matrix repeat its last one: read, multiplied, not stored.
    __device__ Share(const uint16_t* from, int32_t rows, int32_t lane) : lane(lane) {
#pragma unroll
        for (int32_t block = 0; block < BLOCKS; ++block) {
            const int32_t row = block * 16 + lane % 16;
            const uint16_t* line = from + size_t(row < rows ? row : rows - 1) * D + lane / 16 * CHUNK;
#pragma unroll
            for (int32_t k = 0; k < D / STEP; ++k) x[block][k] = *(const Bf16x8*)(line + k * STEP);
        }
    }

    __device__ void add(const Stage& stage) {
        Floats units[GROUPS][2][BLOCKS] = {};
#pragma unroll
        for (int32_t group = 0; group < GROUPS; ++group)
#pragma unroll
            for (int32_t k = 0; k < D / STEP; ++k) {
                const Chunk* from = stage.up + place<D / CHUNK>(row_of(2 * group, lane % 16), k * 4 + lane / 16);
#pragma unroll
                for (int32_t half = 0; half < 2; ++half) {
                    const Bf16x8 up = __builtin_bit_cast(Bf16x8, from[row_of(half, 0) * (D / CHUNK)]);
#pragma unroll
                    for (int32_t block = 0; block < BLOCKS; ++block)
                        units[group][half][block] = product(up, x[block][k], units[group][half][block]);
                }
            }
#pragma unroll
        for (int32_t group = 0; group < GROUPS; ++group) {
            Bf16x8 hidden[BLOCKS];
#pragma unroll
            for (int32_t block = 0; block < BLOCKS; ++block)
                hidden[block] = rounded(gelu(units[group][0][block]), gelu(units[group][1][block]));
            const Chunk* from = stage.down + place<HIDDEN / CHUNK>(row_of(0, lane % 16), group * 4 + lane / 16);
#pragma unroll
            for (int32_t output = 0; output < OUTPUTS; ++output) {
                const Bf16x8 down = __builtin_bit_cast(Bf16x8, from[row_of(output, 0) * (HIDDEN / CHUNK)]);
#pragma unroll
                for (int32_t block = 0; block < BLOCKS; ++block)
                    sums[output][block] = product(down, hidden[block], sums[output][block]);
            }
        }
    }

    __device__ void store(uint16_t* to, int32_t rows) const {
#pragma unroll
        for (int32_t block = 0; block < BLOCKS; ++block) {
            const int32_t row = block * 16 + lane % 16;
            if (row >= rows) continue;
#pragma unroll
            for (int32_t pair = 0; pair < OUTPUTS; pair += 2)
                *(Bf16x8*)(to + size_t(row) * D + row_of(pair, lane / 16 * 4)) =
                    rounded(sums[pair][block], sums[pair + 1][block]);
        }
    }
};

}  // namespace

extern "C" __global__ __launch_bounds__(WAVES * 64, 2) void fused_mlp(const uint16_t* __restrict__ x,
                                                                      const uint16_t* __restrict__ up,
                                                                      const uint16_t* __restrict__ down,
                                                                      uint16_t* __restrict__ y, int32_t m, int32_t h) {
    __shared__ Stage stages[2];
    const int32_t thread = threadIdx.x, wave = __builtin_amdgcn_readfirstlane(thread / 64);
    Loader<D / CHUNK, HIDDEN * D / CHUNK> of_up{up, D};
    Loader<HIDDEN / CHUNK, D * HIDDEN / CHUNK> of_down{down, h};
    const int32_t row = (blockIdx.x * WAVES + wave) * ROWS, rows = m - row;
    // A wavefront without rows of its own still brings weights into LDS; it multiplies the last row.
    Share share(x + size_t(rows > 0 ? row : m - 1) * D, rows > 0 ? rows : 1, thread % 64);

    of_up.start(thread);
    of_down.start(thread);
    of_up.finish(stages[0].up, thread);
    of_down.finish(stages[0].down, thread);
    int32_t now = 0;
    for (int32_t left = h - HIDDEN; left > 0; left -= HIDDEN) {
        of_up.source += HIDDEN * D;
        of_down.source += HIDDEN;
        __syncthreads();
        of_up.start(thread);
        of_down.start(thread);
        share.add(stages[now]);
        if (KB_ORDER) order<true>();
        __builtin_amdgcn_sched_barrier(0);  // the writes wait for the loads: after the products, not between
        now ^= 1;
        of_up.finish(stages[now].up, thread);
        of_down.finish(stages[now].down, thread);
    }
    __syncthreads();
    share.add(stages[now]);
    if (KB_ORDER) order<false>();
    share.store(y + size_t(row) * D, rows);
}
