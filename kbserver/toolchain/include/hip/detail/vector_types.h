// Short vectors (float2 .. ulonglong4), their make_ functions and element-wise arithmetic, dim3.
//
// Each is a plain struct with the alignment that HIP gives it, so that a float4 load is one
// 16-byte access. Arithmetic is element-wise; scalars broadcast.
#pragma once

#include "qualifiers.h"

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
      : x(x_), y(y_), z(z_) {}
};

#define __KB_VEC1(T, name)                                             \
  struct name##1 {                                                     \
    T x;                                                               \
  };                                                                   \
  __KB_DEVICE constexpr name##1 make_##name##1(T x) { return {x}; }
#define __KB_VEC2(T, name, al)                                         \
  struct __attribute__((aligned(al))) name##2 {                        \
    T x, y;                                                            \
  };                                                                   \
  __KB_DEVICE constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }
#define __KB_VEC3(T, name)                                             \
  struct name##3 {                                                     \
    T x, y, z;                                                         \
  };                                                                   \
  __KB_DEVICE constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
#define __KB_VEC4(T, name, al)                                         \
  struct __attribute__((aligned(al))) name##4 {                        \
    T x, y, z, w;                                                      \
  };                                                                   \
  __KB_DEVICE constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

#define __KB_OP(V2, V3, V4, op)                                                                  \
  __KB_DEVICE V2 operator op(V2 a, V2 b) { return {(decltype(a.x))(a.x op b.x),                 \
                                                   (decltype(a.x))(a.y op b.y)}; }              \
  __KB_DEVICE V3 operator op(V3 a, V3 b) { return {(decltype(a.x))(a.x op b.x),                 \
                                                   (decltype(a.x))(a.y op b.y),                 \
                                                   (decltype(a.x))(a.z op b.z)}; }              \
  __KB_DEVICE V4 operator op(V4 a, V4 b) { return {(decltype(a.x))(a.x op b.x),                 \
                                                   (decltype(a.x))(a.y op b.y),                 \
                                                   (decltype(a.x))(a.z op b.z),                 \
                                                   (decltype(a.x))(a.w op b.w)}; }              \
  __KB_DEVICE V2 operator op(V2 a, decltype(V2::x) s) { return a op V2{s, s}; }                 \
  __KB_DEVICE V3 operator op(V3 a, decltype(V3::x) s) { return a op V3{s, s, s}; }              \
  __KB_DEVICE V4 operator op(V4 a, decltype(V4::x) s) { return a op V4{s, s, s, s}; }           \
  __KB_DEVICE V2 operator op(decltype(V2::x) s, V2 a) { return V2{s, s} op a; }                 \
  __KB_DEVICE V3 operator op(decltype(V3::x) s, V3 a) { return V3{s, s, s} op a; }              \
  __KB_DEVICE V4 operator op(decltype(V4::x) s, V4 a) { return V4{s, s, s, s} op a; }           \
  __KB_DEVICE V2 &operator op##=(V2 &a, V2 b) { return a = a op b; }                            \
  __KB_DEVICE V3 &operator op##=(V3 &a, V3 b) { return a = a op b; }                            \
  __KB_DEVICE V4 &operator op##=(V4 &a, V4 b) { return a = a op b; }

#define __KB_EQ(V2, V3, V4)                                                                      \
  __KB_DEVICE bool operator==(V2 a, V2 b) { return a.x == b.x && a.y == b.y; }                  \
  __KB_DEVICE bool operator==(V3 a, V3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }    \
  __KB_DEVICE bool operator==(V4 a, V4 b) {                                                     \
    return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;                                \
  }                                                                                             \
  __KB_DEVICE bool operator!=(V2 a, V2 b) { return !(a == b); }                                 \
  __KB_DEVICE bool operator!=(V3 a, V3 b) { return !(a == b); }                                 \
  __KB_DEVICE bool operator!=(V4 a, V4 b) { return !(a == b); }

#define __KB_VECTORS(T, name, align2, align4)                                   \
  __KB_VEC1(T, name)                                                            \
  __KB_VEC2(T, name, align2)                                                    \
  __KB_VEC3(T, name)                                                            \
  __KB_VEC4(T, name, align4)                                                    \
  __KB_OP(name##2, name##3, name##4, +)                                         \
  __KB_OP(name##2, name##3, name##4, -)                                         \
  __KB_OP(name##2, name##3, name##4, *)                                         \
  __KB_OP(name##2, name##3, name##4, /)                                         \
  __KB_EQ(name##2, name##3, name##4)

__KB_VECTORS(signed char, char, 2, 4)
__KB_VECTORS(unsigned char, uchar, 2, 4)
__KB_VECTORS(short, short, 4, 8)
__KB_VECTORS(unsigned short, ushort, 4, 8)
__KB_VECTORS(int, int, 8, 16)
__KB_VECTORS(unsigned int, uint, 8, 16)
__KB_VECTORS(long, long, 16, 32)
__KB_VECTORS(unsigned long, ulong, 16, 32)
__KB_VECTORS(long long, longlong, 16, 32)
__KB_VECTORS(unsigned long long, ulonglong, 16, 32)
__KB_VECTORS(float, float, 8, 16)
__KB_VECTORS(double, double, 16, 32)

__KB_DEVICE float2 operator-(float2 a) { return {-a.x, -a.y}; }
__KB_DEVICE float3 operator-(float3 a) { return {-a.x, -a.y, -a.z}; }
__KB_DEVICE float4 operator-(float4 a) { return {-a.x, -a.y, -a.z, -a.w}; }

#undef __KB_VECTORS
#undef __KB_EQ
#undef __KB_OP
#undef __KB_VEC1
#undef __KB_VEC2
#undef __KB_VEC3
#undef __KB_VEC4
