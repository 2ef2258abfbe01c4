"""Matrices in registers, written for the tests from the published lane maps; nothing here comes from the emulator.

Maps: AMD's matrix instruction calculator (dense CDNA 2 and 3, sparse CDNA 3); for CDNA 4, AMD's blog on matrix core
programming (FP8 and FP4 of 32x32x64), CK's measured scale mapping, and the layout tests of AMD's hip-fpsan (MI350).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

from kbserver.emulator.wave import WaveState

A, B, C, D, X, Y = 4, 40, 80, 140, 200, 201
"""First registers of the operands."""
_NAME = re.compile(
    r"v_s?mf(?:ma|mac)(?:_scale)?_(f32|f64|i32)_(\d+)x(\d+)x(\d+)(?:_\d+b)?_?"
    r"(f8f6f4|xf32|bf16|f16|f32|f64|i8|fp8|bf8)(?:_(fp8|bf8))?(?:_1k)?"
)
BITS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "i32": 32,
        "fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4}  # fmt: skip


def parse(name: str) -> tuple[str, int, int, int, str, str]:
    """Return (result, M, N, K, format of A, format of B) as the mnemonic says."""
    match = _NAME.fullmatch(name)
    assert match, name
    result, m, n, k, a, b = match.groups()
    return result, int(m), int(n), int(k), a, b or a


def minifloat(code: int, exponent_bits: int, fraction_bits: int, bias: int) -> float:
    """Return the number of a small float without special values."""
    sign = -1.0 if code >> (exponent_bits + fraction_bits) else 1.0
    exponent, fraction = divmod(code & (1 << (exponent_bits + fraction_bits)) - 1, 1 << fraction_bits)
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - fraction_bits)
    return sign * math.ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits)


def small_codes(kind: str, arch: str = "gfx950") -> dict[float, int]:
    """Return value -> code of every code of a small format that is a number of magnitude 1/2 to 4, or 0."""
    shift = 1 if arch == "gfx942" else 0
    layout = {"fp8": (4, 3, 7 + shift), "bf8": (5, 2, 15 + shift), "fp6": (2, 3, 1), "bf6": (3, 2, 3), "fp4": (2, 1, 1)}
    codes = {minifloat(code, *layout[kind]): code for code in reversed(range(1 << BITS[kind]))}
    return {value: code for value, code in codes.items() if value == 0 or 0.5 <= abs(value) <= 4}


def draw(rng: np.random.Generator, kind: str, shape: tuple[int, ...], arch: str = "gfx950") -> np.ndarray:
    """Return numbers that the format holds and whose products add without rounding."""
    if kind == "i8":
        return rng.integers(-128, 128, shape).astype(np.float64)
    if BITS[kind] <= 8:
        return rng.choice(np.array(sorted(small_codes(kind, arch))), shape)
    return rng.integers(-15, 16, shape) / 4


def encode(values: np.ndarray, kind: str, arch: str = "gfx950") -> np.ndarray:
    """Return the codes as unsigned integers."""
    if kind in ("fp8", "bf8", "fp6", "bf6", "fp4"):
        codes = small_codes(kind, arch)
        return np.vectorize(codes.__getitem__, otypes=[np.uint64])(values + 0.0)
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint64)
    types = {"f64": ("f8", "u8"), "f32": ("f4", "u4"), "xf32": ("f4", "u4"), "f16": ("f2", "u2"),
             "i8": ("i1", "u1"), "i32": ("i4", "u4")}  # fmt: skip
    number, bits = types[kind]
    return values.astype(number).view(bits).astype(np.uint64)


Placing = Callable[[int, int, int], tuple[int, int]]
"""(block, row of A or column of B, k) -> (lane, element within the lane)."""


def along_k(outer: int, depth: int, blocks: int) -> Placing:
    """Each share of the lanes holds one run of K: the rule of the calculator."""
    shares = max(1, 64 // (outer * blocks))
    run = depth // shares
    return lambda block, row, k: (k // run * outer * blocks + block * outer + row, k % run)


def in_halves(outer: int, depth: int, run: int) -> Placing:
    """First `run` elements of a lane from the lower half of K, the next from the upper half."""
    half = depth // 2
    return lambda _, row, k: (k % half // run * outer + row, k // half * run + k % run)


def place(wave: WaveState, register: int, codes: np.ndarray, bits: int, where: Placing) -> None:
    """Write codes[block, outer, k] to the lanes, over whatever their registers held."""
    lanes = [0] * 64
    for (block, row, k), code in np.ndenumerate(codes):
        lane, element = where(block, row, k)
        lanes[lane] |= int(code) << element * bits
    words = max(1, codes.size * bits // 64 // 32)
    for lane, packed in enumerate(lanes):
        for word in range(words):
            wave.vgprs[register + word, lane] = packed >> 32 * word & 0xFFFFFFFF


def result_place(block: int, i: int, j: int, m: int, kind: str) -> tuple[int, int]:
    """Return (lane, element) of D[i][j], case by case as the calculator prints them."""
    if kind == "f64":
        return (i * 16 + block * 4 + j, 0) if m == 4 else (i % 4 * 16 + j, i // 4)
    if m == 4:
        return block * 4 + j, i
    if m == 16:  # four rows to a quarter of the lanes; a block takes four registers
        return i // 4 * 16 + j, block * 4 + i % 4
    return i // 4 % 2 * 32 + j, block * 16 + i // 8 * 4 + i % 4


def write_results(wave: WaveState, register: int, matrix: np.ndarray, kind: str) -> None:
    """Write C[block, i, j]."""
    codes, words = encode(matrix, kind), BITS[kind] // 32
    for (block, i, j), code in np.ndenumerate(codes):
        lane, element = result_place(block, i, j, matrix.shape[1], kind)
        for word in range(words):
            wave.vgprs[register + element * words + word, lane] = int(code) >> 32 * word & 0xFFFFFFFF


def read_results(wave: WaveState, register: int, shape: tuple[int, int, int], kind: str) -> np.ndarray:
    """Return D[block, i, j]."""
    out, words = np.zeros(shape, {"f32": "f4", "f64": "f8", "i32": "i4"}[kind]), BITS[kind] // 32
    for block, i, j in np.ndindex(shape):
        lane, element = result_place(block, i, j, shape[1], kind)
        raw = wave.vgprs[register + element * words : register + (element + 1) * words, lane].copy()
        out[block, i, j] = raw.view(out.dtype)[0]
    return out


def registers(first: int, dwords: int, letter: str = "v") -> str:
    """Return the operand's text."""
    return f"{letter}{first}" if dwords == 1 else f"{letter}[{first}:{first + dwords - 1}]"
