"""Matrix operations from what each lane holds: every lane's elements are named by row, column and k, then multiplied.

The tables of AMD's matrix calculator are read the other way round than the translator does: lane and element first.
Dense and sparse products are exact and added to the sum with one rounding, k ascending; blocks of f8f6f4 are summed in
double and added to the float32 sum with one more rounding. Both are the translator's model, not the hardware's order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kbserver.emulator.operands import Number
from kbserver.emulator.oracle import fp8
from kbserver.emulator.oracle.arithmetic import fused
from kbserver.emulator.oracle.formats import from_bits, to_bits

if TYPE_CHECKING:
    from kbserver.emulator.decode import Decoded
    from kbserver.emulator.oracle.state import Wavefront

_LANES = 64
_NAME = re.compile(
    r"v_(mfma|smfmac)_(scale_)?(f32|f64|i32)_(\d+)x\d+x(\d+)(?:_\d+b)?_?"
    r"(f8f6f4|xf32|bf16|f16|f32|f64|i8|fp8|bf8)(?:_(fp8|bf8))?(?:_1k)?"
)
_WIDTH = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8,
          "fp6": 6, "bf6": 6, "fp4": 4}  # fmt: skip
_SELECTED = ("fp8", "bf8", "fp6", "bf6", "fp4")
_NARROW = {"fp6": (2, 3, 1), "bf6": (3, 2, 3), "fp4": (2, 1, 1)}

Matrix = dict[tuple[int, int, int], float]
"""(block, row of A or column of B, k) -> number."""


def _number(code: int, kind: str, arch: str) -> float:
    """Return what a code means; integers are exact in a Python float."""
    if kind in ("fp8", "bf8"):
        return fp8.value(code, kind, fnuz=arch == "gfx942")
    if kind in _NARROW:
        exponent_bits, fraction_bits, bias = _NARROW[kind]
        exponent, fraction = divmod(code % 2 ** (exponent_bits + fraction_bits), 2**fraction_bits)
        whole = fraction + (2**fraction_bits if exponent else 0)
        sign = -1.0 if code >> (exponent_bits + fraction_bits) else 1.0
        return sign * math.ldexp(whole, max(exponent, 1) - bias - fraction_bits)
    if kind == "i8":
        return float(code - 256 if code >= 128 else code)
    if kind == "bf16":
        return from_bits(code << 16, 32)
    if kind == "xf32":
        return from_bits(code if math.isnan(from_bits(code, 32)) else code // 2**13 * 2**13, 32)
    return from_bits(code, _WIDTH[kind])


def _field(wave: Wavefront, register: int, lane: int, element: int, width: int) -> int:
    first, last = element * width // 32, (element * width + width - 1) // 32
    raw = sum(wave.vgprs[register + word][lane] << 32 * (word - first) for word in range(first, last + 1))
    return raw >> (element * width - 32 * first) & (1 << width) - 1


def _read(
    wave: Wavefront, register: int, kind: str, outer: int, depth: int, blocks: int, lanes: Callable[[int], int]
) -> Matrix:
    """Return A or B. `lanes`: which lane's registers a lane uses."""
    together = outer * blocks
    each = max(1, depth * together // _LANES)
    width = _WIDTH[kind]
    run = 128 // width if width % 8 == 0 and each * width > 128 else each
    numbers: Matrix = {}
    for lane in range(min(_LANES, together * depth // each)):
        group, place = divmod(lane, together)
        block, row = divmod(place, outer)
        for element in range(each):
            half, within = divmod(element, run)
            k = half * depth // 2 + group * run + within
            code = _field(wave, register, lanes(lane), element, width)
            numbers[block, row, k] = _number(code, kind, wave.arch)
    return numbers


def _result(lane: int, element: int, size: int, doubles: bool) -> tuple[int, int, int]:
    """Return the (block, row, column) of one element of C and D."""
    if doubles:
        return (lane % 16 // 4, lane // 16, lane % 4) if size == 4 else (0, 4 * element + lane // 16, lane % 16)
    if size == 4:
        return lane // 4, element, lane % 4
    if size == 16:
        return element // 4, lane // 16 * 4 + element % 4, lane % 16
    block, within = divmod(element, 16)
    return block, within // 4 * 8 + lane // 32 * 4 + within % 4, lane % 32


def _b_lane(blgp: int) -> Callable[[int], int]:
    table = {0: range(64), 1: [*range(32)] * 2, 2: [*range(32, 64)] * 2, 3: [*range(16, 64), *range(16)]}
    lanes = table.get(blgp) or [*range(16 * (blgp - 4), 16 * (blgp - 3))] * 4
    return lambda lane: lanes[lane]


def _accumulator(wave: Wavefront, d: Decoded, place: int, kind: str, element: int, lane: int) -> float:
    operand = d.operands[place]
    if isinstance(operand.value, Number):
        value = operand.value.value
        return float(value) if isinstance(value, float) or kind == "i32" else from_bits(value & 0xFFFFFFFF, 32)
    assert operand.register
    words = 2 if kind == "f64" else 1
    raw = _field(wave, operand.register.index, lane, element, 32 * words)
    return float(raw - 2**32 if raw >> 31 else raw) if kind == "i32" else from_bits(raw, 32 * words)


def _step(wave: Wavefront, d: Decoded) -> None:
    match = _NAME.fullmatch(d.name)
    assert match
    family, scaled, kind, size, k, a_kind, b_kind = match.groups()
    sparse, size, k = family == "smfmac", int(size), int(k)
    if a_kind == "f8f6f4":
        a_kind, b_kind = _SELECTED[d.number("cbsz")], _SELECTED[d.number("blgp")]
    b_kind = b_kind or a_kind
    target, a, b = (d.operands[place].register for place in (0, 1, 2))
    assert target and a and b
    words = 2 if kind == "f64" else 1
    blocks = target.count // words * _LANES // (size * size)
    modified = not sparse and "f8f6f4" not in d.name
    source = _b_lane(d.number("blgp") if modified else 0)
    left = _read(wave, a.index, a_kind, size, k // 2 if sparse else k, blocks, lambda lane: lane)
    right = _read(wave, b.index, b_kind, size, k, blocks, source)
    every = {(i, depth): depth for i in range(size) for depth in range(k)}
    at = _indices(wave, d, size, k) if sparse else every
    shared = 2 ** d.number("cbsz") if modified else 1
    signs = [-1.0 if on else 1.0 for on in (*_bits(d, "neg"), 0, 0, 0)[:3]]
    out = {}
    for lane in range(_LANES):
        for element in range(target.count // words):
            block, i, j = _result(lane, element, size, kind == "f64")
            total = signs[2] * _accumulator(wave, d, 0 if sparse else 3, kind, element, lane)
            a_block = block - block % shared + (d.number("abid") if shared > 1 else 0)
            stored = range(k // 2 if sparse else k)
            pairs = [(signs[0] * left[a_block, i, c], signs[1] * right[block, j, at[i, c]]) for c in stored]
            if "f8f6f4" in d.name:
                total = _blocks(
                    pairs, total, [_scales(wave, d, size, i, j, g) if scaled else () for g in range(k // 32)]
                )
            else:
                for x, y in pairs:
                    total = _added(x, y, total, kind)
            out[lane, element] = int(total) % 2**32 if kind == "i32" else to_bits(total, 32 * words)
    for (lane, element), bits in out.items():
        for word in range(words):
            wave.vgprs[target.index + element * words + word][lane] = bits >> 32 * word & 0xFFFFFFFF


def _added(x: float, y: float, total: float, kind: str) -> float:
    if kind == "i32":
        return float((int(x) * int(y) + int(total) + 2**31) % 2**32 - 2**31)
    size = 64 if kind == "f64" else 32
    return from_bits(to_bits(fused(x, y, total), size), size)


def _blocks(pairs: list[tuple[float, float]], total: float, factors: Sequence[Sequence[float]]) -> float:
    """Add the products of every 32 k, each block times its factors."""
    for number, block_factors in enumerate(factors):
        dot = 0.0
        for x, y in pairs[32 * number : 32 * number + 32]:
            dot += x * y  # the product of two 8-bit floats is exact in double
        for factor in block_factors:
            dot *= factor
        total = from_bits(to_bits(total + dot, 32), 32)
    return total


def _scales(wave: Wavefront, d: Decoded, size: int, i: int, j: int, block: int) -> tuple[float, float]:
    """Return the scale of row i of A and of column j of B for one block of 32 k."""
    low, high = (*_bits(d, "op_sel"), 0, 0), (*_bits(d, "op_sel_hi"), 0, 0)
    factors = []
    for number, row in ((0, i), (1, j)):
        register = d.operands[4 + number].register
        assert register
        code = wave.vgprs[register.index][block * size + row] >> 8 * (low[number] + 2 * high[number]) & 0xFF
        factors.append(math.nan if code == 255 else math.ldexp(1.0, code - 127))
    return factors[0], factors[1]


def _bits(d: Decoded, name: str) -> tuple[int, ...]:
    value = d.modifiers.get(name, ())
    return value if isinstance(value, tuple) else ()


def _indices(wave: Wavefront, d: Decoded, size: int, k: int) -> dict[tuple[int, int], int]:
    """Return (row, stored element of A) -> k: two bits choose one of four neighbours."""
    register = d.operands[3].register
    assert register
    each = k // 2 * size // _LANES
    first = d.number("abid") * 2 * each if not d.number("cbsz") else 0
    table = {}
    for row in range(size):
        for c in range(k // 2):
            group, element = divmod(c, each)
            word = wave.vgprs[register.index][group * size + row]
            table[row, c] = c // 2 * 4 + (word >> first + 2 * element & 3)
    return table


_DENSE = """
f32_32x32x1_2b_f32 f32_16x16x1_4b_f32 f32_4x4x1_16b_f32 f32_32x32x2_f32 f32_16x16x4_f32 f32_32x32x4_xf32
f32_16x16x8_xf32 f64_16x16x4_f64 f64_4x4x4_4b_f64 i32_32x32x4_2b_i8 i32_16x16x4_4b_i8 i32_4x4x4_16b_i8
i32_32x32x16_i8 i32_16x16x32_i8 i32_32x32x32_i8 i32_16x16x64_i8
f32_32x32x1f32 f32_16x16x1f32 f32_4x4x1f32 f32_32x32x2f32 f32_16x16x4f32 f32_32x32x4f16 f32_16x16x4f16
f32_4x4x4f16 f32_32x32x8f16 f32_16x16x16f16 f32_32x32x2bf16 f32_16x16x2bf16 f32_4x4x2bf16 f32_32x32x4bf16
f32_16x16x8bf16 f32_32x32x4bf16_1k f32_16x16x4bf16_1k f32_4x4x4bf16_1k f32_32x32x8bf16_1k f32_16x16x16bf16_1k
i32_32x32x4i8 i32_16x16x4i8 i32_4x4x4i8 i32_32x32x8i8 i32_16x16x16i8 f64_16x16x4f64 f64_4x4x4f64
f32_16x16x128_f8f6f4 f32_32x32x64_f8f6f4 scale_f32_16x16x128_f8f6f4 scale_f32_32x32x64_f8f6f4
"""
_HALVES = ("32x32x4_2b", "16x16x4_4b", "4x4x4_16b", "32x32x8", "16x16x16", "32x32x16", "16x16x32")
_EIGHT = [f"{a}_{b}" for a in ("fp8", "bf8") for b in ("fp8", "bf8")]
_SPARSE_HALVES = ("16x16x32", "32x32x16", "16x16x64", "32x32x32")
_SPARSE_EIGHT = ("16x16x64", "32x32x32", "16x16x128", "32x32x64")

MATRIX = dict.fromkeys(
    [
        *(f"v_mfma_{form}" for form in _DENSE.split()),
        *(f"v_mfma_f32_{form}_{kind}" for form in _HALVES for kind in ("f16", "bf16")),
        *(f"v_mfma_f32_{form}_{kinds}" for form in ("16x16x32", "32x32x16") for kinds in _EIGHT),
        *(f"v_smfmac_f32_{form}_{kind}" for form in _SPARSE_HALVES for kind in ("f16", "bf16")),
        *(f"v_smfmac_f32_{form}_{kinds}" for form in _SPARSE_EIGHT for kinds in _EIGHT),
        *(f"v_smfmac_i32_{form}_i8" for form in ("16x16x64", "32x32x32")),
    ],
    _step,
)
