"""What the pages on inference kernels say about unpacking and quantising code, settled by the compiler."""

from __future__ import annotations

import pytest

from tests.toolchain.clang import compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, QUIET, instructions, names

pytestmark = needs_clang

UNPACK = """
KERNEL void magic(const u32 *in, h2 *out) {
  u32 w = in[LANE], m = 0x64006400u;
  const h2 bias = {(_Float16)-1032.f, (_Float16)-1032.f};
  for (int i = 0; i < 4; ++i)
    out[LANE * 4 + i] = __builtin_bit_cast(h2, ((w >> (4 * i)) & 0x000f000fu) | m) + bias;
}
KERNEL void hidden(const u32 *in, h2 *out) {
  u32 w = in[LANE], m = 0x64006400u;
  asm("" : "+v"(m));
  const h2 bias = {(_Float16)-1032.f, (_Float16)-1032.f};
  for (int i = 0; i < 4; ++i)
    out[LANE * 4 + i] = __builtin_bit_cast(h2, ((w >> (4 * i)) & 0x000f000fu) | m) + bias;
}
KERNEL void brain(const u32 *in, u32 *out) {
  u32 w = in[LANE];
  for (int i = 0; i < 4; ++i) {
    u32 u = ((w >> (4 * i)) & 0x000f000fu) | 0x43004300u;
    float low = __builtin_bit_cast(float, u << 16) - 136.f;
    float high = __builtin_bit_cast(float, u & 0xffff0000u) - 136.f;
    out[LANE * 4 + i] =
        __builtin_amdgcn_perm(__builtin_bit_cast(u32, high), __builtin_bit_cast(u32, low), 0x07060302u);
  }
}
#define DOT(BIAS) u32 w = in[LANE]; float s = 0; \
  for (int i = 0; i < 8; ++i) s = __builtin_fmaf((float)((int)(w >> 4 * i & 15) - BIAS), x[64 * i + LANE], s); \
  out[LANE] = s;
KERNEL void centred(const u32 *in, const float *x, float *out) { DOT(8) }
KERNEL void unsigned_weights(const u32 *in, const float *x, float *out) { DOT(0) }
"""
QUANTISE = """
KERNEL void quantise(const f4 *in, int *out, float inverse, float m) {
  f4 v = in[LANE] * inverse;
  for (int i = 0; i < 4; ++i) v[i] = __builtin_amdgcn_fmed3f(v[i], -m, m);
  int r = __builtin_amdgcn_cvt_pk_fp8_f32(v[0], v[1], 0, false);
  out[LANE] = __builtin_amdgcn_cvt_pk_fp8_f32(v[2], v[3], r, true);
}
#define BYTE(i) (int)__builtin_amdgcn_fmed3f(__builtin_rintf(v[i] * scale), -128.f, 127.f)
KERNEL void shifted(const f4 *in, int *out, float scale) {
  f4 v = in[LANE];
  int r = 0;
  for (int i = 0; i < 4; ++i) r |= (BYTE(i) & 255) << 8 * i;
  out[LANE] = r;
}
KERNEL void permuted(const f4 *in, int *out, float scale) {
  f4 v = in[LANE];
  int a = BYTE(0), b = BYTE(1), c = BYTE(2), d = BYTE(3);
  u32 low = __builtin_amdgcn_perm(b, a, 0x0c0c0400), high = __builtin_amdgcn_perm(d, c, 0x0c0c0400);
  out[LANE] = __builtin_amdgcn_perm(high, low, 0x05040100);
}
"""


def after_the_load(lines: list[str]) -> list[str]:
    """Return the VALU instructions between the wait for the loaded dword and the store."""
    start = next(n for n, line in enumerate(lines) if "vmcnt(0)" in line)
    return [name for name in names(lines[start:]) if name.startswith("v_")]


@pytest.mark.parametrize(("arch", "bf16"), [("gfx942", 31), ("gfx950", 27)])
def test_eight_int4_weights_unpack_in_the_documented_number_of_instructions(arch: str, bf16: int):
    built = instructions(UNPACK, arch)
    assert len(after_the_load(built["magic"])) == 15
    assert len(after_the_load(built["hidden"])) == 11
    assert after_the_load(built["hidden"]).count("v_and_or_b32") == 4
    assert len(after_the_load(built["brain"])) == bf16
    address = 1
    assert sum(name.startswith("v_") for name in names(built["centred"])) - address == 24 + 8
    assert sum(name.startswith("v_") for name in names(built["unsigned_weights"])) - address == 16 + 8


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_four_floats_become_int8_in_the_documented_number_of_instructions(arch: str):
    built = instructions(QUANTISE, arch)
    others = 3  # two addresses and a constant
    assert sum(name.startswith("v_") for name in names(built["shifted"])) - others == 20
    assert sum(name.startswith("v_") for name in names(built["permuted"])) - others == 19


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_four_floats_become_fp8_by_two_conversions(arch: str):
    found = names(instructions(QUANTISE, arch)["quantise"])
    assert [found.count(name) for name in ("v_pk_mul_f32", "v_med3_f32", "v_cvt_pk_fp8_f32")] == [2, 4, 2]


SCORES = """
KERNEL void plain(float *o) { o[LANE] = o[LANE] + 1.f; }
KERNEL void cap(float *o) {
  float t = __builtin_amdgcn_exp2f(o[LANE] * 0.0577078f);
  o[LANE] = 50.f - 100.f * __builtin_amdgcn_rcpf(t + 1.f);
}
KERNEL void widen(const u32 *in, h2 *o) {
  u32 w = in[LANE];
  f2 a = __builtin_amdgcn_cvt_pk_f32_fp8(w, false), b = __builtin_amdgcn_cvt_pk_f32_fp8(w, true);
  o[2 * LANE] = __builtin_bit_cast(h2, __builtin_amdgcn_cvt_pkrtz(a.x, a.y));
  o[2 * LANE + 1] = __builtin_bit_cast(h2, __builtin_amdgcn_cvt_pkrtz(b.x, b.y));
}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_soft_cap_is_five_instructions_and_four_fp8_values_widen_by_four(arch: str):
    built = instructions(SCORES, arch)
    cap = after_the_load(built["cap"])
    assert sorted(cap) == ["v_add_f32", "v_exp_f32", "v_fmac_f32", "v_mul_f32", "v_rcp_f32"]
    assert len(after_the_load(built["widen"])) == 4


HALVES = """
KERNEL void nearest(const f2 *in, h2 *o) {
  f2 v = in[LANE];
  o[LANE] = h2{(_Float16)v.x, (_Float16)v.y};
}
KERNEL void toward_zero(const f2 *in, h2 *o) {
  f2 v = in[LANE];
  o[LANE] = __builtin_bit_cast(h2, __builtin_amdgcn_cvt_pkrtz(v.x, v.y));
}
"""
TWO_FLOATS_TO_FP16 = {
    "gfx90a": ["v_cvt_f16_f32", "v_cvt_f16_f32", "v_pack_b32_f16"],
    "gfx942": ["v_cvt_f16_f32", "v_cvt_f16_f32", "v_pack_b32_f16"],
    "gfx950": ["v_cvt_pk_f16_f32"],
}


@pytest.mark.parametrize("arch", TWO_FLOATS_TO_FP16)
def test_two_scores_become_fp16_by_three_instructions_before_gfx950_and_by_one_toward_zero(arch: str):
    built = instructions(HALVES, arch)
    assert after_the_load(built["nearest"]) == TWO_FLOATS_TO_FP16[arch]
    assert after_the_load(built["toward_zero"]) == ["v_cvt_pkrtz_f16_f32"]


LONG_ROW = """
typedef __bf16 b8 __attribute__((ext_vector_type(8)));
#define EACH for (int i = 0; i < 16; ++i) for (int j = 0; j < 8; ++j)
#define EXP __builtin_amdgcn_exp2f((float)v[i][j] - m)
extern "C" __attribute__((global, amdgpu_flat_work_group_size(1024, 1024))) void k(const b8 *x, b8 *y) {
  b8 v[16];
  float m = -1e30f, sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) v[i] = x[i * 1024 + LANE];
#pragma unroll
  EACH m = __builtin_fmaxf(m, (float)v[i][j]);
  HOLD
#pragma unroll
  EACH sum += EXP;
  HOLD
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    b8 o;
    for (int j = 0; j < 8; ++j) o[j] = (__bf16)(EXP * sum);
    y[i * 1024 + LANE] = o;
  }
}
"""
HOLD = """
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    u4 q = __builtin_bit_cast(u4, v[i]); asm volatile("" : "+v"(q)); v[i] = __builtin_bit_cast(b8, q);
  }
"""


@pytest.mark.parametrize(("hold", "scratch"), [(HOLD, False), ("", True)])
def test_a_row_of_128k_bf16_stays_in_registers_if_it_is_unpacked_anew_in_each_phase(hold: str, scratch: bool):
    built = compile_hip(PRELUDE + LONG_ROW.replace("HOLD", hold), "gfx942", QUIET)
    assert built.status == 0, built.diagnostics
    assert ("scratch_store" in built.text) is scratch
