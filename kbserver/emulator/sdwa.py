"""Sub-dword addressing (SDWA, gfx9 only): an operation on bytes or words inside dwords."""

from __future__ import annotations

from kbserver.emulator.access import BadOperand, read_lanes
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value
from kbserver.emulator.operands import Operand
from kbserver.emulator.registers import Registers
from kbserver.emulator.types import Type, i32, u32, unsigned

MODIFIERS = frozenset({"dst_sel", "dst_unused", "src0_sel", "src1_sel"})

# name -> (first bit, width)
_SELECTIONS = {
    "DWORD": (0, 32),
    "WORD_0": (0, 16), "WORD_1": (16, 16),
    "BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8),
}  # fmt: skip


def _selection(d: Decoded, modifier: str) -> tuple[int, int]:
    name = d.modifiers.get(modifier, "DWORD")
    if name not in _SELECTIONS:
        raise BadOperand(f"unknown {modifier}:{name}")
    return _SELECTIONS[name]


def read(registers: Registers, d: Decoded, place: int, operand: Operand, type_: Type) -> Value:
    """Return the selected part of a source, zero-extended or, under sext(), sign-extended."""
    if type_.bits > 32:
        raise BadOperand("SDWA has no 64-bit operands")
    first, width = _selection(d, f"src{place}_sel")
    value = read_lanes(registers, operand, u32)
    if width < 32:
        # Shift to the top and back: one pair of shifts serves both extensions.
        top = value << (32 - first - width)
        value = ((top.as_(i32) if operand.sign_extend else top) >> (32 - width)).as_(u32)
    elif operand.sign_extend:
        raise BadOperand("sext() of a dword")
    return value.to(unsigned(type_.bits)).as_(type_)


def merge(d: Decoded, value: Value, old: Value) -> Value:
    """Place a result at dst_sel; dst_unused says what the other bits become."""
    if value.type.bits > 32:
        raise BadOperand("SDWA has no 64-bit results")
    first, width = _selection(d, "dst_sel")
    wide = value.to(u32)
    if width == 32:
        return wide
    unused = d.modifiers.get("dst_unused", "UNUSED_PAD")
    part = (wide & ((1 << width) - 1)) << first
    if unused == "UNUSED_PAD":
        return part
    if unused == "UNUSED_PRESERVE":
        return part | (old & (0xFFFFFFFF ^ (((1 << width) - 1) << first)))
    if unused == "UNUSED_SEXT":
        return ((wide << (32 - width)).as_(i32) >> (32 - width - first)).as_(u32) & (0xFFFFFFFF << first & 0xFFFFFFFF)
    raise BadOperand(f"unknown dst_unused:{unused}")
