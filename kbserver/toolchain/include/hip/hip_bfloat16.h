// The older type hip_bfloat16 of hip/hip_bfloat16.h: the same 16 bits with a public `data` member
// and an explicit constructor from float. The newer type is in hip_bf16.h.
#pragma once

#include "detail/bf16_bits.h"

struct __attribute__((aligned(2))) hip_bfloat16 {
  unsigned short data;
  hip_bfloat16() = default;
  explicit __device__ hip_bfloat16(float v) : data(__kb_bf16_from_float(v)) {}
  __device__ hip_bfloat16 &operator=(float v) {
    data = __kb_bf16_from_float(v);
    return *this;
  }
  static __device__ hip_bfloat16 round_to_bfloat16(float v) { return hip_bfloat16(v); }
  __device__ operator float() const { return __kb_bf16_to_float(data); }
};

#define __KB_OLD_BF16(op)                                                                      \
  __KB_DEVICE hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) {                       \
    return hip_bfloat16((float)a op(float) b);                                                 \
  }                                                                                            \
  __KB_DEVICE hip_bfloat16 &operator op##=(hip_bfloat16 &a, hip_bfloat16 b) {                  \
    return a = a op b;                                                                         \
  }
__KB_OLD_BF16(+)
__KB_OLD_BF16(-)
__KB_OLD_BF16(*)
__KB_OLD_BF16(/)
#undef __KB_OLD_BF16
