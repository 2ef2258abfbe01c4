"""Binary floating point from its definition: exact values, and one rounding to nearest even."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

# bits -> (exponent bits, fraction bits)
LAYOUT = {16: (5, 10), 32: (8, 23), 64: (11, 52)}
BFLOAT = (8, 7)
_PACK = {16: ("<H", "<e"), 32: ("<I", "<f"), 64: ("<Q", "<d")}


def from_bits(bits: int, size: int) -> float:
    """Return the number; a Python float holds every value of the three formats."""
    integer, real = _PACK[size]
    return struct.unpack(real, struct.pack(integer, bits))[0]


def to_bits(value: float | Fraction | int, size: int) -> int:
    """Return the bits of the value rounded to nearest even; overflow gives infinity, NaN the quiet NaN."""
    exponent_bits, fraction_bits = LAYOUT[size]
    top = (1 << exponent_bits) - 1
    if isinstance(value, float):
        if math.isnan(value):
            return top << fraction_bits | 1 << (fraction_bits - 1)
        sign = int(math.copysign(1.0, value) < 0)
        if math.isinf(value):
            return sign << (size - 1) | top << fraction_bits
        if value == 0:
            return sign << (size - 1)
        value = Fraction(value)
    exact = Fraction(value)
    sign = int(exact < 0)
    return sign << (size - 1) | _magnitude(abs(exact), exponent_bits, fraction_bits)


def _magnitude(exact: Fraction, exponent_bits: int, fraction_bits: int) -> int:
    if exact == 0:
        return 0
    bias = (1 << (exponent_bits - 1)) - 1
    # floor(log2(exact)), from the lengths of numerator and denominator, corrected by one where they mislead.
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if Fraction(2) ** exponent > exact:
        exponent -= 1
    exponent = max(exponent, 1 - bias)  # below that the format is subnormal, with a fixed step
    steps = exact / Fraction(2) ** (exponent - fraction_bits)
    whole = round(steps)  # Python rounds a Fraction half to even
    # A whole of 2^(fraction+1) carries into the exponent by plain addition, also from the subnormal range.
    bits = ((exponent + bias - 1) << fraction_bits) + whole
    return min(bits, ((1 << exponent_bits) - 1) << fraction_bits)


def is_nan(bits: int, size: int, *, bfloat: bool = False) -> bool:
    """Return whether bits are a NaN of this size."""
    exponent_bits, fraction_bits = BFLOAT if bfloat else LAYOUT[size]
    magnitude = bits & ((1 << (size - 1)) - 1)
    return magnitude > ((1 << exponent_bits) - 1) << fraction_bits


def ordered(bits: int, size: int) -> int:
    """Return an integer that grows by one from each number to the next; both zeros are 0."""
    magnitude = bits & ((1 << (size - 1)) - 1)
    return -magnitude if bits >> (size - 1) else magnitude
