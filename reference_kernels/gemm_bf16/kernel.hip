// GEMM of bfloat16 for gfx950: C = A B^T, tiles that global_load_lds brings into LDS without passing a register.
//
// Two stages in LDS: while the wavefronts multiply one, the loads of the other are in flight. A turn is
//   wait for this stage's loads and for all wavefronts | start the loads of the next stage | multiply this stage
// so that one barrier a turn does for both: what was read is free, what was loaded is there. The two stages are two
// arrays, not one with an index: so older compilers too see that reads of one need not wait for loads into the other.
// Products of a stage whose operands are read may pass the barrier; the compiler puts them between the next loads.
//
// global_load_lds puts lane i's 16 bytes at base + 16 i. Eight lanes fill a row of 128 bytes, so the XOR of `place` is
// applied to the address that a lane loads from; the line of 128 bytes stays the same.
#include "order.h"
#include "tile.h"

namespace {

using namespace gemm;

constexpr int32_t ROWS = 64 / CHUNKS;                // rows that one load of a wavefront brings
constexpr int32_t LOADS = TILE / ROWS / WAVES;       // loads a wavefront, operand and stage

// What one wavefront loads of one operand.
struct Loader {
    const char* source;    // the tile's first row, moves along k; the same for all lanes, so it stays in SGPRs
    uint32_t from[LOADS];  // bytes from there to what this lane loads

    // rows: how many the matrix has from the tile's first on. Rows beyond repeat the last and are not stored.
    __device__ Loader(const uint16_t* first, int32_t rows, int32_t k, int32_t wave, int32_t lane)
        : source((const char*)first) {
#pragma unroll
        for (int32_t load = 0; load < LOADS; ++load) {
            const int32_t row = (wave * LOADS + load) * ROWS + lane / CHUNKS;
            const int32_t chunk = lane % CHUNKS ^ key(row);
            from[load] = (uint32_t(row < rows ? row : rows - 1) * k + chunk * CHUNK) * sizeof(uint16_t);
        }
    }

    __device__ void start(Chunk* stage, int32_t wave) {
        typedef __attribute__((address_space(1))) void* Global;
        typedef __attribute__((address_space(3))) void* Lds;
#pragma unroll
        for (int32_t load = 0; load < LOADS; ++load) {
            // Hides where the offset comes from: else it is widened to 64 bits ahead of the loop, twice the registers.
            uint32_t offset = from[load];
            asm("" : "+v"(offset));
            Chunk* to = stage + (wave * LOADS + load) * 64;
            __builtin_amdgcn_global_load_lds((Global)(source + offset), (Lds)to, 16, 0, 0);
        }
        source += DEPTH * sizeof(uint16_t);
    }
};

}  // namespace

extern "C" __global__ __launch_bounds__(WAVES * 64, 2) void gemm_bf16(const uint16_t* __restrict__ a,
                                                                      const uint16_t* __restrict__ b,
                                                                      uint16_t* __restrict__ c, int32_t m, int32_t n,
                                                                      int32_t k, int32_t xcds) {
    __shared__ Stage even, odd;
    const int32_t lane = threadIdx.x % 64, wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 64);
    const Place tile = tile_of(blockIdx.x, (m + TILE - 1) / TILE, (n + TILE - 1) / TILE, xcds);
    const int32_t row = tile.row * TILE, column = tile.column * TILE;
    Loader of_a(a + size_t(row) * k, m - row, k, wave, lane);
    Loader of_b(b + size_t(column) * k, n - column, k, wave, lane);
    Share share(wave, lane);

    const auto load = [&](Stage& next) {
        of_a.start(next.a, wave);
        of_b.start(next.b, wave);
        __builtin_amdgcn_sched_barrier(0);  // loads first, then products
    };
    load(even);
    for (int32_t left = k; left > 0; left -= 2 * DEPTH) {  // k is a multiple of two stages: no way out in the middle
        __syncthreads();
        load(odd);
        share.add(even);
        __syncthreads();
        if (left > 2 * DEPTH) load(even);
        share.add(odd);
    }
    share.store(c + size_t(row) * n + column, m - row, n - column, n);
}
