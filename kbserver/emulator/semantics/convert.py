"""Conversions between number formats (VOP1, VOP3).

Float to integer truncates, saturates, and turns NaN into 0. Narrower floats are rounded to nearest even. A bfloat16
result of NaN is quieted.
"""

from __future__ import annotations

from kbserver.emulator.ir import Value, call, select
from kbserver.emulator.rows import Row
from kbserver.emulator.types import f16, f32, f64, i16, i32, u16, u32
from kbserver.emulator.vector_rows import lane


def _byte_to_float(place: int) -> Row:
    return lane("f32 = u32", lambda x: ((x >> (8 * place)) & 0xFF).to(f32))


def to_bf16(x: Value) -> Value:
    """Return the bits of a float32 as bfloat16, round to nearest even."""
    bits = x.as_(u32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet = (bits >> 16) | 0x40
    return select(x.ne(x), quiet, rounded).to(u16)


def _toward_zero_f16(x: Value) -> Value:
    """Return a float32 as f16 rounded toward zero; overflow gives the largest finite value, infinity stays."""
    nearest = x.to(f16)
    # Rounding away from zero shows in the magnitude: step one back, which also undoes overflow to infinity.
    grew = call("fabs", nearest.to(f32)) > call("fabs", x)
    bits = nearest.as_(u16)
    return select(grew, bits - 1, bits)


def _pack(low: Value, high: Value) -> Value:
    return low.as_(u16).to(u32) | (high.as_(u16).to(u32) << 16)


def _normalised(signed: bool) -> Row:
    """v_cvt_pknorm: -1..1 (0..1) to a 16-bit integer, rounded to nearest even."""
    scale, type_ = (32767.0, i16) if signed else (65535.0, u16)

    def one(x: Value) -> Value:
        return call("roundeven", x * scale).to(type_)

    return lane("b32 = f32 f32", lambda x, y: _pack(one(x), one(y)))


ROWS: dict[str, Row] = {
    "v_cvt_f32_i32": lane("f32 = i32", lambda x: x.to(f32)),
    "v_cvt_f32_u32": lane("f32 = u32", lambda x: x.to(f32)),
    "v_cvt_f64_i32": lane("f64 = i32", lambda x: x.to(f64)),
    "v_cvt_f64_u32": lane("f64 = u32", lambda x: x.to(f64)),
    "v_cvt_i32_f32": lane("i32 = f32", lambda x: x.to(i32)),
    "v_cvt_u32_f32": lane("u32 = f32", lambda x: x.to(u32)),
    "v_cvt_i32_f64": lane("i32 = f64", lambda x: x.to(i32)),
    "v_cvt_u32_f64": lane("u32 = f64", lambda x: x.to(u32)),
    "v_cvt_rpi_i32_f32": lane("i32 = f32", lambda x: call("floor", x + 0.5).to(i32)),
    "v_cvt_flr_i32_f32": lane("i32 = f32", lambda x: call("floor", x).to(i32)),
    "v_cvt_f32_f64": lane("f32 = f64", lambda x: x.to(f32)),
    "v_cvt_f64_f32": lane("f64 = f32", lambda x: x.to(f64)),
    "v_cvt_f16_f32": lane("f16 = f32", lambda x: x.to(f16)),
    "v_cvt_f32_f16": lane("f32 = f16", lambda x: x.to(f32)),
    "v_cvt_f16_u16": lane("f16 = u16", lambda x: x.to(f16)),
    "v_cvt_f16_i16": lane("f16 = i16", lambda x: x.to(f16)),
    "v_cvt_u16_f16": lane("u16 = f16", lambda x: x.to(u16)),
    "v_cvt_i16_f16": lane("i16 = f16", lambda x: x.to(i16)),
    "v_cvt_f32_ubyte0": _byte_to_float(0),
    "v_cvt_f32_ubyte1": _byte_to_float(1),
    "v_cvt_f32_ubyte2": _byte_to_float(2),
    "v_cvt_f32_ubyte3": _byte_to_float(3),
    "v_cvt_f32_bf16": lane("f32 = b16", lambda x: (x.to(u32) << 16).as_(f32)),  # gfx950
    "v_cvt_pk_bf16_f32": lane("b32 = f32 f32", lambda x, y: _pack(to_bf16(x), to_bf16(y))),  # gfx950
    "v_cvt_pk_f16_f32": lane("b32 = f32 f32", lambda x, y: _pack(x.to(f16), y.to(f16))),  # gfx950
    "v_cvt_pkrtz_f16_f32": lane("b32 = f32 f32", lambda x, y: _pack(_toward_zero_f16(x), _toward_zero_f16(y))),
    "v_cvt_pknorm_i16_f32": _normalised(signed=True),
    "v_cvt_pknorm_u16_f32": _normalised(signed=False),
    "v_cvt_pk_u16_u32": lane(
        "b32 = u32 u32", lambda x, y: _pack(call("umin", x, 0xFFFF).to(u16), call("umin", y, 0xFFFF).to(u16))
    ),
    "v_cvt_pk_i16_i32": lane("b32 = i32 i32", lambda x, y: _pack(_clamp_i16(x), _clamp_i16(y))),
}


def _clamp_i16(x: Value) -> Value:
    return call("smax", call("smin", x, 32767), -32768).to(i16)
