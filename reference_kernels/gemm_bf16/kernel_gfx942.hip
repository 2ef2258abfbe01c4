// GEMM of bfloat16 for gfx942 and gfx90a: C = A B^T, tiles that pass through registers into LDS.
//
// These targets load at most 4 bytes a lane straight to LDS; 16 bytes a lane into registers and a ds_write_b128 move
// the same in a quarter of the loads. Two stages in LDS, and a third in registers on its way. A turn is
//   wait for all wavefronts | start the loads of the next stage | multiply this stage | write what was loaded to LDS
// The loads have the time of the products to arrive. One barrier a turn: what a turn writes, the next one reads; what
// it reads, the next one overwrites, and between lies the barrier.
#include "order.h"
#include "tile.h"

namespace {

using namespace gemm;

constexpr int32_t ROWS = WAVES * 64 / CHUNKS;  // rows that one load of the workgroup brings
constexpr int32_t LOADS = TILE / ROWS;         // loads a lane, operand and stage

// What one lane loads of one operand.
struct Loader {
    const char* source;    // the tile's first row, moves along k; the same for all lanes, so it stays in SGPRs
    uint32_t from[LOADS];  // bytes from there to what this lane loads
    Chunk held[LOADS];

    // rows: how many the matrix has from the tile's first on. Rows beyond repeat the last and are not stored.
    __device__ Loader(const uint16_t* first, int32_t rows, int32_t k, int32_t thread) : source((const char*)first) {
#pragma unroll
        for (int32_t load = 0; load < LOADS; ++load) {
            const int32_t row = load * ROWS + thread / CHUNKS, chunk = thread % CHUNKS;
            from[load] = (uint32_t(row < rows ? row : rows - 1) * k + chunk * CHUNK) * sizeof(uint16_t);
        }
    }

    __device__ void start() {
#pragma unroll
        for (int32_t load = 0; load < LOADS; ++load) held[load] = *(const Chunk*)(source + from[load]);
        source += DEPTH * sizeof(uint16_t);
    }

    // Eight lanes write 128 bytes, all 32 banks, in whatever order the XOR puts their chunks.
    __device__ void finish(Chunk* stage, int32_t thread) const {
#pragma unroll
        for (int32_t load = 0; load < LOADS; ++load)
            stage[place(load * ROWS + thread / CHUNKS, thread % CHUNKS)] = held[load];
    }
};

}  // namespace

extern "C" __global__ __launch_bounds__(WAVES * 64, 2) void gemm_bf16(const uint16_t* __restrict__ a,
                                                                      const uint16_t* __restrict__ b,
                                                                      uint16_t* __restrict__ c, int32_t m, int32_t n,
                                                                      int32_t k, int32_t xcds) {
    __shared__ Stage stages[2];
    const int32_t thread = threadIdx.x, wave = __builtin_amdgcn_readfirstlane(thread / 64);
    const Place tile = tile_of(blockIdx.x, (m + TILE - 1) / TILE, (n + TILE - 1) / TILE, xcds);
    const int32_t row = tile.row * TILE, column = tile.column * TILE;
    Loader of_a(a + size_t(row) * k, m - row, k, thread);
    Loader of_b(b + size_t(column) * k, n - column, k, thread);
    Share share(wave, thread % 64);

    of_a.start();
    of_b.start();
    of_a.finish(stages[0].a, thread);
    of_b.finish(stages[0].b, thread);
    int32_t now = 0;
    for (int32_t left = k - DEPTH; left > 0; left -= DEPTH) {
        __syncthreads();
        of_a.start();
        of_b.start();
        // Without these two the compiler lets loads sink to the last products and writes rise to the first ones, where
        // they wait for loads that have only just begun.
        __builtin_amdgcn_sched_barrier(0);
        share.add(stages[now]);
        now ^= 1;
        __builtin_amdgcn_sched_barrier(0);
        of_a.finish(stages[now].a, thread);
        of_b.finish(stages[now].b, thread);
    }
    __syncthreads();
    share.add(stages[now]);
    share.store(c + size_t(row) * n + column, m - row, n - column, n);
}
