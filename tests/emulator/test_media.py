"""Bytes and pictures: worked examples, and the form with four 32-bit sums, whose operands no row test can give."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.emulator.oracle.media import sliding_dwords
from kbserver.emulator.oracle.state import AddressSpace, Wavefront
from tests.emulator.batches import make_wave
from tests.emulator.harness import fresh_wave, lanes, load, run


def _result(line: str, *sources: int) -> int:
    wave = fresh_wave()
    for register, bits in enumerate(sources):
        wave.vgprs[register + 1] = lanes(bits)
    run(line, wave)
    return int(wave.vgprs[0, 9])


def _bits(number: float) -> int:
    return int(np.float32(number).view(np.uint32))


@pytest.mark.parametrize(
    ("line", "sources", "want"),
    [
        # |1-4| + |2-0| is skipped under the mask + |3-3| + |4-1|
        ("v_msad_u8 v0, v1, v2, v3", (0x04030201, 0x01030004, 10), 16),
        ("v_lerp_u8 v0, v1, v2, v3", (0xFF000301, 0xFF010402, 0x01010100), 0xFF010401),
        ("v_sat_pk_u8_i16_e32 v0, v1", (0x0100FFFF,), 0x0000FF00),
        ("v_prng_b32_e32 v0, v1", (0x80000001,), 2 ^ 197),
        ("v_cvt_off_f32_i4_e32 v0, v1", (0xF8,), 0xBF000000),
    ],
)
def test_worked_examples(line: str, sources: tuple[int, ...], want: int) -> None:
    assert _result(line, *sources) == want


def test_shift_and_pack_saturates_and_keeps_the_other_half() -> None:
    wave = fresh_wave()
    wave.vgprs[0], wave.vgprs[1], wave.vgprs[2] = lanes(0xAAAABBBB), lanes(1000), lanes(0x80000000)
    run("v_ashr_pk_i8_i32 v0, v1, v2, 2\nv_ashr_pk_u8_i32 v3, v1, v2, 2", wave)
    assert int(wave.vgprs[0, 5]) == 0xAAAA807F
    assert int(wave.vgprs[3, 5]) & 0xFFFF == 0x00FA


# Faces and coordinates as graphics interfaces define them: major axis +x has s = -z, t = -y, and so on.
@pytest.mark.parametrize(
    ("direction", "face", "major", "s", "t"),
    [
        ((4.0, 1.0, 2.0), 0.0, 8.0, -2.0, -1.0),
        ((-4.0, 1.0, 2.0), 1.0, -8.0, 2.0, -1.0),
        ((1.0, 4.0, 2.0), 2.0, 8.0, 1.0, 2.0),
        ((1.0, -4.0, 2.0), 3.0, -8.0, 1.0, -2.0),
        ((1.0, 2.0, 4.0), 4.0, 8.0, 1.0, -2.0),
        ((1.0, 2.0, -4.0), 5.0, -8.0, -1.0, -2.0),
    ],
)
def test_cube_map_coordinates(direction: tuple[float, ...], face: float, major: float, s: float, t: float) -> None:
    for kind, want in (("id", face), ("ma", major), ("sc", s), ("tc", t)):
        assert _result(f"v_cube{kind}_f32 v0, v1, v2, v3", *map(_bits, direction)) == _bits(want)


@pytest.mark.parametrize("kind", ["random", "integer"])
def test_four_sums_of_32_bits_equal_the_oracle(kind: str) -> None:
    body = "v_mqsad_u32_u8 v[40:43], v[0:1], v8, v[16:19]"
    wave = make_wave(kind, 1)
    before = wave.copy()
    oracle = Wavefront(before.vgprs.tolist(), before.sgprs.tolist(), bytearray(), AddressSpace([]))
    run(body, wave)
    sliding_dwords(oracle, load(body).code[0])
    assert wave.vgprs[40:44].tolist() == oracle.vgprs[40:44]
    assert (wave.vgprs[40:44] != before.vgprs[40:44]).any()
