"""What the operation `instruction` answers with."""

from __future__ import annotations

from pydantic import Field, JsonValue

from kbserver.core.model import Record, Result, SourceRef


class Operand(Record):
    """One operand: the field of the encoding, what may stand there, and how many registers it names."""

    name: str
    accepts: list[str]
    """VGPR | AGPR | SGPR | inline constant | literal | immediate; or the one register that it always is."""
    registers: list[int]
    """Numbers of 32-bit registers; several when modifiers choose (f8f6f4)."""
    first_multiple_of: int = 1
    """The number of the first register must be a multiple of this."""


class EncodedForm(Record):
    """One way to encode the instruction, with an example that was assembled: its text and its bytes."""

    format: str
    mode: str
    """How it is addressed or extended: literal, sdwa, dpp, saddr, offen, lds, returns ...; empty for the plain form."""
    opcode: int
    size_bytes: int
    syntax: str
    bytes: str
    operands: list[Operand]
    modifiers: list[str]
    targets: list[str]


class Alternative(Record):
    """An instruction that does this work, or part of it, on the target asked about."""

    name: str
    why: str
    targets: list[str]
    sources: list[SourceRef] = Field(default_factory=list)


class LayoutRun(Record):
    """A run of lanes in one register, with the elements of its first and its last lane."""

    register_index: int
    lanes: str
    first: str
    last: str


class ElementPlace(Record):
    """Where an element lies, or which elements lie in a register of a lane. `status` says how far this is confirmed."""

    asked: str
    matrix: str
    elements: list[str]
    lane: int
    register_index: int
    register_count: int
    bits: str | None
    answer: str
    formula: str
    status: str
    table: list[LayoutRun]


class MatrixFacts(Record):
    """Shape, cost and layout of a matrix instruction; null is what no source gives."""

    m: int
    n: int
    k: int
    blocks: int
    cost: dict[str, JsonValue]
    """Facts by name: passes, cycles, ops_per_cu_per_clock, registers of A, B and D."""
    fact: str | None
    layouts: dict[str, str]
    layout_status: str
    element: ElementPlace | None = None
    sources: list[SourceRef] = Field(default_factory=list)


class Hazard(Record):
    """Wait states that must lie between this and a neighbour. `value` may depend on passes."""

    name: str
    value: JsonValue
    unit: str | None
    fact: str


class Waits(Record):
    """The counters that it increments, with the largest value that s_waitcnt can wait for, and its scheduling bits."""

    instruction_class: str
    counters: dict[str, int | None]
    order: str | None
    sched_group_barrier: list[str]
    note: str | None


class BuiltinUse(Record):
    """A clang builtin that becomes this instruction."""

    name: str
    signature: str
    targets: list[str]
    needs: str | None


class ErratumNote(Record):
    """Where sources differ, or a tool errs."""

    says: str
    on: list[str]
    sources: list[SourceRef]


class AssembledLine(Record):
    """What an assembler makes of the line on one target: bytes, or why it refused."""

    arch: str
    ok: bool
    bytes: str | None
    size_bytes: int | None
    error: str | None


class InstructionAnswer(Result):
    """Whether an instruction exists, how it is written and encoded, what concerns it, and what takes its place."""

    mnemonic: str
    arch: str | None
    decided_by: str
    exists: bool
    """On `arch`, or without one on any target."""
    canonical: str | None
    targets: list[str]
    kind: str
    """instruction | builtin | unknown."""
    why: str | None
    encodings: list[EncodedForm]
    total_encodings: int
    aliases: list[str]
    matrix: MatrixFacts | None
    alternatives: list[Alternative]
    near: list[str]
    elsewhere: list[str]
    """Other LLVM targets, not covered here, that have the name."""
    waits: Waits | None
    hazards: list[Hazard]
    builtins: list[BuiltinUse]
    errata: list[ErratumNote]
    line: list[AssembledLine]
    assembler: str | None
    """Which assembler the line went to; when none could be used, why."""
    semantics: str | None
    """What it computes; None when that is unknown here."""
    semantics_note: str
    """What `semantics` rests on; without it, that it is unknown."""
    llvm: str
    """Version of LLVM that the tables were generated from."""
    sources: list[SourceRef]

    @property
    def refused(self) -> bool:
        """A line was asked about and the target refuses it."""
        return bool(self.line) and not any(one.ok for one in self.line)
