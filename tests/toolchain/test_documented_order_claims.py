"""What the pages on scheduling builtins, direct-to-LDS waits and bit tricks say, settled by the compiler."""

from __future__ import annotations

import pytest

from tests.toolchain.clang import compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, QUIET, instructions, names, refused

pytestmark = needs_clang

MFMA_THEN_LOAD = """
typedef float f16v __attribute__((ext_vector_type(16)));
typedef _Float16 h4v __attribute__((ext_vector_type(4)));
KERNEL void k(const float *p, const h4v *a, float *o) {
  h4v x = a[LANE], y = a[LANE + 64];
  f16v c = {};
  c = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, c, 0, 0, 0);
  c = __builtin_amdgcn_mfma_f32_32x32x8f16(y, x, c, 0, 0, 0);
  BETWEEN;
  float v = p[LANE];
  o[LANE] = c[0] + c[5] + v;
}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("between", "load_is_hoisted"),
    [
        ("", True),
        ("__builtin_amdgcn_s_sleep(1)", True),
        ("__builtin_amdgcn_s_barrier()", True),
        ('asm volatile("s_nop 1" ::: "memory")', True),
        ("__builtin_amdgcn_s_setprio(0)", False),
        ("__builtin_amdgcn_s_setprio(1)", False),
        ("__builtin_amdgcn_sched_barrier(0)", False),
    ],
)
def test_mfma_crosses_barriers_and_asm_but_neither_s_setprio_nor_sched_barrier(arch, between, load_is_hoisted):
    code = names(instructions(MFMA_THEN_LOAD.replace("BETWEEN", between), arch)["k"])
    last_mfma = max(i for i, name in enumerate(code) if name.startswith("v_mfma"))
    assert (code.index("global_load_dword") < last_mfma) is load_is_hoisted


def test_no_wait_stands_between_a_direct_load_and_a_read_of_the_same_lds():
    source = """
    typedef float f4v __attribute__((ext_vector_type(4)));
    KERNEL void k(float *g, float *o) {
      __attribute__((shared)) static f4v buffer[64];
      __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void *)(g + 4 * LANE),
                                       (__attribute__((address_space(3))) void *)&buffer[0], 16, 0, 0);
      ((f4v *)o)[LANE] = buffer[LANE];
    }
    """
    code = instructions(source, "gfx950")["k"]
    order = names(code)
    start, end = order.index("global_load_lds_dwordx4"), order.index("ds_read_b128")
    assert "s_waitcnt" not in order[start:end]


def test_the_power_of_two_above_a_float_takes_an_addition_and_a_mask():
    source = "KERNEL void k(unsigned *u) { u[LANE] = (u[LANE] + 0x7fffffu) & 0xff800000u; }"
    for arch in ("gfx942", "gfx950"):
        code = names(instructions(source, arch)["k"])
        after = code[code.index("global_load_dword") + 1 :]
        assert [name for name in after if name.startswith("v_")] == ["v_add_u32", "v_and_b32"]


def test_a_maximum_of_a_loaded_float_is_two_instructions_and_of_a_computed_one_is_one():
    kernels = instructions(
        "KERNEL void loaded(float *f) { f[LANE] = __builtin_fmaxf(f[LANE], 0.f); }\n"
        "KERNEL void computed(float *f) { f[LANE] = __builtin_fmaxf(f[LANE] * 3.f, 0.f); }",
        "gfx942",
    )
    assert names(kernels["loaded"]).count("v_max_f32") == 2
    assert names(kernels["computed"]).count("v_max_f32") == 1


def test_this_clang_does_not_know_asyncmark():
    assert "undeclared identifier" in refused("KERNEL void k() { __builtin_amdgcn_asyncmark(); }", "gfx950")


def test_a_spin_loop_on_a_plain_load_is_deleted_and_one_on_an_atomic_load_stays():
    kernels = instructions(
        "KERNEL void empty(int *flag, int *o) { while (*flag == 0) {} *o = 1; }\n"
        "KERNEL void counting(int *flag, int *o) { int n = 0; while (*flag == 0) n++; *o = n; }\n"
        "KERNEL void atomic(int *flag, int *o) {"
        " while (__hip_atomic_load(flag, __ATOMIC_RELAXED, AGENT) == 0) {} *o = 1; }",
        "gfx942",
    )
    for name in ("empty", "counting"):
        assert not any("branch" in line or line.startswith("global_load") for line in kernels[name])
    assert {"global_load_dword", "s_cbranch_vccnz"} <= set(names(kernels["atomic"]))


def test_radeon_has_waves_of_32_and_wmma_and_instinct_waves_of_64_and_mfma():
    source = "KERNEL void k(float *p) { p[LANE] = 1.f; }"
    assert compile_hip(PRELUDE + source, "gfx1100", QUIET).figure("wavefront_size") == 32
    assert compile_hip(PRELUDE + source, "gfx942", QUIET).figure("wavefront_size") == 64
    mfma = "KERNEL void k(f4 *c, h4 *a) { *c = __builtin_amdgcn_mfma_f32_16x16x16f16(*a, *a, *c, 0, 0, 0); }"
    assert "needs target feature mai-insts" in refused(mfma, "gfx1100")
    wmma = (
        "typedef _Float16 h16 __attribute__((ext_vector_type(16)));\n"
        "typedef float f8 __attribute__((ext_vector_type(8)));\n"
        "KERNEL void k(f8 *c, h16 *a) { *c = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(*a, *a, *c); }"
    )
    assert "needs target feature gfx11-insts" in refused(wmma, "gfx942")
