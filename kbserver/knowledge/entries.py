"""What search finds: an entry is one answer-sized text with a ref, and a provider is where entries come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kbserver.core.model import SourceRef

KINDS = ("doc", "fact", "kernel", "lesson", "instruction")


@dataclass(frozen=True)
class Entry:
    """One searchable text.

    arch: gfx targets that it holds for, empty when it holds for all. headings: what stands above it (heading path of a
    section). group: entries of one group (a document, facts of one meaning) share the places of a result; empty stands
    alone. overview: it says what other entries are about, as the beginning of a document does. defines: it says what
    the term is with which its title begins.
    """

    ref: str
    title: str
    kind: str
    text: str
    arch: tuple[str, ...] = ()
    headings: str = ""
    tags: tuple[str, ...] = ()
    sources: tuple[SourceRef, ...] = ()
    group: str = ""
    overview: bool = False
    defines: bool = False


@dataclass(frozen=True)
class Provider:
    """Where entries of one sort come from.

    files: the files that the entries depend on, cheap to list: their content decides whether a cached index still
    holds. entries: builds them, and appends to its argument a sentence for each thing that had to be left out.
    """

    name: str
    files: Callable[[], Iterable[Path]]
    entries: Callable[[list[str]], Sequence[Entry]]


@dataclass(frozen=True)
class Corpus:
    """All entries of one moment, with what could not be loaded."""

    entries: Sequence[Entry]
    problems: Sequence[str] = field(default=())
