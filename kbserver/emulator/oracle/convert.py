"""Conversions: rules from the VOP1 and VOP3 tables of the CDNA3 manual; bf16 and packed f16 from the CDNA4 manual."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from kbserver.emulator.oracle.arithmetic import add, multiply
from kbserver.emulator.oracle.formats import LAYOUT, from_bits, to_bits
from kbserver.emulator.oracle.rule import Rule, rule


def _saturate(a: float, low: int, high: int, rounding: Callable[[Fraction], int] = math.trunc) -> int:
    if math.isnan(a):
        return 0
    if math.isinf(a):
        return high if a > 0 else low
    return max(low, min(high, rounding(Fraction(a))))


def _to_i32(a: float) -> int:
    return _saturate(a, -(2**31), 2**31 - 1)


def _to_u32(a: float) -> int:
    return _saturate(a, 0, 2**32 - 1)


def _nearest(a: float) -> int:
    """v_cvt_rpi: floor(a + 0.5), the sum in float32."""
    return _saturate(from_bits(to_bits(add(a, 0.5), 32), 32), -(2**31), 2**31 - 1, math.floor)


def bf16_bits(a: float) -> int:
    """Return a float32 value as bfloat16 by rounding the 16 dropped bits to nearest even."""
    bits = to_bits(a, 32)
    if math.isnan(a):
        return 0x7FC0
    kept, dropped = bits >> 16, bits & 0xFFFF
    if dropped > 0x8000 or (dropped == 0x8000 and kept & 1):
        kept += 1
    return kept


def _pack_bf16(a: float, b: float) -> int:
    return bf16_bits(a) | bf16_bits(b) << 16


def _toward_zero(a: float) -> int:
    """Return the f16 of the largest magnitude that is not above |a|."""
    if math.isnan(a) or math.isinf(a) or a == 0:
        return to_bits(a, 16)
    sign = 0x8000 if a < 0 else 0
    largest = (1 << (LAYOUT[16][0] + LAYOUT[16][1])) - (1 << LAYOUT[16][1]) - 1
    low, high = 0, largest
    while low < high:
        middle = (low + high + 1) // 2
        if from_bits(middle, 16) <= abs(a):
            low = middle
        else:
            high = middle - 1
    return sign | low


def _norm(a: float, scale: int, low: int) -> int:
    scaled = from_bits(to_bits(multiply(a, float(scale)), 32), 32)
    return _saturate(scaled, low, scale, round) & 0xFFFF


def _clamp(a: int, low: int, high: int) -> int:
    return max(low, min(high, a)) & 0xFFFF


RULES: dict[str, Rule] = {
    "v_cvt_f32_i32": rule("f32 = i32", Fraction),
    "v_cvt_f32_u32": rule("f32 = u32", Fraction),
    "v_cvt_f64_i32": rule("f64 = i32", Fraction),
    "v_cvt_f64_u32": rule("f64 = u32", Fraction),
    "v_cvt_i32_f32": rule("i32 = f32", _to_i32),
    "v_cvt_u32_f32": rule("u32 = f32", _to_u32),
    "v_cvt_i32_f64": rule("i32 = f64", _to_i32),
    "v_cvt_u32_f64": rule("u32 = f64", _to_u32),
    "v_cvt_rpi_i32_f32": rule("i32 = f32", _nearest),
    "v_cvt_flr_i32_f32": rule("i32 = f32", lambda a: _saturate(a, -(2**31), 2**31 - 1, math.floor)),
    "v_cvt_f32_f64": rule("f32 = f64", lambda a: a),
    "v_cvt_f64_f32": rule("f64 = f32", lambda a: a),
    "v_cvt_f16_f32": rule("f16 = f32", lambda a: a),
    "v_cvt_f32_f16": rule("f32 = f16", lambda a: a),
    "v_cvt_f16_u16": rule("f16 = u16", Fraction),
    "v_cvt_f16_i16": rule("f16 = i16", Fraction),
    "v_cvt_u16_f16": rule("u16 = f16", lambda a: _saturate(a, 0, 65535)),
    "v_cvt_i16_f16": rule("i16 = f16", lambda a: _saturate(a, -32768, 32767)),
    **{f"v_cvt_f32_ubyte{n}": rule("f32 = u32", lambda a, n=n: Fraction(a // 256**n % 256)) for n in range(4)},
    "v_cvt_f32_bf16": rule("f32 = b16", lambda a: from_bits(a << 16, 32)),
    "v_cvt_pk_bf16_f32": rule("bf16x2 = f32 f32", _pack_bf16),
    "v_cvt_pk_f16_f32": rule("f16x2 = f32 f32", lambda a, b: to_bits(a, 16) | to_bits(b, 16) << 16),
    "v_cvt_pkrtz_f16_f32": rule("f16x2 = f32 f32", lambda a, b: _toward_zero(a) | _toward_zero(b) << 16),
    "v_cvt_pknorm_i16_f32": rule("b32 = f32 f32", lambda a, b: _norm(a, 32767, -32768) | _norm(b, 32767, -32768) << 16),
    "v_cvt_pknorm_u16_f32": rule("b32 = f32 f32", lambda a, b: _norm(a, 65535, 0) | _norm(b, 65535, 0) << 16),
    "v_cvt_pk_u16_u32": rule("b32 = u32 u32", lambda a, b: _clamp(a, 0, 65535) | _clamp(b, 0, 65535) << 16),
    "v_cvt_pk_i16_i32": rule("b32 = i32 i32", lambda a, b: _clamp(a, -32768, 32767) | _clamp(b, -32768, 32767) << 16),
}
