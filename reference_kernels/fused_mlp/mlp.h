// What the fused kernel and the three launches share: an operand's chunks, the product, GELU.
//
// Y = gelu(X U^T) W^T: X is M x D, U ("up") is H x D, W ("down") is D x H, all with the summed dimension contiguous.
#pragma once
#include <hip/hip_runtime.h>

#include <stddef.h>
#include <stdint.h>

namespace mlp {

constexpr int32_t CHUNK = 8;  // elements in 16 bytes, what a lane moves at a time
constexpr int32_t STEP = 32;  // summed elements of a product: four groups of 16 lanes, a chunk each

typedef uint32_t Chunk __attribute__((ext_vector_type(4)));
typedef __bf16 Bf16x8 __attribute__((ext_vector_type(8)));
typedef float Floats __attribute__((ext_vector_type(4)));
typedef float Floatx8 __attribute__((ext_vector_type(8)));

#if defined(__gfx950__)
constexpr int32_t MFMAS = 1;  // a product
#else
constexpr int32_t MFMAS = 2;
#endif

// Adds a 16 x 16 block of x y^T over 32 elements. Lane l holds row l % 16, elements from 8 (l / 16); of the result it
// gets rows 4 (l / 16) .. + 3 of x for row l % 16 of y.
__device__ inline Floats product(Bf16x8 x, Bf16x8 y, Floats sum) {
#if defined(__gfx950__)
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(x, y, sum, 0, 0, 0);
#else
    typedef short Quad __attribute__((ext_vector_type(4)));  // half of each lane's eight a time, in x and y alike
    const auto *xs = (const Quad*)&x, *ys = (const Quad*)&y;
    sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(xs[0], ys[0], sum, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(xs[1], ys[1], sum, 0, 0, 0);
#endif
}

// Returns the row of x that is row i of block `block`, for an x whose results go on as rows of eight.
//
// With this order a lane's four rows of block 2 p and four of 2 p + 1 are the eight rows 32 p + 8 (l / 16) .. + 7:
// 16 bytes to store, or the operand of the next product as it is.
__device__ inline int32_t row_of(int32_t block, int32_t i) {
    return block / 2 * 32 + i / 4 * 8 + block % 2 * 4 + i % 4;
}

// Returns eight values as bfloat16, those of two blocks of results, rounded to nearest even.
__device__ inline Bf16x8 rounded(Floats low, Floats high) {
#if defined(__gfx950__)
    const Floatx8 all = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_convertvector(all, Bf16x8);
#else
    // No instruction converts, and the compiler's own sequence keeps every NaN at a higher price. Here NaNs whose upper
    // significand bits are 0, or all of whose bits are 1, become something else: no float instruction makes these.
    uint32_t bits[8];
    for (int32_t i = 0; i < 8; ++i) {
        const uint32_t value = __builtin_bit_cast(uint32_t, i < 4 ? low[i % 4] : high[i % 4]);
        bits[i] = value + 0x7FFF + (value >> 16 & 1);
    }
    Chunk halves;
    for (int32_t i = 0; i < 4; ++i) halves[i] = __builtin_amdgcn_perm(bits[2 * i + 1], bits[2 * i], 0x07060302);
    return __builtin_bit_cast(Bf16x8, halves);
#endif
}

// Returns GELU in its tanh form, four values: x (1 + tanh(z / 2)) / 2 = x / (1 + e^-z), z = sqrt(8 / pi) (x + a x^3).
//
// v_exp_f32 is 2^x, so the constants carry -log2(e). For a large -x the power is infinite and the result -0.
__device__ inline Floats gelu(Floats x) {
    constexpr float LINEAR = -2.302208198f, CUBIC = LINEAR * 0.044715f;  // -log2(e) sqrt(8 / pi)
    const Floats power = x * (x * x * CUBIC + LINEAR);
    Floats scale;
    for (int32_t i = 0; i < 4; ++i) scale[i] = __builtin_amdgcn_rcpf(1.0f + __builtin_amdgcn_exp2f(power[i]));
    return x * scale;
}

}  // namespace mlp
