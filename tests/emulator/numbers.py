"""Operand values that find mistakes: the ends and special values of every type, and random bits."""

from __future__ import annotations

import numpy as np

_INTEGERS = [0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000,
             0x7FFFFF, 0x800000, 0xFFFFFF, 0x1000000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF,
             0x7FFF8000, 0xFFFF7FFF, 0x00200005, 0x00100010, 0x001F0001, 0x0C0B0A09, 0x0D0C0F08]  # fmt: skip
# Zero, smallest and largest subnormal, smallest normal, halves around integers, one and its neighbour, largest finite,
# infinity, quiet and signalling NaN; each with both signs.
_F32 = [0, 1, 0x7FFFFF, 0x800000, 0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000, 0x40200000,
        0x41880000, 0x477FE000, 0x477FF000, 0x4B7FFFFF, 0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x4F800000, 0x7F7FFFFF,
        0x7F800000, 0x7FC00000, 0x7F800001, 0x33000000, 0x33000001, 0x387FC000, 0x3F808000, 0x3F818000]  # fmt: skip
_F16 = [0, 1, 0x3FF, 0x400, 0x37FF, 0x3800, 0x3BFF, 0x3C00, 0x3C01, 0x3E00, 0x4100, 0x63FF, 0x6400, 0x7BFF, 0x7C00,
        0x7E00, 0x7C01]  # fmt: skip
_F64 = [0, 1, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x3FE0000000000000, 0x3FEFFFFFFFFFFFFF, 0x3FF0000000000000,
        0x3FF8000000000000, 0x4004000000000000, 0x41DFFFFFFFC00000, 0x41E0000000000000, 0x41EFFFFFFFE00000,
        0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000,
        0x7FF0000000000001, 0x36A0000000000000, 0x3810000000000000]  # fmt: skip

KINDS = ("random", "integer", "f32", "f16", "f64", "near")


def pairs(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return `count` 64-bit patterns of one kind; the low dword alone is a pattern of its 32-bit kind."""
    random = rng.integers(0, 1 << 64, count, dtype=np.uint64)
    if kind == "integer":
        return _both_signs(_INTEGERS, count, rng, 32) | _both_signs(_INTEGERS, count, rng, 32) << np.uint64(32)
    if kind == "f32":
        return _both_signs(_F32, count, rng, 32) | random << np.uint64(32)
    if kind == "f16":
        low = _both_signs(_F16, count, rng, 16) | _both_signs(_F16, count, rng, 16) << np.uint64(16)
        return low | random << np.uint64(32)
    if kind == "f64":
        return _both_signs(_F64, count, rng, 64)
    if kind == "near":
        # Floats of like size, whose sums cancel and round, and small integers.
        f32 = rng.uniform(-4, 4, count).astype(np.float32).view(np.uint32).astype(np.uint64)
        return f32 | rng.integers(0, 200, count, dtype=np.uint64) << np.uint64(32)
    return random


def _both_signs(values: list[int], count: int, rng: np.random.Generator, bits: int) -> np.ndarray:
    chosen = np.array(values, np.uint64)[rng.integers(0, len(values), count)]
    return chosen ^ (rng.integers(0, 2, count, dtype=np.uint64) << np.uint64(bits - 1))
