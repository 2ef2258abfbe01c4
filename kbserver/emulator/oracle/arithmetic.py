"""IEEE arithmetic on Python floats: exact where finite (a Fraction, rounded once by the caller), Python's own rules for
NaN, infinities and signed zeros."""

from __future__ import annotations

import math
from fractions import Fraction

Real = float | Fraction


def add(a: float, b: float) -> Real:
    """Return a + b exactly; a sum of zero has the sign that IEEE gives it."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b
    return (Fraction(a) + Fraction(b)) or a + b


def multiply(a: float, b: float) -> Real:
    """Return a * b exactly."""
    if not (math.isfinite(a) and math.isfinite(b)) or a == 0 or b == 0:
        return a * b
    return Fraction(a) * Fraction(b)


def divide(a: float, b: float) -> Real:
    """Return a / b exactly; a finite number by zero is an infinity."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    if math.isinf(a):
        return math.nan if math.isinf(b) else sign * math.inf
    if math.isinf(b) or (a == 0 and b != 0):
        return sign * 0.0
    if b == 0:
        return math.nan if a == 0 else sign * math.inf
    return Fraction(a) / Fraction(b)


def fused(a: float, b: float, c: float) -> Real:
    """Return a * b + c exactly."""
    if not all(map(math.isfinite, (a, b, c))):
        if math.isfinite(a) and math.isfinite(b):
            return c
        return a * b + c
    product = Fraction(a) * Fraction(b)
    if product == 0:
        return _sign(a) * _sign(b) * 0.0 + c
    return product + Fraction(c) or 0.0


def _sign(a: float) -> float:
    return math.copysign(1.0, a)


def minimum(a: float, b: float) -> float:
    """Return the smaller number; a NaN gives way, and -0 is smaller than +0."""
    return _extreme(a, b, first_wins=a < b or (a == b and _sign(a) < 0))


def maximum(a: float, b: float) -> float:
    """Return the larger number."""
    return _extreme(a, b, first_wins=a > b or (a == b and _sign(a) > 0))


def _extreme(a: float, b: float, *, first_wins: bool) -> float:
    if math.isnan(a):
        return b
    return a if math.isnan(b) or first_wins else b
