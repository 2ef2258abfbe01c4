// Single precision math without a device library.
//
// Accuracy against the exact value, in units in the last place (ulp), subnormals included:
//   sqrtf, fmaf, /, rounding functions, fminf, fmaxf   correctly rounded
//   rsqrtf, expf, exp2f, exp10f, logf, log2f, log10f   2 (backend expansions)
//   powf, expm1f, log1pf, sinf, cosf                   1 (computed in double, any finite argument)
//   tanhf, erff                                        3
//   __expf, __logf, __exp2f, __log2f, __sinf, __cosf, __frcp_approx, __fdividef
//     the bare instruction: fast, relative error grows with the argument, subnormals flushed
// The first two groups state what the compiler's expansions promise; the others were checked on the
// host with exact references. Undeclared here means not provided.
#pragma once

#include "math_double.h"
#include "qualifiers.h"

__KB_DEVICE float sqrtf(float x) { return __builtin_elementwise_sqrt(x); }
__KB_DEVICE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
__KB_DEVICE float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__KB_DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
__KB_DEVICE float fminf(float a, float b) { return __builtin_fminf(a, b); }
__KB_DEVICE float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
__KB_DEVICE float floorf(float x) { return __builtin_floorf(x); }
__KB_DEVICE float ceilf(float x) { return __builtin_ceilf(x); }
__KB_DEVICE float truncf(float x) { return __builtin_truncf(x); }
__KB_DEVICE float rintf(float x) { return __builtin_rintf(x); }
__KB_DEVICE float nearbyintf(float x) { return __builtin_rintf(x); }
__KB_DEVICE float roundf(float x) { return __builtin_roundf(x); }
__KB_DEVICE float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
__KB_DEVICE bool isnan(float x) { return __builtin_isnan(x); }
__KB_DEVICE bool isinf(float x) { return __builtin_isinf(x); }
__KB_DEVICE bool isfinite(float x) { return __builtin_isfinite(x); }
__KB_DEVICE bool signbit(float x) { return __builtin_bit_cast(int, x) < 0; }

__KB_DEVICE float fabs(float x) { return fabsf(x); }
__KB_DEVICE float min(float a, float b) { return fminf(a, b); }
__KB_DEVICE float max(float a, float b) { return fmaxf(a, b); }
__KB_DEVICE double min(double a, double b) { return fmin(a, b); }
__KB_DEVICE double max(double a, double b) { return fmax(a, b); }

__KB_DEVICE float expf(float x) { return __builtin_elementwise_exp(x); }
__KB_DEVICE float exp2f(float x) { return __builtin_elementwise_exp2(x); }
__KB_DEVICE float exp10f(float x) { return __builtin_elementwise_exp10(x); }
__KB_DEVICE float logf(float x) { return __builtin_elementwise_log(x); }
__KB_DEVICE float log2f(float x) { return __builtin_elementwise_log2(x); }
__KB_DEVICE float log10f(float x) { return __builtin_elementwise_log10(x); }

// ---- one instruction, approximate --------------------------------------------------------------

__KB_DEVICE float __exp2f(float x) { return __builtin_amdgcn_exp2f(x); }
__KB_DEVICE float __log2f(float x) { return __builtin_amdgcn_logf(x); }
__KB_DEVICE float __expf(float x) { return __builtin_amdgcn_exp2f(x * 0x1.715476p+0f); }
__KB_DEVICE float __logf(float x) { return __builtin_amdgcn_logf(x) * 0x1.62e430p-1f; }
// The sine unit counts in turns and wants |turns| <= 256; fract brings any argument there.
__KB_DEVICE float __sinf(float x) {
  return __builtin_amdgcn_sinf(__builtin_amdgcn_fractf(x * 0x1.45f306p-3f));
}
__KB_DEVICE float __cosf(float x) {
  return __builtin_amdgcn_cosf(__builtin_amdgcn_fractf(x * 0x1.45f306p-3f));
}
__KB_DEVICE float __frcp_approx(float x) { return __builtin_amdgcn_rcpf(x); }
__KB_DEVICE float __fdividef(float a, float b) { return a * __builtin_amdgcn_rcpf(b); }

// ---- correctly rounded, by CUDA's names ----------------------------------------------------------

__KB_DEVICE float __frcp_rn(float x) { return 1.0f / x; }
__KB_DEVICE float __fsqrt_rn(float x) { return sqrtf(x); }
__KB_DEVICE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
__KB_DEVICE float __fdiv_rn(float a, float b) { return a / b; }
__KB_DEVICE int __float2int_rn(float x) { return (int)rintf(x); }
__KB_DEVICE int __float2int_rz(float x) { return (int)x; }
__KB_DEVICE int __float2int_rd(float x) { return (int)floorf(x); }
__KB_DEVICE int __float2int_ru(float x) { return (int)ceilf(x); }
__KB_DEVICE float __int2float_rn(int x) { return (float)x; }
__KB_DEVICE float __uint2float_rn(unsigned x) { return (float)x; }

#include "math_float_derived.h"
