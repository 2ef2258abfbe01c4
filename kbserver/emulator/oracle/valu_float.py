"""Vector unit, floats: rules from the VOP1, VOP2 and VOP3 tables of the CDNA3 manual.

The hardware approximates reciprocals, roots and transcendentals; their rules give the rounded exact value, and `ulp`
says what a translation may be off by.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from kbserver.emulator.oracle.arithmetic import Real, add, divide, fused, maximum, minimum, multiply
from kbserver.emulator.oracle.formats import from_bits, to_bits
from kbserver.emulator.oracle.rule import Rule, rule


def _rounded(value: Real, size: int) -> float:
    return from_bits(to_bits(value, size), size)


def _unfused(size: int) -> Callable[[float, float, float], Real]:
    """v_mac, v_mad: the product is rounded before the addition."""
    return lambda a, b, c: add(_rounded(multiply(a, b), size), c)


def _subtract(a: float, b: float) -> Real:
    return add(a, -b)


def _legacy(a: float, b: float) -> Real:
    return 0.0 if a == 0 or b == 0 else multiply(a, b)


def _median(a: float, b: float, c: float) -> float:
    if any(map(math.isnan, (a, b, c))):
        return minimum(minimum(a, b), c)
    return maximum(minimum(a, b), minimum(maximum(a, b), c))


def _or_nan(pick: Callable[[float, float], float]) -> Callable[[float, float, float], float]:
    """IEEE 754-2019 minimum and maximum: a NaN source gives NaN."""
    return lambda a, b, c: math.nan if any(map(math.isnan, (a, b, c))) else pick(pick(a, b), c)


def _integral(function: Callable[[Fraction], int]) -> Callable[[float], float]:
    """A rounding to an integer keeps NaN, infinities and the sign of zero."""

    def result(a: float) -> float:
        if not math.isfinite(a):
            return a
        return math.copysign(float(function(Fraction(a))), a)

    return result


def _fraction(size: int) -> Callable[[float], Real]:
    below_one = 1 - Fraction(1, 2 ** {16: 11, 32: 24, 64: 53}[size])

    def result(a: float) -> Real:
        if not math.isfinite(a):
            return math.nan
        part = Fraction(a) - math.floor(a)
        return min(part, below_one) if _rounded(part, size) >= 1 else part

    return result


def _scale(a: float, n: int) -> Real:
    if not math.isfinite(a) or a == 0:
        return a
    return Fraction(a) * Fraction(2) ** max(-5000, min(5000, n))


def _root(a: float) -> Real:
    if math.isnan(a) or a < 0:
        return math.nan
    if a == 0 or math.isinf(a):
        return a
    # Enough digits that the truncated root rounds as the exact one does (a root is never a tie).
    exact = Fraction(a)
    scaled = exact.numerator * exact.denominator << 400
    return Fraction(math.isqrt(scaled), exact.denominator << 200)


def _inverse_root(a: float) -> Real:
    if a == 0:
        return divide(1.0, a)
    root = _root(a)
    return divide(1.0, root) if isinstance(root, float) else 1 / root


def _power(a: float) -> Real:
    if math.isnan(a):
        return a
    if abs(a) > 20000:
        return math.inf if a > 0 else 0.0
    whole = math.floor(a)
    return Fraction(2.0 ** (a - whole)) * Fraction(2) ** whole


def _logarithm(a: float) -> Real:
    if math.isnan(a) or a < 0:
        return math.nan
    if a == 0:
        return -math.inf
    return math.log2(a)


def _turn(function: Callable[[float], float]) -> Callable[[float], float]:
    """v_sin, v_cos: of a number of revolutions; outside -256..256 the value at 0."""

    def result(a: float) -> float:
        if not math.isfinite(a):
            return math.nan
        return function(math.fmod(a, 1.0) * 2 * math.pi) if abs(a) <= 256 else function(0.0)

    return result


def _each(name: str, types: tuple[int, ...], sources: int, function: object, ulp: int = 0) -> dict[str, Rule]:
    return {
        f"v_{name}_f{size}": rule(f"f{size} = " + " ".join([f"f{size}"] * sources), function, ulp=ulp)  # type: ignore[arg-type]
        for size in types
    }


def _reciprocal(a: float) -> Real:
    return divide(1.0, a)


_ALL = (16, 32, 64)

RULES: dict[str, Rule] = {
    **_each("add", _ALL, 2, add),
    **_each("sub", (16, 32), 2, _subtract),
    **_each("subrev", (16, 32), 2, lambda a, b: _subtract(b, a)),
    **_each("mul", _ALL, 2, multiply),
    "v_mul_legacy_f32": rule("f32 = f32 f32", _legacy),
    **_each("fma", _ALL, 3, fused),
    "v_fmac_f32": rule("f32 = f32 f32 dst", fused),
    "v_fmac_f64": rule("f64 = f64 f64 dst", fused),
    "v_mac_f32": rule("f32 = f32 f32 dst", _unfused(32)),
    "v_mad_f32": rule("f32 = f32 f32 f32", _unfused(32)),
    "v_mac_f16": rule("f16 = f16 f16 dst", _unfused(16)),
    "v_mad_f16": rule("f16 = f16 f16 f16", _unfused(16)),
    "v_madak_f32": rule("f32 = f32 f32 f32", _unfused(32)),
    "v_madmk_f32": rule("f32 = f32 f32 f32", _unfused(32)),
    "v_mad_legacy_f16": rule("f16 = f16 f16 f16", _unfused(16)),
    "v_fma_legacy_f16": rule("f16 = f16 f16 f16", fused),
    "v_fmaak_f32": rule("f32 = f32 f32 f32", fused),
    "v_fmamk_f32": rule("f32 = f32 f32 f32", fused),
    **_each("min", _ALL, 2, minimum),
    **_each("max", _ALL, 2, maximum),
    "v_min3_f32": rule("f32 = f32 f32 f32", lambda a, b, c: minimum(minimum(a, b), c)),
    "v_max3_f32": rule("f32 = f32 f32 f32", lambda a, b, c: maximum(maximum(a, b), c)),
    "v_med3_f32": rule("f32 = f32 f32 f32", _median),
    "v_min3_f16": rule("f16 = f16 f16 f16", lambda a, b, c: minimum(minimum(a, b), c)),
    "v_max3_f16": rule("f16 = f16 f16 f16", lambda a, b, c: maximum(maximum(a, b), c)),
    "v_med3_f16": rule("f16 = f16 f16 f16", _median),
    "v_minimum3_f32": rule("f32 = f32 f32 f32", _or_nan(minimum)),
    "v_maximum3_f32": rule("f32 = f32 f32 f32", _or_nan(maximum)),
    **_each("floor", _ALL, 1, _integral(math.floor)),
    **_each("ceil", _ALL, 1, _integral(math.ceil)),
    **_each("trunc", _ALL, 1, _integral(math.trunc)),
    **_each("rndne", _ALL, 1, _integral(round)),
    **{f"v_fract_f{size}": rule(f"f{size} = f{size}", _fraction(size)) for size in _ALL},
    **_each("rcp", _ALL, 1, _reciprocal, ulp=1),
    "v_rcp_iflag_f32": rule("f32 = f32", _reciprocal, ulp=1),
    **_each("sqrt", _ALL, 1, _root, ulp=1),
    **_each("rsq", _ALL, 1, _inverse_root, ulp=1),
    **_each("exp", (16, 32), 1, _power, ulp=1),
    **_each("log", (16, 32), 1, _logarithm, ulp=1),
    # Near the zeros of sine and cosine an ulp is tiny; the hardware's error is absolute there.
    **_each("sin", (16, 32), 1, _turn(math.sin), ulp=1),
    **_each("cos", (16, 32), 1, _turn(math.cos), ulp=1),
    **_each("frexp_mant", _ALL, 1, lambda a: math.frexp(a)[0]),
    **{f"v_frexp_exp_{t}": rule(t.replace("_", " = "), lambda a: math.frexp(a)[1]) for t in ("i32_f32", "i32_f64")},
    "v_frexp_exp_i16_f16": rule("i16 = f16", lambda a: math.frexp(a)[1]),
    "v_ldexp_f32": rule("f32 = f32 i32", _scale),
    "v_ldexp_f64": rule("f64 = f64 i32", _scale),
    "v_ldexp_f16": rule("f16 = f16 i16", _scale),
}
