"""Element formats of matrix operands: how packed elements become numbers of the type that products are made in.

Elements are packed from the low bits of a lane's first register up; 6-bit elements cross dwords. Small formats have no
infinities unless `special` says so: `fnuz` means that the code of -0 is the only NaN, `nan` that the largest magnitude
is NaN, `ieee` that the largest exponent holds infinity and NaN. FP6, BF6 and FP4 have neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kbserver.emulator.access import BadOperand
from kbserver.emulator.ir import Value, select
from kbserver.emulator.types import Type, f16, f32, f64, i32, u16, u32, u64


@dataclass(frozen=True)
class Format:
    """One element format: its width, and the function of a right-aligned field (u32) that returns its number."""

    name: str
    bits: int
    number: Type
    decode: Callable[[Value], Value]

    def unpack(self, words: Sequence[Value], count: int) -> list[Value]:
        """Return the first `count` elements of every lane; `words` are the operand's registers as u32."""
        return [self.decode(self._field(words, place)) for place in range(count)]

    def _field(self, words: Sequence[Value], place: int) -> Value:
        word, shift = divmod(place * self.bits, 32)
        if self.bits == 64:
            return words[word].to(u64) | (words[word + 1].to(u64) << 32)
        if self.bits == 32:
            return words[word]
        field = words[word] >> shift if shift else words[word]
        if shift + self.bits > 32:
            field = field | (words[word + 1] << (32 - shift))
        return field & ((1 << self.bits) - 1)

    def dwords(self, count: int) -> int:
        """Return how many registers hold `count` elements of a lane."""
        return count * self.bits // 32


def _small(name: str, bits: int, fraction: int, bias: int, special: str = "") -> Format:
    magnitude_mask = (1 << (bits - 1)) - 1

    def decode(code: Value) -> Value:
        magnitude = code & magnitude_mask
        # The fields as those of a float32, where a subnormal stays one; then the difference of the biases.
        number = (magnitude << (23 - fraction)).as_(f32) * 2.0 ** (127 - bias)
        nan, infinity = number.like(float("nan")), number.like(float("inf"))
        if special == "fnuz":
            number = select(code.eq(1 << (bits - 1)), nan, number)
        elif special == "nan":
            number = select(magnitude.eq(magnitude_mask), nan, number)
        elif special == "ieee":
            top = magnitude_mask & ~((1 << fraction) - 1)
            number = select(magnitude >= top, select(magnitude.eq(top), infinity, nan), number)
        return (number.as_(u32) | ((code >> (bits - 1)) << 31)).as_(f32)

    return Format(name, bits, f32, decode)


def _truncated(word: Value) -> Value:
    """xf32 reads 10 of 23 fraction bits. Hardware drops the others (measured: MMA-Sim, CDNA 3); NaN stays NaN here."""
    number = word.as_(f32)
    return select(number.ne(number), number, (word & 0xFFFFE000).as_(f32))


PLAIN = {
    "f64": Format("f64", 64, f64, lambda word: word.as_(f64)),
    "f32": Format("f32", 32, f32, lambda word: word.as_(f32)),
    "xf32": Format("xf32", 32, f32, _truncated),
    "f16": Format("f16", 16, f32, lambda half: half.to(u16).as_(f16).to(f32)),
    "bf16": Format("bf16", 16, f32, lambda half: (half << 16).as_(f32)),
    "i8": Format("i8", 8, i32, lambda byte: (byte.as_(i32) << 24) >> 24),
}
_FNUZ = {"fp8": _small("fp8", 8, 3, 8, "fnuz"), "bf8": _small("bf8", 8, 2, 16, "fnuz")}
_OCP = {"fp8": _small("fp8", 8, 3, 7, "nan"), "bf8": _small("bf8", 8, 2, 15, "ieee")}
_EIGHT_BIT: Mapping[str, Mapping[str, Format]] = {"gfx942": _FNUZ, "gfx950": _OCP}

SELECTED = (_OCP["fp8"], _OCP["bf8"], _small("fp6", 6, 3, 1), _small("bf6", 6, 2, 3), _small("fp4", 4, 1, 1))
"""The formats of f8f6f4 operands by the number in cbsz (for A) and blgp (for B): E4M3, E5M2, E2M3, E3M2, E2M1."""


def find_format(name: str, arch: str) -> Format:
    """Return a format by the name that mnemonics use; 8-bit floats are FNUZ on gfx942 and OCP on gfx950."""
    if name in PLAIN:
        return PLAIN[name]
    if arch not in _EIGHT_BIT:
        raise BadOperand(f"{arch} has no matrix operations on {name}")
    return _EIGHT_BIT[arch][name]
