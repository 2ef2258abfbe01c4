"""What the page on HPC patterns says about complex arithmetic, settled by the compiler."""

from __future__ import annotations

import pytest

from tests.toolchain.clang import needs_clang
from tests.toolchain.code_claims import instructions, names

pytestmark = needs_clang

COMPLEX = """
KERNEL void single(const f2 *__restrict__ a, const f2 *__restrict__ b, f2 *__restrict__ c) {
  f2 x = a[LANE], y = b[LANE], z = c[LANE];
  z.x = __builtin_fmaf(x.x, y.x, __builtin_fmaf(-x.y, y.y, z.x));
  z.y = __builtin_fmaf(x.x, y.y, __builtin_fmaf(x.y, y.x, z.y));
  c[LANE] = z;
}
typedef double d2 __attribute__((ext_vector_type(2)));
KERNEL void twice(const d2 *__restrict__ a, const d2 *__restrict__ b, d2 *__restrict__ c) {
  d2 x = a[LANE], y = b[LANE], z = c[LANE];
  z.x = __builtin_fma(x.x, y.x, __builtin_fma(-x.y, y.y, z.x));
  z.y = __builtin_fma(x.x, y.y, __builtin_fma(x.y, y.x, z.y));
  c[LANE] = z;
}
"""


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_a_complex_multiply_add_in_float_is_two_packed_instructions(arch: str) -> None:
    code = instructions(COMPLEX, arch)["single"]
    packed = [line for line in code if line.startswith("v_pk_fma_f32")]
    assert len(packed) == 2
    assert sum("neg_lo:[1,0,0]" in line for line in packed) == 1
    assert all("op_sel" in line for line in packed)
    assert not {"v_fma_f32", "v_fmac_f32", "v_pk_add_f32"} & set(names(code))


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_a_complex_multiply_add_in_double_is_four_instructions(arch: str) -> None:
    code = names(instructions(COMPLEX, arch)["twice"])
    assert sum(name in ("v_fma_f64", "v_fmac_f64") for name in code) == 4
    assert not any(name.startswith("v_pk") for name in code)
