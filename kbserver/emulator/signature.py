"""Signatures: how a row of a semantics table says what an instruction writes and reads, in the order of its operands.

    "u32 = u32 u32"                  v_add_u32: VGPR types, or SGPR types on the scalar unit
    "u32 mask = u32 u32 mask"        v_addc_co_u32: a mask is an SGPR pair with one bit a lane
    "f32 = f32 f32 dst"              v_fmac_f32: `dst` reads the destination's old value, no operand of its own
    "b64 exec scc = b64 exec"        s_and_saveexec_b64: exec, vcc and scc without an operand of their own
    "i32 scc = dst k"                s_addk_i32: k is a 16-bit immediate, sign-extended; uk is zero-extended

b16, b32 and b64 are bits without a number; float modifiers (neg, abs) are allowed on them as on f16, f32 and f64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kbserver.emulator.types import BY_NAME, Type, u64

IMPLICIT = ("dst", "scc", "exec", "vcc")
IMMEDIATE = ("k", "uk")


@dataclass(frozen=True, slots=True)
class Slot:
    """One value of a signature. `word` is its text there: a type name, mask, dst, scc, exec, vcc, k or uk."""

    word: str
    type: Type

    @property
    def explicit(self) -> bool:
        """True when the assembly text has an operand for it."""
        return self.word not in IMPLICIT

    @property
    def allows_float_modifiers(self) -> bool:
        return self.type.is_float or self.word[0] == "b"


@dataclass(frozen=True, slots=True)
class Signature:
    results: tuple[Slot, ...]
    sources: tuple[Slot, ...]

    @property
    def operand_count(self) -> int:
        return sum(slot.explicit for slot in (*self.results, *self.sources))


@cache
def parse_signature(text: str) -> Signature:
    """Return the signature in `text`. Raises ValueError for an unknown word."""
    left, _, right = text.partition("=")
    results = tuple(_slot(word) for word in left.split())
    sources = tuple(_slot(word, results) for word in right.split())
    return Signature(results, sources)


def _slot(word: str, results: tuple[Slot, ...] = ()) -> Slot:
    if word == "dst":
        return Slot(word, results[0].type)
    if word in BY_NAME:
        return Slot(word, BY_NAME[word])
    if word in ("mask", "exec", "vcc"):
        return Slot(word, u64)
    if word == "scc":
        return Slot(word, Type("u", 1))
    if word in IMMEDIATE:
        return Slot(word, BY_NAME["i32" if word == "k" else "u32"])
    raise ValueError(f"unknown word {word!r} in a signature")
