// Numbers, lanes and reductions of paged attention: nothing here knows what a page is.
#pragma once
#include <hip/hip_runtime.h>

#include <stdint.h>

namespace lanes {

typedef uint32_t Words __attribute__((ext_vector_type(4)));  // eight bfloat16 values, one 16-byte load
typedef float Pair __attribute__((ext_vector_type(2)));      // an operand of v_pk_fma_f32

constexpr int32_t ROW = 16;        // lanes that DPP moves stay in
constexpr float LOWEST = -3.0e38f;  // below every score and finite: LOWEST - LOWEST is 0 where -inf - -inf is a NaN

// A bfloat16 is the upper half of a float, so widening is a shift or a mask.
__device__ inline Pair widened(uint32_t two) {
    return {__builtin_bit_cast(float, two << 16), __builtin_bit_cast(float, two & 0xffff0000u)};
}

// Rounds two finite values to bfloat16, to nearest even.
__device__ inline uint32_t narrowed(Pair two) {
#if defined(__gfx950__)
    typedef __bf16 Halves __attribute__((ext_vector_type(2)));
    return __builtin_bit_cast(uint32_t, __builtin_convertvector(two, Halves));
#else
    uint32_t bits[2];
    for (int32_t i = 0; i < 2; ++i) {
        const float one = two[i];
        bits[i] = __builtin_bit_cast(uint32_t, one);
        bits[i] += 0x7fff + (bits[i] >> 16 & 1);
    }
    return __builtin_amdgcn_perm(bits[1], bits[0], 0x07060302);
#endif
}

// Returns the value of the lane that DPP control CONTROL names. Every lane has a source under the controls used here;
// saying that a missing one may be 0 lets the compiler put the move into the instruction that uses it.
template <int32_t CONTROL>
__device__ float moved(float value) {
    const int32_t bits = __builtin_bit_cast(int32_t, value);
    return __builtin_bit_cast(float, __builtin_amdgcn_mov_dpp(bits, CONTROL, 0xf, 0xf, true));
}

constexpr int32_t row_ror(int32_t places) { return 0x120 + places; }
constexpr int32_t row_newbcast(int32_t lane) { return 0x150 + lane; }
// The lane whose number differs by XOR with 1, 2 or 7; a row has no other XOR in one move.
constexpr int32_t exchange(int32_t mask) { return mask == 1 ? 0xb1 : mask == 2 ? 0x4e : 0x141; }

// Adds to each of the first HALF values what the lane at XOR MASK has for the same item: its value i ^ MASK.
template <int32_t HALF, int32_t MASK>
__device__ void halve(float* values) {
    for (int32_t i = 0; i < HALF; ++i) values[i] += moved<exchange(MASK)>(values[i ^ MASK]);
}

// Sums COUNT values (1, 2, 4 or 8) over the 16 lanes of each row. values[i] of lane `l` belongs to item
// (i ^ l) % COUNT, and lane `l` gets the sum of item l % COUNT.
//
// A butterfly an item would be 4 COUNT additions and leave every sum in every lane. Here a lane passes on the half of
// its values that its partner keeps, so that each step halves the work: 7 additions for eight values, one more for the
// bit of the lane that tells no item apart. The XOR in what a lane calls value i makes the kept half the lower one
// everywhere; without it each addition would need two v_cndmask_b32 to choose.
template <int32_t COUNT>
__device__ float row_sum(float* values) {
    if constexpr (COUNT == 8) halve<4, 7>(values);
    if constexpr (COUNT >= 4) halve<2, 2>(values);
    if constexpr (COUNT >= 2) halve<1, 1>(values);
    float sum = values[0];
    sum += moved<row_ror(8)>(sum);
    if constexpr (COUNT <= 4) sum += moved<row_ror(4)>(sum);
    if constexpr (COUNT <= 2) sum += moved<row_ror(2)>(sum);
    if constexpr (COUNT <= 1) sum += moved<row_ror(1)>(sum);
    return sum;
}

// Adds two values over lanes DISTANCE (16 or 32) apart: lanes without that bit get the sum of `low`, others of `high`.
// On gfx950 one swap brings both operands into place; elsewhere a lane passes on one value through the LDS unit.
template <int32_t DISTANCE>
__device__ float joined(float low, float high, int32_t lane) {
#if defined(__gfx950__)
    const uint32_t a = __builtin_bit_cast(uint32_t, low), b = __builtin_bit_cast(uint32_t, high);
    const auto both = DISTANCE == 32 ? __builtin_amdgcn_permlane32_swap(a, b, false, false)
                                     : __builtin_amdgcn_permlane16_swap(a, b, false, false);
    const uint32_t first = both[0], second = both[1];
    return __builtin_bit_cast(float, first) + __builtin_bit_cast(float, second);
#else
    const bool upper = lane & DISTANCE;
    const float keep = upper ? high : low, give = upper ? low : high;
    const int32_t got = __builtin_amdgcn_ds_bpermute((lane ^ DISTANCE) * 4, __builtin_bit_cast(int32_t, give));
    return keep + __builtin_bit_cast(float, got);
#endif
}

struct Add {
    static __device__ float of(float a, float b) { return a + b; }
};
struct Max {
    static __device__ float of(float a, float b) { return __builtin_fmaxf(a, b); }
};

// Combines the values of all 64 lanes, which every lane gets in an SGPR: four rotations make the rows whole, row_bcast
// carries lane 15 of a row into the next and lane 31 into the upper half, and lane 63 has it all.
template <typename Op>
__device__ float reduced(float value) {
    value = Op::of(value, moved<row_ror(8)>(value));
    value = Op::of(value, moved<row_ror(4)>(value));
    value = Op::of(value, moved<row_ror(2)>(value));
    value = Op::of(value, moved<row_ror(1)>(value));
    // Rows that a mask leaves out combine with themselves and are wrong from here on, but for lane 63's.
    const int32_t row = __builtin_bit_cast(int32_t, value);
    value = Op::of(value, __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(row, row, 0x142, 0xa, 0xf, false)));
    const int32_t half = __builtin_bit_cast(int32_t, value);
    value = Op::of(value, __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(half, half, 0x143, 0xc, 0xf, false)));
    return __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int32_t, value), 63));
}

__device__ inline float from_lane(float value, int32_t lane) {
    return __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int32_t, value), lane));
}

}  // namespace lanes
