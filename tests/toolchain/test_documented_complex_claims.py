"""What the page on HPC patterns says about complex arithmetic, settled by the compiler."""

from __future__ import annotations

import pytest

from tests.toolchain.clang import needs_clang
from tests.toolchain.code_claims import instructions, names

pytestmark = needs_clang

ARCHES = pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
FORM = """
KERNEL void {name}(const {type} *__restrict__ a, const {type} *__restrict__ b, {type} *__restrict__ c) {{
  {type} x = a[LANE], y = b[LANE], z = c[LANE];
  z.x = {fma}(x.x, y.x, {fma}(-x.y, y.y, z.x));
  z.y = {fma}(x.x, y.y, {fma}(x.y, y.x, z.y));
  c[LANE] = z;
}}
"""
SOURCE = (
    "struct complex32 { float x, y; };\nstruct complex64 { double x, y; };\n"
    + FORM.format(name="members", type="complex32", fma="__builtin_fmaf")
    + FORM.format(name="vectors", type="f2", fma="__builtin_fmaf")
    + FORM.format(name="doubles", type="complex64", fma="__builtin_fma")
)
BUILTIN_COMPLEX = """
KERNEL void product(const float _Complex *a, const float _Complex *b, float _Complex *o) {
  o[LANE] = a[LANE] * b[LANE];
}
"""


@ARCHES
def test_a_complex_multiply_add_of_struct_members_is_two_packed_instructions(arch: str) -> None:
    code = instructions(SOURCE, arch)["members"]
    packed = [line for line in code if line.startswith("v_pk_")]
    assert [line.split()[0] for line in packed] == ["v_pk_fma_f32", "v_pk_fma_f32"]
    assert sum("neg_lo:[1,0,0]" in line for line in packed) == 1
    assert not {"v_fma_f32", "v_fmac_f32"} & set(names(code))


@ARCHES
def test_a_vector_type_of_two_floats_negates_and_moves_before_it_multiplies(arch: str) -> None:
    code = names(instructions(SOURCE, arch)["vectors"])
    assert [name for name in code if name.startswith("v_pk")] == ["v_pk_add_f32", "v_pk_fma_f32", "v_pk_fma_f32"]
    assert code.count("v_mov_b32") == 2


@ARCHES
def test_a_complex_multiply_add_in_double_is_four_instructions(arch: str) -> None:
    code = names(instructions(SOURCE, arch)["doubles"])
    assert sum(name in ("v_fma_f64", "v_fmac_f64") for name in code) == 4


def test_a_product_of_builtin_complex_numbers_tests_for_nan_unless_the_range_is_limited() -> None:
    careful = names(instructions(BUILTIN_COMPLEX, "gfx942")["product"])
    limited = names(instructions(BUILTIN_COMPLEX, "gfx942", "-fcx-limited-range")["product"])
    assert any(name.startswith("v_cmp") for name in careful)
    assert not any(name.startswith("v_cmp") for name in limited)
