"""What a caller asked about: a name in any spelling, or one whole instruction. Anything else is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kbserver.core.errors import UsageError
from kbserver.isa.names import SUFFIXES, base_name

MAX_NAME = 96
MAX_LINE = 300
_MNEMONIC = re.compile(r"[a-z][a-z0-9_]*")
_NAME = re.compile(r"[a-z_][a-z0-9_.:]*")
_OPERANDS = re.compile(r"[\w \t,\[\]():|.+*-]*", re.ASCII)
HINT = "a mnemonic such as v_fma_f32, or one instruction: v_fma_f32 v0, v1, v2, v3"


@dataclass(frozen=True)
class Asked:
    """A name without encoding suffix, in lower case, the suffix, and the whole line when operands were given."""

    name: str
    suffix: str
    line: str | None

    @property
    def mnemonic(self) -> str:
        return self.name + self.suffix


def read_question(text: str) -> Asked:
    """Read what was asked. Raises UsageError for anything but one name or one instruction.

    A line goes to an assembler, so it may hold a mnemonic and operands only: no directive, label, comment, macro,
    second statement or character that could begin one.
    """
    if "\n" in text.strip("\n") or "\r" in text.strip("\r\n"):
        raise UsageError("one instruction at a time: the text has several lines", where="mnemonic", hint=HINT)
    stripped = text.strip()
    if not stripped:
        raise UsageError("the mnemonic is empty", where="mnemonic", hint=HINT)
    if len(stripped) > MAX_LINE:
        raise UsageError(f"longer than {MAX_LINE} characters: no instruction", where="mnemonic", hint=HINT)
    first, _, rest = stripped.partition(" ")
    first, _, tail = first.partition("\t")
    rest = f"{tail} {rest}".strip()
    name = first.lower()
    if not rest:
        return _name(name)
    if not _MNEMONIC.fullmatch(name) or len(name) > MAX_NAME:
        raise UsageError(f"{first[:60]!r} cannot begin an instruction", where="mnemonic", hint=HINT)
    if not _OPERANDS.fullmatch(rest):
        raise UsageError(
            "the operands hold characters that no instruction has (directives, comments, labels and several"
            " statements are not accepted)",
            where="mnemonic",
            hint=HINT,
        )
    asked = _name(name)
    return Asked(asked.name, asked.suffix, f"{name} {' '.join(rest.split())}")


def _name(name: str) -> Asked:
    name = name.removesuffix("()")
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise UsageError(f"{name[:60]!r} is not the name of an instruction", where="mnemonic", hint=HINT)
    if name.startswith("llvm.amdgcn."):
        name = "__builtin_amdgcn_" + name.removeprefix("llvm.amdgcn.").replace(".", "_")
    base = base_name(name)
    return Asked(base, name.removeprefix(base) if name.endswith(SUFFIXES) else "", None)
