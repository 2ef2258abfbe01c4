"""Mixed-precision fused multiply-add (VOP3P): v_fma_mix_f32, v_fma_mixlo_f16, v_fma_mixhi_f16.

For each source, op_sel_hi says that it is an f16, and op_sel which half holds it; else it is a float32. neg and abs are
those of ordinary operands. The sum is rounded to float32; the lo and hi forms round it once more, to f16, and leave the
other half of the destination alone.
"""

from __future__ import annotations

from kbserver.emulator.access import BadOperand, apply_float_modifiers, read_lanes
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value, fma, select
from kbserver.emulator.matching import list_bit
from kbserver.emulator.operands import Operand
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import f16, f32, u16, u32

_MODIFIERS = frozenset({"op_sel", "op_sel_hi", "clamp"})


def _source(t: Translation, d: Decoded, place: int) -> Value:
    operand = d.operands[1 + place]
    is_half, high = list_bit(d, "op_sel_hi", place), list_bit(d, "op_sel", place)
    if operand.register is None and is_half:
        raise BadOperand("a constant as an f16 source")
    value = read_lanes(t.registers, Operand(operand.value), f16 if is_half else f32, high=is_half and high)
    return apply_float_modifiers(value.to(f32), operand)


def _sum(t: Translation, d: Decoded) -> Value:
    if len(d.operands) != 4:
        raise BadOperand(f"{len(d.operands)} operands where 4 are expected")
    total = fma(*(_source(t, d, place) for place in range(3)))
    if "clamp" in d.modifiers:
        total = select(total > 0.0, total, 0.0)
        total = select(total < 1.0, total, 1.0)
    return total


def _single(t: Translation, d: Decoded) -> None:
    t.registers.set_vgpr(d.register(0, "v", 1).index, _sum(t, d).as_(u32))


def _low(t: Translation, d: Decoded) -> None:
    destination = d.register(0, "v", 1).index
    half = _sum(t, d).to(f16).as_(u16).to(u32)
    t.registers.set_vgpr(destination, (t.registers.vgpr(destination) & 0xFFFF0000) | half)


def _high(t: Translation, d: Decoded) -> None:
    destination = d.register(0, "v", 1).index
    half = _sum(t, d).to(f16).as_(u16).to(u32)
    t.registers.set_vgpr(destination, (t.registers.vgpr(destination) & 0xFFFF) | (half << 16))


ROWS: dict[str, Row] = {
    "v_fma_mix_f32": Special(_single, _MODIFIERS, writes=(0,), reads=(1, 2, 3)),
    "v_fma_mixlo_f16": Special(_low, _MODIFIERS, writes=(0,), reads=(0, 1, 2, 3)),
    "v_fma_mixhi_f16": Special(_high, _MODIFIERS, writes=(0,), reads=(0, 1, 2, 3)),
}
