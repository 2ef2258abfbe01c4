// __hip_bfloat16 and __hip_bfloat162 (the names of hip/hip_bf16.h), device side.
//
// Storage is 16 bits. Arithmetic converts to float, computes there and rounds to nearest even, NaN
// made quiet (detail/bf16_bits.h). Conversions to float are exact.
#pragma once

#include "detail/bf16_bits.h"
#include "detail/math_float.h"
#include "detail/vector_types.h"

struct __hip_bfloat16_raw {
  unsigned short x;
};

struct __attribute__((aligned(2))) __hip_bfloat16 {
  unsigned short __x;
  __hip_bfloat16() = default;
  __device__ __hip_bfloat16(float v) : __x(__kb_bf16_from_float(v)) {}
  __device__ __hip_bfloat16(double v) : __x(__builtin_bit_cast(unsigned short, (__bf16)v)) {}
  __device__ __hip_bfloat16(int v) : __x(__kb_bf16_from_float((float)v)) {}
  __device__ __hip_bfloat16(unsigned v) : __x(__kb_bf16_from_float((float)v)) {}
  __device__ __hip_bfloat16(const __hip_bfloat16_raw &r) : __x(r.x) {}
  __device__ operator float() const { return __kb_bf16_to_float(__x); }
  __device__ operator __hip_bfloat16_raw() const { return {__x}; }
};

struct __attribute__((aligned(4))) __hip_bfloat162 {
  __hip_bfloat16 x, y;
};

__KB_DEVICE __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __hip_bfloat16(__hip_bfloat16_raw{bits});
}
__KB_DEVICE unsigned short __bfloat16_as_ushort(__hip_bfloat16 v) { return v.__x; }

__KB_DEVICE __hip_bfloat16 __float2bfloat16(float v) { return __hip_bfloat16(v); }
__KB_DEVICE __hip_bfloat16 __float2bfloat16_rn(float v) { return __hip_bfloat16(v); }
__KB_DEVICE __hip_bfloat16 __double2bfloat16(double v) { return __hip_bfloat16(v); }
__KB_DEVICE float __bfloat162float(__hip_bfloat16 v) { return (float)v; }

__KB_DEVICE __hip_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return __builtin_bit_cast(__hip_bfloat162, __kb_bf16_pack(a, b));
}
__KB_DEVICE __hip_bfloat162 __float22bfloat162_rn(float2 v) {
  return __floats2bfloat162_rn(v.x, v.y);
}
__KB_DEVICE float2 __bfloat1622float2(__hip_bfloat162 v) { return {(float)v.x, (float)v.y}; }
__KB_DEVICE __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) {
  return {a, b};
}
__KB_DEVICE __hip_bfloat162 make_bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {a, b}; }
__KB_DEVICE __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 a) { return {a, a}; }
__KB_DEVICE float __low2float(__hip_bfloat162 v) { return v.x; }
__KB_DEVICE float __high2float(__hip_bfloat162 v) { return v.y; }
__KB_DEVICE __hip_bfloat16 __low2bfloat16(__hip_bfloat162 v) { return v.x; }
__KB_DEVICE __hip_bfloat16 __high2bfloat16(__hip_bfloat162 v) { return v.y; }

#define __KB_BF16_BINARY(op, name)                                                             \
  __KB_DEVICE __hip_bfloat16 operator op(__hip_bfloat16 a, __hip_bfloat16 b) {                 \
    return __hip_bfloat16((float)a op(float) b);                                               \
  }                                                                                            \
  __KB_DEVICE __hip_bfloat16 &operator op##=(__hip_bfloat16 &a, __hip_bfloat16 b) {            \
    return a = a op b;                                                                         \
  }                                                                                            \
  __KB_DEVICE __hip_bfloat162 operator op(__hip_bfloat162 a, __hip_bfloat162 b) {              \
    return __floats2bfloat162_rn((float)a.x op(float) b.x, (float)a.y op(float) b.y);          \
  }                                                                                            \
  __KB_DEVICE __hip_bfloat16 name(__hip_bfloat16 a, __hip_bfloat16 b) { return a op b; }       \
  __KB_DEVICE __hip_bfloat162 name##2(__hip_bfloat162 a, __hip_bfloat162 b) { return a op b; }
__KB_BF16_BINARY(+, __hadd)
__KB_BF16_BINARY(-, __hsub)
__KB_BF16_BINARY(*, __hmul)
__KB_BF16_BINARY(/, __hdiv)
#undef __KB_BF16_BINARY

#define __KB_BF16_COMPARE(op, name)                                                            \
  __KB_DEVICE bool operator op(__hip_bfloat16 a, __hip_bfloat16 b) {                           \
    return (float)a op(float) b;                                                               \
  }                                                                                            \
  __KB_DEVICE bool name(__hip_bfloat16 a, __hip_bfloat16 b) { return a op b; }
__KB_BF16_COMPARE(==, __heq)
__KB_BF16_COMPARE(!=, __hne)
__KB_BF16_COMPARE(<, __hlt)
__KB_BF16_COMPARE(<=, __hle)
__KB_BF16_COMPARE(>, __hgt)
__KB_BF16_COMPARE(>=, __hge)
#undef __KB_BF16_COMPARE

__KB_DEVICE __hip_bfloat16 operator-(__hip_bfloat16 a) {
  return __ushort_as_bfloat16(a.__x ^ 0x8000u);
}
__KB_DEVICE __hip_bfloat16 __hneg(__hip_bfloat16 a) { return -a; }
__KB_DEVICE __hip_bfloat16 __habs(__hip_bfloat16 a) {
  return __ushort_as_bfloat16(a.__x & 0x7fffu);
}
__KB_DEVICE bool __hisnan(__hip_bfloat16 a) { return isnan((float)a); }
__KB_DEVICE bool __hisinf(__hip_bfloat16 a) { return isinf((float)a); }
__KB_DEVICE __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __hip_bfloat16(fmaxf(a, b));
}
__KB_DEVICE __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) {
  return __hip_bfloat16(fminf(a, b));
}
// One rounding of the float fma's result; the product itself is exact in float.
__KB_DEVICE __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __hip_bfloat16(fmaf(a, b, c));
}
__KB_DEVICE __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return __floats2bfloat162_rn(fmaf(a.x, b.x, c.x), fmaf(a.y, b.y, c.y));
}
