"""Opening a ref: which scheme is read how. A new scheme is one line in `OPENERS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kbserver.core.errors import UnknownName, UnresolvedRef
from kbserver.core.model import SourceRef
from kbserver.knowledge.documents import Document
from kbserver.knowledge.refs import is_plain, unresolved
from kbserver.ops.documents import library
from kbserver.ops.providers import find_entry


@dataclass(frozen=True)
class Piece:
    """A run of text that is not cut unless it alone is too long, and the ref under which it can be read."""

    ref: str
    text: str
    sources: tuple[SourceRef, ...]


@dataclass(frozen=True)
class Opened:
    """What a ref holds: its pieces in reading order, and the ref that follows them."""

    ref: str
    title: str
    pieces: tuple[Piece, ...]
    next_ref: str | None = None


def open_ref(ref: str) -> Opened:
    """Return what `ref` holds. Raises UnresolvedRef with near refs."""
    ref = ref.strip()
    scheme, colon, _ = ref.partition(":")
    if colon and is_plain(ref):
        opener = OPENERS.get(scheme)
        if opener is None:
            raise UnresolvedRef(
                "refs of this kind do not exist",
                where=ref,
                hint=f"a document path, or one of: {', '.join(name + ':' for name in OPENERS)}",
            )
        return opener(ref)
    return _open_document(ref)


def _open_document(ref: str) -> Opened:
    shelf = library()
    path, _, anchor = ref.removeprefix("./").partition("#")
    named = shelf.index().documents
    # Only documents that the index names are ever opened: no path of a caller reaches the file system.
    if path not in named:
        raise unresolved(ref, named, "document")
    document = shelf.document(path)
    if not anchor:
        return _opened(ref, document, 0, len(document.passages), _following(named, path))
    start = document.position(anchor)
    if start is None:
        raise unresolved(ref, [passage.ref for passage in document.passages], "section")
    return _opened(ref, document, start, _section_end(document, start), _following(named, path))


def _section_end(document: Document, start: int) -> int:
    """Return the place after a section and those below it; the title's own section stands alone."""
    level = document.passages[start].level
    if level == 1:
        return start + 1
    for place in range(start + 1, len(document.passages)):
        if document.passages[place].level <= level:
            return place
    return len(document.passages)


def _opened(ref: str, document: Document, start: int, end: int, after: str | None) -> Opened:
    passages = document.passages
    return Opened(
        ref=ref,
        title=document.title if "#" not in ref else " > ".join(passages[start].path[-2:]),
        pieces=tuple(
            Piece(one.ref, f"{'#' * one.level} {one.title}\n\n{one.text}".rstrip(), one.sources)
            for one in passages[start:end]
        ),
        next_ref=passages[end].ref if end < len(passages) else after,
    )


def _following(named: list[str], path: str) -> str | None:
    place = named.index(path) + 1
    return named[place] if place < len(named) else None


def _open_fact(ref: str) -> Opened:
    from kbserver.hardware.facts import load_facts

    facts = load_facts()
    name = ref.removeprefix("fact:")
    if name not in facts:
        raise unresolved(ref, [f"fact:{one.id}" for one in facts], "fact")
    fact = facts.get(name)
    return Opened(ref, fact.title, (Piece(ref, fact.text, tuple(fact.sources)),))


def _open_kernel(ref: str) -> Opened:
    from kbserver.runs.task import find_kernel

    try:
        task, variant = find_kernel(ref.removeprefix("kernel:"))
    except UnknownName:
        find_entry(ref)  # raises with near refs of this kind
        raise
    ref = f"kernel:{variant.name}"
    entry = find_entry(ref)
    source = task.source(variant).read_text("utf-8").rstrip()
    pieces = (Piece(ref, entry.text, entry.sources), Piece(ref, f"```cpp\n{source}\n```", ()))
    return Opened(ref, entry.title, pieces)


def _open_lesson(ref: str) -> Opened:
    from kbserver.journal.lessons import all_lessons, entry, find_lesson, shelf

    try:
        on = shelf()
        found = entry(find_lesson(ref, on).lesson, on)
    except UnknownName:
        raise unresolved(ref, [one.ref for one in all_lessons()], "lesson") from None
    return Opened(found.ref, found.title, (Piece(found.ref, found.text, tuple(found.sources)),))


def _open_instruction(ref: str) -> Opened:
    from kbserver.ops.instruction_entries import open_instruction

    title, text, sources = open_instruction(ref)
    return Opened(ref, title, (Piece(ref, text, sources),))


def _open_build(ref: str) -> Opened:
    from kbserver.toolchain.build import load_build

    build = load_build(ref.removeprefix("build:"))
    return Opened(ref, f"assembly of build {build.build_id} for {build.arch}", (Piece(ref, build.assembly_text, ()),))


def _open_run(ref: str) -> Opened:
    from kbserver.ops.run_text import run_text, run_title
    from kbserver.runs.records import load_run

    record = load_run(ref.removeprefix("run:"))
    return Opened(ref, run_title(record), (Piece(ref, run_text(record), ()),))


OPENERS: dict[str, Callable[[str], Opened]] = {
    "fact": _open_fact,
    "kernel": _open_kernel,
    "lesson": _open_lesson,
    "build": _open_build,
    "isa": _open_instruction,
    "run": _open_run,
}
