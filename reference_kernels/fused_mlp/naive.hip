// Two layers in three launches: products with U, GELU, products with W; what lies between goes through memory.
//
// The products use the matrix cores, with operands straight from global memory. M x H values are written as float,
// read, written as bfloat16 and read again by every 32 columns of Y; three kernels are launched.
#include "mlp.h"

namespace {

using namespace mlp;

constexpr int32_t WAVES = 4, ROWS = 32;

// Returns in `sums` 32 rows of w times 32 rows of x, `rows` of which exist.
__device__ void multiply(const uint16_t* x, int32_t rows, const uint16_t* w, int32_t k, int32_t lane,
                         Floats (&sums)[2][2]) {
    for (int32_t first = 0; first < k; first += STEP) {
        const int32_t from = first + lane / 16 * CHUNK;
#pragma unroll
        for (int32_t block = 0; block < 2; ++block) {
            const int32_t row = block * 16 + lane % 16;
            const Bf16x8 y = *(const Bf16x8*)(x + size_t(row < rows ? row : rows - 1) * k + from);
#pragma unroll
            for (int32_t half = 0; half < 2; ++half) {
                const Bf16x8 z = *(const Bf16x8*)(w + size_t(row_of(half, lane % 16)) * k + from);
                sums[half][block] = product(z, y, sums[half][block]);
            }
        }
    }
}

struct Place {
    int32_t lane = threadIdx.x % 64, wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 64);
    int32_t row = (blockIdx.y * WAVES + wave) * ROWS, column = blockIdx.x * 32;
};

}  // namespace

extern "C" __global__ __launch_bounds__(256) void mlp_up(const uint16_t* __restrict__ x,
                                                         const uint16_t* __restrict__ up, float* __restrict__ before,
                                                         int32_t m, int32_t h, int32_t d) {
    const Place at;
    if (at.row >= m) return;
    Floats sums[2][2] = {};
    multiply(x + size_t(at.row) * d, m - at.row, up + size_t(at.column) * d, d, at.lane, sums);
    for (int32_t block = 0; block < 2; ++block) {
        const int32_t row = at.row + block * 16 + at.lane % 16;
        if (row >= m) continue;
        Floats* to = (Floats*)(before + size_t(row) * h + at.column + row_of(0, at.lane / 16 * 4));
        to[0] = sums[0][block];
        to[1] = sums[1][block];
    }
}

extern "C" __global__ __launch_bounds__(256) void mlp_gelu(const float* __restrict__ before,
                                                           uint16_t* __restrict__ hidden, int32_t chunks) {
    const int32_t i = blockIdx.x * 256 + threadIdx.x;
    if (i >= chunks) return;
    const Floats* from = (const Floats*)(before + size_t(i) * CHUNK);
    *(Bf16x8*)(hidden + size_t(i) * CHUNK) = rounded(gelu(from[0]), gelu(from[1]));
}

extern "C" __global__ __launch_bounds__(256) void mlp_down(const uint16_t* __restrict__ hidden,
                                                           const uint16_t* __restrict__ down, uint16_t* __restrict__ y,
                                                           int32_t m, int32_t d, int32_t h) {
    const Place at;
    if (at.row >= m) return;
    Floats sums[2][2] = {};
    multiply(hidden + size_t(at.row) * h, m - at.row, down + size_t(at.column) * h, h, at.lane, sums);
    for (int32_t block = 0; block < 2; ++block) {
        const int32_t row = at.row + block * 16 + at.lane % 16;
        if (row < m)
            *(Bf16x8*)(y + size_t(row) * d + at.column + row_of(0, at.lane / 16 * 4)) =
                rounded(sums[0][block], sums[1][block]);
    }
}
