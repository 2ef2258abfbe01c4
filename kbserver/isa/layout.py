"""Which lane and register hold which element of a dense MFMA's matrices: by formula, and inverted by enumeration.

With B blocks, an M x K operand A is cut along K into `64 / (M * B)` groups of lanes, each lane holding consecutive k.
B is the same with column j for row i. An operand of 8 registers holds 16 bytes of the lower half of K, then 16 of the
upper half. A of a sparse form is its stored half. Four rows of a 32-bit C or D lie in consecutive registers of one
lane; 64-bit results are laid out differently. Every element of the dense CDNA2 and CDNA3 forms in AMD's matrix
calculator was compared, and B and D of its sparse ones; how far the rest is confirmed is said with each layout.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kbserver.core.errors import UsageError

LANES = 64
INPUT_BITS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8, "f8f6f4": 0}
_NAME = re.compile(
    r"v_(?P<sparse>mfma|smfmac|mfma_scale)_(?P<out>f32|f64|i32)_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)(?:_\d+b)?_?"
    r"(?P<in>f8f6f4|xf32|bf16|f16|f32|f64|fp8|bf8|i8)(?:_(?:fp8|bf8))?(?P<one_k>_1k)?$"
)
SELECTED_BITS = {"fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4}
"""Formats that cbsz and blgp choose for f8f6f4 operands."""
_FORMAT = r"\s*(fp8|bf8|fp6|bf6|fp4)?\s*"
_ELEMENT = re.compile(r"\s*([abcd])\s*((?:\[\s*\d{1,5}\s*\]\s*){2,3})" + _FORMAT, re.IGNORECASE)
_PLACE = re.compile(
    r"\s*([abcd])?\s*lane\s*[=:]?\s*(\d{1,5})[\s,;]+(?:v|vgpr|reg|register)\s*[=:]?\s*(\d{1,5})" + _FORMAT,
    re.IGNORECASE,
)
CALCULATED = "every element compared with AMD's matrix instruction calculator"
MEASURED = "the rule that AMD's hip-fpsan holds against an MI350; f8f6f4 also as CK and AMD's blog have it"
BY_FORMULA = (
    "by formula only: the rule that holds for every form in AMD's calculator, which has no form that is new in CDNA4"
)
HALF_BYTES = 16
"""Bytes of an operand in one lane that hold neighbouring k; a wider operand has two such halves."""
SCALE_BLOCK = 32


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

    def in_format(self, name: str) -> Shape:
        """Return the shape with the format that cbsz or blgp chooses. Raises UsageError where neither chooses one."""
        if not name:
            return self
        if self.selects_formats:
            return replace(self, input_bits=SELECTED_BITS[name])
        raise UsageError(f"the formats of {self.name} are in its name", where="element", hint="leave the format out")

    @property
    def selects_formats(self) -> bool:
        return "f8f6f4" in self.name

    def status(self, targets: Sequence[str]) -> str:
        """Return how far the layout is confirmed, for an instruction that these targets have."""
        if {"gfx90a", "gfx942"} & set(targets):
            return CALCULATED
        return BY_FORMULA if "_i32_" in self.name else MEASURED

    def missing(self, matrix: str) -> str | None:
        """Return why the layout of a matrix is not known here, or None."""
        if self.sparse and matrix == "C":
            return "a sparse instruction accumulates into D; its third source is the index register"
        if matrix in "AB" and not self.input_bits:
            return "cbsz and blgp choose the format: say it behind the element, as in A[3][70] fp8"
        if self.sparse and matrix in "AB" and "_i32_" in self.name and self._halves("B"):
            return "no source has the layout of integer sparse forms that are new in CDNA4"
        return None

    def _halves(self, matrix: str) -> bool:
        return self.input_bits % 8 == 0 and self._per_lane(matrix) * self.input_bits > 8 * HALF_BYTES

    def _depth(self, matrix: str) -> int:
        """Return how many elements along K are stored."""
        return self.k // 2 if self.sparse and matrix == "A" else self.k

    def _chunk(self, matrix: str) -> int:
        """Return how many neighbouring k a lane holds."""
        return 8 * HALF_BYTES // self.input_bits if self._halves(matrix) else self._per_lane(matrix)

    def _per_lane(self, matrix: str) -> int:
        size = self.m if matrix == "A" else self.n
        return max(1, self._depth(matrix) * size * self.blocks // LANES)

    def rows(self, matrix: str) -> tuple[int, int]:
        """Return (rows, columns) of A, B, C or D; of a sparse A, as it is stored."""
        return {"A": (self.m, self._depth("A")), "B": (self.k, self.n)}.get(matrix, (self.m, self.n))

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
            return self._input("A", self.m, row, column, block)
        if matrix == "B":
            return self._input("B", self.n, column, row, block)
        return self._output(row, column, block)

    def _input(self, matrix: str, size: int, i: int, k: int, block: int) -> Place:
        chunk, groups = self._chunk(matrix), max(1, LANES // (size * self.blocks))
        half, rest = divmod(k, chunk * groups)
        lane = block * size + i + rest // chunk * size * self.blocks
        return _element(lane, half * chunk + rest % chunk, self.input_bits)

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
        if matrix in "AB" and not self.input_bits:
            wide, narrow = (self.in_format(name).formula(matrix) for name in ("fp8", "fp4"))
            narrow = narrow.partition(": ")[2].replace("of 4 bits", "of 6 or 4 bits")
            return f"{wide}; in a narrower format: {narrow}"
        missing = self.missing(matrix)
        if missing:
            return f"unknown: {missing}"
        if matrix in "AB":
            return self._input_formula(matrix)
        return f"{matrix}[i][j]: {self._output_formula()}"

    def _input_formula(self, matrix: str) -> str:
        size, name = (self.m, "i") if matrix == "A" else (self.n, "j")
        k = "c" if self.sparse and matrix == "A" else "k"
        element = f"A[i][{k}]" if matrix == "A" else "B[k][j]"
        chunk, depth, stride = self._chunk(matrix), self._depth(matrix), size * self.blocks
        groups = max(1, LANES // stride)
        block = f"{size} * block + " if self.blocks > 1 else ""
        run = k if chunk == 1 else f"{k} / {chunk}"
        group = f"{run} % {groups}" if depth > chunk * groups else run
        factor = group if group == k else f"({group})"
        lane = f"{block}{name}" + (f" + {stride} * {factor}" if depth > chunk else "")
        within = "0" if chunk == 1 else f"{k} % {chunk}"
        half = f" + {chunk} * ({k} / {chunk * groups})" if depth > chunk * groups else ""
        stored = " (the c-th stored element; it stands for k = 4 * (c / 2) + its index)" if k == "c" else ""
        return f"{element}{stored}: lane {lane}, element {within}{half} of {self.input_bits} bits"

    def extra_formulas(self) -> dict[str, str]:
        """Return the rules of what is no matrix: the indices of a sparse A, the scales of a scaled product."""
        if self.sparse and not self.missing("A"):
            return {"the index of A": "element e of a lane of A: bits 2 * e + 1 : 2 * e of the lane's index set"}
        if "_scale_" not in self.name:
            return {}
        return {
            f"the scale of {matrix}": (
                f"{what}: lane {size} * (k / {SCALE_BLOCK}) + {name} of scale_src{number}, byte op_sel[{number}] + 2 *"
                f" op_sel_hi[{number}], 2^(byte - 127)"
            )
            for number, (matrix, what, size, name) in enumerate(
                (("A", f"row i, {SCALE_BLOCK} k", self.m, "i"), ("B", f"column j, {SCALE_BLOCK} k", self.n, "j"))
            )
        }

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
    register, low = divmod(number * bits, 32)
    return Place(lane, register, -(-(low + bits) // 32), low, bits)


@dataclass(frozen=True)
class ElementQuestion:
    """`C[5][9]`, or with a block `C[2][5][9]`."""

    matrix: str
    row: int
    column: int
    block: int
    format: str = ""


@dataclass(frozen=True)
class PlaceQuestion:
    """`C lane 19 register 1`; without a matrix it is D."""

    matrix: str
    lane: int
    register: int
    format: str = ""


def read_question(text: str) -> ElementQuestion | PlaceQuestion:
    """Read `C[5][9]`, `A[block][i][k]` or `D lane 19 register 1`. Raises UsageError."""
    match = _ELEMENT.fullmatch(text)
    if match:
        numbers = [int(number) for number in re.findall(r"\d+", match[2])]
        block = numbers[0] if len(numbers) == 3 else 0
        return ElementQuestion(match[1].upper(), numbers[-2], numbers[-1], block, (match[3] or "").lower())
    match = _PLACE.fullmatch(text)
    if match:
        return PlaceQuestion((match[1] or "D").upper(), int(match[2]), int(match[3]), (match[4] or "").lower())
    raise UsageError(
        f"{text[:60]!r} names no element",
        where="element",
        hint="C[5][9], A[i][k], with a block first C[2][1][3], of f8f6f4 A[3][70] fp8; or: D lane 19 register 1",
    )
