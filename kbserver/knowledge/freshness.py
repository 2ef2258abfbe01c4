"""The index of the moment: reused while no input file changed, read from the cache, or built and cached.

In a process a stat of the inputs decides; across processes the hash of their content does, with that of the code that
makes entries (files at rest need not be read again for it: `known_keys`). The cache is only ever a copy: when it is
missing, damaged or cannot be written, the index is built.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kbserver.core.errors import WorkspaceError
from kbserver.core.store import write_atomic
from kbserver.knowledge.entries import Corpus
from kbserver.knowledge.index import SearchIndex, build_index
from kbserver.knowledge.known_keys import Fingerprint, KnownKeys, fingerprint
from kbserver.knowledge.query import Names
from kbserver.knowledge.storage import FORMAT, Stored

KEPT_FILES = 4
STALE_TEMPORARY_S = 3600
ATTEMPTS = 3


@dataclass(frozen=True)
class Vocabulary:
    """What the tokenizer is made of: synonym groups, and what the concept tokens of some of them stand for."""

    groups: Sequence[Sequence[str]]
    names: Names


@dataclass(frozen=True)
class Recipe:
    """How to make an index. files: the content that it depends on. code: the source files that make entries of it."""

    files: Callable[[], Iterable[Path]]
    code: Callable[[], Iterable[Path]]
    vocabulary: Callable[[], Vocabulary]
    corpus: Callable[[], Corpus]


class FreshIndex:
    """Gives the index of the moment. `cache` is the folder of cached indexes; it need not exist or be writable."""

    def __init__(self, recipe: Recipe, cache: Path) -> None:
        self._recipe = recipe
        self._cache = cache
        self._lock = threading.Lock()
        self._held: tuple[Fingerprint, SearchIndex] | None = None

    def current(self) -> SearchIndex:
        """Return the index over the files as they are now. Thread-safe."""
        held = self._held
        if held and held[0] == fingerprint(self._recipe.files()):
            return held[1]
        with self._lock:
            for _ in range(ATTEMPTS):
                before = fingerprint(self._recipe.files())
                if self._held and self._held[0] == before:
                    return self._held[1]
                index = self._load_or_build()
                # Files may change while they are read: an index of a mixture must not be kept.
                if fingerprint(self._recipe.files()) == before:
                    self._held = (before, index)
                    break
            return index

    def _load_or_build(self) -> SearchIndex:
        inputs = (*self._recipe.files(), *self._recipe.code())
        before = fingerprint(inputs)
        key = self._key(inputs, before)
        path = self._cache / f"search-{key[:32]}.jsonl"
        with suppress(OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
            return SearchIndex(Stored(path.read_bytes(), key))
        vocabulary = self._recipe.vocabulary()
        data = build_index(self._recipe.corpus(), vocabulary.groups, vocabulary.names, key)
        if fingerprint((*self._recipe.files(), *self._recipe.code())) == before:
            self._write(path, data)
        return SearchIndex(Stored(data, key))

    def _key(self, inputs: Sequence[Path], state: Fingerprint) -> str:
        """Return the key of the inputs, read from them unless that of their state is known."""
        known, now_ns = KnownKeys(self._cache), time.time_ns()
        key = known.get(state)
        if key is None:
            key = content_key(inputs)
            if fingerprint(inputs) == state:
                known.remember(state, key, now_ns)
        return key

    def _write(self, path: Path, data: bytes) -> None:
        with suppress(WorkspaceError, OSError):
            write_atomic(path, data)
            _prune(self._cache)


SETTLED_NS = 100_000_000
"""A folder that changed less than this before it was listed may change again within one tick of its time stamp."""
_listings: dict[tuple[str, tuple[str, ...]], Listing] = {}


@dataclass(frozen=True)
class Listing:
    """What was found below a folder, and when each folder of the tree last changed: files come and go only then."""

    changed: Sequence[tuple[str, int]]
    files: Sequence[Path]

    def holds(self) -> bool:
        try:
            return all(os.stat(folder).st_mtime_ns == at for folder, at in self.changed)
        except OSError:
            return False


def files_under(folder: Path, *suffixes: str) -> Sequence[Path]:
    """Return the files of these suffixes below a folder, sorted; nothing when it does not exist. Thread-safe."""
    # Every search lists all inputs: a stat of each folder takes a tenth of the time of walking them.
    key = (str(folder), suffixes)
    listing = _listings.get(key)
    if listing is None or not listing.holds():
        settled = time.time_ns() - SETTLED_NS
        listing = _list(*key)
        if listing.changed and all(at < settled for _, at in listing.changed):
            _listings[key] = listing
        else:
            _listings.pop(key, None)
    return listing.files


def _list(folder: str, suffixes: tuple[str, ...]) -> Listing:
    changed: list[tuple[str, int]] = []
    found: list[str] = []
    for parent, _, names in os.walk(folder):
        with suppress(OSError):
            changed.append((parent, os.stat(parent).st_mtime_ns))
        found += [os.path.join(parent, name) for name in names if name.endswith(suffixes)]
    return Listing(changed, [Path(path) for path in sorted(found)])


def content_key(files: Iterable[Path]) -> str:
    """Return the hash of names and content of all inputs."""
    digest = hashlib.sha256(f"search index {FORMAT}\n".encode())
    for path in files:
        try:
            data = path.read_bytes()
        except OSError:
            data = b"(missing)"
        digest.update(f"{path.parent.name}/{path.name} {len(data)}\n".encode("utf-8", "surrogateescape"))
        digest.update(data)
    return digest.hexdigest()


def _prune(cache: Path) -> None:
    """Keep the newest indexes; remove what a killed writer left, once no living one can own it."""
    indexes = sorted(cache.glob("search-*.jsonl"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in indexes[KEPT_FILES:]:
        path.unlink(missing_ok=True)
    for path in cache.glob(".search-*.tmp"):
        if time.time() - path.stat().st_mtime > STALE_TEMPORARY_S:
            path.unlink(missing_ok=True)
