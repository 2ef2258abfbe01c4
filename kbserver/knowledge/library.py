"""The map `index.yaml` and the documents it names: loaded once per version of each file, checked as a whole."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from kbserver.core.errors import ContentError
from kbserver.core.model import Record
from kbserver.core.paths import INDEX_FILE
from kbserver.core.store import version_of
from kbserver.core.yamlio import load_yaml
from kbserver.knowledge.documents import Document, check_links, examine, load_document, read_source
from kbserver.knowledge.prose import Resolver
from kbserver.knowledge.sections import parse_markdown

DOCUMENT_FOLDER = "gpu_arch"
EXAMPLE_FOLDER = "reference_kernels"
"""Folders of worked examples, each with a README.md that is a document."""
MAX_SUMMARY = 240


class Topic(Record):
    """A group of documents, in the order to read them."""

    id: str
    title: str
    summary: str
    documents: list[str]


class ReadingPath(Record):
    """Refs to read one after the other for one purpose."""

    id: str
    title: str
    steps: list[str]


class Index(Record):
    """The content of `index.yaml`. Each list of `synonyms` names one thing, its first name is the canonical one.

    `elsewhere`: vendor to names of products that are not described here.
    """

    version: int
    topics: list[Topic]
    reading_paths: list[ReadingPath] = Field(default_factory=list)
    synonyms: list[list[str]] = Field(default_factory=list)
    elsewhere: dict[str, list[str]] = Field(default_factory=dict)

    @property
    def documents(self) -> list[str]:
        return [path for topic in self.topics for path in topic.documents]


def load_index(root: Path) -> Index:
    """Load `root/index.yaml`. Raises ContentError when it breaks its schema or names a document twice."""
    where = str(root / INDEX_FILE)
    data: Any = load_yaml(root / INDEX_FILE)
    try:
        index = Index.model_validate(data, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ContentError(f"{place}: {first['msg']}", where=where) from None
    for kind, names in (
        ("topic", [topic.id for topic in index.topics]),
        ("reading path", [path.id for path in index.reading_paths]),
        ("document", index.documents),
    ):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ContentError(f"{kind} {twice[0]!r} is named twice", where=where)
    return index


@dataclass(frozen=True)
class Fault:
    """A problem of the content: `where` is file:line."""

    where: str
    message: str
    hint: str | None = None


class Library:
    """The documents of one content root, each loaded when asked for and again when its file changes.

    `resolver` makes what fills in the values of one reading; `refs` gives what changes with those values.
    """

    def __init__(
        self, root: Path, resolver: Callable[[], Resolver], refs: Callable[[], Hashable] = lambda: None
    ) -> None:
        self.root = root
        self._resolver = resolver
        self._refs = refs
        self._loaded: dict[str, tuple[Hashable, Document]] = {}
        self._index: tuple[Hashable, Index] | None = None
        self._lock = threading.Lock()

    def index(self) -> Index:
        """Return the map, loaded again when its file changes. Raises ContentError when it breaks its schema."""
        version = version_of(self.root / INDEX_FILE)
        held = self._index
        if held is None or held[0] != version:
            held = self._index = version, load_index(self.root)
        return held[1]

    def document(self, path: str) -> Document:
        """Return a document named by the index. Raises ContentError when it cannot load."""
        try:
            stat = (self.root / path).stat()
            version = (stat.st_mtime_ns, stat.st_size, stat.st_ino, self._refs())
        except OSError as error:
            raise ContentError(f"cannot read: {error.strerror}", where=path) from None
        with self._lock:
            held = self._loaded.get(path)
        if held and held[0] == version:
            return held[1]
        document = load_document(self.root, path, self._resolver())
        with self._lock:
            self._loaded[path] = (version, document)
        return document

    def faults(self) -> list[Fault]:
        """Return every problem of index and documents, without stopping at the first."""
        try:
            index = self.index()
        except ContentError as error:
            return [Fault(error.where or INDEX_FILE, error.message, error.hint)]
        return [*self._index_faults(index), *self._document_faults(index)]

    def _index_faults(self, index: Index) -> Iterator[Fault]:
        named = set(index.documents)
        for topic in index.topics:
            if len(topic.summary) > MAX_SUMMARY:
                yield Fault(INDEX_FILE, f"topic {topic.id}: the summary has more than {MAX_SUMMARY} characters")
        for orphan in sorted(set(_markdown_files(self.root)) - named):
            yield Fault(orphan, "no topic names this document", f"name it in {INDEX_FILE}")
        canonical: dict[str, str] = {}
        for group in index.synonyms:
            if len(group) < 2:
                yield Fault(INDEX_FILE, f"synonyms {group} need at least two names")
            for name in group:
                if canonical.setdefault(name.lower(), group[0]) != group[0]:
                    yield Fault(INDEX_FILE, f"synonym {name!r} stands for {canonical[name.lower()]} and {group[0]}")

    def _document_faults(self, index: Index) -> Iterator[Fault]:
        parsed = {}
        resolver = self._resolver()
        anchors: dict[str, set[str] | None] = dict.fromkeys(index.documents)
        for path in index.documents:
            document, problems = examine(self.root, path, resolver)
            for problem in problems:
                yield Fault(f"{path}:{problem.line}", problem.message, problem.hint)
            if document is not None:
                parsed[path] = parse_markdown(read_source(self.root, path), path)
                anchors[path] = {section.id for section in parsed[path].sections}
        for path, one in parsed.items():
            for problem in check_links(self.root, path, one, anchors, resolver):
                yield Fault(f"{path}:{problem.line}", problem.message, problem.hint)


def _markdown_files(root: Path) -> Iterator[str]:
    for path in sorted((root / DOCUMENT_FOLDER).rglob("*.md")):
        # A README beside data is for those who edit it; it is no document.
        if path.name != "README.md":
            yield path.relative_to(root).as_posix()
    for path in sorted((root / EXAMPLE_FOLDER).glob("*/README.md")):
        yield path.relative_to(root).as_posix()
