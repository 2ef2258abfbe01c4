"""What the pages on packed arithmetic, bf16 and launches say about operands and code, settled by the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolchain.clang import assembles, compile_hip, needs_clang
from tests.toolchain.code_claims import instructions, names

pytestmark = needs_clang

BOTH_WAYS = """
typedef __bf16 b8 __attribute__((ext_vector_type(8)));
typedef float f8 __attribute__((ext_vector_type(8)));
KERNEL void unpack(const __bf16 *__restrict__ a, float *__restrict__ o) {
  *(f8 *)(o + 8 * LANE) = __builtin_convertvector(*(const b8 *)(a + 8 * LANE), f8);
}
KERNEL void pack(const float *__restrict__ a, __bf16 *__restrict__ o) {
  *(b8 *)(o + 8 * LANE) = __builtin_convertvector(*(const f8 *)(a + 8 * LANE), b8);
}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_eight_bf16_are_one_load_and_eight_instructions_to_unpack(arch: str):
    code = names(instructions(BOTH_WAYS, arch)["unpack"])
    assert code.count("global_load_dwordx4") == 1
    assert code.count("v_and_b32") == 4
    assert code.count("v_lshlrev_b32") == 4 + 2  # two of them make the addresses


def test_eight_floats_become_bf16_in_four_instructions_on_gfx950_only():
    new, old = (names(instructions(BOTH_WAYS, arch)["pack"]) for arch in ("gfx950", "gfx942"))
    assert new.count("v_cvt_pk_bf16_f32") == 4
    assert "v_cvt_pk_bf16_f32" not in old
    conversion = [name for name in old if name.startswith("v_") and name != "v_lshlrev_b32"]
    assert len(conversion) == 44


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ("v[0:1], v[2:3], v[4:5], v[6:7]", ""),
        ("v0, v2, v4, v6", "invalid operand for instruction"),
        ("v[1:2], v[2:3], v[4:5], v[6:7]", "invalid operand for instruction"),
        ("v[0:1], v[2:3], s2, v[6:7]", "invalid operand for instruction"),
        ("v[0:1], v[2:3], s[2:3], v[6:7] op_sel_hi:[1,0,1]", ""),
        ("v[0:1], v[2:3], a[4:5], v[6:7]", "invalid operand for instruction"),
        ("v[0:1], v[2:3], s[2:3], s[4:5]", "violates constant bus restrictions"),
        ("v[0:1], v[2:3], 3.0, v[6:7]", "literal operands are not supported"),
        ("v[0:1], v[2:3], 1.0, v[6:7]", ""),
        ("v[0:1], -v[2:3], v[4:5], v[6:7]", "not a valid operand"),
        ("v[0:1], v[2:3], v[4:5], v[6:7] neg_lo:[1,0,0] neg_hi:[1,0,0]", ""),
        ("v[0:1], v[2:3], v[4:5], v[6:7] clamp", ""),
    ],
)
def test_which_operands_packed_fp32_takes(arch: str, operands: str, message: str, tmp_path: Path):
    complaints = assembles(f"v_pk_fma_f32 {operands}\n", arch, tmp_path)
    assert (complaints == "") is (message == "")
    assert message in complaints


def test_a_launch_outside_hip_is_an_expected_expression():
    built = compile_hip("void k(float *); void f(float *p) { k<<<1, 64>>>(p); }", "gfx942", ("-x", "c++"))
    assert "expected expression" in built.diagnostics
