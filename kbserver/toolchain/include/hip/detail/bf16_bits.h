// bfloat16 as bits: the two conversions that everything else is built on.
//
// float -> bfloat16 rounds to nearest, ties to even. NaN stays NaN (made quiet, so that dropping
// the low half can never turn it into an infinity); values beyond the largest finite bfloat16
// round to infinity. gfx950 has v_cvt_pk_bf16_f32 for this; gfx942 and gfx90a get the same result
// from integer instructions, chosen by the compiler from the __bf16 type.
#pragma once

#include "qualifiers.h"

__KB_DEVICE unsigned short __kb_bf16_from_float(float value) {
  return __builtin_bit_cast(unsigned short, (__bf16)value);
}

__KB_DEVICE float __kb_bf16_to_float(unsigned short bits) {
  return __builtin_bit_cast(float, (unsigned)bits << 16);
}

// Low half from a, high half from b: one v_cvt_pk_bf16_f32 on gfx950.
__KB_DEVICE unsigned __kb_bf16_pack(float a, float b) {
  typedef float float_pair __attribute__((ext_vector_type(2)));
  typedef __bf16 bf16_pair __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(unsigned, __builtin_convertvector(float_pair{a, b}, bf16_pair));
}
