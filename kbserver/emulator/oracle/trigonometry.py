"""v_trig_preop_f64, from the manual's text; pi comes from the Gauss-Legendre iteration."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import isqrt

from kbserver.emulator.oracle.formats import to_bits
from kbserver.emulator.oracle.rule import Rule, rule


@cache
def _two_over_pi() -> int:
    """Return 1201 fraction bits of 2 / pi as an integer."""
    size = 1400
    one = 1 << size
    a, b, t, p = one, isqrt(one * one // 2), one // 4, 1
    for _ in range(12):
        mean = (a + b) // 2
        b = isqrt(a * b)
        t -= p * (a - mean) ** 2 // one
        a, p = mean, 2 * p
    pi = (a + b) ** 2 // (4 * t)
    return 2 * one * 2**1201 // pi


def _piece(x: float, segment: int) -> Fraction:
    exponent = to_bits(x, 64) >> 52 & 0x7FF
    start = segment % 32 * 53 + max(0, exponent - 1077)
    # Shifted left by start, the 53 highest of 1201 bits are the piece.
    piece = (_two_over_pi() << start) % 2**1201 >> (1201 - 53)
    return Fraction(piece) * Fraction(2) ** (-53 - start + (128 if exponent >= 1968 else 0))


RULES: dict[str, Rule] = {"v_trig_preop_f64": rule("f64 = f64 u32", lambda x, n: _piece(x, n) or 0.0)}
