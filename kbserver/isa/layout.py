"""Which lane and register hold which element of a dense MFMA's matrices: by formula, and inverted by enumeration.

With B blocks, an M x K operand A is cut along K into `64 / (M * B)` groups of lanes, each lane holding consecutive k.
B is the same with column j for row i. Four rows of a 32-bit C or D lie in consecutive registers of one lane; 64-bit
results are laid out differently. Every element of the dense CDNA2 and CDNA3 forms in AMD's matrix calculator was
compared, and B and D of its sparse ones; what it does not list is said to be by formula only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from kbserver.core.errors import UsageError

LANES = 64
INPUT_BITS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8, "f8f6f4": 0}
_NAME = re.compile(
    r"v_(?P<sparse>mfma|smfmac|mfma_scale)_(?P<out>f32|f64|i32)_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)(?:_\d+b)?_?"
    r"(?P<in>f8f6f4|xf32|bf16|f16|f32|f64|fp8|bf8|i8)(?:_(?:fp8|bf8))?(?P<one_k>_1k)?$"
)
_ELEMENT = re.compile(r"\s*([abcd])\s*((?:\[\s*\d{1,5}\s*\]\s*){2,3})", re.IGNORECASE)
_PLACE = re.compile(
    r"\s*([abcd])?\s*lane\s*[=:]?\s*(\d{1,5})[\s,;]+(?:v|vgpr|reg|register)\s*[=:]?\s*(\d{1,5})\s*", re.IGNORECASE
)
CALCULATED = "every element compared with AMD's matrix instruction calculator"
BY_FORMULA = (
    "by formula only: the rule that holds for every form in AMD's calculator, which has no form that is new in CDNA4"
)
WIDEST_COMPARED_BYTES = 16
"""Bytes of one operand in one lane. Wider operands, new in CDNA4, may be split along K: no source was compared with."""


@dataclass(frozen=True)
class Place:
    """Where an element lies: the lane, its register counted from the operand's first, and the bits within."""

    lane: int
    register: int
    registers: int = 1
    """How many registers the element takes: 2 for 64-bit elements."""
    low_bit: int = 0
    bits: int = 32


@dataclass(frozen=True)
class Run:
    """Neighbouring lanes of one register whose elements step by one row or one column; (row, column, block) each."""

    register: int
    first_lane: int
    last_lane: int
    first: tuple[tuple[int, int, int], ...]
    last: tuple[tuple[int, int, int], ...]

    def goes_on(self, lane: int, elements: list[tuple[int, int, int]]) -> bool:
        """Return whether the next lane's elements continue the run."""
        if lane != self.last_lane + 1 or len(elements) != len(self.last):
            return False
        steps = {(b[0] - a[0], b[1] - a[1], b[2] - a[2]) for a, b in zip(self.last, elements, strict=True)}
        if steps not in ({(1, 0, 0)}, {(0, 1, 0)}):
            return False
        row, column, _ = next(iter(steps))
        length = self.last_lane - self.first_lane
        return all(
            (a[0] + row * length, a[1] + column * length) == b[:2] for a, b in zip(self.first, self.last, strict=True)
        )


@dataclass(frozen=True)
class Shape:
    """One matrix instruction's shape, as its name and its registers say."""

    name: str
    m: int
    n: int
    k: int
    blocks: int
    input_bits: int
    """0 for f8f6f4, whose width the modifiers choose."""
    output_bits: int
    sparse: bool

    @classmethod
    def of(cls, name: str, result_registers: int) -> Shape | None:
        """Return the shape of a matrix instruction, or None for another name. The registers of D tell the blocks."""
        match = _NAME.match(name)
        if match is None:
            return None
        m, n, k = int(match["m"]), int(match["n"]), int(match["k"])
        output_bits = 64 if match["out"] == "f64" else 32
        blocks = LANES * result_registers * 32 // output_bits // (m * n)
        return cls(name, m, n, k, blocks, INPUT_BITS[match["in"]], output_bits, match["sparse"] == "smfmac")

    def missing(self, matrix: str) -> str | None:
        """Return why the layout of a matrix is not known here, or None."""
        if self.sparse and matrix == "A":
            return "A of a sparse instruction is compressed: which k an element stands for is in the index register"
        if self.sparse and matrix == "C":
            return "a sparse instruction accumulates into D; its third source is the index register"
        if matrix in "AB" and not self.input_bits:
            return "operands of f8f6f4 forms differ by data format, and no source was found to compare with"
        if matrix in "AB" and self._per_lane(matrix) * self.input_bits > 8 * WIDEST_COMPARED_BYTES:
            return f"operands wider than {WIDEST_COMPARED_BYTES} bytes a lane are in no source to compare with"
        return None

    def _per_lane(self, matrix: str) -> int:
        size = self.m if matrix == "A" else self.n
        return max(1, self.k * size * self.blocks // LANES)

    def rows(self, matrix: str) -> tuple[int, int]:
        """Return (rows, columns) of A, B, C or D."""
        return {"A": (self.m, self.k), "B": (self.k, self.n)}.get(matrix, (self.m, self.n))

    def place(self, matrix: str, row: int, column: int, block: int = 0) -> Place:
        """Return where an element lies. Raises UsageError outside the matrix or when the layout is not known."""
        rows, columns = self.rows(matrix)
        if row >= rows or column >= columns or block >= self.blocks:
            raise UsageError(
                f"{matrix}[{row}][{column}] of block {block} is outside {self.name}",
                where="element",
                hint=f"{matrix} is {rows} x {columns}, {self.blocks} block{'s' if self.blocks > 1 else ''}",
            )
        missing = self.missing(matrix)
        if missing:
            raise UsageError(f"the layout of {matrix} of {self.name} is not known: {missing}", where="element")
        if matrix == "A":
            return self._input(self.m, row, column, block)
        if matrix == "B":
            return self._input(self.n, column, row, block)
        return self._output(row, column, block)

    def _input(self, size: int, i: int, k: int, block: int) -> Place:
        per_lane = max(1, self.k * size * self.blocks // LANES)
        lane = block * size + i + k // per_lane * size * self.blocks
        return _element(lane, k % per_lane, self.input_bits)

    def _output(self, i: int, j: int, block: int) -> Place:
        if self.output_bits == 64:
            if self.m == 4:
                return _element(16 * i + 4 * block + j, 0, 64)
            return _element(16 * (i % 4) + j, i // 4, 64)
        if self.m == 4:
            return Place(4 * block + j, i)
        quarter, groups = i // 4, LANES // self.n
        register = block * self.m * self.n // LANES + quarter // groups * 4 + i % 4
        return Place(quarter % groups * self.n + j, register)

    def formula(self, matrix: str) -> str:
        """Return the rule of a matrix in words that a program can be written from; `/` is integer division."""
        missing = self.missing(matrix)
        if missing:
            return f"unknown: {missing}"
        if matrix in "AB":
            size, name = (self.m, "i") if matrix == "A" else (self.n, "j")
            per_lane = self._per_lane(matrix)
            element = f"{matrix}[i][k]" if matrix == "A" else "B[k][j]"
            stride = size * self.blocks
            block = f"{size} * block + " if self.blocks > 1 else ""
            group = f" + {stride} * (k / {per_lane})" if self.k > per_lane else ""
            return f"{element}: lane {block}{name}{group}, element k % {per_lane} of {self.input_bits} bits"
        return f"{matrix}[i][j]: {self._output_formula()}"

    def _output_formula(self) -> str:
        if self.output_bits == 64:
            if self.m == 4:
                return "lane 16 * i + 4 * block + j, register pair 0"
            return "lane 16 * (i % 4) + j, register pair i / 4"
        if self.m == 4:
            return "lane 4 * block + j, register i"
        groups = LANES // self.n
        block = f"{self.m * self.n // LANES} * block + " if self.blocks > 1 else ""
        if self.m == 16:
            return f"lane 16 * (i / 4) + j, register {block}i % 4"
        return f"lane {self.n} * (i / 4 % {groups}) + j, register {block}4 * (i / {4 * groups}) + i % 4"

    def runs(self, matrix: str) -> list[Run]:
        """Return the whole layout as runs of lanes, register by register."""
        self.elements(matrix, 0, 0)
        held = self._inverse[matrix]
        runs: list[Run] = []
        for register in sorted({register for _, register in held}):
            for lane in range(LANES):
                elements = held.get((lane, register), [])
                if not elements:
                    continue
                last = runs[-1] if runs else None
                if last and last.register == register and last.goes_on(lane, elements):
                    runs[-1] = Run(register, last.first_lane, lane, last.first, tuple(elements))
                else:
                    runs.append(Run(register, lane, lane, tuple(elements), tuple(elements)))
        return runs

    @cached_property
    def _inverse(self) -> dict[str, dict[tuple[int, int], list[tuple[int, int, int]]]]:
        return {}

    def elements(self, matrix: str, lane: int, register: int) -> list[tuple[int, int, int]]:
        """Return (row, column, block) of every element in one register of one lane, low bits first."""
        if matrix not in self._inverse:
            held: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
            rows, columns = self.rows(matrix)
            for block in range(self.blocks):
                for row in range(rows):
                    for column in range(columns):
                        at = self.place(matrix, row, column, block)
                        for extra in range(at.registers):
                            held.setdefault((at.lane, at.register + extra), []).append((row, column, block))
            for found in held.values():
                found.sort(key=lambda element: self.place(matrix, *element).low_bit)
            self._inverse[matrix] = held
        return self._inverse[matrix].get((lane, register), [])


def _element(lane: int, number: int, bits: int) -> Place:
    return Place(lane, number * bits // 32, max(1, bits // 32), number * bits % 32, bits)


@dataclass(frozen=True)
class ElementQuestion:
    """`C[5][9]`, or with a block `C[2][5][9]`."""

    matrix: str
    row: int
    column: int
    block: int


@dataclass(frozen=True)
class PlaceQuestion:
    """`C lane 19 register 1`; without a matrix it is D."""

    matrix: str
    lane: int
    register: int


def read_question(text: str) -> ElementQuestion | PlaceQuestion:
    """Read `C[5][9]`, `A[block][i][k]` or `D lane 19 register 1`. Raises UsageError."""
    match = _ELEMENT.fullmatch(text)
    if match:
        numbers = [int(number) for number in re.findall(r"\d+", match[2])]
        block = numbers[0] if len(numbers) == 3 else 0
        return ElementQuestion(match[1].upper(), numbers[-2], numbers[-1], block)
    match = _PLACE.fullmatch(text)
    if match:
        return PlaceQuestion((match[1] or "D").upper(), int(match[2]), int(match[3]))
    raise UsageError(
        f"{text[:60]!r} names no element",
        where="element",
        hint="C[5][9], A[i][k], with a block first C[2][1][3]; or the other way: D lane 19 register 1",
    )
