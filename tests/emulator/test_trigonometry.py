"""v_trig_preop_f64: its pieces are those of 2/pi as published."""

from __future__ import annotations

from kbserver.emulator.oracle.formats import from_bits, to_bits
from kbserver.emulator.semantics.trigonometry import two_over_pi
from tests.emulator.harness import fresh_wave, lanes, run

# 24 bits each, as the tables of argument reduction in C libraries have them.
_PUBLISHED = (0xA2F983, 0x6E4E44, 0x1529FC, 0x2757D1, 0xF534DD, 0xC0DB62, 0x95993C, 0x439041)


def test_two_over_pi_has_the_published_bits() -> None:
    first = two_over_pi() >> (1201 - 24 * len(_PUBLISHED))
    assert [first >> 24 * n & 0xFFFFFF for n in reversed(range(len(_PUBLISHED)))] == list(_PUBLISHED)


def test_three_pieces_of_an_ordinary_argument_add_up_to_two_over_pi() -> None:
    wave = fresh_wave()
    bits = to_bits(1e10, 64)
    wave.vgprs[0], wave.vgprs[1] = lanes(bits & 0xFFFFFFFF), lanes(bits >> 32)
    run("\n".join(f"v_trig_preop_f64 v[{4 + 2 * n}:{5 + 2 * n}], v[0:1], {n}" for n in range(3)), wave)
    pieces = [from_bits(int(wave.vgprs[4 + 2 * n, 0]) | int(wave.vgprs[5 + 2 * n, 0]) << 32, 64) for n in range(3)]
    assert pieces[0] == 0.6366197723675813
    assert pieces[1] / 2**-53 < 1 > pieces[2] / 2**-106
    assert sum(int(piece * 2.0**159) for piece in pieces) == two_over_pi() >> (1201 - 159)
