"""Pair the operands of an instruction with its signature, and read the lists of op_sel and neg modifiers."""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.access import BadOperand
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value
from kbserver.emulator.operands import Operand
from kbserver.emulator.signature import Signature, Slot

Function = Callable[..., "Value | tuple[Value, ...]"]
Matched = tuple[Slot, "Operand | None"]


def match(d: Decoded, signature: Signature) -> tuple[list[Matched], list[Matched]]:
    """Pair every slot of the signature with its operand; None for implicit ones."""
    if len(d.operands) != signature.operand_count:
        raise BadOperand(f"{len(d.operands)} operands where {signature.operand_count} are expected")
    operands = iter(d.operands)
    results = [(slot, next(operands) if slot.explicit else None) for slot in signature.results]
    sources = [(slot, next(operands) if slot.explicit else None) for slot in signature.sources]
    return results, sources


def outputs_of(value: Value | tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the results of a row's function as a tuple."""
    return value if isinstance(value, tuple) else (value,)


def list_bit(d: Decoded, name: str, place: int, *, default: bool = False) -> bool:
    """Return one bit of a modifier such as `neg_lo:[0,1,0]`."""
    value = d.modifiers.get(name)
    if value is None:
        return default
    if not isinstance(value, tuple):
        raise BadOperand(f"{name} is no list")
    return bool(value[place]) if place < len(value) else default


def op_sel(d: Decoded, place: int) -> bool:
    """Return whether op_sel chooses the high half of this operand (after the sources comes the destination)."""
    return list_bit(d, "op_sel", place)
