"""One rule: the types of an instruction's results and sources, and a function of Python numbers.

Numbers: int for u, i and b types (signed for i) and for pairs of halves (f16x2, bf16x2), bool for mask, scc and vcc,
float for f types. A float result may be a Fraction: the exact value, which is rounded to nearest even once. Integer
results wrap to their width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from kbserver.emulator.oracle.formats import from_bits, to_bits

Number = int | float | bool | Fraction
_WIDTHS = {"mask": 1, "scc": 1, "vcc": 1, "exec": 64, "k": 32, "uk": 32, "f16x2": 32, "bf16x2": 32}


@dataclass(frozen=True)
class Rule:
    """A row of the oracle. ulp: how far a result may be off where the hardware approximates."""

    results: tuple[str, ...]
    sources: tuple[str, ...]
    function: Callable[..., Number | tuple[Number, ...]]
    ulp: int = 0
    packed: bool = False
    """True for VOP3P: the types are those of one half."""

    def apply(self, *bits: int, clamp: bool = False, **modifiers: int) -> tuple[int, ...]:
        """Return the bits of the results for the bits of the sources. clamp: as the modifier of that name."""
        types = [self.results[0] if word == "dst" else word for word in self.sources]
        values = [decode(word, raw) for word, raw in zip(types, bits, strict=True)]
        result = self.function(*values, **modifiers)
        results = result if isinstance(result, tuple) else (result,)
        if clamp:
            results = (clamped(self.results[0], results[0]), *results[1:])
        return tuple(encode(word, value) for word, value in zip(self.results, results, strict=True))


def rule(text: str, function: Callable[..., Number | tuple[Number, ...]], *, ulp: int = 0) -> Rule:
    """Return the rule of `results = sources`: `rule("u32 = u32 u32", lambda x, y: x + y)`."""
    left, _, right = text.partition("=")
    return Rule(tuple(left.split()), tuple(right.split()), function, ulp)


def packed_rule(text: str, function: Callable[..., Number]) -> Rule:
    """Return the rule of a VOP3P instruction."""
    left, _, right = text.partition("=")
    return Rule(tuple(left.split()), tuple(right.split()), function, packed=True)


def width(word: str) -> int:
    """Return the bits of a type word."""
    return _WIDTHS[word] if word in _WIDTHS else int(word.lstrip("buif"))


def decode(word: str, bits: int) -> Number:
    """Return the number that bits mean as this type."""
    if word in ("mask", "scc", "vcc"):
        return bool(bits)
    if word[0] == "f" and not word.endswith("x2"):
        return from_bits(bits, width(word))
    if word[0] == "i" or word == "k":
        size = width(word)
        return bits - (1 << size) if bits >> (size - 1) else bits
    return bits


def clamped(word: str, value: Number) -> Number:
    """Return a float held in 0..1, NaN becoming 0, or an integer held in the range of its type."""
    if word[0] == "f":
        return max(0.0, min(1.0, value)) if value == value else 0.0
    half = 2 ** (width(word) - 1)
    return max(-half, min(half - 1, value)) if word[0] == "i" else max(0, min(2 * half - 1, value))


def encode(word: str, value: Number) -> int:
    """Return the bits of a number as this type."""
    if word in ("mask", "scc", "vcc"):
        return int(bool(value))
    if word[0] == "f" and not word.endswith("x2"):
        return to_bits(value, width(word))
    return int(value) & ((1 << width(word)) - 1)
