"""8-bit floats by definition: the sets of values of OCP's 8-bit formats (gfx950) and of the FNUZ formats (gfx942)."""

from __future__ import annotations

import math


def value(code: int, name: str, *, fnuz: bool) -> float:
    """Return the number that a byte means as `fp8` (E4M3) or `bf8` (E5M2)."""
    fraction_bits = 3 if name == "fp8" else 2
    bias = {"fp8": 7, "bf8": 15}[name] + fnuz
    sign = -1.0 if code >= 128 else 1.0
    exponent, fraction = divmod(code % 128, 2**fraction_bits)
    if fnuz:
        if code == 128:
            return math.nan
    elif name == "fp8":
        if code % 128 == 127:
            return math.nan
    elif exponent == 31:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fraction_bits)
    return sign * math.ldexp(2**fraction_bits + fraction, exponent - bias - fraction_bits)
