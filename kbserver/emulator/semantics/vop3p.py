"""Packed operations (VOP3P): the same operation on the low and the high half, halves of dwords or dwords of a pair."""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.access import BadOperand, read_lanes
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value, call, fma
from kbserver.emulator.operands import Operand, Register
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.semantics.valu_float import maximum, minimum
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import f16, u16, u32
from kbserver.emulator.vector_rows import lane, packed


def _saturating(operation: str) -> Callable[[Value, Value], Value]:
    def function(x: Value, y: Value) -> Value:
        return call(f"{'s' if x.type.kind == 'i' else 'u'}{operation}.sat", x, y)

    return function


def _shift(right: bool) -> Callable[[Value, Value], Value]:
    def function(count: Value, x: Value) -> Value:
        return x >> (count & 15) if right else x << (count & 15)

    return function


def _move_pair(t: Translation, d: Decoded) -> None:
    """v_pk_mov_b32: the low dword comes from the first source, the high one from the second; op_sel picks the half."""
    chosen = d.modifiers.get("op_sel", (0, 0))
    if not isinstance(chosen, tuple) or len(chosen) < 2:
        raise BadOperand("op_sel is no list of two")
    destination = d.register(0, "v", 2)
    words = [_dword(t, d.operands[1 + place], bool(chosen[place])) for place in (0, 1)]
    for place, word in enumerate(words):
        t.registers.set_vgpr(destination.index + place, word)


def _dword(t: Translation, operand: Operand, high: bool) -> Value:
    register = operand.register
    if register is None:
        return read_lanes(t.registers, operand, u32)
    if register.count != 2:
        raise BadOperand(f"{register} is no register pair")
    return read_lanes(t.registers, Operand(Register(register.file, register.index + int(high))), u32)


def _accumulate(x: Value, y: Value, old: Value) -> Value:
    """v_pk_fmac_f16 is VOP2: plain halves of dwords, without op_sel."""
    halves = []
    for shift in (0, 16):
        a, b, c = ((value >> shift).to(u16).as_(f16) for value in (x, y, old))
        halves.append(fma(a, b, c).as_(u16).to(u32))
    return halves[0] | (halves[1] << 16)


def _ieee_extreme(name: str) -> Callable[[Value, Value, Value], Value]:
    return lambda x, y, z: call(name, call(name, x, y), z)


ROWS: dict[str, Row] = {
    "v_pk_mov_b32": Special(_move_pair, frozenset({"op_sel", "op_sel_hi"}), writes=(0,), reads=(1, 2)),
    "v_pk_fma_f32": packed("f32 = f32 f32 f32", fma),
    "v_pk_mul_f32": packed("f32 = f32 f32", lambda x, y: x * y),
    "v_pk_add_f32": packed("f32 = f32 f32", lambda x, y: x + y),
    "v_pk_fma_f16": packed("f16 = f16 f16 f16", fma),
    "v_pk_mul_f16": packed("f16 = f16 f16", lambda x, y: x * y),
    "v_pk_add_f16": packed("f16 = f16 f16", lambda x, y: x + y),
    "v_pk_fmac_f16": lane("u32 = u32 u32 dst", _accumulate),
    "v_pk_minimum3_f16": packed("f16 = f16 f16 f16", _ieee_extreme("minimum")),  # gfx950
    "v_pk_maximum3_f16": packed("f16 = f16 f16 f16", _ieee_extreme("maximum")),  # gfx950
    "v_pk_min_f16": packed("f16 = f16 f16", minimum),
    "v_pk_max_f16": packed("f16 = f16 f16", maximum),
    "v_pk_add_u16": packed("u16 = u16 u16", lambda x, y: x + y, saturating=_saturating("add")),
    "v_pk_add_i16": packed("i16 = i16 i16", lambda x, y: x + y, saturating=_saturating("add")),
    "v_pk_sub_u16": packed("u16 = u16 u16", lambda x, y: x - y, saturating=_saturating("sub")),
    "v_pk_sub_i16": packed("i16 = i16 i16", lambda x, y: x - y, saturating=_saturating("sub")),
    "v_pk_mul_lo_u16": packed("u16 = u16 u16", lambda x, y: x * y),
    "v_pk_mad_u16": packed("u16 = u16 u16 u16", lambda x, y, z: x * y + z),
    "v_pk_mad_i16": packed("i16 = i16 i16 i16", lambda x, y, z: x * y + z),
    "v_pk_min_u16": packed("u16 = u16 u16", lambda x, y: call("umin", x, y)),
    "v_pk_min_i16": packed("i16 = i16 i16", lambda x, y: call("smin", x, y)),
    "v_pk_max_u16": packed("u16 = u16 u16", lambda x, y: call("umax", x, y)),
    "v_pk_max_i16": packed("i16 = i16 i16", lambda x, y: call("smax", x, y)),
    "v_pk_lshlrev_b16": packed("u16 = u16 u16", _shift(right=False)),
    "v_pk_lshrrev_b16": packed("u16 = u16 u16", _shift(right=True)),
    "v_pk_ashrrev_i16": packed("i16 = i16 i16", _shift(right=True)),
}
