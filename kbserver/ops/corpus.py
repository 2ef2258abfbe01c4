"""The search index over everything that the providers give, as it is now."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbserver.core.errors import ContentError, KbError
from kbserver.core.paths import INDEX_FILE, Roots, current_roots
from kbserver.core.sources import SOURCES_FILE
from kbserver.core.targets import PRODUCTS_FILE, targets
from kbserver.knowledge.entries import Corpus, Entry
from kbserver.knowledge.freshness import FreshIndex, Recipe, Vocabulary, files_under
from kbserver.knowledge.index import SearchIndex
from kbserver.knowledge.library import load_index
from kbserver.knowledge.query import Names
from kbserver.ops.documents import content_faults
from kbserver.ops.providers import PROVIDERS

PACKAGE = Path(__file__).resolve().parent.parent
ENTRY_CODE = ("core", "knowledge", "hardware", "isa", "runs", "journal", "ops")
"""Packages whose code shapes entries: an index cached by another version of it is not used."""
KEPT_ROOTS = 4

_indexes: dict[Roots, FreshIndex] = {}
_lock = threading.Lock()


def search_index() -> SearchIndex:
    """Return the index over content and workspace in force. Cheap while nothing changed. Thread-safe."""
    roots = current_roots()
    with _lock:
        if roots not in _indexes:
            while len(_indexes) >= KEPT_ROOTS:
                _indexes.pop(next(iter(_indexes)))
            recipe = Recipe(files=_input_files, code=_code_files, vocabulary=vocabulary, corpus=corpus)
            _indexes[roots] = FreshIndex(recipe, roots.cache)
        index = _indexes[roots]
    return index.current()


def vocabulary() -> Vocabulary:
    """Return the synonyms of `index.yaml`, and as further ones the names of each gfx target and of other vendors."""
    index = load_index(current_roots().content)
    groups: list[Sequence[str]] = list(index.synonyms)
    elsewhere = {}
    for vendor, names in index.elsewhere.items():
        groups.append([vendor, *names])
        elsewhere[f"={vendor.lower()}"] = vendor
    table = targets()
    archs = {}
    for arch in table.archs:
        names = [arch, *(name for name, target in table.aliases.items() if target == arch)]
        names += [product.name for product in table.products.values() if product.arch == arch]
        groups.append(list(dict.fromkeys(name.lower() for name in names)))
        archs[f"={arch}"] = arch
    return Vocabulary(groups, Names(archs, elsewhere))


def corpus() -> Corpus:
    """Return every entry; what cannot be loaded is left out and said in `problems`."""
    entries: list[Entry] = []
    problems: list[str] = []
    for provider in PROVIDERS:
        try:
            entries += provider.entries(problems)
        except KbError as error:
            problems.append(f"{provider.name}: {error.one_line()}")
    return Corpus(entries, problems)


@dataclass(frozen=True)
class ContentReport:
    """How much content there is, and every problem of it as a sentence that begins with file and line."""

    documents: int
    facts: int
    lessons: int
    kernels: int
    problems: list[str]


def check_content() -> ContentReport:
    """Examine all content: refs, links, schema and orphans of documents; facts, kernels and lessons not loadable."""
    found = corpus()
    kinds = Counter(entry.kind for entry in found.entries)
    faults = [f"{fault.where}: {fault.message}" for fault in content_faults()]
    # A document that does not load is among the faults already, with each of its problems.
    others = [problem for problem in found.problems if not problem.startswith(ContentError.code)]
    documents = len({entry.group for entry in found.entries if entry.kind == "doc"})
    return ContentReport(documents, kinds["fact"], kinds["lesson"], kinds["kernel"], [*faults, *others])


def _input_files() -> Iterator[Path]:
    content = current_roots().content
    yield from (content / name for name in (INDEX_FILE, PRODUCTS_FILE, SOURCES_FILE))
    for provider in PROVIDERS:
        yield from provider.files()


def _code_files() -> Iterator[Path]:
    for package in ENTRY_CODE:
        yield from files_under(PACKAGE / package, ".py")
