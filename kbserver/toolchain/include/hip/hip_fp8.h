// 8-bit floats through the hardware conversions, each target with the formats that it has:
//   gfx950  OCP:  __hip_fp8_e4m3 (max 448), __hip_fp8_e5m2 (max 57344)
//   gfx942  FNUZ: __hip_fp8_e4m3_fnuz (max 240), __hip_fp8_e5m2_fnuz (max 57344), one NaN, no -0
// The other pair is undeclared on purpose: the same byte means another number there.
//
// Conversion from float rounds to nearest even and saturates finite values to the largest finite
// one, as HIP's default does; infinities and NaN go to the instruction as they are.
#pragma once

#include "detail/qualifiers.h"

#if !defined(__gfx942__) && !defined(__gfx950__)
#error "hip_fp8.h: this target has no fp8 conversion instructions (gfx942 and gfx950 have)"
#endif

typedef unsigned char __hip_fp8_storage_t;

__KB_DEVICE float __kb_fp8_clamp(float v, float limit) {
  return __builtin_isfinite(v) ? __builtin_amdgcn_fmed3f(v, -limit, limit) : v;
}

#define __KB_FP8_TYPE(name, limit, to_pair, from_byte)                                         \
  struct name {                                                                                \
    __hip_fp8_storage_t __x;                                                                   \
    name() = default;                                                                          \
    explicit __device__ name(float v)                                                          \
        : __x((__hip_fp8_storage_t)to_pair(__kb_fp8_clamp(v, limit), 0.0f, 0, false)) {}       \
    __device__ operator float() const { return from_byte((int)__x, 0); }                       \
  };                                                                                           \
  static_assert(sizeof(name) == 1, "one byte of storage");

#ifdef __gfx950__
__KB_FP8_TYPE(__hip_fp8_e4m3, 448.0f, __builtin_amdgcn_cvt_pk_fp8_f32, __builtin_amdgcn_cvt_f32_fp8)
__KB_FP8_TYPE(__hip_fp8_e5m2, 57344.0f, __builtin_amdgcn_cvt_pk_bf8_f32,
              __builtin_amdgcn_cvt_f32_bf8)
#else
__KB_FP8_TYPE(__hip_fp8_e4m3_fnuz, 240.0f, __builtin_amdgcn_cvt_pk_fp8_f32,
              __builtin_amdgcn_cvt_f32_fp8)
__KB_FP8_TYPE(__hip_fp8_e5m2_fnuz, 57344.0f, __builtin_amdgcn_cvt_pk_bf8_f32,
              __builtin_amdgcn_cvt_f32_bf8)
#endif
#undef __KB_FP8_TYPE
