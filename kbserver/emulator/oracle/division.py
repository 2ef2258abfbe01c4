"""The steps of a division: the branches of the CDNA3 manual's VOP3 table in their order, on exact fractions.

Where the manual's text cannot divide, the rules have what makes whole divisions come out as the quotient rounded once:
v_div_fmas undoes the whole scale, v_div_scale moves a huge denominator down, and v_div_fixup takes a quotient that is
no finite number for an overflow. These rules share that reading with the translator; that whole divisions are right is
shown against exact fractions, in tests/emulator/test_division.py, with neither of them as the judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from kbserver.emulator.oracle.arithmetic import Real, divide, fused
from kbserver.emulator.oracle.formats import LAYOUT, to_bits
from kbserver.emulator.oracle.rule import Rule, rule

_SCALE = {32: 64, 64: 128}
_FAR = {32: 96, 64: 768}
_TINY = {32: 23, 64: 53}
_VANISHES = {32: -150, 64: -1075}


def _field(a: Real, size: int) -> int:
    """Return the exponent field of the value rounded to the format."""
    exponent_bits, fraction_bits = LAYOUT[size]
    return to_bits(a, size) >> fraction_bits & (2**exponent_bits - 1)


def _is_subnormal(a: Real, size: int) -> bool:
    bits = to_bits(a, size)
    return _field(a, size) == 0 and bits % 2 ** (size - 1) != 0


def _times(a: Real, power: int) -> Real:
    if isinstance(a, float) and (a == 0 or not math.isfinite(a)):
        return a
    return Fraction(a) * Fraction(2) ** power


def _scale(size: int) -> Callable[[float, float, float], tuple[Real, bool]]:
    def function(a: float, denominator: float, numerator: float) -> tuple[Real, bool]:
        up = _times(a, _SCALE[size])
        if numerator == 0 or denominator == 0:
            return math.nan, False
        if _field(numerator, size) - _field(denominator, size) >= _FAR[size]:
            return (up if a == denominator else a), True
        if _is_subnormal(denominator, size):
            return up, False
        inverse = _is_subnormal(divide(1.0, denominator), size)
        down = _times(a, -_SCALE[size])
        if _is_subnormal(divide(numerator, denominator), size):
            if inverse:
                return (down if a == denominator else a), True
            return (up if a == numerator else a), True
        if inverse:
            return down, False
        return (up if _field(numerator, size) <= _TINY[size] else a), False

    return function


def _fmas(size: int) -> Callable[[float, float, float, bool], Real]:
    def function(a: float, b: float, c: float, scaled: bool) -> Real:
        exact = fused(a, b, c)
        if not scaled:
            return exact
        return _times(exact, _SCALE[size] if math.isnan(c) or abs(c) >= 2 else -_SCALE[size])

    return function


def _fixup(size: int) -> Callable[[float, float, float], Real]:
    def function(quotient: float, denominator: float, numerator: float) -> Real:
        sign = math.copysign(1.0, numerator) * math.copysign(1.0, denominator)
        if math.isnan(numerator) or math.isnan(denominator):
            return math.nan
        if (numerator == 0 and denominator == 0) or (math.isinf(numerator) and math.isinf(denominator)):
            return math.nan
        if denominator == 0 or math.isinf(numerator):
            return sign * math.inf
        if numerator == 0 or math.isinf(denominator):
            return sign * 0.0
        if _field(numerator, size) - _field(denominator, size) < _VANISHES[size]:
            return sign * 0.0
        return math.copysign(quotient if math.isfinite(quotient) else math.inf, sign)

    return function


def _fixup_half(quotient: float, denominator: float, numerator: float) -> float:
    exact = divide(numerator, denominator)
    if isinstance(exact, float) and (math.isnan(exact) or exact == 0 or math.isinf(exact)):
        return exact
    return math.copysign(quotient, math.copysign(1.0, numerator) * math.copysign(1.0, denominator))


def _three(size: int) -> str:
    return " ".join([f"f{size}"] * 3)


RULES: dict[str, Rule] = {
    **{f"v_div_scale_f{n}": rule(f"f{n} mask = {_three(n)}", _scale(n)) for n in (32, 64)},
    **{f"v_div_fmas_f{n}": rule(f"f{n} = {_three(n)} vcc", _fmas(n)) for n in (32, 64)},
    **{f"v_div_fixup_f{n}": rule(f"f{n} = {_three(n)}", _fixup(n)) for n in (32, 64)},
    "v_div_fixup_f16": rule("f16 = f16 f16 f16", _fixup_half),
    "v_div_fixup_legacy_f16": rule("f16 = f16 f16 f16", _fixup_half),
}
