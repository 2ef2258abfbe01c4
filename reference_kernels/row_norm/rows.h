// What softmax and RMSNorm share: a row in registers of one wavefront, and reductions over its lanes without LDS.
#pragma once
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

namespace rows {

constexpr int32_t VECTOR = 8;  // bfloat16 values of one 16-byte load

typedef uint32_t Words __attribute__((ext_vector_type(4)));

__device__ inline float wide(uint32_t bits) { return __builtin_bit_cast(float, bits); }

// Widens eight bfloat16 values: a bfloat16 is the upper half of a float, so this is a shift and a mask a pair.
__device__ inline void widen(Words words, float* values) {
    for (int32_t i = 0; i < 4; ++i) {
        values[2 * i] = wide(words[i] << 16);
        values[2 * i + 1] = wide(words[i] & 0xffff0000u);
    }
}

#if defined(__gfx950__)
// Rounds two values to bfloat16, to nearest even: v_cvt_pk_bf16_f32.
__device__ inline uint32_t pair(float low, float high) {
    typedef float Floats __attribute__((ext_vector_type(2)));
    typedef __bf16 Halves __attribute__((ext_vector_type(2)));
    return __builtin_bit_cast(uint32_t, __builtin_convertvector(Floats{low, high}, Halves));
}
#else
// Rounds to bfloat16, to nearest even, in the upper half. The values are finite, so no NaN has to be kept.
__device__ inline uint32_t rounded(float value) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    return bits + 0x7fff + (bits >> 16 & 1);
}

__device__ inline uint32_t pair(float low, float high) {
    return __builtin_amdgcn_perm(rounded(high), rounded(low), 0x07060302);
}
#endif

__device__ inline Words narrow(const float* values) {
    Words words;
    for (int32_t i = 0; i < 4; ++i) words[i] = pair(values[2 * i], values[2 * i + 1]);
    return words;
}

// A row of KB_COLUMNS values in one wavefront: lane `l` holds the 16-byte chunks l, l + 64, ...
#ifdef KB_COLUMNS
static_assert(KB_COLUMNS % VECTOR == 0, "rows are whole 16-byte chunks");
constexpr int32_t CHUNKS = KB_COLUMNS / VECTOR, PER_LANE = (CHUNKS + 63) / 64, VALUES = PER_LANE * VECTOR;

__device__ inline void load(const uint16_t* row, int32_t lane, float* values, float beyond) {
    for (int32_t i = 0; i < PER_LANE; ++i) {
        const int32_t chunk = i * 64 + lane;
        if (chunk < CHUNKS) {
            widen(*(const Words*)(row + chunk * VECTOR), values + i * VECTOR);
        } else {
            for (int32_t k = 0; k < VECTOR; ++k) values[i * VECTOR + k] = beyond;
        }
    }
}

__device__ inline void store(uint16_t* row, int32_t lane, const float* values) {
    for (int32_t i = 0; i < PER_LANE; ++i) {
        const int32_t chunk = i * 64 + lane;
        if (chunk < CHUNKS) *(Words*)(row + chunk * VECTOR) = narrow(values + i * VECTOR);
    }
}
#endif

struct Add {
    static __device__ float of(float a, float b) { return a + b; }
};
struct Max {
    static __device__ float of(float a, float b) { return __builtin_fmaxf(a, b); }
};

// Returns the value that DPP control CONTROL moves to this lane, combined with this lane's own. Every lane has a source
// under the controls used here; saying that a missing one may be 0 lets the compiler put the move into the operation.
template <typename Op, int32_t CONTROL>
__device__ float stepped(float value) {
    const int32_t moved = __builtin_amdgcn_mov_dpp(__builtin_bit_cast(int32_t, value), CONTROL, 0xf, 0xf, true);
    return Op::of(value, __builtin_bit_cast(float, moved));
}

// Combines the values of all 64 lanes; every lane gets the result, and nothing goes through LDS.
template <typename Op>
__device__ float reduced(float value) {
    value = stepped<Op, 0xb1>(value);   // quad_perm 1,0,3,2: lane ^ 1
    value = stepped<Op, 0x4e>(value);   // quad_perm 2,3,0,1: lane ^ 2
    value = stepped<Op, 0x141>(value);  // row_half_mirror: the other quad of eight
    value = stepped<Op, 0x140>(value);  // row_mirror: the other eight of sixteen
#if defined(__gfx950__)
    // A swap gives both operands: lanes hold their own row's value and that of the row beside it.
    const uint32_t row = __builtin_bit_cast(uint32_t, value);
    const auto near = __builtin_amdgcn_permlane16_swap(row, row, false, false);
    value = Op::of(wide(near[0]), wide(near[1]));
    const uint32_t half = __builtin_bit_cast(uint32_t, value);
    const auto far = __builtin_amdgcn_permlane32_swap(half, half, false, false);
    return Op::of(wide(far[0]), wide(far[1]));
#else
    // Lane 15 of a row to the next one, then lane 31 to the upper half. Rows that a mask leaves out combine with
    // themselves and are wrong from here on; lane 63 is right, and an SGPR gives its value to all.
    const int32_t own = __builtin_bit_cast(int32_t, value);
    const int32_t near = __builtin_amdgcn_update_dpp(own, own, 0x142, 0xa, 0xf, false);
    value = Op::of(value, __builtin_bit_cast(float, near));
    const int32_t half = __builtin_bit_cast(int32_t, value);
    value = Op::of(value, __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(half, half, 0x143, 0xc, 0xf, false)));
    return __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int32_t, value), 63));
#endif
}

}  // namespace rows
