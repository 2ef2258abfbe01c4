// Softmax of rows, one wavefront a row, four rows a workgroup; bfloat16 in and out, float between.
//
// The row is read once, 16 bytes a lane, and stays in registers: maximum, exponentials, sum and division follow without
// another access. Both reductions go over lanes by DPP and, on gfx950, by v_permlane16_swap and v_permlane32_swap; no
// LDS, no barrier. Subtracting the row's maximum keeps every exponential at most 1.
#include "rows.h"

extern "C" __global__ __launch_bounds__(256) void row_softmax(const uint16_t* __restrict__ x, uint16_t* __restrict__ y,
                                                              int32_t count) {
    // The wave's row is the same for all its lanes; saying so puts the addresses into SGPRs.
    const int32_t row = blockIdx.x * 4 + __builtin_amdgcn_readfirstlane(threadIdx.x / 64);
    const int32_t lane = threadIdx.x % 64;
    if (row >= count) return;
    float values[rows::VALUES];
    rows::load(x + size_t(row) * KB_COLUMNS, lane, values, -__builtin_inff());

    float top = values[0];
    for (int32_t i = 1; i < rows::VALUES; ++i) top = __builtin_fmaxf(top, values[i]);
    top = rows::reduced<rows::Max>(top);

    float sum = 0.0f;
    for (int32_t i = 0; i < rows::VALUES; ++i) {
        // v_exp_f32 is 2^x. Columns beyond the row are -infinity and add 0.
        values[i] = __builtin_amdgcn_exp2f((values[i] - top) * 1.44269504f);
        sum += values[i];
    }
    const float scale = __builtin_amdgcn_rcpf(rows::reduced<rows::Add>(sum));
    for (int32_t i = 0; i < rows::VALUES; ++i) values[i] *= scale;
    rows::store(y + size_t(row) * KB_COLUMNS, lane, values);
}
