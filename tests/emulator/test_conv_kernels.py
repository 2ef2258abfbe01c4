"""The five convolution kernels, as compiled for each target, equal the convolution in float64 in every wave order."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.conv import NAMES, expected, run
from tests.toolchain.clang import needs_clang

pytestmark = needs_clang
_ARCHES = ("gfx942", "gfx950")


@pytest.mark.parametrize(
    ("arch", "order"),
    [
        ("gfx942", "forward"),
        pytest.param("gfx942", "reversed", marks=pytest.mark.slow),
        ("gfx942", "seeded"),
        ("gfx950", "forward"),
        ("gfx950", "reversed"),
        pytest.param("gfx950", "seeded", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_kernel_equals_the_convolution(name: str, arch: str, order: str) -> None:
    exact, magnitude = expected()
    result = run(name, arch, order=order, seed=7)
    # One rounding to bfloat16 (8 bits), and 75 float additions in any order.
    bound = 2.0**-8 * np.abs(exact) + 76 * 2.0**-24 * magnitude
    assert (np.abs(result.output - exact) <= bound).all()
    assert result.outcome.finding_count == 0
    assert result.outcome.divergent_rounds == 0


@pytest.mark.parametrize("name", ["step1_naive", "step2_nhwc", "step4_mfma"])
def test_kernel_of_gfx90a_equals_the_convolution(name: str) -> None:
    exact, magnitude = expected()
    bound = 2.0**-8 * np.abs(exact) + 76 * 2.0**-24 * magnitude
    assert (np.abs(run(name, "gfx90a").output - exact) <= bound).all()


@pytest.mark.parametrize("arch", _ARCHES)
def test_both_lds_kernels_give_the_same_bits(arch: str) -> None:
    assert np.array_equal(run("step3_nchw_lds", arch).bits, run("step5_sgb", arch).bits)


def test_source_lines_reach_the_instructions() -> None:
    from tests.emulator.conv import machine

    sources = {
        d.instruction.source.file for d in machine("step3_nchw_lds", "gfx950").kernel.code if d.instruction.source
    }
    assert any(name.endswith("step3_nchw_lds.hip") for name in sources)
