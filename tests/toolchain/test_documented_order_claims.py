"""What the pages on scheduling builtins, direct-to-LDS waits and bit tricks say, settled by the compiler."""

from __future__ import annotations

import pytest

from tests.toolchain.clang import needs_clang
from tests.toolchain.code_claims import instructions, names, refused

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
