"""Kinds of rows in the semantics tables: how one family turns operands into values and results into registers.

`Scalar` is an operation of the scalar unit: a signature and a function of typed values; `vector_rows` has those of the
vector unit. `Special` gives the whole translation of an instruction that is neither. `Flow` ends a basic block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kbserver.emulator import access
from kbserver.emulator.access import BadOperand
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value
from kbserver.emulator.matching import Function, Matched, match, outputs_of
from kbserver.emulator.operands import EXEC, VCC, Number, Operand
from kbserver.emulator.signature import Signature, Slot, parse_signature

if TYPE_CHECKING:
    from kbserver.emulator.translate import Translation


class Row(Protocol):
    """What the translator asks of a row."""

    @property
    def modifiers(self) -> frozenset[str]:
        """Modifiers that the row understands; any other is an error."""

    def translate(self, t: Translation, d: Decoded) -> None:
        """Emit the instruction."""


@dataclass(frozen=True)
class Scalar:
    """An operation of the scalar unit: runs whatever EXEC is."""

    signature: Signature
    function: Function
    modifiers: frozenset[str] = frozenset()

    def translate(self, t: Translation, d: Decoded) -> None:
        results, sources = match(d, self.signature)
        values = [self._read(t, slot, operand, results) for slot, operand in sources]
        outputs = outputs_of(self.function(*values))
        for (slot, operand), value in zip(results, outputs, strict=True):
            if slot.word == "scc":
                t.registers.set_scc(value)
            elif slot.word in ("exec", "vcc"):
                t.registers.set_sgpr_pair(EXEC if slot.word == "exec" else VCC, value)
            else:
                access.write_scalar(t.registers, operand.register if operand else None, value)

    def _read(self, t: Translation, slot: Slot, operand: Operand | None, results: list[Matched]) -> Value:
        if slot.word == "scc":
            return t.registers.scc
        if slot.word in ("exec", "vcc"):
            return t.registers.sgpr_pair(EXEC if slot.word == "exec" else VCC)
        if slot.word == "dst":
            operand = results[0][1]
        assert operand is not None
        if slot.word in ("k", "uk"):
            if not isinstance(operand.value, Number) or not isinstance(operand.value.value, int):
                raise BadOperand(f"{operand.value} is no 16-bit immediate")
            number = operand.value.value & 0xFFFF
            return t.emitter.constant(number - 0x10000 if slot.word == "k" and number >> 15 else number, slot.type)
        return access.read_scalar(t.registers, operand, slot.type)


@dataclass(frozen=True)
class Special:
    """An instruction with a translation of its own.

    writes and reads are the positions of its operands that it writes and reads; counter is what s_waitcnt waits on
    before the written registers hold the result (vmcnt, lgkmcnt), for memory instructions. places: the same (writes,
    reads) of one instruction, where its form decides.
    """

    function: Callable[[Translation, Decoded], None]
    modifiers: frozenset[str] = frozenset()
    writes: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()
    counter: str | None = None
    places: Callable[[Decoded], tuple[tuple[int, ...], tuple[int, ...]]] | None = None

    def translate(self, t: Translation, d: Decoded) -> None:
        self.function(t, d)


@dataclass(frozen=True)
class Flow:
    """An instruction that ends a basic block.

    kind: `jump` goes to its label, `branch` goes there or falls through, `end` leaves the kernel, `barrier` leaves and
    comes back at the next instruction, `computed` and `call` go to an address in registers, a call to a function.
    writes and reads as for `Special`.
    """

    kind: str
    function: Callable[[Translation, Decoded], None]
    modifiers: frozenset[str] = frozenset()
    writes: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()

    def translate(self, t: Translation, d: Decoded) -> None:
        self.function(t, d)


def scalar(signature: str, function: Function) -> Scalar:
    """Return a scalar row: `scalar("u32 scc = u32 u32", ...)`."""
    return Scalar(parse_signature(signature), function)


def merged(*tables: Mapping[str, Row]) -> dict[str, Row]:
    """Return the union of tables. Raises ValueError when two define one mnemonic."""
    result: dict[str, Row] = {}
    for table in tables:
        twice = sorted(result.keys() & table.keys())
        if twice:
            raise ValueError(f"defined twice: {', '.join(twice)}")
        result.update(table)
    return result
