"""bfloat16 as 16-bit patterns in NumPy: exact widening, rounding to nearest even, distance in ulp."""

from __future__ import annotations

import numpy as np

SIGNIFICAND_BITS = 8
"""Significant bits of a normal number, the leading one included."""
MIN_EXPONENT = -126
"""Exponent of the smallest normal number; below it the spacing stays 2^-133."""
QUIET_NAN = 0x7FC0
_SIGN, _MAGNITUDE = 0x8000, 0x7FFF


def widen(bits: np.ndarray) -> np.ndarray:
    """Return the float32 values of bfloat16 patterns. Exact: a bfloat16 is the upper half of a float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def round_float32(values: np.ndarray) -> np.ndarray:
    """Return float32 values rounded to bfloat16 patterns, to nearest even; every NaN becomes a quiet NaN."""
    words = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = words >> np.uint32(16)
    rounded &= np.uint32(1)  # the last bit that stays: a tie goes to the even pattern
    rounded += np.uint32(0x7FFF)
    rounded += words
    result = (rounded >> np.uint32(16)).astype(np.uint16)
    # Adding to the pattern of a NaN may carry into an infinity or a zero.
    nan = np.isnan(values)
    if nan.any():
        result[nan] = (words[nan] >> np.uint32(16)).astype(np.uint16) | np.uint16(QUIET_NAN)
    return result


def round_float64(values: np.ndarray) -> np.ndarray:
    """Return float64 values rounded once to bfloat16 patterns, to nearest even.

    Through float32 there would be two roundings. The first is therefore made to odd, which keeps the second right.
    """
    values = np.asarray(values, np.float64)
    with np.errstate(over="ignore"):
        nearest = values.astype(np.float32)
    words = nearest.view(np.uint32).copy()
    wide = nearest.astype(np.float64)
    inexact = (wide != values) & ~np.isnan(values)
    # Past the largest float32 the nearest value is an infinity, whose predecessor is that largest number: to odd.
    outward = inexact & (np.abs(wide) > np.abs(values))
    words[outward] -= np.uint32(1)
    words[inexact] |= np.uint32(1)
    return round_float32(words.view(np.float32))


def half_ulp(magnitude: np.ndarray) -> np.ndarray:
    """Return half the spacing of bfloat16 numbers at non-negative float64 magnitudes, subnormals included."""
    _, exponent = np.frexp(magnitude)  # magnitude = m * 2**exponent with m in [0.5, 1)
    exponent = np.where(magnitude > 0, np.maximum(exponent - 1, MIN_EXPONENT), MIN_EXPONENT)
    return np.ldexp(1.0, exponent - SIGNIFICAND_BITS)


def ulp_distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return how many bfloat16 numbers lie between two patterns (int32). -0 and +0 are one; NaN has no distance: -1."""
    distance = np.abs(_ordered(a) - _ordered(b))
    return np.where(is_nan(a) | is_nan(b), -1, distance).astype(np.int32)


def is_nan(bits: np.ndarray) -> np.ndarray:
    """Return where a pattern is a NaN."""
    return (bits & np.uint16(_MAGNITUDE)) > np.uint16(0x7F80)


def is_finite(bits: np.ndarray) -> np.ndarray:
    """Return where a pattern is a number, neither an infinity nor a NaN."""
    return (bits & np.uint16(_MAGNITUDE)) < np.uint16(0x7F80)


def _ordered(bits: np.ndarray) -> np.ndarray:
    """Map patterns to integers that are ordered as the numbers are."""
    magnitude = (bits & np.uint16(_MAGNITUDE)).astype(np.int32)
    return np.where(bits & np.uint16(_SIGN), -magnitude, magnitude)
