"""Matrix operations (MFMA): D = A B + C over blocks spread across the 64 lanes; EXEC is ignored.

Where an element lives follows from the shape alone. For M x N x K with `blocks` blocks, K is split into groups of
lanes: `groups` = 64 / (M * blocks), and a lane holds K / groups consecutive elements of A and of B, packed from the low
bits up. 32-bit results sit four rows to a group of lanes.

The order in which one MFMA adds its products is not documented. Here k ascends and every product is fused with its
addition in float32: a model, to be compared with a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kbserver.emulator.access import BadOperand, read_lanes
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import LANES, Value, fma
from kbserver.emulator.operands import Operand, Register
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import Type, bf16, f16, f32, f64, i8, i32, u16, u32

_MODIFIERS = frozenset({"cbsz", "abid", "blgp"})


@dataclass(frozen=True)
class Shape:
    """One dense MFMA: rows, columns, depth, number of blocks, input and output element types."""

    m: int
    n: int
    k: int
    blocks: int
    source: Type
    result: Type

    @property
    def groups(self) -> int:
        """Groups of lanes that share K."""
        return max(1, LANES // (self.m * self.blocks))

    @property
    def per_lane(self) -> int:
        """Elements of A (and of B) in one lane."""
        return self.k // self.groups

    @property
    def source_dwords(self) -> int:
        return max(1, self.per_lane * self.source.bits // 32)

    @property
    def result_elements(self) -> int:
        """Elements of C and D in one lane."""
        return self.m * self.n * self.blocks // LANES

    @property
    def result_dwords(self) -> int:
        return self.result_elements * self.result.dwords

    def a_lane(self, block: int, i: int, k: int) -> int:
        """Return the lane that holds A[i][k]; the element in that lane is k modulo `per_lane`."""
        return block * self.m + i + k // self.per_lane * self.m * self.blocks

    def b_lane(self, block: int, j: int, k: int) -> int:
        """Return the lane that holds B[k][j]."""
        return block * self.n + j + k // self.per_lane * self.n * self.blocks

    def result_place(self, block: int, i: int, j: int) -> tuple[int, int]:
        """Return (lane, element) of D[i][j]."""
        if self.result.bits == 64:
            if self.m == 4:
                return 16 * i + 4 * block + j, 0
            return j + 16 * (i % 4), i // 4
        if self.m == 4:
            return 4 * block + j, i
        quad, groups = i // 4, LANES // self.n
        return quad % groups * self.n + j, block * self.m * self.n // LANES + quad // groups * 4 + i % 4


def _elements(t: Translation, register: Register, shape: Shape) -> list[Value]:
    """Return the packed elements of A or B, each as 64 lanes of the type that the products are made in."""
    if shape.source.bits == 64:
        return [_pair(t, register.index).as_(f64)]
    words = [t.registers.vgpr(register.index + place) for place in range(shape.source_dwords)]
    per_word = 32 // shape.source.bits
    return [_widen(words[e // per_word], e % per_word, shape.source) for e in range(shape.per_lane)]


def _pair(t: Translation, index: int) -> Value:
    return read_lanes(t.registers, Operand(Register("v", index, 2)), f64)


def _widen(word: Value, place: int, type_: Type) -> Value:
    if type_ == f32:
        return word.as_(f32)
    if type_ == bf16:
        return (word & 0xFFFF0000 if place else word << 16).as_(f32)
    if type_ == f16:
        return ((word >> 16) if place else word).to(u16).as_(f16).to(f32)
    return (word.as_(i32) << (24 - 8 * place)) >> 24  # i8


def _accumulators(t: Translation, d: Decoded, shape: Shape) -> list[Value]:
    operand = d.operands[3]
    if operand.register is None or operand.register.file == "s":
        constant = read_lanes(t.registers, operand, shape.result)
        return [constant] * shape.result_elements
    first = d.register(3, "v", shape.result_dwords).index
    if shape.result.bits == 64:
        return [_pair(t, first + 2 * place) for place in range(shape.result_elements)]
    return [t.registers.vgpr(first + place).as_(shape.result) for place in range(shape.result_elements)]


def _places(shape: Shape) -> list[list[tuple[int, int, int]]]:
    """Return, for every result element and lane, which (block, i, j) it holds."""
    table = [[(0, 0, 0)] * LANES for _ in range(shape.result_elements)]
    for block in range(shape.blocks):
        for i in range(shape.m):
            for j in range(shape.n):
                lane, element = shape.result_place(block, i, j)
                table[element][lane] = (block, i, j)
    return table


def _mfma(shape: Shape) -> Special:
    multiply_add: Callable[[Value, Value, Value], Value] = (lambda a, b, c: a * b + c) if shape.result == i32 else fma

    def function(t: Translation, d: Decoded) -> None:
        if any(d.number(name) for name in _MODIFIERS):
            raise BadOperand("cbsz, abid and blgp other than 0 are not emulated")
        destination = d.register(0, "v", shape.result_dwords)
        a = _elements(t, d.register(1, "v", shape.source_dwords), shape)
        b = _elements(t, d.register(2, "v", shape.source_dwords), shape)
        results = _accumulators(t, d, shape)
        for element, lanes in enumerate(_places(shape)):
            total = results[element]
            for k in range(shape.k):
                left = a[k % shape.per_lane].shuffle([shape.a_lane(block, i, k) for block, i, _ in lanes])
                right = b[k % shape.per_lane].shuffle([shape.b_lane(block, j, k) for block, _, j in lanes])
                total = multiply_add(left, right, total)
            results[element] = total
        _write(t, destination, results, shape)

    return Special(function, _MODIFIERS, writes=(0,), reads=(1, 2, 3))


def _write(t: Translation, destination: Register, results: list[Value], shape: Shape) -> None:
    index = destination.index
    for value in results:
        if shape.result.bits == 64:
            bits = value.as_(Type("u", 64))
            t.registers.set_vgpr(index, bits.to(u32), all_lanes=True)
            t.registers.set_vgpr(index + 1, (bits >> 32).to(u32), all_lanes=True)
        else:
            t.registers.set_vgpr(index, value, all_lanes=True)
        index += shape.result.dwords


# mnemonic -> shape. Blocks are written into the mnemonic (4x4x4_16b) or follow from the shape's name in old spellings.
SHAPES: dict[str, Shape] = {
    "v_mfma_f32_32x32x1_2b_f32": Shape(32, 32, 1, 2, f32, f32),
    "v_mfma_f32_16x16x1_4b_f32": Shape(16, 16, 1, 4, f32, f32),
    "v_mfma_f32_4x4x1_16b_f32": Shape(4, 4, 1, 16, f32, f32),
    "v_mfma_f32_32x32x2_f32": Shape(32, 32, 2, 1, f32, f32),
    "v_mfma_f32_16x16x4_f32": Shape(16, 16, 4, 1, f32, f32),
    "v_mfma_f32_32x32x4_2b_f16": Shape(32, 32, 4, 2, f16, f32),
    "v_mfma_f32_16x16x4_4b_f16": Shape(16, 16, 4, 4, f16, f32),
    "v_mfma_f32_4x4x4_16b_f16": Shape(4, 4, 4, 16, f16, f32),
    "v_mfma_f32_32x32x8_f16": Shape(32, 32, 8, 1, f16, f32),
    "v_mfma_f32_16x16x16_f16": Shape(16, 16, 16, 1, f16, f32),
    "v_mfma_f32_32x32x4_2b_bf16": Shape(32, 32, 4, 2, bf16, f32),
    "v_mfma_f32_16x16x4_4b_bf16": Shape(16, 16, 4, 4, bf16, f32),
    "v_mfma_f32_4x4x4_16b_bf16": Shape(4, 4, 4, 16, bf16, f32),
    "v_mfma_f32_32x32x8_bf16": Shape(32, 32, 8, 1, bf16, f32),
    "v_mfma_f32_16x16x16_bf16": Shape(16, 16, 16, 1, bf16, f32),
    "v_mfma_f32_32x32x16_f16": Shape(32, 32, 16, 1, f16, f32),  # gfx950
    "v_mfma_f32_16x16x32_f16": Shape(16, 16, 32, 1, f16, f32),  # gfx950
    "v_mfma_f32_32x32x16_bf16": Shape(32, 32, 16, 1, bf16, f32),  # gfx950
    "v_mfma_f32_16x16x32_bf16": Shape(16, 16, 32, 1, bf16, f32),  # gfx950
    "v_mfma_f64_16x16x4_f64": Shape(16, 16, 4, 1, f64, f64),
    "v_mfma_f64_4x4x4_4b_f64": Shape(4, 4, 4, 4, f64, f64),
    "v_mfma_i32_32x32x16_i8": Shape(32, 32, 16, 1, i8, i32),
    "v_mfma_i32_16x16x32_i8": Shape(16, 16, 32, 1, i8, i32),
}
# gfx90a spells the same operations without the number of blocks.
_GFX90A_NAMES = {
    "v_mfma_f32_32x32x1f32": "v_mfma_f32_32x32x1_2b_f32",
    "v_mfma_f32_16x16x1f32": "v_mfma_f32_16x16x1_4b_f32",
    "v_mfma_f32_4x4x1f32": "v_mfma_f32_4x4x1_16b_f32",
    "v_mfma_f32_32x32x2f32": "v_mfma_f32_32x32x2_f32",
    "v_mfma_f32_16x16x4f32": "v_mfma_f32_16x16x4_f32",
    "v_mfma_f32_32x32x4f16": "v_mfma_f32_32x32x4_2b_f16",
    "v_mfma_f32_16x16x4f16": "v_mfma_f32_16x16x4_4b_f16",
    "v_mfma_f32_4x4x4f16": "v_mfma_f32_4x4x4_16b_f16",
    "v_mfma_f32_32x32x8f16": "v_mfma_f32_32x32x8_f16",
    "v_mfma_f32_16x16x16f16": "v_mfma_f32_16x16x16_f16",
    "v_mfma_f32_32x32x4bf16_1k": "v_mfma_f32_32x32x4_2b_bf16",
    "v_mfma_f32_16x16x4bf16_1k": "v_mfma_f32_16x16x4_4b_bf16",
    "v_mfma_f32_4x4x4bf16_1k": "v_mfma_f32_4x4x4_16b_bf16",
    "v_mfma_f32_32x32x8bf16_1k": "v_mfma_f32_32x32x8_bf16",
    "v_mfma_f32_16x16x16bf16_1k": "v_mfma_f32_16x16x16_bf16",
    "v_mfma_f64_16x16x4f64": "v_mfma_f64_16x16x4_f64",
    "v_mfma_f64_4x4x4f64": "v_mfma_f64_4x4x4_4b_f64",
}

ROWS: dict[str, Row] = {
    **{name: _mfma(shape) for name, shape in SHAPES.items()},
    **{old: _mfma(SHAPES[new]) for old, new in _GFX90A_NAMES.items()},
}
