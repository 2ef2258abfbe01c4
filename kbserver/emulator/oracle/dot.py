"""Dot products inside a dword: the VOP3P and VOP2 tables of the CDNA3 and CDNA4 manuals, one rounding an addition."""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.oracle.arithmetic import Real, add, fused, multiply
from kbserver.emulator.oracle.formats import from_bits, to_bits
from kbserver.emulator.oracle.rule import Rule, rule


def _single(value: Real) -> float:
    return from_bits(to_bits(value, 32), 32)


def _elements(dword: int, size: int) -> list[int]:
    return [dword // 2**first % 2**size for first in range(0, 32, size)]


def _integers(size: int, *, signed: bool) -> Callable[[int, int, int], int]:
    def number(bits: int) -> int:
        return bits - 2**size if signed and bits >= 2 ** (size - 1) else bits

    def function(a: int, b: int, c: int) -> int:
        pairs = zip(_elements(a, size), _elements(b, size), strict=True)
        return c + sum(number(x) * number(y) for x, y in pairs)

    return function


def _without_subnormals(value: float) -> float:
    return value * 0.0 if 0 < abs(value) < 2.0**-126 else value


def _f16(a: int, b: int, c: float) -> float:
    total = _without_subnormals(c)
    for x, y in zip(_elements(a, 16), _elements(b, 16), strict=True):
        total = _single(fused(from_bits(x, 16), from_bits(y, 16), total))
    return _without_subnormals(total)


def _bf16_products(a: int, b: int) -> list[float]:
    pairs = zip(_elements(a, 16), _elements(b, 16), strict=True)
    return [_single(multiply(from_bits(x << 16, 32), from_bits(y << 16, 32))) for x, y in pairs]


def _bf16(a: int, b: int, c: float) -> Real:
    low, high = _bf16_products(a, b)
    return add(_single(add(low, high)), c)


def _bf16_onto(a: int, b: int, c: float) -> Real:
    low, high = _bf16_products(a, b)
    return add(_single(add(c, low)), high)


RULES: dict[str, Rule] = {
    "v_dot2_f32_f16": rule("f32 = u32 u32 f32", _f16),
    "v_dot2c_f32_f16": rule("f32 = u32 u32 dst", _f16),
    "v_dot2_f32_bf16": rule("f32 = u32 u32 f32", _bf16),
    "v_dot2c_f32_bf16": rule("f32 = u32 u32 dst", _bf16_onto),
    "v_dot4_i32_i8": rule("i32 = u32 u32 i32", _integers(8, signed=True)),
    "v_dot4_u32_u8": rule("u32 = u32 u32 u32", _integers(8, signed=False)),
    "v_dot8_i32_i4": rule("i32 = u32 u32 i32", _integers(4, signed=True)),
    "v_dot8_u32_u4": rule("u32 = u32 u32 u32", _integers(4, signed=False)),
    "v_dot8c_i32_i4": rule("i32 = u32 u32 dst", _integers(4, signed=True)),
    "v_dot2_i32_i16": rule("i32 = u32 u32 i32", _integers(16, signed=True)),
    "v_dot2_u32_u16": rule("u32 = u32 u32 u32", _integers(16, signed=False)),
}
