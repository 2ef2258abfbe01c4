"""Operand text to typed operands: registers, numbers, names, with the input modifiers written around them.

Register files. `v`: VGPR n has index n and AGPR n index 256 + n (one unified file, as on gfx90a and later). `s`: scalar
operands keep the numbers of the manual's SSRC table, so vcc is s[106:107], m0 is 124 and exec is s[126:127].
"""

from __future__ import annotations

import re
from dataclasses import dataclass

AGPR_BASE = 256
VCC, M0, EXEC = 106, 124, 126

# Past the numbers that an operand can name, the scalar file keeps SCC, the wavefront's 64-bit loop budget, and a dword
# that takes workgroup ids which the kernel did not ask for.
SCC, FUEL, DISCARD = 128, 132, 134
FP16_OVERFLOW = 135
"""MODE.FP16_OVFL, the one bit of the mode register that code can change: 0 or 1."""
# The apertures, which a kernel reads as 64-bit operands: src_shared_base and its like.
SHARED_BASE, SHARED_LIMIT, PRIVATE_BASE, PRIVATE_LIMIT = 136, 138, 140, 142
SGPR_SLOTS = 144

_SCALAR_NAMES = {
    "flat_scratch": (102, 2), "flat_scratch_lo": (102, 1), "flat_scratch_hi": (103, 1),
    "xnack_mask": (104, 2), "xnack_mask_lo": (104, 1), "xnack_mask_hi": (105, 1),
    "vcc": (VCC, 2), "vcc_lo": (VCC, 1), "vcc_hi": (VCC + 1, 1),
    "m0": (M0, 1),
    "exec": (EXEC, 2), "exec_lo": (EXEC, 1), "exec_hi": (EXEC + 1, 1),
    "src_scc": (SCC, 1), "scc": (SCC, 1),
    "src_shared_base": (SHARED_BASE, 2), "src_shared_limit": (SHARED_LIMIT, 2),
    "src_private_base": (PRIVATE_BASE, 2), "src_private_limit": (PRIVATE_LIMIT, 2),
}  # fmt: skip
TTMP_BASE = 108

_REGISTER = re.compile(r"(v|a|s|acc|ttmp)(?:(\d+)|\[(\d+):(\d+)\])")
_INTEGER = re.compile(r"[+-]?(?:0x[0-9a-fA-F]+|\d+)")
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")
_WRAPPED = re.compile(r"(neg|abs|sext)\((.*)\)")


@dataclass(frozen=True, slots=True)
class Register:
    """`count` consecutive registers of one file, from `index` on."""

    file: str
    index: int
    count: int = 1

    def __str__(self) -> str:
        letter, index = self.file, self.index
        if self.file == "v" and index >= AGPR_BASE:
            letter, index = "a", index - AGPR_BASE
        for name, place in _SCALAR_NAMES.items():
            if self.file == "s" and place == (self.index, self.count):
                return name
        return f"{letter}{index}" if self.count == 1 else f"{letter}[{index}:{index + self.count - 1}]"


@dataclass(frozen=True, slots=True)
class Number:
    """A constant as written: an integer (inline constant or 32-bit literal) or an inline float."""

    value: int | float

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Name:
    """A word that is no register: a label, `off`, `hwreg(...)`."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class SymbolPart:
    """One dword of a variable's address, as a relocation leaves it to the launch, which places the variable.

    slot: its number in the launch's table of symbols. entry: the address of that table's entry is meant, not of the
    variable. delta: what is added before the low or the high dword is taken.
    """

    slot: int
    entry: bool
    delta: int
    high: bool

    def __str__(self) -> str:
        return f"{'high' if self.high else 'low'} dword of symbol {self.slot}"


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand. Input modifiers apply in this order: sign extension or absolute value, then negation."""

    value: Register | Number | Name | SymbolPart
    negate: bool = False
    absolute: bool = False
    sign_extend: bool = False

    @property
    def modified(self) -> bool:
        return self.negate or self.absolute or self.sign_extend

    @property
    def register(self) -> Register | None:
        return self.value if isinstance(self.value, Register) else None


def parse_operand(text: str) -> Operand:
    """Return the operand in `text`; a word of no known form is a Name, which the instruction accepts or refuses."""
    text = text.strip()
    if match := _WRAPPED.fullmatch(text):
        inner = parse_operand(match[2])
        return Operand(
            inner.value,
            negate=inner.negate or match[1] == "neg",
            absolute=inner.absolute or match[1] == "abs",
            sign_extend=inner.sign_extend or match[1] == "sext",
        )
    if text.startswith("-") and text[1:2] in ("|", "v", "s", "a", "t", "m", "e", "n"):
        inner = parse_operand(text[1:])
        return Operand(inner.value, not inner.negate, inner.absolute, inner.sign_extend)
    if len(text) > 2 and text[0] == text[-1] == "|":
        inner = parse_operand(text[1:-1])
        return Operand(inner.value, inner.negate, True, inner.sign_extend)
    return Operand(_parse_plain(text))


def _parse_plain(text: str) -> Register | Number | Name:
    if match := _REGISTER.fullmatch(text):
        first = int(match[2] if match[2] is not None else match[3])
        count = 1 if match[2] is not None else int(match[4]) - first + 1
        if count >= 1:
            base = {"a": AGPR_BASE, "acc": AGPR_BASE, "ttmp": TTMP_BASE}.get(match[1], 0)
            return Register("v" if match[1] in ("v", "a", "acc") else "s", base + first, count)
    if text in _SCALAR_NAMES:
        return Register("s", *_SCALAR_NAMES[text])
    if text.startswith("[") and text.endswith("]"):
        return _parse_list(text)
    if _INTEGER.fullmatch(text):
        return Number(int(text, 0) if "x" in text.lower() else int(text))
    if _FLOAT.fullmatch(text):
        return Number(float(text))
    return Name(text)


def _parse_list(text: str) -> Register | Name:
    """Read `[s0, s1]`, the long spelling of consecutive registers."""
    parts = [_parse_plain(part.strip()) for part in text[1:-1].split(",")]
    first = parts[0]
    if isinstance(first, Register) and all(
        isinstance(part, Register) and (part.file, part.index, part.count) == (first.file, first.index + place, 1)
        for place, part in enumerate(parts)
    ):
        return Register(first.file, first.index, len(parts))
    return Name(text)
