"""Which instructions of a kernel the emulator can execute."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kbserver.emulator.decode import base_name
from kbserver.emulator.semantics import find_row, table
from kbserver.toolchain.assembly import Function


@dataclass(frozen=True)
class Support:
    """How many instructions of a kernel are supported, and how often each unsupported mnemonic occurs in it."""

    supported: int
    total: int
    unsupported: dict[str, int]

    @property
    def complete(self) -> bool:
        return self.supported == self.total

    def __str__(self) -> str:
        text = f"{self.supported} of {self.total} instructions supported"
        if self.unsupported:
            text += "; not: " + ", ".join(f"{name} ({count})" for name, count in self.unsupported.items())
        return text


def survey(function: Function) -> Support:
    """Return which instructions of the function have a row; operands and modifiers are not looked at."""
    names = [base_name(instruction.mnemonic)[0] for instruction in function.instructions]
    missing = Counter(name for name in names if find_row(name) is None)
    return Support(len(names) - missing.total(), len(names), dict(sorted(missing.items())))


def known_mnemonics() -> tuple[str, ...]:
    """Return every base mnemonic that the emulator executes."""
    return tuple(sorted(table()))
