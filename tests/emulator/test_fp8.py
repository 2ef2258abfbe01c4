"""Every code of the 8-bit floats becomes its float32, in the formats of the target."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.oracle.formats import to_bits
from kbserver.emulator.oracle.fp8 import value
from tests.emulator.batches import same
from tests.emulator.harness import fresh_wave, run

_TARGETS = [("gfx950", False), ("gfx942", True)]


def _codes() -> np.ndarray:
    """Return 64 dwords that hold the 256 codes."""
    return np.arange(256, dtype=np.uint8).view(np.uint32)


@pytest.mark.parametrize("name", ["fp8", "bf8"])
@pytest.mark.parametrize(("arch", "fnuz"), _TARGETS)
def test_every_code_converts(arch: str, fnuz: bool, name: str) -> None:
    wave = fresh_wave()
    wave.vgprs[1] = _codes()
    lines = [f"v_cvt_f32_{name}_sdwa v{2 + byte}, v1 src0_sel:BYTE_{byte}" for byte in range(4)]
    lines += [f"v_cvt_f32_{name}_e32 v6, v1", f"v_cvt_pk_f32_{name}_e32 v[8:9], v1"]
    lines += [f"v_cvt_pk_f32_{name}_sdwa v[10:11], v1 src0_sel:WORD_1"]
    run("\n".join(lines), wave, arch=arch)
    wrong = []
    for register, byte in ((2, 0), (3, 1), (4, 2), (5, 3), (6, 0), (8, 0), (9, 1), (10, 2), (11, 3)):
        for lane in range(64):
            got, want = int(wave.vgprs[register, lane]), to_bits(value(4 * lane + byte, name, fnuz=fnuz), 32)
            if not same("f32", got, want):
                wrong.append(f"v{register} code {4 * lane + byte:#x}: {got:#x}, not {want:#x}")
    assert wrong == []


# Largest finite numbers and the codes beside them, as the OCP and FNUZ definitions list them.
@pytest.mark.parametrize(
    ("name", "fnuz", "code", "number"),
    [
        ("fp8", False, 0x7E, 448.0), ("fp8", True, 0x7F, 240.0), ("bf8", False, 0x7B, 57344.0),
        ("bf8", True, 0x7F, 57344.0), ("fp8", False, 0x01, 2.0**-9), ("fp8", True, 0x01, 2.0**-10),
        ("bf8", False, 0x01, 2.0**-16), ("bf8", True, 0x01, 2.0**-17), ("bf8", False, 0xFC, float("-inf")),
    ],
)  # fmt: skip
def test_the_definitions_have_the_published_extremes(name: str, fnuz: bool, code: int, number: float) -> None:
    assert value(code, name, fnuz=fnuz) == number


def test_a_target_without_8_bit_floats_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="gfx90a has no conversions of 8-bit floats"):
        run("v_cvt_f32_fp8_e32 v0, v1", fresh_wave(), arch="gfx90a")


def test_the_conversion_to_8_bits_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="v_cvt_pk_fp8_f32"):
        run("v_cvt_pk_fp8_f32 v0, v1, v2", fresh_wave())
