"""Vector unit, floats (VOP1, VOP2, VOP3): IEEE arithmetic, rounded to nearest even, denormals kept.

Reciprocal, square root, exponential, logarithm, sine and cosine are approximations of about one ulp on the hardware;
here they are rounded as the host's functions round them. That is a model: tolerances must allow for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from kbserver.emulator.ir import Value, call, fma, select
from kbserver.emulator.rows import Row
from kbserver.emulator.types import f32, f64, i16, i32, unsigned
from kbserver.emulator.vector_rows import lane

_NAN_BITS = {16: 0x7E00, 32: 0x7FC00000, 64: 0x7FF8000000000000}


def _quiet_nan(x: Value) -> Value:
    return x.emitter.constant(_NAN_BITS[x.type.bits], unsigned(x.type.bits), x.lanes).as_(x.type)


def _pick(x: Value, y: Value, *, smaller: bool) -> Value:
    """v_min, v_max under IEEE mode: a NaN source gives the other one, -0 is less than +0.

    When both are NaN the result is NaN. (A signalling NaN is quieted and returned on hardware; payloads of NaN are
    not modelled.)
    """
    ordered = (x < y) if smaller else (x > y)
    negative = x.as_(unsigned(x.type.bits)) >> (x.type.bits - 1)
    zero_tie = x.eq(y) & (negative.ne(0) if smaller else negative.eq(0))
    best = select(ordered | zero_tie, x, y)
    return select(x.ne(x), y, select(y.ne(y), x, best))


def minimum(x: Value, y: Value) -> Value:
    return _pick(x, y, smaller=True)


def maximum(x: Value, y: Value) -> Value:
    return _pick(x, y, smaller=False)


def _med3(x: Value, y: Value, z: Value) -> Value:
    """The middle one; when a source is NaN, the minimum of the three."""
    middle = maximum(minimum(x, y), minimum(maximum(x, y), z))
    bad = x.ne(x) | y.ne(y) | z.ne(z)
    return select(bad, minimum(minimum(x, y), z), middle)


def _mul_legacy(x: Value, y: Value) -> Value:
    """0 times anything is 0."""
    return select(x.eq(0.0) | y.eq(0.0), x.like(0.0), x * y)


def _ieee_extreme(name: str) -> Callable[[Value, Value, Value], Value]:
    """v_minimum3, v_maximum3: IEEE 754-2019, where a NaN source gives NaN and -0 is less than +0."""
    return lambda x, y, z: call(name, call(name, x, y), z)


def _fraction(x: Value) -> Value:
    """x - floor(x), always below 1."""
    below_one = {16: 0x3BFF, 32: 0x3F7FFFFF, 64: 0x3FEFFFFFFFFFFFFF}[x.type.bits]
    largest = x.emitter.constant(below_one, unsigned(x.type.bits), x.lanes).as_(x.type)
    part = x - call("floor", x)
    # Infinity minus infinity is NaN; rounding can bring a tiny negative x up to 1.
    return select(part >= 1.0, largest, part)


def power_of_two(x: Value, exponent: Value) -> Value:
    """v_ldexp: x * 2^exponent, rounded once."""
    name = f"llvm.ldexp.{_mangle(x)}.{_mangle(exponent)}"
    return x.emitter.intrinsic(name, (x.type, x.lanes), x, exponent)


def _mangle(x: Value) -> str:
    letter = "f" if x.type.is_float else "i"
    return f"v{x.lanes}{letter}{x.type.bits}" if x.lanes > 1 else f"{letter}{x.type.bits}"


def _frexp(x: Value) -> tuple[Value, Value]:
    """Return mantissa (0.5 <= |m| < 1) and exponent (i32) of x = m * 2^e; x itself and 0 for zero, infinity and NaN."""
    size = x.type.bits
    fraction, bias = {16: (10, 15), 32: (23, 127), 64: (52, 1023)}[size]
    magnitude = call("fabs", x)
    # A subnormal number is moved up to where its exponent field says something.
    low = magnitude < 2.0 ** (1 - bias)
    bits = select(low, x * 2.0 ** (fraction + 1), x).as_(unsigned(size))
    field = ((bits >> fraction) & (2 * bias + 1)).to(i32)
    exponent = field - (bias - 1) - select(low, field.like(fraction + 1), 0)
    ordinary = (magnitude > 0.0) & (magnitude < math.inf)
    field_of_half = (bias - 1) << fraction
    mantissa = ((bits & ~((2 * bias + 1) << fraction) % (1 << size)) | field_of_half).as_(x.type)
    return select(ordinary, mantissa, x), select(ordinary, exponent, 0)


def _rcp(x: Value) -> Value:
    return x.like(1.0) / x


def _through_double(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """Compute in double and round once: nearer than the hardware's approximation."""
    return lambda x: function(x.to(f64)).to(x.type)


def _sin_cos(name: str) -> Callable[[Value], Value]:
    """v_sin, v_cos take revolutions, the angle divided by 2 pi; beyond 256 of them they give sin 0 and cos 0."""

    def function(x: Value) -> Value:
        wide = x.to(f64)
        part = wide - call("trunc", wide)
        result = call(name, part * 6.283185307179586).to(x.type)
        far = (call("fabs", wide) > 256.0) & (call("fabs", wide) < math.inf)
        return select(far, result.like(1.0 if name == "cos" else 0.0), result)

    return function


def _unary(bits: tuple[int, ...], name: str, function: Callable[[Value], Value]) -> dict[str, Row]:
    return {f"v_{name}_f{n}": lane(f"f{n} = f{n}", function) for n in bits}


def _binary(bits: tuple[int, ...], name: str, function: Callable[[Value, Value], Value]) -> dict[str, Row]:
    return {f"v_{name}_f{n}": lane(f"f{n} = f{n} f{n}", function) for n in bits}


def _intrinsic(name: str) -> Callable[[Value], Value]:
    return lambda x: call(name, x)


_ALL = (16, 32, 64)

ROWS: dict[str, Row] = {
    # Arithmetic
    **_binary(_ALL, "add", lambda x, y: x + y),
    **_binary((16, 32), "sub", lambda x, y: x - y),
    **_binary((16, 32), "subrev", lambda x, y: y - x),
    **_binary(_ALL, "mul", lambda x, y: x * y),
    "v_mul_legacy_f32": lane("f32 = f32 f32", _mul_legacy),
    "v_fma_f32": lane("f32 = f32 f32 f32", fma),
    "v_fma_f64": lane("f64 = f64 f64 f64", fma),
    "v_fma_f16": lane("f16 = f16 f16 f16", fma, keeps_high_half=True),
    "v_fmac_f32": lane("f32 = f32 f32 dst", fma),
    "v_fmac_f64": lane("f64 = f64 f64 dst", fma),
    "v_mac_f32": lane("f32 = f32 f32 dst", lambda x, y, z: x * y + z),
    "v_mad_f32": lane("f32 = f32 f32 f32", lambda x, y, z: x * y + z),
    "v_mac_f16": lane("f16 = f16 f16 dst", lambda x, y, z: x * y + z, keeps_high_half=True),
    "v_mad_f16": lane("f16 = f16 f16 f16", lambda x, y, z: x * y + z, keeps_high_half=True),
    "v_madak_f32": lane("f32 = f32 f32 f32", lambda x, y, z: x * y + z),  # gfx90a
    "v_madmk_f32": lane("f32 = f32 f32 f32", lambda x, y, z: x * y + z),  # gfx90a
    "v_mad_legacy_f16": lane("f16 = f16 f16 f16", lambda x, y, z: x * y + z),
    "v_fma_legacy_f16": lane("f16 = f16 f16 f16", fma),
    "v_fmaak_f32": lane("f32 = f32 f32 f32", fma),
    "v_fmamk_f32": lane("f32 = f32 f32 f32", fma),
    # Minimum, maximum, median
    **_binary(_ALL, "min", minimum),
    **_binary(_ALL, "max", maximum),
    "v_min3_f32": lane("f32 = f32 f32 f32", lambda x, y, z: minimum(minimum(x, y), z)),
    "v_max3_f32": lane("f32 = f32 f32 f32", lambda x, y, z: maximum(maximum(x, y), z)),
    "v_med3_f32": lane("f32 = f32 f32 f32", _med3),
    # VOP3 with op_sel: the half that is not written stays.
    "v_min3_f16": lane("f16 = f16 f16 f16", lambda x, y, z: minimum(minimum(x, y), z), keeps_high_half=True),
    "v_max3_f16": lane("f16 = f16 f16 f16", lambda x, y, z: maximum(maximum(x, y), z), keeps_high_half=True),
    "v_med3_f16": lane("f16 = f16 f16 f16", _med3, keeps_high_half=True),
    "v_minimum3_f32": lane("f32 = f32 f32 f32", _ieee_extreme("minimum")),  # gfx950
    "v_maximum3_f32": lane("f32 = f32 f32 f32", _ieee_extreme("maximum")),  # gfx950
    # Rounding
    **_unary(_ALL, "floor", _intrinsic("floor")),
    **_unary(_ALL, "ceil", _intrinsic("ceil")),
    **_unary(_ALL, "trunc", _intrinsic("trunc")),
    **_unary(_ALL, "rndne", _intrinsic("roundeven")),
    **_unary(_ALL, "fract", _fraction),
    # Approximations of the hardware
    **_unary(_ALL, "rcp", _rcp),
    "v_rcp_iflag_f32": lane("f32 = f32", _rcp),
    **_unary((16, 32), "sqrt", _intrinsic("sqrt")),
    "v_sqrt_f64": lane("f64 = f64", _intrinsic("sqrt")),
    **_unary((16, 32), "rsq", _through_double(lambda x: _rcp(call("sqrt", x)))),
    "v_rsq_f64": lane("f64 = f64", lambda x: _rcp(call("sqrt", x))),
    **_unary((16, 32), "exp", _through_double(_intrinsic("exp2"))),
    **_unary((16, 32), "log", _through_double(_intrinsic("log2"))),
    **_unary((16, 32), "sin", _sin_cos("sin")),
    **_unary((16, 32), "cos", _sin_cos("cos")),
    # Exponents
    **_unary(_ALL, "frexp_mant", lambda x: _frexp(x)[0]),
    "v_frexp_exp_i16_f16": lane("i16 = f16", lambda x: _frexp(x)[1].to(i16)),
    "v_frexp_exp_i32_f32": lane("i32 = f32", lambda x: _frexp(x)[1]),
    "v_frexp_exp_i32_f64": lane("i32 = f64", lambda x: _frexp(x)[1]),
    "v_ldexp_f32": lane("f32 = f32 i32", power_of_two),
    "v_ldexp_f64": lane("f64 = f64 i32", power_of_two),
    "v_ldexp_f16": lane("f16 = f16 i16", lambda x, n: power_of_two(x.to(f32), n.to(i32)).to(x.type)),
}
