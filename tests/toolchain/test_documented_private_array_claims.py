"""What the page on ODE and chemistry kernels says about a 3x3 matrix for each thread, settled by the compiler."""

from __future__ import annotations

import pytest

from tests.toolchain.clang import Compiled, compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, QUIET

pytestmark = needs_clang

ROTATION = """
  float t = (a[q][q] - a[p][p]) * 0.5f, h = a[p][q];
  float s = h / (__builtin_fabsf(t) + __builtin_sqrtf(t * t + h * h) + 1e-30f);
  s = t < 0 ? -s : s;
  float c = __builtin_amdgcn_rsqf(1 + s * s), d = s * c;
  for (int k = 0; k < 3; ++k) { float x = a[k][p], y = a[k][q]; a[k][p] = c * x - d * y; a[k][q] = d * x + c * y; }
  for (int k = 0; k < 3; ++k) { float x = a[p][k], y = a[q][k]; a[p][k] = c * x - d * y; a[q][k] = d * x + c * y; }
"""
KERNEL = """
KERNEL void jacobi(const float *__restrict__ in, float *__restrict__ out, int n) {{
  float a[3][3];
  for (int r = 0; r < 3; ++r) for (int c = 0; c < 3; ++c) a[r][c] = in[(r * 3 + c) * n + LANE];
  {sweeps}
  for (int r = 0; r < 3; ++r) out[r * n + LANE] = a[r][r];
}}
"""
BY_SIZE = f"""for (int it = 0; it < 8; ++it) {{
  int p = 0, q = 1; float m = __builtin_fabsf(a[0][1]);
  if (__builtin_fabsf(a[0][2]) > m) {{ p = 0; q = 2; m = __builtin_fabsf(a[0][2]); }}
  if (__builtin_fabsf(a[1][2]) > m) {{ p = 1; q = 2; }}
  {ROTATION}
}}"""
ROTATE = f"template <int p, int q> __attribute__((device)) void rotate(float (&a)[3][3]) {{ {ROTATION} }}\n"
CYCLIC = "for (int it = 0; it < 4; ++it) { rotate<0, 1>(a); rotate<0, 2>(a); rotate<1, 2>(a); }"


def built(sweeps: str, arch: str, before: str = "") -> Compiled:
    done = compile_hip(PRELUDE + before + KERNEL.format(sweeps=sweeps), arch, QUIET)
    assert done.status == 0, done.diagnostics
    return done


@pytest.mark.parametrize(("arch", "scratch", "lds"), [("gfx90a", 48, 0), ("gfx942", 48, 0), ("gfx950", 0, 9216)])
def test_a_pair_chosen_at_run_time_takes_the_matrix_out_of_the_registers(arch: str, scratch: int, lds: int) -> None:
    done = built(BY_SIZE, arch)
    assert done.figure("private_segment_fixed_size") == scratch
    assert done.figure("group_segment_fixed_size") == lds


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_pairs_as_template_arguments_keep_the_matrix_in_registers(arch: str) -> None:
    done = built(CYCLIC, arch, ROTATE)
    assert done.figure("private_segment_fixed_size") == 0
    assert done.figure("group_segment_fixed_size") == 0
