// GEMM of bfloat16, the step between: MFMA and a tile in LDS, but one stage and rows one after the other.
//
// Each turn loads, waits, multiplies, waits: the matrix cores stand still while a stage is on its way. The sixteen rows
// of an operand are 128 bytes apart, so their chunks share banks; workgroups take tiles in the order of their numbers.
#include "tile.h"

extern "C" __global__ __launch_bounds__(gemm::WAVES * 64, 2) void gemm_bf16_tiled(const uint16_t* __restrict__ a,
                                                                                  const uint16_t* __restrict__ b,
                                                                                  uint16_t* __restrict__ c, int32_t m,
                                                                                  int32_t n, int32_t k) {
    using namespace gemm;
    __shared__ Stage stage;
    const int32_t thread = threadIdx.x, wave = __builtin_amdgcn_readfirstlane(thread / 64);
    const int32_t row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    Share share(wave, thread % 64);
    for (int32_t first = 0; first < k; first += DEPTH) {
        __syncthreads();  // what is there has been multiplied
        for (int32_t place = thread; place < TILE * CHUNKS; place += WAVES * 64) {
            const int32_t of_a = row + place / CHUNKS, of_b = column + place / CHUNKS;
            const int32_t from = first + place % CHUNKS * CHUNK;
            stage.a[place] = *(const Chunk*)(a + size_t(of_a < m ? of_a : m - 1) * k + from);
            stage.b[place] = *(const Chunk*)(b + size_t(of_b < n ? of_b : n - 1) * k + from);
        }
        __syncthreads();
        share.add(stage);
    }
    share.store(c + size_t(row) * n + column, m - row, n - column, n);
}
