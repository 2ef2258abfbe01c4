"""What the pages for codes ported from CUDA, Fortran and Kokkos say, settled by the compiler."""

from __future__ import annotations

import pytest

from tests.toolchain.clang import Compiled, compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, QUIET, instructions, names

pytestmark = needs_clang

ALL = ("gfx90a", "gfx942", "gfx950")
WAVE_SUM = """
template <int c> __attribute__((device)) double moved(double x) {
  return __builtin_amdgcn_update_dpp(0.0, x, c, 0xf, 0xf, false);
}
KERNEL void k(const double *a, double *o) {
  double v = a[LANE];
  v += moved<0x111>(v); v += moved<0x112>(v); v += moved<0x114>(v); v += moved<0x118>(v);
  v += moved<0x142>(v); v += moved<0x143>(v);
  if ((LANE & 63) == 63) o[LANE >> 6] = v;
}
"""
CONTRACTION = """
KERNEL void k(const double *__restrict__ a, const double *__restrict__ D, double *__restrict__ o, int n) {
  double u[N * N * N], w[N];
  UNROLL for (int i = 0; i < N * N * N; ++i) u[i] = a[i * 256 + LANE];
  for (int it = 0; it < n; ++it) {
    UNROLL for (int q = 0; q < N * N; ++q) {
      UNROLL for (int i = 0; i < N; ++i) {
        w[i] = 0;
        UNROLL for (int j = 0; j < N; ++j) w[i] += D[i * N + j] * u[q * N + j];
      }
      UNROLL for (int i = 0; i < N; ++i) u[q * N + i] = w[i];
    }
  }
  UNROLL for (int i = 0; i < N * N * N; ++i) o[i * 256 + LANE] = u[i];
}
"""


def contraction(size: int, unroll: str, arch: str = "gfx942") -> Compiled:
    source = f"#define N {size}\n#define UNROLL {unroll}\n" + PRELUDE + CONTRACTION
    done = compile_hip(source, arch, QUIET)
    assert done.status == 0, done.diagnostics
    return done


@pytest.mark.parametrize("arch", ALL)
def test_a_double_is_summed_over_a_wavefront_by_two_dpp_moves_and_one_addition_a_step(arch: str) -> None:
    done = names(instructions(WAVE_SUM, arch)["k"])
    assert done.count("v_mov_b32_dpp") == 12
    assert done.count("v_add_f64") == 6


@pytest.mark.parametrize(("size", "vgprs"), [(3, 112), (4, 257)])
def test_a_small_array_of_doubles_stays_in_registers_when_every_index_is_constant(size: int, vgprs: int) -> None:
    done = contraction(size, '_Pragma("unroll")')
    assert done.figure("private_segment_fixed_size") == 0
    assert done.figure("vgpr_count") == vgprs


def test_five_cubed_doubles_fill_the_agprs_too_and_are_not_counted_as_spills() -> None:
    done = contraction(5, '_Pragma("unroll")')
    assert done.figure("private_segment_fixed_size") == 0
    assert done.figure("agpr_count") == 252
    assert done.figure("vgpr_spill_count") == 0


def test_five_cubed_doubles_lie_in_scratch_without_unrolling() -> None:
    assert contraction(5, "").figure("private_segment_fixed_size") == 1008
