// Integer intrinsics: counts, scans, 24-bit and high-half multiplies, byte and bit moves.
// All are exact.
#pragma once

#include "qualifiers.h"

__KB_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
__KB_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }

// Defined at zero, unlike the clang builtins: 32 and 64 leading zeros.
__KB_DEVICE int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
__KB_DEVICE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }

// Position of the lowest set bit, counted from 1; 0 if there is none.
__KB_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
__KB_DEVICE int __ffs(unsigned x) { return __builtin_ffs((int)x); }
__KB_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
__KB_DEVICE int __ffsll(unsigned long long x) { return __builtin_ffsll((long long)x); }
__KB_DEVICE int __ffsll(unsigned long x) { return __builtin_ffsll((long long)x); }

__KB_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
__KB_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }

// The low 24 bits of each operand are used; the rest is ignored.
__KB_DEVICE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
__KB_DEVICE int __mul24(int a, int b) {
  return (int)((unsigned)((int)((unsigned)a << 8) >> 8) * (unsigned)((int)((unsigned)b << 8) >> 8));
}

__KB_DEVICE unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)(((unsigned long long)a * b) >> 32);
}
__KB_DEVICE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
__KB_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
__KB_DEVICE long long __mul64hi(long long a, long long b) {
  return (long long)(((__int128)a * b) >> 64);
}

// Averages without overflow: hadd rounds down, rhadd rounds up.
__KB_DEVICE unsigned __uhadd(unsigned a, unsigned b) { return (a & b) + ((a ^ b) >> 1); }
__KB_DEVICE unsigned __urhadd(unsigned a, unsigned b) { return (a | b) - ((a ^ b) >> 1); }
__KB_DEVICE unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return (a > b ? a - b : b - a) + c;
}

// Four bytes picked from the eight of y:x, one selector nibble each (values 0-7, as in CUDA).
__KB_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned s = (selector & 7u) | ((selector & 0x70u) << 4) | ((selector & 0x700u) << 8) |
                     ((selector & 0x7000u) << 12);
  return __builtin_amdgcn_perm(y, x, s);
}

// 64-bit shift of hi:lo by (shift mod 32), one half kept.
__KB_DEVICE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
  return __builtin_amdgcn_alignbit(hi, lo, shift & 31u);
}
__KB_DEVICE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
  return (unsigned)(((((unsigned long long)hi << 32) | lo) << (shift & 31u)) >> 32);
}

__KB_DEVICE unsigned __bitextract_u32(unsigned x, unsigned offset, unsigned width) {
  return __builtin_amdgcn_ubfe(x, offset, width);
}

__KB_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__KB_DEVICE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__KB_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__KB_DEVICE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__KB_DEVICE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__KB_DEVICE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }

#define __KB_MINMAX(T)                                      \
  __KB_DEVICE T min(T a, T b) { return a < b ? a : b; }     \
  __KB_DEVICE T max(T a, T b) { return a < b ? b : a; }
__KB_MINMAX(int)
__KB_MINMAX(unsigned)
__KB_MINMAX(long)
__KB_MINMAX(unsigned long)
__KB_MINMAX(long long)
__KB_MINMAX(unsigned long long)
#undef __KB_MINMAX

__KB_DEVICE int abs(int x) { return x < 0 ? (int)(0u - (unsigned)x) : x; }
__KB_DEVICE long long llabs(long long x) {
  return x < 0 ? (long long)(0ull - (unsigned long long)x) : x;
}
