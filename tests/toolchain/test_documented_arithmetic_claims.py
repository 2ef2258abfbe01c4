"""What the pages on arithmetic, lanes, matrix code and registers say about code, settled by the compiler."""

from __future__ import annotations

import re

import pytest

from tests.toolchain.clang import compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, instructions, names, vector_count

pytestmark = needs_clang

ONE = "KERNEL void {0}(float *o) {{ float x = o[LANE]; o[LANE] = {1}; }}\n"
TWO = "KERNEL void {0}({2} *o) {{ {2} x = o[LANE], y = o[LANE + 9]; o[LANE] = {1}; }}\n"
FLOATS = {
    "plus_one": "x + 1.f",
    "exp": "__builtin_expf(x)",
    "exp2": "__builtin_exp2f(x)",
    "exp2_raw": "__builtin_amdgcn_exp2f(x)",
    "log": "__builtin_logf(x)",
    "log2": "__builtin_log2f(x)",
    "root": "__builtin_sqrtf(x)",
    "root_raw": "__builtin_amdgcn_sqrtf(x)",
    "inverse": "1.f / x",
    "inverse_root": "1.f / __builtin_sqrtf(x)",
    "round": "__builtin_roundf(x)",
    "rint": "__builtin_rintf(x)",
}
PAIRS = {
    "quotient": ("x / y", "float"),
    "product": ("x * y", "float"),
    "quotient_double": ("x / y", "double"),
    "product_double": ("x * y", "double"),
    "unsigned_quotient": ("x / y", "unsigned"),
    "signed_quotient": ("x / y", "int"),
    "unsigned_sum": ("x + y", "unsigned"),
    "signed_sum": ("x + y", "int"),
    "by_80": ("x / 80u + 0 * y", "unsigned"),
    "rest_80": ("x % 80u + 0 * y", "unsigned"),
}
MATH = "".join(ONE.format(name, text) for name, text in FLOATS.items())
MATH += "".join(TWO.format(name, text, kind) for name, (text, kind) in PAIRS.items())
CHEAP = "-fno-hip-fp32-correctly-rounded-divide-sqrt"


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("flags", "counts"),
    [
        (
            (),
            {"exp": 14, "exp2": 8, "exp2_raw": 1, "log": 13, "log2": 7, "root": 17, "root_raw": 1, "inverse": 11}
            | {"inverse_root": 28, "round": 6, "rint": 1},
        ),
        (("-ffast-math",), {"exp": 7, "exp2": 8, "log": 7, "log2": 7, "root": 1, "inverse": 1, "inverse_root": 1}),
        ((CHEAP,), {"exp": 14, "root": 6, "inverse": 5, "inverse_root": 6}),
    ],
)
def test_math_functions_have_the_documented_number_of_instructions(arch: str, flags: tuple, counts: dict[str, int]):
    kernels = instructions(MATH, arch, *flags)
    assert {name: vector_count(kernels[name], kernels["plus_one"]) + 1 for name in counts} == counts


@pytest.mark.parametrize(("flags", "single", "double"), [((), 11, 11), ((CHEAP,), 8, 11), (("-ffast-math",), 2, 8)])
def test_divisions_have_the_documented_number_of_instructions(flags: tuple, single: int, double: int):
    kernels = instructions(MATH, "gfx942", *flags)
    assert vector_count(kernels["quotient"], kernels["product"]) + 1 == single
    assert vector_count(kernels["quotient_double"], kernels["product_double"]) + 1 == double


def test_integer_divisions_have_the_documented_number_of_instructions():
    kernels = instructions(MATH, "gfx942")
    assert vector_count(kernels["unsigned_quotient"], kernels["unsigned_sum"]) + 1 == 19
    assert vector_count(kernels["signed_quotient"], kernels["signed_sum"]) + 1 == 27
    assert {"v_mul_hi_u32", "v_lshrrev_b32"} <= set(names(kernels["by_80"]))
    assert "v_rcp_iflag_f32" not in names(kernels["rest_80"])


PRAGMA = """
KERNEL void asked(float *o) {
#pragma clang fp reciprocal(on)
  o[LANE] = o[LANE] / o[LANE + 9]; }
KERNEL void product(float *o) { o[LANE] = o[LANE] * o[LANE + 9]; }
"""


def test_the_reciprocal_pragma_needs_the_flag_for_cheap_division():
    for flags, count in (((), 11), ((CHEAP,), 6)):
        kernels = instructions(PRAGMA, "gfx942", *flags)
        assert vector_count(kernels["asked"], kernels["product"]) + 1 == count


TRAPS = """
KERNEL void element(u32 *o, const f2 *i) { f2 v = i[LANE]; o[LANE] = __builtin_bit_cast(u32, v.y); }
KERNEL void copied(u32 *o, const f2 *i) { f2 v = i[LANE]; float y = v.y; o[LANE] = __builtin_bit_cast(u32, y); }
KERNEL void bytes(float *o, const u32 *p) { u32 x = p[LANE]; o[4 * LANE] = (float)(x & 255);
  o[4 * LANE + 1] = (float)(x >> 8 & 255); o[4 * LANE + 2] = (float)(x >> 16 & 255);
  o[4 * LANE + 3] = (float)(x >> 24); }
KERNEL void neighbours(float *o, const float *a) { float x = a[2 * LANE], y = a[2 * LANE + 1];
  o[2 * LANE] = x * 3.f + 1.f; o[2 * LANE + 1] = y * 3.f + 1.f; }
KERNEL void greater(f2 *o) { f2 v = o[LANE]; o[LANE] = (f2){__builtin_fmaxf(v.x, 0), __builtin_fmaxf(v.y, 0)}; }
KERNEL void by_hand(int *o, const signed char *a) { int s = o[LANE];
  for (int k = 0; k < 4; k++) s += a[LANE * 4 + k] * a[LANE * 4 + k + 4096]; o[LANE] = s; }
KERNEL void dot(int *o, const int *a) { o[LANE] = __builtin_amdgcn_sdot4(a[LANE], a[LANE + 9], o[LANE], false); }
KERNEL void halves(float *o, const h2 *a) { h2 x = a[LANE], y = a[LANE + 9];
  o[LANE] += (float)x.x * (float)y.x + (float)x.y * (float)y.y; }
KERNEL void pair(b2 *o, const f2 *i) { f2 v = i[LANE]; o[LANE] = (b2){(__bf16)v.x, (__bf16)v.y}; }
KERNEL void eight(float *o, const float *i) { float s = 0; for (int k = 0; k < 8; k++) s += i[k * 256 + LANE];
  o[LANE] = s; }
KERNEL void many(float *o, const float *i) { float s = 0; for (int k = 0; k < 64; k++) s += i[k * 256 + LANE];
  o[LANE] = s; }
KERNEL void unknown(float *o, const float *i, int n) { float s = 0; for (int k = 0; k < n; k++) s += i[k * 256 + LANE];
  o[LANE] = s; }
"""


def test_a_bit_cast_of_a_vector_element_reads_element_0():
    kernels = instructions(TRAPS, "gfx942")
    assert not any("offset:4" in line for line in kernels["element"])
    assert any("offset:4" in line for line in kernels["copied"])


def test_bytes_become_floats_without_shifts():
    found = names(instructions(TRAPS, "gfx942")["bytes"])
    assert {f"v_cvt_f32_ubyte{n}" for n in range(4)} <= set(found)
    assert "v_lshrrev_b32" not in found


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_neighbouring_scalars_pack_and_a_maximum_does_not(arch: str):
    kernels = instructions(TRAPS, arch)
    assert "v_pk_fma_f32" in names(kernels["neighbours"])
    assert names(kernels["greater"]).count("v_max_f32") == 4


def test_dot_products_are_not_found_by_the_compiler():
    kernels = instructions(TRAPS, "gfx942")
    assert "v_dot4c_i32_i8" in names(kernels["dot"])
    for kernel in ("by_hand", "halves"):
        assert not any("dot" in name for name in names(kernels[kernel])), kernel


def test_two_floats_pack_to_bf16_in_one_instruction_on_gfx950_and_join_by_v_perm_before():
    assert "v_cvt_pk_bf16_f32" in names(instructions(TRAPS, "gfx950")["pair"])
    found = names(instructions(TRAPS, "gfx942")["pair"])
    assert "v_perm_b32" in found and found.count("v_add3_u32") == 2


def test_short_constant_loops_unroll_and_unknown_ones_do_not():
    kernels = instructions(TRAPS, "gfx942")
    loads = {name: sum(x.startswith("global_load") for x in kernels[name]) for name in ("eight", "many", "unknown")}
    assert loads == {"eight": 8, "many": 16, "unknown": 1}
    assert "s_waitcnt vmcnt(7)" in kernels["eight"]


LANES = """
#define DPP(x, c, rows, zero) \\
  __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, x), c, rows, 0xf, zero))
KERNEL void sum(float *o) { float v = o[LANE]; v += DPP(v, 0x111, 0xf, true); v += DPP(v, 0x112, 0xf, true);
  v += DPP(v, 0x114, 0xf, true); v += DPP(v, 0x118, 0xf, true); v += DPP(v, 0x142, 0xa, false);
  v += DPP(v, 0x143, 0xc, false);
  o[LANE] = __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, v), 63)); }
KERNEL void rotate(float *o) { float v = o[LANE]; v += DPP(v, 0x128, 0xf, true); v += DPP(v, 0x124, 0xf, true);
  v += DPP(v, 0x122, 0xf, true); v += DPP(v, 0x121, 0xf, true); o[LANE] = v; }
KERNEL void convenient(u32 *o) { o[LANE] = __builtin_amdgcn_wave_reduce_add_u32(o[LANE], 0); }
KERNEL void rank(int *o, int *i) { u64 m = __builtin_amdgcn_ballot_w64(i[LANE] > 3);
  o[LANE] = __builtin_amdgcn_mbcnt_hi(m >> 32, __builtin_amdgcn_mbcnt_lo((u32)m, 0)); }
"""


def test_row_steps_of_a_dpp_sum_fuse_and_broadcasts_do_not():
    lines = instructions(LANES, "gfx942")["sum"]
    fused = [re.search(r"row_\w+:\d+", line)[0] for line in lines if line.startswith("v_add_f32_dpp")]
    moved = [re.search(r"row_\w+:\d+", line)[0] for line in lines if line.startswith("v_mov_b32_dpp")]
    assert (fused, moved) == (["row_shr:1", "row_shr:2", "row_shr:4", "row_shr:8"], ["row_bcast:15", "row_bcast:31"])
    assert names(instructions(LANES, "gfx942")["rotate"]).count("v_add_f32_dpp") == 4


def test_the_wave_reduction_builtin_is_a_loop_over_lanes():
    found = names(instructions(LANES, "gfx942")["convenient"])
    assert {"s_ff1_i32_b64", "v_readlane_b32", "s_bitset0_b64", "s_cbranch_scc1"} <= set(found)


def test_a_rank_among_lanes_is_a_compare_and_two_counts():
    found = names(instructions(LANES, "gfx942")["rank"])
    assert [name for name in found if "mbcnt" in name] == ["v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"]


SCALED = """
KERNEL void scaled(f4 *o, const i8 *a, int s, int t) { o[LANE] =
  __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a[LANE], a[LANE + 9], o[LANE], 4, 4, 1, s, 2, t); }
KERNEL void zero(f4 *o, const i8 *a) { o[LANE] =
  __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a[LANE], a[LANE + 9], o[LANE], 4, 4, 0, 0, 0, 0); }
"""


def test_constant_zero_scales_give_the_unscaled_instruction():
    kernels = instructions(SCALED, "gfx950")
    assert "v_mfma_f32_16x16x128_f8f6f4" in names(kernels["zero"])
    (line,) = [line for line in kernels["scaled"] if line.startswith("v_mfma")]
    assert line.startswith("v_mfma_scale_f32_16x16x128_f8f6f4")
    assert line.endswith("op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:4 blgp:4")


LIVE = """
#define BODY(N) float x[N]; for (int i = 0; i < N; i++) x[i] = o[LANE + i * 256]; \\
  for (int r = 0; r < n; r++) for (int i = 0; i < N; i++) x[i] = x[i] * x[(i + 1) % N] + 1.f; \\
  for (int i = 0; i < N; i++) o[LANE + i * 256] = x[i];
extern "C" __attribute__((global{0})) void live(float *o, int n) {{ BODY({1}) }}
"""


def allocated(attributes: str, values: int, *flags: str) -> tuple[int, int, bool]:
    """Return VGPRs with AGPRs, AGPRs, and whether there is scratch."""
    built = compile_hip(PRELUDE + LIVE.format(attributes, values), "gfx942", ("-Wno-pass-failed", *flags))
    assert built.status == 0, built.diagnostics
    scratch = built.figure("private_segment_fixed_size")
    return built.figure("vgpr_count"), built.figure("agpr_count"), scratch > 0


GROUP = ", amdgpu_flat_work_group_size(1, {})"


@pytest.mark.parametrize(
    ("attributes", "registers", "agprs"),
    [
        ("", 128, 0),
        (GROUP.format(1024), 128, 0),
        (GROUP.format(512), 256, 0),
        (GROUP.format(256), 512, 256),
        (GROUP.format(256) + ", amdgpu_waves_per_eu(2)", 256, 0),
        (GROUP.format(256) + ", amdgpu_waves_per_eu(3)", 168, 0),
        (GROUP.format(256) + ", amdgpu_waves_per_eu(4)", 128, 0),
        (GROUP.format(1024) + ", amdgpu_waves_per_eu(1)", 128, 0),
        (GROUP.format(256) + ", amdgpu_num_vgpr(96)", 192, 0),
    ],
)
def test_declared_sizes_and_waves_give_the_documented_register_budget(attributes: str, registers: int, agprs: int):
    assert allocated(attributes, 200) == (registers, agprs, True)


@pytest.mark.parametrize("waves", [9, 16])
def test_an_impossible_number_of_waves_is_dropped_with_a_warning(waves: int):
    asked = GROUP.format(256) + f", amdgpu_waves_per_eu({waves})"
    assert allocated(asked, 100) == allocated(GROUP.format(256), 100) == (344, 88, False)
    built = compile_hip(PRELUDE + LIVE.format(asked, 100), "gfx942")
    assert f"desired occupancy was {waves}, final occupancy is 1" in built.diagnostics


COMPLEX = """
struct pair { double x, y; };
KERNEL void plain(pair *o) {
    pair p = o[LANE], q = o[LANE + 64];
    o[LANE] = {p.x * q.x - p.y * q.y, p.y * q.x + p.x * q.y};
}
KERNEL void product(double _Complex *o) { o[LANE] = o[LANE] * o[LANE + 64]; }
KERNEL void quotient(double _Complex *o) { o[LANE] = o[LANE] / o[LANE + 64]; }
KERNEL void inverse_root(double *o) { o[LANE] = 1.0 / __builtin_sqrt(o[LANE]); }
"""


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_a_complex_product_of_the_language_has_a_nan_branch_unless_a_flag_drops_it(arch: str):
    strict, basic = (instructions(COMPLEX, arch, *flags) for flags in ((), ("-fcomplex-arithmetic=basic",)))
    assert sum("_f64" in name for name in names(strict["plain"])) == 4
    assert {"v_cmp_u_f64", "s_swappc_b64"} <= set(names(strict["product"]))
    assert "s_swappc_b64" in names(strict["quotient"])
    assert names(basic["product"]).count("global_load_dwordx4") == 2
    for name in ("product", "quotient"):
        assert not {"v_cmp_u_f64", "s_swappc_b64"} & set(names(basic[name]))
    assert sum("_f64" in name for name in names(strict["inverse_root"])) == 7
