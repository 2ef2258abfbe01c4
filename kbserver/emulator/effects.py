"""Which registers an instruction reads and writes, and what must be waited for before a written one holds its result.

Checks build on this: a read before the wait, a read of what nothing wrote.
"""

from __future__ import annotations

from dataclasses import dataclass

from kbserver.emulator.decode import Decoded
from kbserver.emulator.matching import match
from kbserver.emulator.operands import EXEC, SCC, VCC, Register
from kbserver.emulator.rows import Flow, Row, Scalar, Special
from kbserver.emulator.vector_rows import Lane, Packed

_IMPLICIT = {"scc": Register("s", SCC), "vcc": Register("s", VCC, 2), "exec": Register("s", EXEC, 2)}


@dataclass(frozen=True, slots=True)
class Effects:
    """Registers of one instruction; EXEC, which every vector instruction reads, is left out.

    counter: the wait counter that a memory instruction raises, None for all others.
    """

    reads: tuple[Register, ...]
    writes: tuple[Register, ...]
    counter: str | None = None


def effects(d: Decoded, row: Row) -> Effects:
    """Return what this instruction does to registers."""
    if isinstance(row, Special):
        writes, reads = row.places(d) if row.places else (row.writes, row.reads)
        return Effects(_operands(d, reads), _operands(d, writes), row.counter)
    if isinstance(row, (Scalar, Lane, Packed)):
        results, sources = match(d, row.signature)
        written = [_register(slot.word, operand) for slot, operand in results]
        read = [written[0] if slot.word == "dst" else _register(slot.word, operand) for slot, operand in sources]
        return Effects(tuple(r for r in read if r), tuple(r for r in written if r))
    if isinstance(row, Flow):
        return Effects(_operands(d, row.reads), _operands(d, row.writes))
    return Effects((), ())


def _operands(d: Decoded, positions: tuple[int, ...]) -> tuple[Register, ...]:
    registers = [d.operands[place].register for place in positions if place < len(d.operands)]
    return tuple(register for register in registers if register is not None)


def _register(word: str, operand: object) -> Register | None:
    return _IMPLICIT.get(word) or getattr(operand, "register", None)
