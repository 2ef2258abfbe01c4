"""The hand-written files beside the generated tables: notes on missing names, errata, classes; all cited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from kbserver.core.errors import ContentError, KbError
from kbserver.core.model import SourceRef
from kbserver.core.paths import current_roots
from kbserver.core.sources import cite
from kbserver.core.yamlio import load_yaml
from kbserver.isa.table import FOLDER

NOTES, ERRATA, CLASSES = "notes.yaml", "errata.yaml", "classes.yaml"
_WORD = re.compile(r"\{([^}]*)\}")


@dataclass(frozen=True)
class Substitute:
    """An instruction that does the work of a missing one, or part of it."""

    name: str
    why: str


@dataclass(frozen=True)
class Note:
    """Why a name does not exist and what takes its place; `without` limits it to targets that lack the name."""

    names: tuple[str, ...]
    why: str
    instead: tuple[Substitute, ...]
    without: tuple[str, ...]
    sources: tuple[SourceRef, ...]

    def fits(self, name: str, arch: str) -> bool:
        """Return whether it speaks of this name on a target that lacks it."""
        return _matches(name, self.names) and (not self.without or arch in self.without)


@dataclass(frozen=True)
class Rename:
    """A rule from another generation's spelling to ours."""

    pattern: re.Pattern[str]
    to: str


@dataclass(frozen=True)
class Notes:
    """All notes and renaming rules."""

    notes: tuple[Note, ...]
    renames: tuple[Rename, ...]
    words: Mapping[str, str]

    def on(self, name: str, lacking: Sequence[str]) -> list[Note]:
        """Return for each target that lacks the name the first note that fits, each note once."""
        firsts = (next((note for note in self.notes if note.fits(name, arch)), None) for arch in lacking)
        return list(dict.fromkeys(note for note in firsts if note))

    def renamed(self, name: str) -> list[str]:
        """Return what the rules make of a name, in the order of the rules."""
        found = []
        for rule in self.renames:
            match = rule.pattern.fullmatch(name)
            if match:
                found.append(_WORD.sub(lambda word: self.words.get(word[1], ""), match.expand(rule.to)))
        return found


@dataclass(frozen=True)
class Erratum:
    """A difference between sources, or a fault of a tool."""

    names: tuple[str, ...]
    on: tuple[str, ...]
    says: str
    sources: tuple[SourceRef, ...]


@dataclass(frozen=True)
class InstructionClass:
    """What a class of instructions counts in, and which hazards concern it."""

    name: str
    names: tuple[str, ...]
    counters: tuple[str, ...]
    masks: tuple[int, ...]
    hazards: tuple[str, ...]
    order: str | None
    note: str | None


def notes() -> Notes:
    """Return the notes of the content root in force. Raises ContentError naming the entry at fault."""
    return _notes(current_roots().content / FOLDER / NOTES)


def errata(name: str, archs: Sequence[str]) -> list[Erratum]:
    """Return what is to be said about an instruction on these targets."""
    found = _errata(current_roots().content / FOLDER / ERRATA)
    return [one for one in found if _matches(name, one.names) and set(one.on) & set(archs)]


def all_errata() -> tuple[Erratum, ...]:
    """Return every erratum."""
    return _errata(current_roots().content / FOLDER / ERRATA)


def class_of(name: str) -> InstructionClass | None:
    """Return the class of an instruction, by name."""
    classes, _ = _classes(current_roots().content / FOLDER / CLASSES)
    return next((one for one in classes if _matches(name, one.names)), None)


def class_sources() -> tuple[SourceRef, ...]:
    """Return who says what the classes say."""
    return _classes(current_roots().content / FOLDER / CLASSES)[1]


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name == pattern or ("*" in pattern and fnmatchcase(name, pattern)) for pattern in patterns)


@lru_cache(maxsize=4)
def _notes(path: Path) -> Notes:
    data = load_yaml(path)
    try:
        return Notes(
            tuple(_note(entry, path) for entry in data["notes"]),
            tuple(Rename(re.compile(rule["match"]), rule["to"]) for rule in data["renames"]),
            dict(data["words"]),
        )
    except (KeyError, TypeError, AttributeError, re.error) as error:
        raise ContentError(f"malformed: {error!r}", where=str(path)) from None


def _note(entry: dict[str, Any], path: Path) -> Note:
    return Note(
        names=tuple(name.lower() for name in entry["names"]),
        why=entry["why"],
        instead=tuple(Substitute(one["name"], one["why"]) for one in entry["instead"]),
        without=tuple(entry.get("without", ())),
        sources=_sources(entry["sources"], path),
    )


@lru_cache(maxsize=4)
def _errata(path: Path) -> tuple[Erratum, ...]:
    data = load_yaml(path)
    try:
        return tuple(
            Erratum(tuple(e["names"]), tuple(e["on"]), e["says"], _sources(e["sources"], path)) for e in data["errata"]
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ContentError(f"malformed: {error!r}", where=str(path)) from None


@lru_cache(maxsize=4)
def _classes(path: Path) -> tuple[tuple[InstructionClass, ...], tuple[SourceRef, ...]]:
    data = load_yaml(path)
    try:
        classes = tuple(
            InstructionClass(
                name=entry["class"],
                names=tuple(entry["names"]),
                counters=tuple(entry.get("counters", ())),
                masks=tuple(entry.get("sched_group_barrier", ())),
                hazards=tuple(entry.get("hazards", ())),
                order=entry.get("order"),
                note=entry.get("note"),
            )
            for entry in data["classes"]
        )
        return classes, _sources(data["sources"], path)
    except (KeyError, TypeError, AttributeError) as error:
        raise ContentError(f"malformed: {error!r}", where=str(path)) from None


def _sources(entries: Sequence[dict[str, str]], path: Path) -> tuple[SourceRef, ...]:
    try:
        return tuple(cite(entry["id"], entry.get("locator"), where=str(path)) for entry in entries)
    except KbError as error:
        raise ContentError(error.message, where=str(path), hint=error.hint) from None
