"""Where entries come from: documents, facts, kernels and lessons, each a `Provider`.

To make another part searchable, add its provider to `PROVIDERS`; `kb read` then opens its refs as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kbserver.core.errors import ContentError
from kbserver.core.paths import current_roots
from kbserver.knowledge.entries import Entry, Provider
from kbserver.knowledge.freshness import files_under
from kbserver.knowledge.library import DOCUMENT_FOLDER
from kbserver.knowledge.refs import unresolved
from kbserver.ops.documents import library

# Documents


def _document_files() -> Iterator[Path]:
    return files_under(current_roots().content / DOCUMENT_FOLDER, ".md")


def _document_entries(problems: list[str]) -> list[Entry]:
    entries = []
    shelf = library()
    for path in shelf.index().documents:
        try:
            document = shelf.document(path)
        except ContentError as error:
            problems.append(error.one_line())
            continue
        entries += [
            Entry(
                ref=passage.ref,
                title=passage.title,
                kind="doc",
                text=passage.text,
                arch=document.arch,
                headings=" > ".join(passage.path[:-1]),
                tags=document.tags,
                sources=passage.sources,
                group=path,
            )
            for passage in document.passages
            if passage.text.strip()
        ]
    return entries


# Facts


def _fact_files() -> Iterator[Path]:
    return files_under(current_roots().content / DOCUMENT_FOLDER / "facts", ".yaml")


def _fact_entries(problems: list[str]) -> list[Entry]:
    from kbserver.hardware.facts import load_facts

    return [
        Entry(
            ref=f"fact:{fact.id}",
            title=fact.title,
            kind="fact",
            text=fact.text,
            arch=() if fact.arch == "any" else (fact.arch,),
            tags=fact.aliases,
            sources=fact.sources,
        )
        for fact in load_facts()
    ]


# Lessons


def _lesson_files() -> Iterator[Path]:
    roots = current_roots()
    for folder in (roots.content / "lessons", roots.lessons):
        yield from files_under(folder, ".md", ".yaml")


def _lesson_entries(problems: list[str]) -> list[Entry]:
    from kbserver.journal.lessons import entry, shelf

    on = shelf()
    problems += [f"{problem.path}: {problem.message}" for problem in on.problems]
    return [
        Entry(
            ref=one.ref,
            title=one.title,
            kind="lesson",
            text=one.text,
            arch=tuple(one.arch),
            tags=tuple(one.tags),
            sources=tuple(one.sources),
        )
        for one in (entry(lesson, on) for lesson in on.lessons)
    ]


PROVIDERS = (
    Provider("documents", _document_files, _document_entries),
    Provider("facts", _fact_files, _fact_entries),
    Provider("lessons", _lesson_files, _lesson_entries),
)


def find_entry(ref: str) -> Entry:
    """Return the entry of a `fact:`, `kernel:` or `lesson:` ref. Raises UnresolvedRef with near refs."""
    scheme = ref.partition(":")[0]
    entries = [entry for one in PROVIDERS if one.name == f"{scheme}s" for entry in one.entries([])]
    for entry in entries:
        if entry.ref == ref:
            return entry
    raise unresolved(ref, [entry.ref for entry in entries], scheme)
