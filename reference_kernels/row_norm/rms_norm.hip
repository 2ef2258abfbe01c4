// RMSNorm of rows, one wavefront a row, four rows a workgroup; bfloat16 in and out, float between.
//
// As kernel.hip: the row is read once and stays in registers, the sum of squares goes over the lanes by DPP and
// permlane swaps. The weights are the same for every row, so they come from the caches after the first.
#include "rows.h"

extern "C" __global__ __launch_bounds__(256) void rms_norm(const uint16_t* __restrict__ x,
                                                           const uint16_t* __restrict__ weight,
                                                           uint16_t* __restrict__ y, float eps, int32_t count) {
    const int32_t row = blockIdx.x * 4 + __builtin_amdgcn_readfirstlane(threadIdx.x / 64);
    const int32_t lane = threadIdx.x % 64;
    if (row >= count) return;
    float values[rows::VALUES];
    rows::Words weights[rows::PER_LANE];  // as loaded: widened they would double the registers
    rows::load(x + size_t(row) * KB_COLUMNS, lane, values, 0.0f);
    for (int32_t i = 0; i < rows::PER_LANE; ++i) {
        const int32_t chunk = i * 64 + lane;
        weights[i] = chunk < rows::CHUNKS ? *(const rows::Words*)(weight + chunk * rows::VECTOR) : 0;
    }

    float squares = 0.0f;
    for (int32_t i = 0; i < rows::VALUES; ++i) squares += values[i] * values[i];
    const float mean = rows::reduced<rows::Add>(squares) * (1.0f / KB_COLUMNS);
    const float scale = __builtin_amdgcn_rsqf(mean + eps);
    for (int32_t i = 0; i < rows::PER_LANE; ++i) {
        float eight[rows::VECTOR];
        rows::widen(weights[i], eight);
        for (int32_t k = 0; k < rows::VECTOR; ++k) values[i * rows::VECTOR + k] *= scale * eight[k];
    }
    rows::store(y + size_t(row) * KB_COLUMNS, lane, values);
}
