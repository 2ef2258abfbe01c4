"""Number formats of tensors: how a value is stored, rounded once from float64, and how far two stored values are apart.

A format without a NumPy type (bfloat16, 8-bit floats) is stored as unsigned integers of its bit patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kbserver.runs import bf16
from kbserver.runs.formats import canonical

FILL_NAN, FILL_NUMBER, FILL_SIGNALLING = range(3)
"""What an output holds before a launch, in turns: see `Dtype.fills`."""
MAX_ULP = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Dtype:
    """One format. `fills` are three stored patterns that no right result has, as far as the format has such."""

    name: str
    storage: str
    bits: int
    fills: tuple[int, int, int]

    @property
    def is_integer(self) -> bool:
        return False

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.bits // 8

    @cached_property
    def _unsigned(self) -> np.dtype:
        return np.dtype(f"uint{self.bits}")

    def patterns(self, stored: np.ndarray) -> np.ndarray:
        """Return the bit patterns of stored elements."""
        return stored.view(self._unsigned)

    def filled(self, turn: int) -> np.generic:
        """Return the fill of a turn as a stored element."""
        return np.array([self.fills[turn % len(self.fills)]], self._unsigned).view(self.storage)[0]

    def is_fill(self, stored: np.ndarray, turn: int) -> np.ndarray:
        """Return where stored elements still hold the fill of a turn, bit for bit."""
        return self.patterns(np.ascontiguousarray(stored)) == self._unsigned.type(self.fills[turn % len(self.fills)])

    @property
    def fill_is_telling(self) -> bool:
        """True when a fill that is still there can only mean that nothing was written."""
        return self.bits > 16 or (not self.is_integer and self.bits > 8)

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Return values rounded once to this format, as stored."""
        raise NotImplementedError

    def decode(self, stored: np.ndarray) -> np.ndarray:
        """Return the exact values of stored elements."""
        raise NotImplementedError

    def half_ulp(self, magnitude: np.ndarray) -> np.ndarray:
        """Return half the spacing of numbers at non-negative float64 magnitudes."""
        raise NotImplementedError

    def is_finite(self, stored: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def ulp_distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return how many numbers lie between stored elements (int32, at most 2^31 - 1); -1 beside a NaN."""
        raise NotImplementedError


@dataclass(frozen=True)
class Float(Dtype):
    """A binary float. significand: bits with the leading one; min_exponent: of the smallest normal number."""

    significand: int = 0
    min_exponent: int = 0

    def encode(self, values: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return np.asarray(values, np.float64).astype(self.storage)

    def decode(self, stored: np.ndarray) -> np.ndarray:
        return stored.astype(np.float64)

    def half_ulp(self, magnitude: np.ndarray) -> np.ndarray:
        _, exponent = np.frexp(magnitude)
        exponent = np.where(magnitude > 0, np.maximum(exponent - 1, self.min_exponent), self.min_exponent)
        return np.ldexp(1.0, exponent - self.significand)

    def is_finite(self, stored: np.ndarray) -> np.ndarray:
        return np.isfinite(self.decode(stored))

    def ulp_distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        unknown = np.isnan(self.decode(a)) | np.isnan(self.decode(b))
        first, second = self._ordered(a), self._ordered(b)
        # Of 64-bit patterns with different signs the difference may not fit; float64 is near enough there.
        apart = np.abs(first.astype(np.float64) - second.astype(np.float64))
        with np.errstate(over="ignore"):
            near = np.abs(first - second)
        distance = np.where(apart < 2**60, near, MAX_ULP)
        return np.where(unknown, -1, np.minimum(distance, MAX_ULP)).astype(np.int32)

    def _ordered(self, stored: np.ndarray) -> np.ndarray:
        patterns = self.patterns(np.ascontiguousarray(stored))
        sign = patterns.dtype.type(1 << (self.bits - 1))
        magnitude = (patterns & ~sign).astype(np.int64)
        return np.where(patterns & sign, -magnitude, magnitude)


@dataclass(frozen=True)
class Bfloat16(Float):
    """bfloat16, stored as uint16; the arithmetic is `kbserver.runs.bf16`'s."""

    def encode(self, values: np.ndarray) -> np.ndarray:
        return bf16.round_float64(values)

    def decode(self, stored: np.ndarray) -> np.ndarray:
        return bf16.widen(stored).astype(np.float64)

    def half_ulp(self, magnitude: np.ndarray) -> np.ndarray:
        return bf16.half_ulp(magnitude)

    def is_finite(self, stored: np.ndarray) -> np.ndarray:
        return bf16.is_finite(stored)

    def ulp_distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return bf16.ulp_distance(a, b)


@dataclass(frozen=True)
class Float8(Float):
    """An 8-bit float, stored as uint8. ocp: with the encodings of the OCP standard, else FNUZ (one NaN, no -0).

    Values beyond the largest number become that number, as AMD's conversions do when they are told to saturate.
    """

    ocp: bool = True

    @cached_property
    def _values(self) -> np.ndarray:
        """Value of each of the 256 patterns."""
        mantissa = self.significand - 1
        pattern = np.arange(256)
        fraction, field = pattern & ((1 << mantissa) - 1), (pattern & 0x7F) >> mantissa
        normal = np.ldexp(1.0 + fraction / (1 << mantissa), field + self.min_exponent - 1)
        values = np.where(field > 0, normal, np.ldexp(fraction / (1 << mantissa), self.min_exponent))
        values = np.where(pattern & 0x80, -values, values)
        if not self.ocp:
            values[0x80] = np.nan
        elif mantissa == 3:
            values[[0x7F, 0xFF]] = np.nan
        else:
            values[[0x7C, 0xFC]] = np.inf, -np.inf
            values[(pattern & 0x7F) > 0x7C] = np.nan
        return values

    def decode(self, stored: np.ndarray) -> np.ndarray:
        return self._values[stored]

    def encode(self, values: np.ndarray) -> np.ndarray:
        positive = self._values[:0x80]
        positive = positive[np.isfinite(positive)]
        values = np.asarray(values, np.float64)
        size = np.minimum(np.abs(np.nan_to_num(values)), positive[-1])
        upper = np.searchsorted(positive, size).clip(0, len(positive) - 1)
        lower = np.maximum(upper - 1, 0)
        above, below = positive[upper] - size, size - positive[lower]
        take_lower = (below < above) | ((below == above) & (lower % 2 == 0))
        bits = np.where(take_lower, lower, upper)
        bits = np.where((values < 0) & ((bits > 0) | self.ocp), bits | 0x80, bits)
        nan = 0x7F if self.ocp else 0x80
        return np.where(np.isnan(values), nan, bits).astype(np.uint8)


@dataclass(frozen=True)
class Integer(Dtype):
    """A whole number, compared as such."""

    @property
    def is_integer(self) -> bool:
        return True

    def encode(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values).astype(self.storage)

    def decode(self, stored: np.ndarray) -> np.ndarray:
        return stored

    def half_ulp(self, magnitude: np.ndarray) -> np.ndarray:
        return np.zeros(np.shape(magnitude))

    def is_finite(self, stored: np.ndarray) -> np.ndarray:
        return np.ones(stored.shape, bool)

    def ulp_distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        far = np.abs(a.astype(np.float64) - b.astype(np.float64))
        return np.minimum(far, MAX_ULP).astype(np.int32)

    def holds(self, values: np.ndarray) -> bool:
        """Return whether every value is a whole number that this format has."""
        info = np.iinfo(self.storage)
        if values.dtype.kind == "f" and not bool((values == np.floor(values)).all()):
            return False
        return values.size == 0 or (int(values.min()) >= info.min and int(values.max()) <= info.max)


# The second fill of each float is a number: a kernel that computes only where it finds a NaN must not pass.
_INTEGER_FILLS = {
    8: (0xA5, 0x5B, 0x93),
    16: (0xA5C3, 0x5B3D, 0x93E7),
    32: (0xA5C3_96E1, 0x5B3D_71C9, 0x93E7_4D2B),
    64: (0xA5C3_96E1_D278_4B1F, 0x5B3D_71C9_A64E_3327, 0x93E7_4D2B_1C85_F96D),
}
BF16 = Bfloat16("bf16", "uint16", 16, (0xFFFF, 0x5F3C, 0x7FA5), 8, -126)
DTYPES: dict[str, Dtype] = {
    one.name: one
    for one in (
        BF16,
        Float("f16", "float16", 16, (0xFFFF, 0x7B3C, 0x7DA5), 11, -14),
        Float("f32", "float32", 32, (0xFFFF_FFFF, 0x5F3C_5F3C, 0x7FA5_A5A5), 24, -126),
        Float("f64", "float64", 64, (2**64 - 1, 0x5F3C_5F3C_5F3C_5F3C, 0x7FF5_A5A5_A5A5_A5A5), 53, -1022),
        Float8("fp8_e4m3", "uint8", 8, (0xFF, 0x7B, 0x7F), 4, -6, True),
        Float8("fp8_e5m2", "uint8", 8, (0xFF, 0x7A, 0x7E), 3, -14, True),
        Float8("fp8_e4m3_fnuz", "uint8", 8, (0x80, 0x7B, 0x80), 4, -7, False),
        Float8("fp8_e5m2_fnuz", "uint8", 8, (0x80, 0x7A, 0x80), 3, -15, False),
        *(
            Integer(f"{letter}{bits}", f"{kind}{bits}", bits, _INTEGER_FILLS[bits])
            for bits in (8, 16, 32, 64)
            for letter, kind in (("i", "int"), ("u", "uint"))
        ),
    )
}


def find_dtype(name: str) -> Dtype:
    """Return the format of a name. Raises UnknownName."""
    return DTYPES[canonical(name)]
