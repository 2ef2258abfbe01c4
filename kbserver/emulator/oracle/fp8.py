"""Floats of 4, 6 and 8 bits by definition: the sets of values of OCP's (gfx950) and of the FNUZ formats (gfx942).

A number becomes the code of the nearest value, found by looking at all of them; of two equally near the one with an
even code.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import cache

_FRACTION_BITS = {"fp8": 3, "bf8": 2, "fp6": 3, "bf6": 2, "fp4": 1}
_BIAS = {"fp8": 7, "bf8": 15, "fp6": 1, "bf6": 3, "fp4": 1}
SIZE = {"fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4}


def value(code: int, name: str, *, fnuz: bool) -> float:
    """Return the number that a code means."""
    fraction_bits, half = _FRACTION_BITS[name], 2 ** (SIZE[name] - 1)
    bias = _BIAS[name] + fnuz
    sign = -1.0 if code >= half else 1.0
    exponent, fraction = divmod(code % half, 2**fraction_bits)
    if fnuz:
        if code == half:
            return math.nan
    elif name == "fp8":
        if code % half == 127:
            return math.nan
    elif name == "bf8" and exponent == 31:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fraction_bits)
    return sign * math.ldexp(2**fraction_bits + fraction, exponent - bias - fraction_bits)


@cache
def _magnitudes(name: str, fnuz: bool) -> list[Fraction]:
    """Return the finite values of the positive codes, which grow with the code."""
    numbers = (value(code, name, fnuz=fnuz) for code in range(2 ** (SIZE[name] - 1)))
    return [Fraction(number) for number in numbers if math.isfinite(number)]


def nearest(number: float, name: str, *, fnuz: bool, saturate: bool = False) -> int:
    """Return the code of the value nearest to a number. saturate: MODE.FP16_OVFL is set."""
    half = 2 ** (SIZE[name] - 1)
    small = name in ("fp4", "fp6", "bf6")
    sign = half if math.copysign(1.0, number) < 0 else 0
    if math.isnan(number):
        return 0 if small else half if fnuz else sign + half - 1
    known = _magnitudes(name, fnuz)
    top = len(known) - 1
    beyond = sign + top if small or saturate else half if fnuz else sign + {"fp8": 127, "bf8": 124}[name]
    if math.isinf(number):
        return beyond
    exact = abs(Fraction(number))
    # Half a step past the largest value a number still rounds to it, when its code is the even one.
    step = known[top] - known[top - 1]
    if exact > known[top] + step / 2 or (exact == known[top] + step / 2 and top % 2):
        return beyond
    place = min(bisect_left(known, exact), top)
    code = min((n for n in (place - 1, place) if n >= 0), key=lambda n: (abs(known[n] - exact), n % 2))
    return 0 if fnuz and code == 0 else sign + code
