"""What the pages on numerics say about splits, compensated sums, ones and requantising, settled by the compiler."""

from __future__ import annotations

import pytest

from tests.toolchain.clang import needs_clang
from tests.toolchain.code_claims import instructions, names, refused

pytestmark = needs_clang

TYPES = """
typedef __bf16 b8 __attribute__((ext_vector_type(8)));
typedef float f8 __attribute__((ext_vector_type(8)));
typedef float f16 __attribute__((ext_vector_type(16)));
typedef u32 u8 __attribute__((ext_vector_type(8)));
typedef int i4 __attribute__((ext_vector_type(4)));
"""
SPLIT = (
    TYPES
    + """
KERNEL void rounded(const f8 *in, b8 *high, b8 *low) {
  f8 x = in[LANE];
  b8 h = __builtin_convertvector(x, b8);
  high[LANE] = h;
  low[LANE] = __builtin_convertvector(x - __builtin_convertvector(h, f8), b8);
}
KERNEL void cut(const f8 *in, u4 *high, u4 *low) {
  f8 x = in[LANE];
  u8 u = __builtin_bit_cast(u8, x);
  u8 rest = __builtin_bit_cast(u8, x - __builtin_bit_cast(f8, u & 0xffff0000u));
  u4 h, l;
  for (int i = 0; i < 4; ++i) {
    h[i] = __builtin_amdgcn_perm(u[2 * i + 1], u[2 * i], 0x07060302);
    l[i] = __builtin_amdgcn_perm(rest[2 * i + 1], rest[2 * i], 0x07060302);
  }
  high[LANE] = h;
  low[LANE] = l;
}
"""
)
KAHAN = """
KERNEL void plain(const float *in, float *o) {
  float s = o[LANE], c = o[LANE + 64], y = in[LANE] - c, t = s + y;
  o[LANE + 64] = (t - s) - y;
  o[LANE] = t;
}
KERNEL void kept(const float *in, float *o) {
#pragma clang fp reassociate(off)
  float s = o[LANE], c = o[LANE + 64], y = in[LANE] - c, t = s + y;
  o[LANE + 64] = (t - s) - y;
  o[LANE] = t;
}
"""
OPERANDS = (
    TYPES
    + """
KERNEL void rows(const h4 *in, f4 *o) {
  h4 one = {1, 1, 1, 1};
  o[LANE] = __builtin_amdgcn_mfma_f32_16x16x16f16(in[LANE], one, f4{}, 0, 0, 0);
}
KERNEL void scalar(const float *in, f16 *o) {
  o[LANE] = __builtin_amdgcn_mfma_f32_32x32x2f32(in[LANE], in[LANE + 64], f16{}, 0, 0, 0);
}
KERNEL void requantise(const i4 *in, int *o, float scale) {
  i4 v = in[LANE];
  int r = 0;
  for (int i = 0; i < 4; ++i) {
    float x = __builtin_amdgcn_fmed3f(__builtin_rintf((float)v[i] * scale), -128.f, 127.f);
    r |= ((int)x & 255) << (8 * i);
  }
  o[LANE] = r;
}
"""
)
UNPACK = """
typedef u32 u2 __attribute__((ext_vector_type(2)));
#define UPPER(a) __builtin_amdgcn_perm(__builtin_bit_cast(u2, a)[1], __builtin_bit_cast(u2, a)[0], 0x07060302u)
#define CUT(a) __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pkrtz(a[0], a[1]))
KERNEL void brain(const int *in, u2 *o) {
  int w = in[LANE];
  f2 a = __builtin_amdgcn_cvt_pk_f32_fp8(w, false), b = __builtin_amdgcn_cvt_pk_f32_fp8(w, true);
  o[LANE] = u2{UPPER(a), UPPER(b)};
}
KERNEL void halves(const int *in, u2 *o) {
  int w = in[LANE];
  f2 a = __builtin_amdgcn_cvt_pk_f32_fp8(w, false), b = __builtin_amdgcn_cvt_pk_f32_fp8(w, true);
  o[LANE] = u2{CUT(a), CUT(b)};
}
#ifdef __gfx950__
KERNEL void scaled(const u32 *in, b2 *o) {
  u32 w = in[LANE];
  o[2 * LANE] = __builtin_amdgcn_cvt_scalef32_pk_bf16_fp8(w, 1.f, false);
  o[2 * LANE + 1] = __builtin_amdgcn_cvt_scalef32_pk_bf16_fp8(w, 1.f, true);
}
#endif
KERNEL void ternary(const u32 *in, const u4 *x, int *o) {
  u32 w = in[LANE];
  int s = 0;
  for (int i = 0; i < 4; ++i) s = __builtin_amdgcn_sdot4((w >> (2 * i)) & 0x03030303u, x[LANE][i], s, false);
  o[LANE] = s;
}
"""
FINITE = ("-fno-honor-nans", "-fno-honor-infinities")


def sums(lines: list[str]) -> int:
    """Return how many float additions and subtractions stand in the code."""
    return sum(name in ("v_add_f32", "v_sub_f32", "v_pk_add_f32") for name in names(lines))


def vector(lines: list[str]) -> int:
    """Return the VALU instructions, without those of the address."""
    return sum(name.startswith("v_") and "lshlrev" not in name for name in names(lines))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("flags", "left"),
    [
        ((), 8),
        (("-ffast-math",), 0),
        (FINITE, 0),
        (FINITE[:1], 8),
        ((*FINITE, "-ffp-contract=on"), 8),
        (("-ffast-math", "-ffp-contract=off"), 8),
    ],
)
def test_the_low_part_of_a_bf16_split_vanishes_without_nan_and_infinity(arch: str, flags: tuple[str, ...], left: int):
    built = instructions(SPLIT, arch, *flags)
    assert (sums(built["rounded"]), sums(built["cut"])) == (left, 8)


@pytest.mark.parametrize(("arch", "rounded"), [("gfx942", 104), ("gfx950", 32)])
def test_eight_floats_split_in_the_documented_number_of_instructions(arch: str, rounded: int):
    built = instructions(SPLIT, arch)
    valu = {name: sum(n.startswith("v_") for n in names(lines)) for name, lines in built.items()}
    addresses = {name: valu[name] - (rounded if name == "rounded" else 24) for name in valu}
    assert addresses["rounded"] == addresses["cut"] and 1 <= addresses["cut"] <= 2


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("flags", "plain"),
    [
        ((), 4),
        (("-ffast-math",), 2),
        (("-funsafe-math-optimizations",), 2),
        (("-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"), 2),
        (("-ffast-math", "-fno-associative-math"), 4),
        (FINITE, 4),
    ],
)
def test_reassociation_drops_the_compensation_of_a_kahan_sum_unless_a_pragma_keeps_it(
    arch: str, flags: tuple[str, ...], plain: int
):
    built = instructions(KAHAN, arch, *flags)
    assert (sums(built["plain"]), sums(built["kept"])) == (plain, 4)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_ones_cost_two_moves_and_an_int8_result_the_documented_instructions(arch: str):
    built = instructions(OPERANDS, arch)
    rows = names(built["rows"])
    assert rows.count("v_mov_b32") == 2
    assert sum(name.startswith("v_mfma_f32_16x16x16") for name in rows) == 1
    assert 23 <= vector(built["requantise"]) <= 25
    assert names(built["requantise"]).count("v_med3_f32") == 4


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_the_fp32_builtin_takes_one_float_of_each_lane_and_refuses_a_vector(arch: str):
    wrong = "KERNEL void k(const f4 *in, f4 *o) {\n"
    wrong += "  o[LANE] = __builtin_amdgcn_mfma_f32_16x16x4f32(in[LANE], in[LANE], f4{}, 0, 0, 0);\n}\n"
    assert "cannot initialize a parameter of type 'float'" in refused(wrong, arch)
    assert any(name.startswith("v_mfma_f32_32x32x2") for name in names(instructions(OPERANDS, arch)["scalar"]))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_fp8_and_two_bit_weights_unpack_in_the_documented_number_of_instructions(arch: str):
    packs = [line for line in instructions(UNPACK, arch)["brain"] if line.startswith("v_perm_b32")]
    assert all(len(set(line.split(", ")[1:3])) == 2 for line in packs), "both halves from one element"
    built = {name: names(lines) for name, lines in instructions(UNPACK, arch).items()}
    assert (built["brain"].count("v_perm_b32"), built["halves"].count("v_cvt_pkrtz_f16_f32")) == (2, 2)
    for name in ("brain", "halves"):
        assert sum(n.startswith("v_cvt_pk_f32_fp8") for n in built[name]) == 2
    if arch == "gfx950":
        assert built["scaled"].count("v_cvt_scalef32_pk_bf16_fp8") == 2
    assert (built["ternary"].count("v_and_b32"), built["ternary"].count("v_lshrrev_b32")) == (4, 3)
    assert built["ternary"].count("v_dot4c_i32_i8") == 4
