"""The steps of a division, on exact fractions.

v_div_scale and v_div_fmas follow rocjitsu, AMD's emulator, whose rules were checked on RDNA GPUs; v_div_fixup follows
the branches of the CDNA3 manual's VOP3 table, with a quotient that is no finite number taken for an overflow. The
translator has the same sources; that whole divisions are right is shown in tests/emulator/test_division.py against
exact fractions, with neither of them as the judge.
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
_TINY = {32: 24, 64: 53}
_INVERSE_SUBNORMAL = {32: 253, 64: 2045}
_VANISHES = {32: -150, 64: -1075}


def _field(a: Real, size: int) -> int:
    """Return the exponent field of the value rounded to the format."""
    exponent_bits, fraction_bits = LAYOUT[size]
    return to_bits(a, size) >> fraction_bits & (2**exponent_bits - 1)


def _times(a: Real, power: int) -> Real:
    if isinstance(a, float) and (a == 0 or not math.isfinite(a)):
        return a
    return Fraction(a) * Fraction(2) ** power


def _scale(size: int) -> Callable[[float, float, float], tuple[Real, bool]]:
    def steps(is_denominator: bool, denominator: int, numerator: int) -> tuple[int, bool]:
        """Return (direction of the scale, flag) for two exponent fields."""
        difference = numerator - denominator
        if difference >= _FAR[size]:
            return int(is_denominator), True
        if denominator == 0:
            return 1, False
        tiny = difference <= -_FAR[size]
        if denominator >= _INVERSE_SUBNORMAL[size]:
            return (0 if tiny and not is_denominator else -1), tiny
        if tiny:
            return int(not is_denominator), True
        return int(numerator <= _TINY[size]), False

    def function(a: float, denominator: float, numerator: float) -> tuple[Real, bool]:
        same = to_bits(a, size) == to_bits(denominator, size)
        direction, flag = steps(same, _field(denominator, size), _field(numerator, size))
        if denominator == 0 or numerator == 0:
            return math.nan, flag
        return _times(a, direction * _SCALE[size]), flag

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
