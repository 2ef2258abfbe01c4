// __hip_bfloat16 and __hip_bfloat162 (the names of hip/hip_bf16.h), device side.
//
// Storage is 16 bits. Arithmetic converts to float, computes there and rounds once to nearest even,
// which is exact rounding for + - * / of two bfloat16 values' float result (24 bits hold it for
// all but a few sums, where the double rounding can differ in the last place from an ideal bf16 op).
#pragma once

#include "detail/bf16_bits.h"

struct __hip_bfloat16_raw {
  unsigned short x;
};

struct __attribute__((aligned(2))) __hip_bfloat16 {
  unsigned short __x;
  __hip_bfloat16() = default;
  __device__ __hip_bfloat16(float v) : __x(__kb_bf16_from_float(v)) {}
  __device__ __hip_bfloat16(double v) : __x(__kb_bf16_from_float((float)v)) {}
  __device__ __hip_bfloat16(int v) : __x(__kb_bf16_from_float((float)v)) {}
  __device__ __hip_bfloat16(const __hip_bfloat16_raw &r) : __x(r.x) {}
  __device__ operator float() const { return __kb_bf16_to_float(__x); }
  __device__ operator __hip_bfloat16_raw() const { return {__x}; }
};
