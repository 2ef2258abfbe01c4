"""From a name to what the tables know of it: there, another spelling, renamed, explained by a note, or unknown."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from kbserver.core.errors import ContentError
from kbserver.core.model import SourceRef
from kbserver.core.paths import current_roots
from kbserver.isa.hand import Substitute, notes
from kbserver.isa.table import FOLDER, TARGETS, FormRow, Instruction, instructions

MAX_NEAR = 5
_SUFFIX_MODES = {"_sdwa": "sdwa", "_dpp": "dpp"}


@dataclass(frozen=True)
class BuiltinRow:
    """A clang builtin: signature, by target the instructions it becomes, and what it needs elsewhere."""

    name: str
    signature: str
    on: dict[str, list[str]]
    needs: str | None


@dataclass(frozen=True)
class Found:
    """What is known of a name.

    canonical: the names it goes by, by target. why: what is to be said where a target lacks it. instead: what takes its
    place there. near: names that read alike.
    """

    name: str
    canonical: dict[str, str] = field(default_factory=dict)
    why: str | None = None
    instead: tuple[Substitute, ...] = ()
    sources: tuple[SourceRef, ...] = ()
    near: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(arch for arch in TARGETS if arch in self.canonical)

    def on(self, arch: str) -> Instruction | None:
        """Return the instruction that the name means on a target."""
        return instructions().get(self.canonical[arch]) if arch in self.canonical else None


def look_up(name: str, archs: Sequence[str] = TARGETS) -> Found:
    """Return what is known of `name`; notes are those for the targets in question that lack it."""
    table = instructions()
    instruction = table.get(name)
    canonical = {arch: name for arch in instruction.targets} if instruction else {}
    canonical |= {arch: other for arch, other in table.alias(name).items() if arch not in canonical}
    lacking = [arch for arch in archs if arch not in canonical]
    if not lacking:
        return Found(name, canonical)
    elsewhere = table.elsewhere.get(name, ())
    older = [
        other for other in table.spellings(name) if (have := table.get(other)) and set(have.targets) & set(lacking)
    ]
    renamed = older or [other for other in notes().renamed(name) if other in table]
    noted = notes().on(name, lacking)
    why = " ".join(note.why for note in noted) or ("Another generation's spelling." if renamed else None)
    instead = [one for note in noted for one in note.instead]
    if renamed:
        instead.insert(0, Substitute(renamed[0], "the name there"))
    return Found(
        name=name,
        canonical=canonical,
        why=why,
        instead=tuple(_once(instead)),
        sources=tuple(dict.fromkeys(source for note in noted for source in note.sources)),
        near=() if instead else near_names(name, archs),
        elsewhere=elsewhere,
    )


def _once(found: Sequence[Substitute]) -> list[Substitute]:
    """Return the substitutes without those of a name that stands there already."""
    first: dict[str, Substitute] = {}
    for one in found:
        first.setdefault(one.name, one)
    return list(first.values())


def near_names(name: str, archs: Sequence[str] = TARGETS) -> tuple[str, ...]:
    """Return names that read like `name`, the nearest first; those of the targets in question before others."""
    table = instructions()
    found = difflib.get_close_matches(name, [*table.names, *table.alias_names], n=3 * MAX_NEAR, cutoff=0.7)
    wanted = set(archs)

    def lacks(other: str) -> bool:
        instruction = table.get(other)
        targets = set(instruction.targets) if instruction else set(table.alias(other))
        return not targets & wanted

    found = [other for other in found if other != name]
    return tuple(sorted(found, key=lacks)[:MAX_NEAR])


def forms_with_suffix(forms: Sequence[FormRow], suffix: str) -> list[FormRow]:
    """Return the forms that an encoding suffix chooses: `_e64` is VOP3, `_e32` the short word."""
    if not suffix:
        return list(forms)
    if suffix in _SUFFIX_MODES:
        return [form for form in forms if form.mode == _SUFFIX_MODES[suffix]]
    if suffix == "_e64":
        return [form for form in forms if form.format == "VOP3"]
    return [form for form in forms if form.format in ("VOP1", "VOP2", "VOPC") and form.mode in ("", "literal")]


def builtin(name: str) -> BuiltinRow | None:
    """Return a clang builtin by its name."""
    return _builtins(current_roots().content / FOLDER / "builtins.jsonl").get(name)


def builtin_names() -> list[str]:
    """Return the names of all builtins, sorted."""
    return sorted(_builtins(current_roots().content / FOLDER / "builtins.jsonl"))


def near_builtins(name: str) -> tuple[str, ...]:
    """Return builtins whose names read like `name`."""
    names = list(_builtins(current_roots().content / FOLDER / "builtins.jsonl"))
    return tuple(difflib.get_close_matches(name, names, n=MAX_NEAR, cutoff=0.7))


def builtins_for(names: Sequence[str]) -> list[BuiltinRow]:
    """Return the builtins that become one of these instructions and nothing else of note."""
    wanted = set(names)
    rows = _builtins(current_roots().content / FOLDER / "builtins.jsonl").values()
    return [row for row in rows if any(len(emitted) == 1 and emitted[0] in wanted for emitted in row.on.values())]


@lru_cache(maxsize=4)
def _builtins(path: Path) -> dict[str, BuiltinRow]:
    try:
        _, *lines = path.read_bytes().splitlines()
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    except (OSError, ValueError) as error:
        raise ContentError(f"not a generated table: {error}", where=str(path)) from None
    return {row["name"]: BuiltinRow(row["name"], row["signature"], row["on"], row.get("needs")) for row in rows}
