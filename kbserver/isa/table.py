"""The generated tables: read once, an instruction's line parsed when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from kbserver.core.errors import ContentError
from kbserver.core.paths import current_roots
from kbserver.isa.families import FAMILIES

FOLDER = "gpu_arch/isa"
TARGETS = ("gfx90a", "gfx942", "gfx950")
COLUMNS = ("format", "mode", "opcode", "syntax", "code", "operands", "modifiers", "targets")
"""Of a row of `forms`; the last names targets by their place in TARGETS."""
_NAME_AT = len('{"name":"')


@dataclass(frozen=True)
class FormRow:
    """One encoded form of an instruction and the targets on which it is exactly so.

    operands: words such as `src0:vscl1`: field, what may stand there (v VGPR, a AGPR, s SGPR, c inline constant,
    l literal, i immediate), registers it takes, and `%2` when the first must be even.
    """

    format: str
    mode: str
    opcode: int
    syntax: str
    code: bytes
    operands: tuple[str, ...]
    modifiers: tuple[str, ...]
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Instruction:
    """One mnemonic, without encoding suffix, with its forms, short encodings first."""

    name: str
    forms: tuple[FormRow, ...]

    @cached_property
    def targets(self) -> tuple[str, ...]:
        return tuple(arch for arch in TARGETS if any(arch in form.targets for form in self.forms))

    def on(self, arch: str) -> tuple[FormRow, ...]:
        """Return the forms of one target."""
        return tuple(form for form in self.forms if arch in form.targets)


class InstructionTable:
    """All instructions of all targets. Loading splits lines; only what is asked for is parsed."""

    def __init__(self, folder: Path) -> None:
        self.llvm = ""
        self._lines: dict[str, bytes] = {}
        for family in FAMILIES:
            header, *lines = _read(folder / f"{family}.jsonl")
            self.llvm = _header(header, folder / f"{family}.jsonl")["llvm"]
            for line in lines:
                self._lines[line[_NAME_AT : line.index(b'"', _NAME_AT)].decode("ascii")] = line
        self._aliases = {row["name"]: row["on"] for row in _rows(folder / "aliases.jsonl")}
        self._elsewhere_path = folder / "elsewhere.jsonl"

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def names(self) -> Sequence[str]:
        """All names, those of one family together, sorted within."""
        return list(self._lines)

    def get(self, name: str) -> Instruction | None:
        """Return the instruction of this very name."""
        line = self._lines.get(name)
        return None if line is None else _instruction(line)

    def all(self) -> Iterator[Instruction]:
        """Yield every instruction."""
        return map(_instruction, self._lines.values())

    def alias(self, name: str) -> dict[str, str]:
        """Return target -> canonical name where LLVM takes `name` as another spelling."""
        return dict(self._aliases.get(name, {}))

    @property
    def alias_names(self) -> Sequence[str]:
        return list(self._aliases)

    def spellings(self, canonical: str) -> list[str]:
        """Return the other spellings of a canonical name."""
        return [name for name, on in self._aliases.items() if canonical in on.values()]

    @cached_property
    def elsewhere(self) -> dict[str, tuple[str, ...]]:
        """Names that none of our targets has -> the other LLVM targets that have them."""
        return {row["name"]: tuple(row["on"]) for row in _rows(self._elsewhere_path)}


def instructions() -> InstructionTable:
    """Return the tables of the content root in force. Raises ContentError when they are missing or damaged."""
    return _load(current_roots().content / FOLDER)


def has_tables() -> bool:
    """Return whether the content root in force holds instruction tables at all."""
    return (current_roots().content / FOLDER).is_dir()


@lru_cache(maxsize=4)
def _load(folder: Path) -> InstructionTable:
    return InstructionTable(folder)


def _read(path: Path) -> list[bytes]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ContentError(f"cannot read: {error.strerror}", where=str(path)) from None
    if not lines:
        raise ContentError("the file is empty", where=str(path))
    return lines


def _header(line: bytes, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(line)
        if tuple(header.get("targets", TARGETS)) != TARGETS or tuple(header.get("columns", COLUMNS)) != COLUMNS:
            raise ValueError("other columns or targets")
    except (ValueError, AttributeError) as error:
        raise ContentError(f"not a generated table: {error}", where=f"{path}:1") from None
    return header


def _rows(path: Path) -> list[dict[str, Any]]:
    header, *lines = _read(path)
    _header(header, path)
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise ContentError(f"not a generated table: {error}", where=str(path)) from None


@lru_cache(maxsize=4096)
def _instruction(line: bytes) -> Instruction:
    row = json.loads(line)
    return Instruction(
        row["name"],
        tuple(
            FormRow(
                format=form,
                mode=mode,
                opcode=opcode,
                syntax=syntax,
                code=bytes.fromhex(code),
                operands=tuple(operands.split()),
                modifiers=tuple(word.replace("+", " ") for word in modifiers.split()),
                targets=tuple(TARGETS[number] for number in on),
            )
            for form, mode, opcode, syntax, code, operands, modifiers, on in row["forms"]
        ),
    )
