"""Translate a kernel's machine code to LLVM IR: one function that runs one wavefront until a barrier or its end.

`i32 @kernel(ptr %v, ptr %s, ptr %lds, ptr %ctx, i32 %state)` takes the wavefront's register files, the workgroup's
LDS and the thread's context. It returns ENDED, or the state with which to call it again after a barrier. The private
memory of the wavefront's lanes, one lane's after the other's, follows the vector registers at `%scratch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kbserver.emulator.access import BadOperand
from kbserver.emulator.blocks import Block, find_blocks
from kbserver.emulator.context import CONTEXT, LOST, OUT_OF_FUEL, TRAPPED, slot_pointer
from kbserver.emulator.decode import Decoded, unsupported
from kbserver.emulator.ir import Emitter, Value, popcount
from kbserver.emulator.kernel import Kernel
from kbserver.emulator.linking import label_of
from kbserver.emulator.operands import FUEL
from kbserver.emulator.registers import VGPR_BYTES, Registers
from kbserver.emulator.rows import Flow, Row
from kbserver.emulator.runtime import Library
from kbserver.emulator.types import i64, u64

JUMP_FUEL = 32
"""What a computed jump costs of the loop budget, so that functions that call each other for ever end too."""


class Observer(Protocol):
    """A check or a counter that adds its own code around every instruction."""

    def before(self, t: Translation, d: Decoded, row: Row) -> None: ...

    def after(self, t: Translation, d: Decoded, row: Row) -> None: ...


@dataclass(frozen=True)
class Segment:
    """A run of instructions [start, end) of one block under one value of EXEC: the unit that counters count."""

    start: int
    end: int


@dataclass(frozen=True)
class TranslatedKernel:
    """The IR of one kernel and what its counters mean."""

    kernel: Kernel
    ir: str
    segments: tuple[Segment, ...]


@dataclass
class Translation:
    """The state while a kernel is translated; rows emit through it."""

    kernel: Kernel
    library: Library
    emitter: Emitter
    registers: Registers
    observers: Sequence[Observer] = ()
    segments: list[Segment] = field(default_factory=list)
    _segment_start: int = 0
    _backward: list[tuple[int, int]] = field(default_factory=list)
    """(from, to) of jumps backward whose loop budget is checked after the block."""
    indexed: Callable[[Translation, Decoded], None] | None = None
    """Translates vector instructions while M0 indexes their registers (s_set_gpr_idx_on)."""

    @property
    def arch(self) -> str:
        return self.kernel.arch

    def call(self, name: str, arguments: str, result: str = "void") -> str | None:
        """Call a runtime function, which joins the module; returns the name of its result.

        It finds all VGPRs in memory and may change them there.
        """
        self.library.require(name)
        self.registers.forget_vgprs()
        if result == "void":
            self.emitter.line(f"call void @{name}({arguments})")
            return None
        register = self.emitter.name()
        self.emitter.line(f"{register} = call {result} @{name}({arguments})")
        return register

    # Control flow: each of these ends the block

    def jump(self, d: Decoded) -> None:
        """Go to the label of the last operand."""
        self.registers.flush()
        self.emitter.line(f"br label %{self._way(d, self.kernel.labels[label_of(d)])}")

    def branch(self, d: Decoded, condition: Value) -> None:
        """Go to the label of the last operand when the condition holds."""
        self.registers.flush()
        target = self._way(d, self.kernel.labels[label_of(d)])
        following = self._way(d, d.index + 1)
        self.emitter.line(f"br i1 {condition.ref}, label %{target}, label %{following}")
        self._fuel_checks()

    def jump_to(self, d: Decoded, address: Value) -> None:
        """Go to a computed address, which must be an entry of the program."""
        self.registers.flush()
        self.emitter.store(address, "%goal")
        self.emitter.line(f"store i64 {d.index}, ptr %jumper, align 8")
        self.emitter.line("br label %dispatch")

    def dispatch(self, blocks: Sequence[Block]) -> None:
        """Emit what all computed jumps share: the choice among the entries, and the end for any other address."""
        reached = {block.start for block in blocks}
        e = self.emitter
        e.label("dispatch")
        pointer = e.offset("%s", FUEL * 4)
        left = e.load(pointer, u64) - JUMP_FUEL
        e.store(left, pointer)
        empty = left.as_(i64) < 0
        e.line(f"br i1 {empty.ref}, label %fuel, label %choose")
        e.label("choose")
        goal = e.load("%goal", u64)
        entries = [place for place in self.kernel.entries.all if place in reached]
        cases = " ".join(f"i64 {self.kernel.addresses[place]}, label %at{place}" for place in entries)
        e.line(f"switch i64 {goal.ref}, label %lost [ {cases} ]")
        e.label("lost")
        e.store(goal, slot_pointer(e, "%ctx", CONTEXT, "lost_address"))
        e.store(e.load("%jumper", u64), slot_pointer(e, "%ctx", CONTEXT, "lost_site"))
        e.line(f"ret i32 {LOST}")

    def leave(self, state: int) -> None:
        """Return from the function."""
        self.registers.flush()
        self.emitter.line(f"ret i32 {state}")

    def _way(self, d: Decoded, target: int) -> str:
        """Return the label to jump to: backward jumps pay for the instructions of the loop first."""
        if target > d.index:
            return f"at{target}"
        self._backward.append((d.index, target))
        return f"back{d.index}"

    def _fuel_checks(self) -> None:
        for source, target in self._backward:
            e = self.emitter
            e.label(f"back{source}")
            pointer = e.offset("%s", FUEL * 4)
            left = e.load(pointer, u64) - (source - target + 1)
            e.store(left, pointer)
            empty = left.as_(i64) < 0
            e.line(f"br i1 {empty.ref}, label %fuel, label %at{target}")
        self._backward.clear()

    # Blocks

    def block(self, block: Block) -> None:
        """Translate one block."""
        self.emitter.label(block.label)
        self.registers.forget_all()
        self.indexed = None
        self._segment_start = block.start
        for index in range(block.start, block.end):
            self._instruction(self.kernel.code[index], self.kernel.rows[index])
        self._close_segment(block.end)
        if self.indexed is not None:
            raise unsupported(self.kernel.code[block.end - 1].instruction, "a block ends while M0 indexes registers")
        last = self.kernel.rows[block.end - 1]
        if not isinstance(last, Flow):
            self.registers.flush()
            self.emitter.line(f"br label %at{block.end}")
        self._fuel_checks()

    def _instruction(self, d: Decoded, row: Row) -> None:
        self.emitter.comment(f"{d.instruction.line}: {' '.join(d.instruction.text.split())}")
        unknown = d.modifiers.keys() - row.modifiers
        if unknown:
            raise unsupported(d.instruction, f"unknown modifier {', '.join(sorted(unknown))}")
        if self.registers.exec_changed:
            self._open_segment(d.index)
        for observer in self.observers:
            observer.before(self, d, row)
        try:
            if self.indexed is not None and d.name.startswith("v_"):
                self.indexed(self, d)
            else:
                row.translate(self, d)
        except (BadOperand, TypeError, KeyError) as error:
            raise unsupported(d.instruction, str(error)) from error
        for observer in self.observers:
            observer.after(self, d, row)

    # Counters: executions and active lanes of each segment

    def _open_segment(self, start: int) -> None:
        self._close_segment(start)
        self._segment_start = start
        self.registers.exec_changed = False
        e = self.emitter
        place = e.offset("%counters", len(self.segments) * 16)
        e.store(e.load(place, u64) + 1, place)
        lanes = e.offset("%counters", len(self.segments) * 16 + 8)
        e.store(e.load(lanes, u64) + popcount(self.registers.exec_bits), lanes)

    def _close_segment(self, end: int) -> None:
        if end > self._segment_start:
            self.segments.append(Segment(self._segment_start, end))
            self._segment_start = end


def translate(kernel: Kernel, observers: Sequence[Observer] = ()) -> TranslatedKernel:
    """Return the IR of a kernel with everything that it calls."""
    emitter = Emitter()
    library = Library(emitter.intrinsics)
    t = Translation(kernel, library, emitter, Registers(emitter), observers)
    blocks = find_blocks(kernel.code, kernel.rows, kernel.labels, kernel.entries)
    for block in blocks:
        t.block(block)
    if any(getattr(kernel.rows[block.end - 1], "kind", "") in ("computed", "call") for block in blocks):
        t.dispatch(blocks)
    states = "".join(
        f" i32 {block.start}, label %{block.label}" for block in blocks if block.resumes or not block.start
    )
    body = "\n".join(emitter.lines)
    counters = CONTEXT["counters"] * 8
    files = "ptr noalias align 64 %v, ptr noalias align 64 %s, ptr noalias align 64 %lds"
    function = f"""define i32 @kernel({files}, ptr noalias %ctx, i32 %state) {{
entry:
  %addresses = alloca [64 x i64], align 64
  %goal = alloca i64, align 8
  %jumper = alloca i64, align 8
  %scratch = getelementptr i8, ptr %v, i64 {kernel.vgpr_slots * VGPR_BYTES}
  %counters_at = getelementptr i8, ptr %ctx, i64 {counters}
  %counters = load ptr, ptr %counters_at, align 8
  switch i32 %state, label %trap [{states} ]
trap:
  ret i32 {TRAPPED}
fuel:
  ret i32 {OUT_OF_FUEL}
{body}
}}
"""
    library.require("run")
    return TranslatedKernel(kernel, library.text(function), tuple(t.segments))
