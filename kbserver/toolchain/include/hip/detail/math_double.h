// Double precision math. There is no device library here, so what the backend cannot expand into
// instructions is written out below; anything else (sin, pow, ...) is undeclared on purpose.
//
// Accuracy against the exact value: sqrt, fma, rounding functions and division are correctly
// rounded; exp and log stay within 2 ulp (checked on the host over the whole range).
#pragma once

#include "qualifiers.h"

__KB_DEVICE double sqrt(double x) { return __builtin_elementwise_sqrt(x); }
__KB_DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
__KB_DEVICE double fabs(double x) { return __builtin_fabs(x); }
__KB_DEVICE double fmin(double a, double b) { return __builtin_fmin(a, b); }
__KB_DEVICE double fmax(double a, double b) { return __builtin_fmax(a, b); }
__KB_DEVICE double floor(double x) { return __builtin_floor(x); }
__KB_DEVICE double ceil(double x) { return __builtin_ceil(x); }
__KB_DEVICE double trunc(double x) { return __builtin_trunc(x); }
__KB_DEVICE double rint(double x) { return __builtin_rint(x); }
__KB_DEVICE double copysign(double x, double y) { return __builtin_copysign(x, y); }
__KB_DEVICE double rsqrt(double x) { return 1.0 / sqrt(x); }
__KB_DEVICE bool isnan(double x) { return __builtin_isnan(x); }
__KB_DEVICE bool isinf(double x) { return __builtin_isinf(x); }
__KB_DEVICE bool isfinite(double x) { return __builtin_isfinite(x); }

// x = n ln 2 + r with |r| <= ln(2)/2, then the Taylor sum to r^13, whose remainder is below 2^-57.
__KB_DEVICE double exp(double x) {
  if (x != x) return x;
  if (x > 709.79) return __builtin_inf();
  if (x < -745.2) return 0.0;
  const double n = rint(x * 0x1.71547652b82fep+0);
  double r = fma(n, -0x1.62e42fefa39efp-1, x);
  r = fma(n, -0x1.abc9e3b39803fp-56, r);
  double p = 1.0 / 6227020800.0;
  p = fma(p, r, 1.0 / 479001600.0);
  p = fma(p, r, 1.0 / 39916800.0);
  p = fma(p, r, 1.0 / 3628800.0);
  p = fma(p, r, 1.0 / 362880.0);
  p = fma(p, r, 1.0 / 40320.0);
  p = fma(p, r, 1.0 / 5040.0);
  p = fma(p, r, 1.0 / 720.0);
  p = fma(p, r, 1.0 / 120.0);
  p = fma(p, r, 1.0 / 24.0);
  p = fma(p, r, 1.0 / 6.0);
  p = fma(p, r, 0.5);
  p = fma(p, r, 1.0);
  p = fma(p, r, 1.0);
  // Two scalings: 2^1024 is not a double, and a subnormal result must round once, in the second.
  const int whole = (int)n, half = whole / 2;
  const double first = __builtin_bit_cast(double, (long long)(half + 1023) << 52);
  const double second = __builtin_bit_cast(double, (long long)(whole - half + 1023) << 52);
  return p * first * second;
}

// x = 2^e m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh s, s = (m - 1)/(m + 1), |s| < 0.1716.
__KB_DEVICE double log(double x) {
  if (x != x || x < 0.0) return __builtin_nan("");
  if (x == 0.0) return -__builtin_inf();
  if (x == __builtin_inf()) return x;
  int e = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    e = -54;
  }
  long long bits = __builtin_bit_cast(long long, x);
  e += (int)(bits >> 52) - 1023;
  bits = (bits & 0xfffffffffffffll) | 0x3ff0000000000000ll;
  double m = __builtin_bit_cast(double, bits);
  if (m > 0x1.6a09e667f3bcdp+0) {
    m *= 0.5;
    e += 1;
  }
  const double f = m - 1.0, s = f / (2.0 + f), s2 = s * s;
  double p = 2.0 / 23.0;
  p = fma(p, s2, 2.0 / 21.0);
  p = fma(p, s2, 2.0 / 19.0);
  p = fma(p, s2, 2.0 / 17.0);
  p = fma(p, s2, 2.0 / 15.0);
  p = fma(p, s2, 2.0 / 13.0);
  p = fma(p, s2, 2.0 / 11.0);
  p = fma(p, s2, 2.0 / 9.0);
  p = fma(p, s2, 2.0 / 7.0);
  p = fma(p, s2, 2.0 / 5.0);
  p = fma(p, s2, 2.0 / 3.0);
  // 2 s = f - s f keeps the leading f exact; the correction is small beside it.
  const double tail = s * (s2 * p - f);
  return fma((double)e, 0x1.62e42fefa39efp-1, f + fma((double)e, 0x1.abc9e3b39803fp-56, tail));
}
