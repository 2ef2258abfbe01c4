// bfloat16 of HIP's name on CUDA: 16 bits, to and from float, rounded to nearest even (sm_80 and later).
#pragma once
#include <stdint.h>

struct __hip_bfloat16 {
  uint16_t data;

  __hip_bfloat16() = default;
  __device__ __forceinline__ __hip_bfloat16(float value) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(data) : "f"(value));
  }
  __device__ __forceinline__ operator float() const {
    return __uint_as_float((uint32_t)data << 16);
  }
};

// Two values in one word, the first in the low half, as kbserver's HIP header offers it.
__device__ __forceinline__ uint32_t __kb_bf16_pack(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
