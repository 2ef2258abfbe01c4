"""What the pages say about double FMA, pairs of doubles, MFMA with K = 1 and float pragmas, settled by the compiler."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.toolchain.clang import compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, instructions, names, refused

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

BYTES = """
typedef u32 u2 __attribute__((ext_vector_type(2)));
typedef unsigned char c4 __attribute__((ext_vector_type(4)));
typedef signed char s4 __attribute__((ext_vector_type(4)));
__attribute__((device)) u32 pair(u32 bytes, u32 choice, _Float16 base) {
  h2 raised = __builtin_bit_cast(h2, __builtin_amdgcn_perm(0x64646464u, bytes, choice));
  return __builtin_bit_cast(u32, raised - (h2){base, base});
}
KERNEL void magic(const u32 *a, u2 *c) {
  u32 w = a[LANE];
  c[LANE] = (u2){pair(w, 0x07010700u, 1024), pair(w, 0x07030702u, 1024)};
}
KERNEL void magic_signed(const u32 *a, u2 *c) {
  u32 w = a[LANE] ^ 0x80808080u;
  c[LANE] = (u2){pair(w, 0x07010700u, 1152), pair(w, 0x07030702u, 1152)};
}
KERNEL void plain(const c4 *a, h4 *c) { c[LANE] = __builtin_convertvector(a[LANE], h4); }
KERNEL void plain_signed(const s4 *a, h4 *c) { c[LANE] = __builtin_convertvector(a[LANE], h4); }
KERNEL void stochastic(const float *a, const u32 *r, u32 *c) {
  u32 x = __builtin_bit_cast(u32, a[LANE]) + (r[LANE] & 0xffff);
  u32 y = __builtin_bit_cast(u32, a[LANE + 64]) + (r[LANE] >> 16);
  c[LANE] = __builtin_amdgcn_perm(y, x, 0x07060302);
}
"""

ROOTS = """
KERNEL void one_step(const double *a, double *c) {
  double x = a[LANE], r = __builtin_amdgcn_rsq(x), e = __builtin_fma(-x * r, r, 1.0);
  c[LANE] = __builtin_fma(0.5 * r, e, r);
}
KERNEL void two_steps(const double *a, double *c) {
  double x = a[LANE], r = __builtin_amdgcn_rsq(x), e = __builtin_fma(-x * r, r, 1.0);
  r = __builtin_fma(0.5 * r, e, r);
  e = __builtin_fma(-x * r, r, 1.0);
  c[LANE] = __builtin_fma(0.5 * r, e, r);
}
KERNEL void logarithm(const float *a, float *c) { c[LANE] = __builtin_logf(a[LANE]); }
KERNEL void raw_logarithm(const float *a, float *c) { c[LANE] = __builtin_amdgcn_logf(a[LANE]) * 0.6931471f; }
KERNEL void loop(const _Float16 *a, const _Float16 *b, float *c) {
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += (float)a[16 * (LANE / 16) + k] * (float)b[16 * k + LANE % 16];
  c[LANE] = sum;
}
"""
PRINTED = """
extern "C" __attribute__((device)) int printf(const char *, ...);
struct half_class {
  unsigned short bits;
  __attribute__((device)) half_class(const half_class &other) : bits(other.bits) {}
};
"""

POLYNOMIAL = """
typedef int i2 __attribute__((ext_vector_type(2)));
KERNEL void cubic(const f2 *a, f2 *c) {
  f2 x = a[LANE], magic = 12582912.0f, r = x + magic, t = x - (r - magic);
  f2 p = __builtin_elementwise_fma((f2)0.0558f, t, (f2)0.2426f);
  p = __builtin_elementwise_fma(__builtin_elementwise_fma(p, t, (f2)0.6931f), t, (f2)1.0f);
  c[LANE] = __builtin_bit_cast(f2, __builtin_bit_cast(i2, p) + (__builtin_bit_cast(i2, r) << 23));
}
"""
INDEXED = """
KERNEL void element(const h4 *a, float *c, int i) {
  f4 d = __builtin_amdgcn_mfma_f32_16x16x16f16(a[LANE], a[LANE + 64], (f4)0, 0, 0, 0);
  c[LANE] = d[i];
}
KERNEL void loop(const h4 *a, f4 *c, int n) {
  f4 d[8] = {};
  for (int k = 0; k < n; ++k)
    d[k % 8] = __builtin_amdgcn_mfma_f32_16x16x16f16(a[LANE], a[LANE + 64 * k], d[k % 8], 0, 0, 0);
  for (int k = 0; k < 8; ++k) c[LANE + 64 * k] = d[k];
}
"""
TRAITS = """
template <int K> struct Mfma;
template <> struct Mfma<16> {
  typedef __bf16 frag __attribute__((ext_vector_type(4)));
  typedef short bits __attribute__((ext_vector_type(4)));
  static __attribute__((device)) f4 mul(frag a, frag b, f4 c) {
    bits x = __builtin_bit_cast(bits, a), y = __builtin_bit_cast(bits, b);
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, c, 0, 0, 0);
  }
};
#if defined(__gfx950__)
template <> struct Mfma<32> {
  typedef __bf16 frag __attribute__((ext_vector_type(8)));
  static __attribute__((device)) f4 mul(frag a, frag b, f4 c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, 0, 0, 0);
  }
};
constexpr int DEPTH = 32;
#else
constexpr int DEPTH = 16;
#endif
KERNEL void tile(const __bf16 *a, const __bf16 *b, f4 *d, int k) {
  typedef Mfma<DEPTH>::frag frag;
  int at = LANE % 16 * k + DEPTH / 4 * (LANE / 16);
  f4 c = 0;
  for (int i = 0; i < k; i += DEPTH) c = Mfma<DEPTH>::mul(*(const frag *)(a + at + i), *(const frag *)(b + at + i), c);
  d[LANE] = c;
}
"""

CONVERSIONS = """
typedef __bf16 b4 __attribute__((ext_vector_type(4)));
KERNEL void four_halves(const f4 *a, h4 *c) { c[LANE] = __builtin_convertvector(a[LANE], h4); }
KERNEL void four_bf16(const f4 *a, b4 *c) { c[LANE] = __builtin_convertvector(a[LANE], b4); }
KERNEL void two_halves(const f2 *a, h2 *c) { c[LANE] = __builtin_convertvector(a[LANE], h2); }
KERNEL void parts(const float *a, float *c, int *e) {
  float x = a[LANE], t = __builtin_truncf(x);
  c[LANE] = t;
  c[LANE + 64] = x - t;
  c[LANE + 128] = __builtin_amdgcn_fractf(x);
  c[LANE + 192] = __builtin_amdgcn_frexp_mantf(x);
  c[LANE + 256] = __builtin_ldexpf(x, e[LANE]);
  e[LANE + 64] = __builtin_amdgcn_frexp_expf(x);
}
KERNEL void larger(const h2 *a, h2 *c) { c[LANE] = __builtin_elementwise_max(a[LANE], a[LANE + 64]); }
KERNEL void compared(const h2 *a, h2 *c) {
  h2 x = a[LANE], y = a[LANE + 64];
  c[LANE] = h2{x[0] > y[0] ? x[0] : y[1], x[1] > y[1] ? x[1] : y[0]};
}
KERNEL void nearest(const float *a, int *c) { c[LANE] = (int)__builtin_rintf(a[LANE]); }
KERNEL void down(const float *a, int *c) { c[LANE] = (int)__builtin_floorf(a[LANE]); }
KERNEL void toward_zero(const float *a, int *c) { c[LANE] = (int)a[LANE]; }
KERNEL void arctangent(const float *a, float *c) {
  float y = a[LANE], x = a[LANE + 64], ax = __builtin_fabsf(x), ay = __builtin_fabsf(y);
  float hi = __builtin_fmaxf(ax, ay), lo = __builtin_fminf(ax, ay), t = lo * __builtin_amdgcn_rcpf(hi), s = t * t;
  float p = __builtin_fmaf(__builtin_fmaf(0.0208351f, s, -0.0851330f), s, 0.1801410f);
  float r = t * __builtin_fmaf(__builtin_fmaf(p, s, -0.3302995f), s, 0.9998660f);
  r = ay > ax ? 1.5707963f - r : r;
  c[LANE] = __builtin_copysignf(x < 0 ? 3.1415927f - r : r, y);
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


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_bytes_become_halves_by_permute_and_packed_add_or_by_sdwa_conversions(arch: str):
    code = {kernel: Counter(names(lines)) for kernel, lines in instructions(BYTES, arch).items()}
    assert [code[kernel]["v_perm_b32"] for kernel in ("magic", "magic_signed")] == [2, 2]
    assert [code[kernel]["v_pk_add_f16"] for kernel in ("magic", "magic_signed")] == [2, 2]
    assert [code[kernel]["v_xor_b32"] for kernel in ("magic", "magic_signed")] == [0, 1]
    for kernel, convert in (("plain", "v_cvt_f16_u16"), ("plain_signed", "v_cvt_f16_i16")):
        assert code[kernel][convert] + code[kernel][f"{convert}_sdwa"] == 4
        assert code[kernel]["v_pack_b32_f16"] == 2


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_stochastic_rounding_of_two_floats_to_bf16_is_two_adds_and_a_permute(arch: str):
    code = names(instructions(BYTES, arch)["stochastic"])
    assert [name for name in code if name.startswith("v_") and "lshl" not in name] == [
        "v_add_u32_sdwa",
        "v_add_u32_sdwa",
        "v_perm_b32",
    ]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_newton_steps_on_a_double_root_and_both_logarithms_cost_what_the_pages_say(arch: str):
    code = {kernel: names(lines) for kernel, lines in instructions(ROOTS, arch).items()}
    assert [sum(n.endswith("_f64") for n in code[kernel]) for kernel in ("one_step", "two_steps")] == [5, 9]
    assert "v_ldexp_f32" in code["logarithm"] and "v_cmp_gt_f32" in code["logarithm"]
    assert [n for n in code["raw_logarithm"] if n.endswith("_f32")] == ["v_log_f32", "v_mul_f32"]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_matrix_product_written_as_a_loop_uses_no_matrix_instruction(arch: str):
    code = names(instructions(ROOTS, arch)["loop"])
    assert not any("mfma" in name for name in code)
    assert any(name in ("v_fma_mix_f32", "v_fmac_f32", "v_fma_f32") for name in code)


def test_printf_refuses_classes_and_warns_of_half_types():
    warned = compile_hip(
        PRELUDE + PRINTED + 'KERNEL void k(const _Float16 *a) { printf("%f", a[LANE]); }', "gfx942", ()
    )
    assert "format specifies type 'double' but the argument has type '_Float16'" in warned.diagnostics
    refusal = refused(PRINTED + 'KERNEL void k(const half_class *a) { printf("%f", a[LANE]); }', "gfx942")
    assert "cannot pass non-trivial object of type" in refusal and "to variadic function" in refusal
    assert "cannot compile this non-scalar arg to printf yet" in refusal


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_two_exponentials_by_a_cubic_are_eight_instructions(arch: str):
    code = Counter(names(instructions(POLYNOMIAL, arch)["cubic"]))
    assert (code["v_pk_add_f32"], code["v_pk_fma_f32"], code["v_lshl_add_u32"]) == (3, 3, 2)
    assert not code["v_exp_f32"]


def test_a_runtime_index_into_accumulators_becomes_selects_or_register_copies():
    code = {kernel: Counter(names(lines)) for kernel, lines in instructions(INDEXED, "gfx942").items()}
    assert code["element"]["v_cndmask_b32"] == 3
    assert code["loop"]["s_set_gpr_idx_on"] == 2
    assert code["loop"]["v_mov_b32"] > 8


@pytest.mark.parametrize(
    ("arch", "instruction"),
    [
        ("gfx90a", "v_mfma_f32_16x16x16bf16_1k"),
        ("gfx942", "v_mfma_f32_16x16x16_bf16"),
        ("gfx950", "v_mfma_f32_16x16x32_bf16"),
    ],
)
def test_one_template_takes_the_deep_instruction_where_it_exists(arch: str, instruction: str):
    code = names(instructions(TRAITS, arch)["tile"])
    assert {name for name in code if "mfma" in name} == {instruction}


def vector_part(lines: list[str]) -> list[str]:
    """Return the vector ALU instructions without the arithmetic of addresses."""
    return [n for n in names(lines) if n.startswith("v_") and not n.startswith(("v_lshl", "v_and_b32"))]


@pytest.mark.parametrize(("arch", "halves", "bf16", "pair"), [("gfx942", 6, 22, 3), ("gfx950", 2, 2, 1)])
def test_conversions_to_16_bits_take_the_instructions_that_the_pages_count(
    arch: str, halves: int, bf16: int, pair: int
):
    code = instructions(CONVERSIONS, arch)
    counted = [len(vector_part(code[kernel])) for kernel in ("four_halves", "four_bf16", "two_halves")]
    assert counted == [halves, bf16, pair]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_parts_of_a_float_are_single_instructions_and_the_arctangent_twenty(arch: str):
    code = {kernel: vector_part(lines) for kernel, lines in instructions(CONVERSIONS, arch).items()}
    assert Counter(code["parts"]) == Counter(
        ["v_trunc_f32", "v_sub_f32", "v_fract_f32", "v_frexp_mant_f32", "v_ldexp_f32", "v_frexp_exp_i32_f32"]
    )
    assert len(code["arctangent"]) == 20
    assert code["nearest"] == ["v_rndne_f32", "v_cvt_i32_f32"]
    assert code["down"] == ["v_floor_f32", "v_cvt_i32_f32"]
    assert code["toward_zero"] == ["v_cvt_i32_f32"]
    assert code["larger"] == ["v_pk_max_f16"] * 3
    assert sum(name.startswith("v_cmp") and "_f16" in name for name in code["compared"]) == 2


def test_fp8_values_are_summed_by_a_product_with_ones():
    product = "__builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a[LANE], %s, (f4)0, 0, 0, 0)"
    ones = "KERNEL void ones(const long *a, f4 *c) { c[LANE] = " + product + "; }"
    for arch, value in (("gfx942", "0x4040404040404040"), ("gfx950", "0x3838383838383838")):
        assert "v_mfma_f32_16x16x32_fp8_fp8" in names(instructions(ones % value, arch)["ones"])
