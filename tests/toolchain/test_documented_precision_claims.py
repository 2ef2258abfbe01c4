"""What the pages say about double FMA, pairs of doubles, MFMA with K = 1 and float pragmas, settled by the compiler."""

from __future__ import annotations

import pytest

from tests.toolchain.clang import compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, instructions, names

pytestmark = needs_clang

DOUBLES = """
KERNEL void call(const double *a, double *c) { c[LANE] = __builtin_fma(a[LANE], a[LANE + 64], c[LANE]); }
KERNEL void written(const double *a, double *c) { c[LANE] = a[LANE] * a[LANE + 64] + c[LANE]; }
KERNEL void minus(const double *a, double *c) { c[LANE] = a[LANE] * a[LANE + 64] - c[LANE]; }
KERNEL void product(const double *a, double *c) {
  double x = a[LANE], y = a[LANE + 64], p = x * y;
  c[LANE] = p;
  c[LANE + 64] = __builtin_fma(x, y, -p);
}
KERNEL void sum(const double *a, double *c) {
  double x = a[LANE], y = a[LANE + 64], s = x + y, b = s - x;
  c[LANE] = s;
  c[LANE + 64] = (x - (s - b)) + (y - b);
}
KERNEL void pair_product(const double *a, double *c) {
  double ah = a[LANE], al = a[LANE + 64], bh = c[LANE], bl = c[LANE + 64];
  double p = ah * bh, e = __builtin_fma(ah, bh, -p);
  e = __builtin_fma(ah, bl, __builtin_fma(al, bh, e));
  double s = p + e;
  c[LANE] = s;
  c[LANE + 64] = e - (s - p);
}
KERNEL void pair_sum(const double *a, double *c) {
  double ah = a[LANE], al = a[LANE + 64], bh = c[LANE], bl = c[LANE + 64];
  double s = ah + bh, b = s - ah, e = (ah - (s - b)) + (bh - b);
  e += al + bl;
  double t = s + e;
  c[LANE] = t;
  c[LANE + 64] = e - (t - s);
}
KERNEL void quad(const double *a, double *c) {
  __float128 x = a[LANE];
  c[LANE] = (double)(x * a[LANE + 64]);
  c[LANE + 64] = sizeof(__float128) == 16 && sizeof(long double) == 8 ? a[LANE] : 0.0;
}
"""
OUTER = """
typedef float f16 __attribute__((ext_vector_type(16)));
typedef float f32 __attribute__((ext_vector_type(32)));
KERNEL void large(const float *a, f32 *c) {
  c[LANE] = __builtin_amdgcn_mfma_f32_32x32x1f32(a[LANE], a[LANE + 64], c[LANE], 0, 0, 0);
}
KERNEL void middle(const float *a, f16 *c) {
  c[LANE] = __builtin_amdgcn_mfma_f32_16x16x1f32(a[LANE], a[LANE + 64], c[LANE], 0, 0, 0);
}
KERNEL void small(const float *a, f4 *c) {
  c[LANE] = __builtin_amdgcn_mfma_f32_4x4x1f32(a[LANE], a[LANE + 64], c[LANE], 0, 0, 0);
}
"""
LOCAL = """
KERNEL void pragma(const float *a, float *c) {
#pragma float_control(precise, off)
  c[LANE] = a[LANE] / a[LANE + 64];
}
__attribute__((optimize("fast-math"))) KERNEL void attribute(const float *a, float *c) {
  c[LANE] = a[LANE] / a[LANE + 64];
}
"""


def doubles(lines: list[str]) -> list[str]:
    return [name for name in names(lines) if name.endswith("_f64")]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_double_fma_is_one_instruction_with_and_without_the_call(arch: str):
    code = instructions(DOUBLES, arch)
    assert [doubles(code[name]) for name in ("call", "written", "minus")] == [
        ["v_fmac_f64"],
        ["v_fmac_f64"],
        ["v_fma_f64"],
    ]
    apart = instructions(DOUBLES, arch, "-ffp-contract=off")
    assert doubles(apart["written"]) == ["v_mul_f64", "v_add_f64"]
    assert doubles(apart["call"]) == ["v_fmac_f64"]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_pairs_of_doubles_cost_what_the_table_says_and_lose_their_error_terms_under_fast_math(arch: str):
    code = instructions(DOUBLES, arch)
    counted = [len(doubles(code[name])) for name in ("product", "sum", "pair_product", "pair_sum")]
    assert counted == [2, 6, 7, 11]
    assert doubles(instructions(DOUBLES, arch, "-ffast-math")["sum"]) == ["v_add_f64"]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_float128_occupies_16_bytes_and_multiplies_in_double(arch: str):
    code = instructions(DOUBLES, arch)["quad"]
    assert doubles(code) == ["v_mul_f64"]
    assert sum(name.startswith("global_store") for name in names(code)) == 2
    assert not any("v_mov_b32" in line and line.endswith(", 0") for line in code), "the sizes are 16 and 8"


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_the_matrix_forms_with_k_of_one_have_builtins(arch: str):
    code = instructions(OUTER, arch)
    found = [[n for n in names(code[kernel]) if "mfma" in n] for kernel in ("large", "middle", "small")]
    assert found == [["v_mfma_f32_32x32x1_2b_f32"], ["v_mfma_f32_16x16x1_4b_f32"], ["v_mfma_f32_4x4x1_16b_f32"]]


def test_fast_math_for_one_function_is_ignored_with_a_warning():
    built = compile_hip(PRELUDE + LOCAL, "gfx942", ())
    assert built.status == 0
    assert "'#pragma float_control' is not supported on this target - ignored" in built.diagnostics
    assert "unknown attribute 'optimize' ignored" in built.diagnostics
    assert built.text.count("v_div_fixup_f32") == 2
