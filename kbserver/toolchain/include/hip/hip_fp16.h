// __half and __half2 (the names of hip/hip_fp16.h), device side, on the hardware's binary16.
//
// + - * fma, conversions and comparisons are single instructions and correctly rounded. Division
// and the functions below them go through float and round once more, within 1 ulp of half.
#pragma once

#include "detail/math_float.h"
#include "detail/vector_types.h"

struct __half_raw {
  unsigned short x;
};

struct __attribute__((aligned(2))) __half {
  _Float16 data;
  __half() = default;
  __device__ __half(_Float16 v) : data(v) {}
  __device__ __half(float v) : data((_Float16)v) {}
  __device__ __half(double v) : data((_Float16)v) {}
  __device__ __half(int v) : data((_Float16)v) {}
  __device__ __half(unsigned v) : data((_Float16)v) {}
  __device__ __half(const __half_raw &r) : data(__builtin_bit_cast(_Float16, r.x)) {}
  __device__ operator float() const { return (float)data; }
  __device__ operator _Float16() const { return data; }
  __device__ operator __half_raw() const { return {__builtin_bit_cast(unsigned short, data)}; }
};
typedef __half half;

struct __attribute__((aligned(4))) __half2 {
  __half x, y;
};
typedef __half2 half2;

typedef _Float16 __kb_half_pair __attribute__((ext_vector_type(2)));
__KB_DEVICE __kb_half_pair __kb_pair(__half2 v) { return {v.x.data, v.y.data}; }
__KB_DEVICE __half2 __kb_unpair(__kb_half_pair v) { return {__half(v.x), __half(v.y)}; }

// ---- conversions ---------------------------------------------------------------------------------

__KB_DEVICE __half __float2half(float v) { return __half(v); }
__KB_DEVICE __half __float2half_rn(float v) { return __half(v); }
__KB_DEVICE __half __double2half(double v) { return __half(v); }
__KB_DEVICE float __half2float(__half v) { return (float)v.data; }
__KB_DEVICE __half __int2half_rn(int v) { return __half(v); }
__KB_DEVICE __half __uint2half_rn(unsigned v) { return __half(v); }
__KB_DEVICE int __half2int_rz(__half v) { return (int)(float)v.data; }
__KB_DEVICE int __half2int_rn(__half v) { return (int)rintf((float)v.data); }
__KB_DEVICE __half __ushort_as_half(unsigned short bits) { return __half(__half_raw{bits}); }
__KB_DEVICE unsigned short __half_as_ushort(__half v) {
  return __builtin_bit_cast(unsigned short, v.data);
}
__KB_DEVICE __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
__KB_DEVICE __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
__KB_DEVICE __half2 __float2half2_rn(float v) { return {__half(v), __half(v)}; }
__KB_DEVICE float2 __half22float2(__half2 v) { return {(float)v.x.data, (float)v.y.data}; }
__KB_DEVICE __half2 __half2half2(__half v) { return {v, v}; }
__KB_DEVICE __half2 __halves2half2(__half a, __half b) { return {a, b}; }
__KB_DEVICE __half2 make_half2(__half a, __half b) { return {a, b}; }
__KB_DEVICE __half __low2half(__half2 v) { return v.x; }
__KB_DEVICE __half __high2half(__half2 v) { return v.y; }
__KB_DEVICE float __low2float(__half2 v) { return (float)v.x.data; }
__KB_DEVICE float __high2float(__half2 v) { return (float)v.y.data; }
__KB_DEVICE __half2 __lowhigh2highlow(__half2 v) { return {v.y, v.x}; }

// ---- arithmetic ----------------------------------------------------------------------------------

#define __KB_HALF_BINARY(op, name)                                                             \
  __KB_DEVICE __half operator op(__half a, __half b) {                                         \
    return __half((_Float16)(a.data op b.data));                                               \
  }                                                                                            \
  __KB_DEVICE __half &operator op##=(__half &a, __half b) { return a = a op b; }               \
  __KB_DEVICE __half2 operator op(__half2 a, __half2 b) {                                      \
    return __kb_unpair(__kb_pair(a) op __kb_pair(b));                                          \
  }                                                                                            \
  __KB_DEVICE __half2 &operator op##=(__half2 &a, __half2 b) { return a = a op b; }            \
  __KB_DEVICE __half name(__half a, __half b) { return a op b; }
__KB_HALF_BINARY(+, __hadd)
__KB_HALF_BINARY(-, __hsub)
__KB_HALF_BINARY(*, __hmul)
__KB_HALF_BINARY(/, __hdiv)
#undef __KB_HALF_BINARY
__KB_DEVICE __half2 __hadd2(__half2 a, __half2 b) { return a + b; }
__KB_DEVICE __half2 __hsub2(__half2 a, __half2 b) { return a - b; }
__KB_DEVICE __half2 __hmul2(__half2 a, __half2 b) { return a * b; }
__KB_DEVICE __half2 __h2div(__half2 a, __half2 b) { return a / b; }

__KB_DEVICE __half operator-(__half a) { return __half((_Float16)-a.data); }
__KB_DEVICE __half __hneg(__half a) { return -a; }
__KB_DEVICE __half2 __hneg2(__half2 a) { return {-a.x, -a.y}; }
__KB_DEVICE __half __habs(__half a) { return __half(__builtin_fabsf16(a.data)); }
__KB_DEVICE __half __hfma(__half a, __half b, __half c) {
  return __half((_Float16)__builtin_elementwise_fma(a.data, b.data, c.data));
}
__KB_DEVICE __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return __kb_unpair(__builtin_elementwise_fma(__kb_pair(a), __kb_pair(b), __kb_pair(c)));
}
__KB_DEVICE __half __hmax(__half a, __half b) { return __half(__builtin_fmaxf16(a.data, b.data)); }
__KB_DEVICE __half __hmin(__half a, __half b) { return __half(__builtin_fminf16(a.data, b.data)); }

#define __KB_HALF_COMPARE(op, name)                                                            \
  __KB_DEVICE bool operator op(__half a, __half b) { return a.data op b.data; }                \
  __KB_DEVICE bool name(__half a, __half b) { return a.data op b.data; }
__KB_HALF_COMPARE(==, __heq)
__KB_HALF_COMPARE(!=, __hne)
__KB_HALF_COMPARE(<, __hlt)
__KB_HALF_COMPARE(<=, __hle)
__KB_HALF_COMPARE(>, __hgt)
__KB_HALF_COMPARE(>=, __hge)
#undef __KB_HALF_COMPARE
__KB_DEVICE bool __hisnan(__half a) { return __builtin_isnan((float)a.data); }
__KB_DEVICE bool __hisinf(__half a) { return __builtin_isinf((float)a.data); }

__KB_DEVICE __half hsqrt(__half a) { return __half(sqrtf((float)a.data)); }
__KB_DEVICE __half hrsqrt(__half a) { return __half(rsqrtf((float)a.data)); }
__KB_DEVICE __half hrcp(__half a) { return __half(1.0f / (float)a.data); }
__KB_DEVICE __half hexp(__half a) { return __half(expf((float)a.data)); }
__KB_DEVICE __half hexp2(__half a) { return __half(exp2f((float)a.data)); }
__KB_DEVICE __half hlog(__half a) { return __half(logf((float)a.data)); }
__KB_DEVICE __half hlog2(__half a) { return __half(log2f((float)a.data)); }
__KB_DEVICE __half hfloor(__half a) { return __half(floorf((float)a.data)); }
__KB_DEVICE __half hceil(__half a) { return __half(ceilf((float)a.data)); }
__KB_DEVICE __half hrint(__half a) { return __half(rintf((float)a.data)); }
