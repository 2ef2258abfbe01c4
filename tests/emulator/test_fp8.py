"""Every code of the 8-bit floats becomes its float32, in the formats of the target."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.operands import FP16_OVERFLOW
from kbserver.emulator.oracle.formats import to_bits
from kbserver.emulator.oracle.fp8 import value
from kbserver.emulator.oracle.scaled import unscaled
from kbserver.emulator.oracle.state import AddressSpace, Wavefront
from tests.emulator.batches import same
from tests.emulator.harness import fresh_wave, lanes, load, run

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


def _numbers(name: str, fnuz: bool) -> np.ndarray:
    """Return 64 float32 numbers: values of the format, the middles between two, and steps beside them."""
    known = [value(code, name, fnuz=fnuz) for code in range(128)]
    finite = np.array([number for number in known if np.isfinite(number)])
    middles = (finite[1:] + finite[:-1]) / 2
    top = finite[-1] + (finite[-1] - finite[-2]) / 2
    rng = np.random.default_rng(3)
    chosen = [*rng.choice(finite, 10), *rng.choice(middles, 24), *middles[:4], *finite[-4:], top, 2 * top]
    special = [0.0, float("inf"), float("nan"), 1e-45, 3.4e38]
    numbers = np.array([*chosen, *special], np.float64).astype(np.float32)
    beside = np.nextafter(numbers[10:25], np.float32(np.inf) * np.sign(np.arange(15) % 2 - 0.5).astype(np.float32))
    whole = np.concatenate([numbers, beside])[:64]
    return np.concatenate([whole, np.zeros(64 - len(whole), np.float32)]) * np.where(np.arange(64) % 3 == 0, -1, 1)


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("name", ["fp8", "bf8"])
@pytest.mark.parametrize(("arch", "fnuz"), _TARGETS)
def test_a_number_becomes_the_nearest_code_into_one_half(arch: str, fnuz: bool, name: str, saturate: bool) -> None:
    wave = fresh_wave()
    numbers = _numbers(name, fnuz).astype(np.float32)
    wave.vgprs[1], wave.vgprs[2] = numbers.view(np.uint32), numbers[::-1].view(np.uint32)
    wave.vgprs[3], wave.vgprs[4] = lanes(0xAAAABBBB), lanes(0xAAAABBBB)
    wave.sgprs[FP16_OVERFLOW] = saturate
    oracle = Wavefront(wave.vgprs.tolist(), wave.sgprs.tolist(), bytearray(), AddressSpace([]))
    body = f"v_cvt_pk_{name}_f32 v3, v1, -v2\nv_cvt_pk_{name}_f32 v4, v1, |v2| op_sel:[0,0,1]"
    run(body, wave, arch=arch)
    step = unscaled(name)(fnuz, saturate)
    for d in load(body, arch).code[:2]:
        step(oracle, d)
    assert [hex(x) for x in wave.vgprs[3].tolist()] == [hex(x) for x in oracle.vgprs[3]]
    assert [hex(x) for x in wave.vgprs[4].tolist()] == [hex(x) for x in oracle.vgprs[4]]


# 448 + 16 lies half way to the missing 480; FNUZ's largest number is 240, and its next would be 256.
@pytest.mark.parametrize(
    ("arch", "number", "plain", "saturated"),
    [
        ("gfx950", 464.0, 0x7E, 0x7E), ("gfx950", 464.1, 0x7F, 0x7E), ("gfx950", -1e9, 0xFF, 0xFE),
        ("gfx942", 247.9, 0x7F, 0x7F), ("gfx942", 248.0, 0x80, 0x7F), ("gfx942", -0.0, 0x00, 0x00),
        ("gfx942", float("-inf"), 0x80, 0xFF),
    ],
)  # fmt: skip
def test_what_lies_past_the_largest_number_follows_the_mode(
    arch: str, number: float, plain: int, saturated: int
) -> None:
    for mode, want in ((0, plain), (1, saturated)):
        wave = fresh_wave()
        wave.vgprs[1] = lanes(int(np.float32(number).view(np.uint32)))
        wave.sgprs[FP16_OVERFLOW] = mode
        run("v_cvt_pk_fp8_f32 v0, v1, v1", wave, arch=arch)
        assert int(wave.vgprs[0, 7]) & 0xFF == want


def test_stochastic_rounding_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="v_cvt_sr_fp8_f32"):
        run("v_cvt_sr_fp8_f32 v0, v1, v2", fresh_wave())
