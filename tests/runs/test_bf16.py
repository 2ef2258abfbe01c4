"""bfloat16 patterns against an independent rule: exact fractions and a search among all 65,536 patterns."""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np
import pytest

from kbserver.runs import bf16


def value(bits: int) -> Fraction:
    """Return what a finite pattern stands for, from the definition: sign, 8 exponent bits, 7 fraction bits."""
    sign = -1 if bits >> 15 else 1
    exponent, fraction = bits >> 7 & 0xFF, bits & 0x7F
    if exponent == 0:
        return sign * Fraction(fraction) * Fraction(2) ** (-126 - 7)
    return sign * Fraction(128 + fraction) * Fraction(2) ** (exponent - 127 - 7)


FINITE = [bits for bits in range(0x8000) if bits < 0x7F80]


def nearest_even(exact: Fraction) -> int:
    """Return the nearest non-negative pattern by looking at its neighbours; ties go to the even one."""
    low, high = 0, len(FINITE) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) <= exact else (low, middle)
    below, above = exact - value(low), value(high) - exact
    if below == above:
        return low if low % 2 == 0 else high
    return low if below < above else high


def test_every_pattern_widens_to_its_value_and_rounds_back_to_itself() -> None:
    bits = np.arange(0x10000, dtype=np.uint16)
    finite = bits[bf16.is_finite(bits)]
    wide = bf16.widen(finite)
    assert len(finite) == 2 * 0x7F80
    assert [Fraction(float(x)) for x in wide[::97]] == [value(int(b)) for b in finite[::97]]
    assert (bf16.round_float32(wide) == finite).all()
    assert (bf16.round_float64(wide.astype(np.float64)) == finite).all()


def test_rounding_is_to_nearest_even_for_random_values_and_for_ties() -> None:
    generator = np.random.default_rng(7)
    lower = generator.integers(0, 0x7F00, 300)
    steps = generator.choice([Fraction(1, 2), Fraction(1, 3), Fraction(1, 2) + Fraction(1, 2**30)], 300)
    exact = [value(int(b)) + (value(int(b) + 1) - value(int(b))) * s for b, s in zip(lower, steps, strict=True)]
    as_double = np.array([float(x) for x in exact])
    expected = [nearest_even(Fraction(float(x))) for x in as_double]
    assert bf16.round_float64(as_double).tolist() == expected
    assert bf16.round_float64(-as_double).tolist() == [bits | 0x8000 for bits in expected]


def test_double_is_rounded_once() -> None:
    # Just above the tie between 1.0 and 1 + 2^-7: in float32 it becomes the tie, which then would go down to 1.0.
    just_above = np.array([1 + 2.0**-8 + 2.0**-40])
    assert bf16.round_float32(just_above.astype(np.float32)).tolist() == [0x3F80]
    assert bf16.round_float64(just_above).tolist() == [0x3F81]


def test_nan_stays_nan_and_overflow_becomes_infinity() -> None:
    nans = np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0xFF800001], np.uint32).view(np.float32)
    assert bf16.is_nan(bf16.round_float32(nans)).all()
    largest = struct.unpack(">f", bytes.fromhex("7f7fffff"))[0]
    assert bf16.round_float32(np.array([largest, -largest], np.float32)).tolist() == [0x7F80, 0xFF80]
    assert bf16.round_float64(np.array([1e300, -1e300, np.inf])).tolist() == [0x7F80, 0xFF80, 0x7F80]


@pytest.mark.parametrize(
    ("magnitude", "half"),
    [(1.0, 2.0**-8), (1.99, 2.0**-8), (2.0, 2.0**-7), (0.0, 2.0**-134), (2.0**-130, 2.0**-134), (2.0**-126, 2.0**-134)],
)
def test_half_an_ulp_follows_the_binade(magnitude: float, half: float) -> None:
    assert bf16.half_ulp(np.array([magnitude])).tolist() == [half]


def test_distance_counts_numbers_between_patterns_across_zero() -> None:
    a = np.array([0x3F80, 0x3F80, 0x0000, 0x0001, 0x8002, 0x7FC0], np.uint16)
    b = np.array([0x3F80, 0x3F83, 0x8000, 0x8001, 0x0001, 0x3F80], np.uint16)
    assert bf16.ulp_distance(a, b).tolist() == [0, 3, 0, 2, 3, -1]
