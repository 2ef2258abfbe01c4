"""Dot products inside a dword (VOP3P, VOP2): halves, bytes or 4-bit elements multiplied pairwise, and a 32-bit addend.

Integers are exact and wrap; `clamp` saturates the sum. Floats follow the manual's order with one rounding an addition
(products of halves are exact in float32). v_dot2_f32_f16 and its c form flush a subnormal addend and result to zero,
as LLVM says of the hardware; whether a sum in between is flushed is not documented and not modelled.

op_sel, neg_lo and neg_hi are not supported here: they are refused.
"""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.ir import Value, absolute, call, fma, select
from kbserver.emulator.rows import Row
from kbserver.emulator.types import Type, f16, f32, i8, i16, i32, i64, u8, u16, u32, u64
from kbserver.emulator.vector_rows import lane


def _parts(x: Value, type_: Type) -> list[Value]:
    """Return the elements of a dword, lowest first."""
    integer = Type("u", type_.bits)
    return [(x >> shift).to(integer).as_(type_) for shift in range(0, 32, type_.bits)]


def _sum(type_: Type, wide: Type) -> Callable[[Value, Value, Value], Value]:
    """Return the exact sum in 64 bits."""

    def function(x: Value, y: Value, z: Value) -> Value:
        total = z.to(wide)
        for a, b in zip(_parts(x, type_), _parts(y, type_), strict=True):
            total = total + a.to(wide) * b.to(wide)
        return total

    return function


def _integer(type_: Type, signature: str) -> Row:
    signed = type_.kind == "i"
    exact = _sum(type_, i64 if signed else u64)

    def saturated(x: Value, y: Value, z: Value) -> Value:
        total = exact(x, y, z)
        if signed:
            return call("smax", call("smin", total, 2**31 - 1), -(2**31)).to(i32)
        return call("umin", total, 2**32 - 1).to(u32)

    return lane(signature, lambda x, y, z: exact(x, y, z).to(z.type), saturating=saturated)


def _flushed(x: Value) -> Value:
    """Return x, a zero of its sign when it is subnormal."""
    return select(absolute(x) < 2.0**-126, (x.as_(u32) & 0x80000000).as_(f32), x)


def _halves(x: Value, y: Value, z: Value) -> Value:
    total = _flushed(z)
    for a, b in zip(_parts(x, f16), _parts(y, f16), strict=True):
        total = fma(a.to(f32), b.to(f32), total)
    return _flushed(total)


def _products(x: Value, y: Value) -> list[Value]:
    """Return the float32 products of the low and of the high bfloat16 halves."""
    low = (x << 16).as_(f32) * (y << 16).as_(f32)
    return [low, (x & 0xFFFF0000).as_(f32) * (y & 0xFFFF0000).as_(f32)]


def _brains(x: Value, y: Value, z: Value) -> Value:
    """v_dot2_f32_bf16: the two products first, then the addend."""
    low, high = _products(x, y)
    return (low + high) + z


def _brains_onto(x: Value, y: Value, z: Value) -> Value:
    """v_dot2c_f32_bf16: onto the addend, the low product first."""
    low, high = _products(x, y)
    return (z + low) + high


_i4, _u4 = Type("i", 4), Type("u", 4)

ROWS: dict[str, Row] = {
    "v_dot2_f32_f16": lane("f32 = u32 u32 f32", _halves),
    "v_dot2c_f32_f16": lane("f32 = u32 u32 dst", _halves),
    "v_dot2_f32_bf16": lane("f32 = u32 u32 f32", _brains),  # gfx950
    "v_dot2c_f32_bf16": lane("f32 = u32 u32 dst", _brains_onto),  # gfx950
    "v_dot4_i32_i8": _integer(i8, "i32 = u32 u32 i32"),
    "v_dot4_u32_u8": _integer(u8, "u32 = u32 u32 u32"),
    "v_dot8_i32_i4": _integer(_i4, "i32 = u32 u32 i32"),
    "v_dot8_u32_u4": _integer(_u4, "u32 = u32 u32 u32"),
    "v_dot8c_i32_i4": _integer(_i4, "i32 = u32 u32 dst"),
    "v_dot2_i32_i16": _integer(i16, "i32 = u32 u32 i32"),
    "v_dot2_u32_u16": _integer(u16, "u32 = u32 u32 u32"),
}
