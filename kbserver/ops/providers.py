"""Where entries come from: documents, facts, kernels and lessons, each a `Provider`.

To make another part searchable, add its provider to `PROVIDERS`; `kb read` then opens its refs as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from kbserver.core.errors import ContentError
from kbserver.core.paths import current_roots
from kbserver.knowledge.entries import Entry, Provider
from kbserver.knowledge.freshness import files_under
from kbserver.knowledge.library import DOCUMENT_FOLDER, EXAMPLE_FOLDER
from kbserver.knowledge.refs import unresolved
from kbserver.ops.documents import library

if TYPE_CHECKING:
    from kbserver.knowledge.documents import Passage
    from kbserver.runs.task import Task, Variant

# Documents

GLOSSARY_TAG = "glossary"
"""Tag of documents whose sections say what the term of their title is."""


def _document_files() -> Iterator[Path]:
    content = current_roots().content
    yield from files_under(content / DOCUMENT_FOLDER, ".md")
    yield from files_under(content / EXAMPLE_FOLDER, ".md")


def _document_entries(problems: list[str]) -> list[Entry]:
    # A document's tags stay out: repeated for each section they say nothing about which one answers, and measured
    # worse at every weight.
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
                title=_passage_title(path, document.title, passage),
                kind="doc",
                text=passage.text,
                arch=document.arch,
                headings=" > ".join(passage.path[:-1]),
                sources=passage.sources,
                group=path,
                overview=passage.level == 1,
                defines=GLOSSARY_TAG in document.tags,
            )
            for passage in document.passages
            if passage.text.strip()
        ]
    return entries


def _passage_title(path: str, document: str, passage: Passage) -> str:
    """Return what a hit is called: worked examples all have the same sections, so the example's name stands first."""
    if not path.startswith(EXAMPLE_FOLDER) or passage.level == 1:
        return passage.title
    return f"{document.removeprefix('Reference kernel: ')}: {passage.title}"


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
            group=f"fact:{fact.key}",
        )
        for fact in load_facts()
    ]


# Kernels


def _kernel_files() -> Iterator[Path]:
    content = current_roots().content
    for folder in ("kernels", EXAMPLE_FOLDER):
        yield from files_under(content / folder, ".yaml", ".hip")


def _kernel_entries(problems: list[str]) -> list[Entry]:
    from kbserver.core.sources import cite
    from kbserver.runs.task import tasks

    entries = []
    for task in tasks().values():
        for variant in task.variants:
            source = task.source(variant).read_text("utf-8")
            published = variant.published
            technique = f"{variant.technique}\n\n" if variant.technique else ""
            entries.append(
                Entry(
                    ref=f"kernel:{variant.name}",
                    title=f"{variant.name}: {task.title}",
                    kind="kernel",
                    text=f"{technique}{leading_comment(source)}\n\n{_kernel_figures(task, variant)}",
                    group=f"kernel:{task.name}" if variant.technique else "",
                    arch=variant.arches,
                    sources=(cite(published.source, published.locator),) if published else (),
                )
            )
    return entries


def leading_comment(source: str) -> str:
    """Return the comment lines at the top of a kernel source: what it does, in its author's words."""
    lines = takewhile(lambda line: line.startswith("//"), source.splitlines())
    return "\n".join(line.removeprefix("//").removeprefix(" ") for line in lines)


def _kernel_figures(task: Task, variant: Variant) -> str:
    """Return how a variant is launched, and what was published for it (shape, target and figures)."""
    layout = ", ".join(f"{name} {axes}" for name, axes in variant.layout.items())
    launch = f"; layout: {layout}" if layout else ""
    launch += f"; workgroup of {variant.workgroup}" if variant.workgroup else ""
    launch += f"; {len(variant.steps)} launches" if len(variant.steps) > 1 else ""
    lines = [f"Task {task.name}, shapes {', '.join(task.shapes)}{launch}; targets {', '.join(variant.arches)}."]
    if variant.technique:
        lines.append(f"Explained, with counts of each variant: {EXAMPLE_FOLDER}/{task.folder.name}/README.md")
    if variant.published:
        known = variant.published.model_dump(exclude_none=True, exclude={"source", "locator", "arch", "not_reproduced"})
        figures = ", ".join(f"{name} {value}" for name, value in known.items() if not isinstance(value, dict))
        lines.append(f"Published for {variant.published.arch}, shape {task.published_shape}: {figures}.")
    return "\n".join(lines)


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


# Instructions


def _instruction_files() -> Iterator[Path]:
    return files_under(current_roots().content / DOCUMENT_FOLDER / "isa", ".jsonl", ".yaml")


def _instruction_entries(problems: list[str]) -> list[Entry]:
    from kbserver.ops.instruction_entries import instruction_entries

    return instruction_entries()


PROVIDERS = (
    Provider("documents", _document_files, _document_entries),
    Provider("facts", _fact_files, _fact_entries),
    Provider("kernels", _kernel_files, _kernel_entries),
    Provider("lessons", _lesson_files, _lesson_entries),
    Provider("instructions", _instruction_files, _instruction_entries),
)


def find_entry(ref: str) -> Entry:
    """Return the entry of a `fact:`, `kernel:` or `lesson:` ref. Raises UnresolvedRef with near refs."""
    scheme = ref.partition(":")[0]
    entries = [entry for one in PROVIDERS if one.name == f"{scheme}s" for entry in one.entries([])]
    for entry in entries:
        if entry.ref == ref:
            return entry
    raise unresolved(ref, [entry.ref for entry in entries], scheme)
