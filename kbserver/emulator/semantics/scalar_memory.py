"""Scalar memory (SMEM): loads into SGPRs at base + offset; the two low bits of the address are ignored."""

from __future__ import annotations

from kbserver.emulator.access import BadOperand, read_scalar
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value
from kbserver.emulator.operands import Name, Operand
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import i64, u32, u64

_MODIFIERS = frozenset({"glc", "offset"})


def _address(t: Translation, d: Decoded) -> Value:
    """Return base + SGPR + immediate, as far as the instruction has them."""
    base = t.registers.sgpr_pair(d.register(1, "s", 2).index)
    address = base + d.number("offset")
    for operand in d.operands[2:]:
        address = address + _offset(t, operand)
    return address


def _offset(t: Translation, operand: Operand) -> Value:
    if isinstance(operand.value, Name):
        raise BadOperand(f"{operand.value} is no offset")
    if operand.register is not None:
        return read_scalar(t.registers, operand, u32).to(u64)
    # The immediate has 21 bits and a sign.
    return t.emitter.constant(int(operand.value.value), i64).as_(u64)  # type: ignore[union-attr]


def _load(dwords: int) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        destination = d.register(0, "s", dwords)
        address = _address(t, d)
        indices = range(destination.index, destination.index + dwords)
        pointer = t.registers.sgpr_pointer(destination.index)
        t.call("scalar_load", f"{address.typed}, i64 {dwords * 4}, ptr {pointer}, ptr %ctx, i32 {d.index}")
        t.registers.forget_sgprs(indices)

    return Special(function, _MODIFIERS, writes=(0,), reads=(1, 2), counter="lgkmcnt")


ROWS: dict[str, Row] = {
    "s_load_dword": _load(1),
    "s_load_dwordx2": _load(2),
    "s_load_dwordx4": _load(4),
    "s_load_dwordx8": _load(8),
    "s_load_dwordx16": _load(16),
}
