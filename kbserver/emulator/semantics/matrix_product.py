"""Products of 16 and 32 rows as one function of the module: registers to arrays, loops over rows and k, and back.

Written once into the module however often the instruction occurs. Arrays keep the order of the registers,
[element][lane]: N results of a row, and N elements of B at one k, are neighbouring lanes, so that every step is one
vector operation along j. Tables of constants hold where row r and depth k begin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kbserver.emulator.ir import LANES, Emitter, Value
from kbserver.emulator.registers import VGPR_BYTES
from kbserver.emulator.runtime import Routine
from kbserver.emulator.semantics.matrix_shape import Shape, Side
from kbserver.emulator.types import Type, u32, u64

ROWS_AT_ONCE = 4
"""Rows in one turn of the loop: their chains of additions run beside each other."""


@dataclass
class Body:
    """The body of one function under construction: its emitter, its tables of constants, its parameters by name."""

    name: str
    emitter: Emitter
    parameters: tuple[str, ...]
    tables: list[str] = field(default_factory=list)

    def registers(self, parameter: str, count: int) -> list[Value]:
        """Return `count` registers from a parameter on, as u32."""
        e = self.emitter
        places = [e.offset(f"%{parameter}", n * VGPR_BYTES) for n in range(count)]
        return [e.load(place, u32, LANES, align=64) for place in places]

    def array(self, values: Sequence[Value]) -> Array:
        """Return a new array with these values, 64 lanes each."""
        array = self.room(values[0].type, len(values))
        for place, value in enumerate(values):
            self.emitter.store(value, array.at(place * LANES), align=64)
        return array

    def room(self, type_: Type, count: int) -> Array:
        """Return a new array of `count` times 64 elements."""
        e = self.emitter
        pointer = e.name("array")
        e.line(f"{pointer} = alloca [{count * LANES} x {type_.llvm}], align 64")
        return Array(e, pointer, type_)

    def table(self, numbers: Sequence[int]) -> Table:
        """Return a table of constants."""
        name = f"@{self.name}.table{len(self.tables)}"
        items = ", ".join(f"i32 {number}" for number in numbers)
        self.tables.append(f"{name} = private constant [{len(numbers)} x i32] [{items}]")
        return Table(self.emitter, name)

    def loop(
        self, count: int, carried: Sequence[Value], step: Callable[[Value, list[Value]], Sequence[Value]]
    ) -> list[Value]:
        """Emit `count` turns of `step(turn, values) -> next values`; return the values after the last."""
        e = self.emitter
        label = e.name("loop")[1:]
        e.line(f"br label %{label}.start")
        e.label(f"{label}.start")
        e.line(f"br label %{label}")
        e.label(label)
        head = len(e.lines)
        turn = Value(e, e.name("turn"), u64)
        values = [Value(e, e.name("sum"), value.type, value.lanes) for value in carried]
        following = step(turn, values)
        e.line(f"br label %{label}.next")
        e.label(f"{label}.next")
        advanced = turn + 1
        e.line(f"br i1 {(advanced < count).ref}, label %{label}, label %{label}.done")
        e.label(f"{label}.done")
        first = Value(e, "0", u64)
        phis = zip([turn, *values], [first, *carried], [advanced, *following], strict=True)
        e.lines[head:head] = [
            f"  {value.ref} = phi {value.llvm} [ {start.ref}, %{label}.start ], [ {later.ref}, %{label}.next ]"
            for value, start, later in phis
        ]
        return list(following)

    def depth(self, side: Side) -> Table:
        """Return where each k begins in the array of A or B."""
        places = (side.place(k) for k in range(side.depth))
        return self.table([element * LANES + lane for element, lane in places])

    def routine(self) -> Routine:
        """Return the finished function."""
        parameters = ", ".join(f"ptr %{name}" for name in self.parameters)
        lines = "\n".join(self.emitter.lines)
        tables = "\n".join(self.tables)
        return Routine(
            f"{tables}\ndefine internal void @{self.name}({parameters}) noinline {{\nentry:\n{lines}\n  ret void\n}}\n"
        )


@dataclass(frozen=True)
class Array:
    """Elements in memory, [element][lane]."""

    emitter: Emitter
    pointer: str
    type: Type

    def at(self, index: Value | int) -> str:
        return self.emitter.offset(self.pointer, index, self.type.llvm)

    def load(self, index: Value, lanes: int = 1) -> Value:
        return self.emitter.load(self.at(index), self.type, lanes)

    def store(self, index: Value, value: Value) -> None:
        self.emitter.store(value, self.at(index))


@dataclass(frozen=True)
class Table:
    """Constants by number."""

    emitter: Emitter
    name: str

    def __getitem__(self, index: Value) -> Value:
        return self.emitter.load(self.emitter.offset(self.name, index, "i32"), u32).to(u64)


def words_of(value: Value) -> list[Value]:
    """Return a value as the registers that hold it, low dword first."""
    if value.type.bits == 32:
        return [value.as_(u32)]
    bits = value.as_(u64)
    return [bits.to(u32), (bits >> 32).to(u32)]


def write_results(body: Body, results: Array, elements: int) -> None:
    """Copy the results to the registers at parameter `d`."""
    e = body.emitter
    values = [e.load(results.at(place * LANES), results.type, LANES, align=64) for place in range(elements)]
    for place, word in enumerate(word for value in values for word in words_of(value)):
        e.store(word, e.offset("%d", place * VGPR_BYTES), align=64)


def by_rows(
    body: Body,
    shape: Shape,
    results: Array,
    compute: Callable[[list[Value], Value, list[Value]], list[Value]],
    a_block: Callable[[int], int] = lambda block: block,
) -> None:
    """Replace every row of the results, four rows a turn.

    compute(a, b, rows) gets where each row begins in A's array and where the block's columns begin in B's, both to be
    added to the place of k, and N results a row. a_block: which block of A a block of results is made from.
    """
    rows = [(block, i) for block in range(shape.blocks) for i in range(shape.m)]
    places = [shape.result_place(block, i, 0) for block, i in rows]
    at_result = body.table([element * LANES + lane for lane, element in places])
    at_a = body.table([a_block(block) * shape.m + i for block, i in rows])
    at_b = body.table([block * shape.n for block, _ in rows])

    def turn(number: Value, _: list[Value]) -> list[Value]:
        these = [number * ROWS_AT_ONCE + row for row in range(ROWS_AT_ONCE)]
        found = [at_result[row] for row in these]
        old = [results.load(place, shape.n) for place in found]
        new = compute([at_a[row] for row in these], at_b[these[0]], old)
        for place, value in zip(found, new, strict=True):
            results.store(place, value)
        return []

    body.loop(len(rows) // ROWS_AT_ONCE, [], turn)
