// Float functions made from other ones: pow, expm1, log1p, tanh, erf, sin, cos.
//
// CDNA runs double precision at half rate or better, so several of these simply compute in double
// and round once, which is both short and right. Checked on the host against exact references.
#pragma once

#include "math_float.h"

// ---- exponential family --------------------------------------------------------------------------

// exp(y log|x|) in double leaves an error far below one float ulp. The special cases are C's.
__KB_DEVICE float powf(float x, float y) {
  if (y == 0.0f || x == 1.0f) return 1.0f;
  if (x != x || y != y) return __builtin_nanf("");
  const float size = fabsf(y);
  const bool whole = size >= 0x1p24f || truncf(size) == size;
  const bool odd = whole && size < 0x1p24f && ((unsigned)size & 1u);
  const bool negative = __builtin_bit_cast(int, x) < 0;
  const float magnitude = fabsf(x);
  if (isinf(y)) {
    if (magnitude == 1.0f) return 1.0f;
    return (magnitude > 1.0f) == (y > 0.0f) ? __builtin_inff() : 0.0f;
  }
  if (magnitude == 0.0f || isinf(magnitude)) {
    const float out = (magnitude == 0.0f) == (y < 0.0f) ? __builtin_inff() : 0.0f;
    return negative && odd ? -out : out;
  }
  if (negative && !whole) return __builtin_nanf("");
  const float out = (float)exp((double)y * log((double)magnitude));
  return negative && odd ? -out : out;
}

__KB_DEVICE float expm1f(float x) {
  const double d = x;
  if (fabsf(x) < 0x1p-10f) return (float)(d * (1.0 + d * (0.5 + d * (1.0 / 6.0 + d / 24.0))));
  return (float)(exp(d) - 1.0);
}

__KB_DEVICE float log1pf(float x) {
  const double d = x;
  if (fabsf(x) < 0x1p-10f) return (float)(d * (1.0 - d * (0.5 - d * (1.0 / 3.0 - d * 0.25))));
  return (float)log(1.0 + d);
}

// Below 0.7: x + x^3 times a fit in x^2. Above: 1 - 2/(e^2x + 1), which saturates by itself.
__KB_DEVICE float tanhf(float x) {
  const float a = fabsf(x);
  if (a < 0.7f) {
    const float u = x * x;
    float p = fmaf(u, 0x1.0ea4e2p-9f, -0x1.0a08aep-7f);
    p = fmaf(u, p, 0x1.636560p-6f);
    p = fmaf(u, p, -0x1.b9f258p-5f);
    p = fmaf(u, p, 0x1.1110a4p-3f);
    p = fmaf(u, p, -0x1.555554p-2f);
    return fmaf(x * u, p, x);
  }
  if (a != a) return x;
  return copysignf(1.0f - 2.0f / (expf(2.0f * a) + 1.0f), x);
}

// Below 1: x times a polynomial in x^2. Above: 1 - exp(-q(x)), q a fit of -log(erfc x). From 3.95
// on, the result rounds to 1. Coefficients fitted for this file.
__KB_DEVICE float erff(float x) {
  const float a = fabsf(x);
  if (a < 1.0f) {
    const float u = x * x;
    float p = fmaf(u, -0x1.449784p-17f, 0x1.d89ff4p-14f);
    p = fmaf(u, p, -0x1.bcd3a4p-11f);
    p = fmaf(u, p, 0x1.562abep-8f);
    p = fmaf(u, p, -0x1.b829d0p-6f);
    p = fmaf(u, p, 0x1.ce2f0ap-4f);
    p = fmaf(u, p, -0x1.812746p-2f);
    return x * fmaf(u, p, 0x1.20dd76p+0f);
  }
  if (a != a) return x;
  float q = fmaf(a, 0x1.f34240p-25f, -0x1.890b4cp-19f);
  q = fmaf(a, q, 0x1.eabcb2p-15f);
  q = fmaf(a, q, -0x1.5c9eb0p-11f);
  q = fmaf(a, q, 0x1.47365cp-8f);
  q = fmaf(a, q, -0x1.b95aa8p-6f);
  q = fmaf(a, q, 0x1.c5ebf8p-4f);
  q = fmaf(a, q, 0x1.43281ap-1f);
  q = fmaf(a, q, 0x1.216ccap+0f);
  q = fmaf(a, q, -0x1.9b52b8p-12f);
  return copysignf(a < 3.95f ? 1.0f - expf(-q) : 1.0f, x);
}

// ---- sine and cosine -----------------------------------------------------------------------------

// x = quadrant * pi/2 + r, |r| <= pi/4. Up to 2^25 by two fused steps in double. Beyond, 96 bits of
// 2/pi that start where the whole turns end, times the 24-bit significand (Payne and Hanek's way).
__KB_DEVICE double __kb_reduce_quadrant(float x, int &quadrant) {
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  const int exponent = (int)(bits >> 23 & 255u) - 150;
  if (exponent < 2) {
    const double n = rint((double)x * 0x1.45f306dc9c883p-1);
    quadrant = (int)n & 3;
    return fma(n, -0x1.1a62633145c07p-54, fma(n, -0x1.921fb54442d18p+0, (double)x));
  }
  const unsigned two_over_pi[8] = {0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                   0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};
  const int skip = exponent - 2, word = skip >> 5, shift = skip & 31;
  unsigned w[4] = {};
#pragma unroll
  for (int i = 0; i < 8; ++i) {  // a select chain: indexing would put the table in scratch
#pragma unroll
    for (int j = 0; j < 4; ++j) w[j] = i == word + j ? two_over_pi[i] : w[j];
  }
  typedef unsigned __int128 wide;
  const wide ahead = ((wide)w[0] << 96) | ((wide)w[1] << 64) | ((wide)w[2] << 32) | w[3];
  const wide window = (ahead << shift) >> 32;
  const wide product = window * ((bits & 0x7fffffu) | 0x800000u);
  // Bits 94 and 95 count quarter turns; the 64 below them are the fraction, taken as signed.
  const unsigned long long fraction = (unsigned long long)(product >> 30);
  int q = (int)(unsigned)(product >> 94) & 3;
  q += (int)(fraction >> 63);
  const double r = (double)(long long)fraction * 0x1.921fb54442d18p-64;
  quadrant = (bits >> 31 ? -q : q) & 3;
  return bits >> 31 ? -r : r;
}

__KB_DEVICE double __kb_sine_poly(double r) {
  const double u = r * r;
  double p = fma(u, -1.0 / 39916800.0, 1.0 / 362880.0);
  p = fma(u, p, -1.0 / 5040.0);
  p = fma(u, p, 1.0 / 120.0);
  p = fma(u, p, -1.0 / 6.0);
  return fma(r * u, p, r);
}

__KB_DEVICE double __kb_cosine_poly(double r) {
  const double u = r * r;
  double p = fma(u, 1.0 / 479001600.0, -1.0 / 3628800.0);
  p = fma(u, p, 1.0 / 40320.0);
  p = fma(u, p, -1.0 / 720.0);
  p = fma(u, p, 1.0 / 24.0);
  p = fma(u, p, -0.5);
  return fma(u, p, 1.0);
}

__KB_DEVICE float __kb_sine_from_quadrant(float x, int turn) {
  if (!isfinite(x)) return __builtin_nanf("");
  int quadrant;
  const double r = __kb_reduce_quadrant(x, quadrant);
  quadrant += turn;
  const double out = quadrant & 1 ? __kb_cosine_poly(r) : __kb_sine_poly(r);
  return (float)(quadrant & 2 ? -out : out);
}

__KB_DEVICE float sinf(float x) {
  return x == 0.0f ? x : __kb_sine_from_quadrant(x, 0);  // keeps the sign of -0
}
__KB_DEVICE float cosf(float x) { return __kb_sine_from_quadrant(x, 1); }
__KB_DEVICE void sincosf(float x, float *sine, float *cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
