"""The documents of the content root in force, and how the refs that they hold are rendered."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from kbserver.core.errors import KbError, UnresolvedRef
from kbserver.core.paths import current_roots
from kbserver.core.store import version_of
from kbserver.knowledge.library import Fault, Library
from kbserver.knowledge.prose import Rendered

if TYPE_CHECKING:
    from kbserver.hardware.facts import FactTable

KEPT_ROOTS = 4
FACTS_FOLDER = "gpu_arch/facts"


class RefResolver:
    """Renders the refs that documents hold: `{fact:...}` as value and unit, the others as their title.

    Facts are those of its first use: make one for each reading.
    """

    @cached_property
    def facts(self) -> FactTable:
        from kbserver.hardware.facts import load_facts

        return load_facts()

    def render(self, ref: str) -> Rendered:
        scheme = ref.partition(":")[0]
        renderer = _RENDERERS.get(scheme)
        if renderer is None:
            raise UnresolvedRef(f"refs of kind {scheme!r} do not exist", hint=f"kinds: {', '.join(_RENDERERS)}")
        return renderer(self, ref)


def _render_fact(resolver: RefResolver, ref: str) -> Rendered:
    fact_id = ref.removeprefix("fact:")
    return Rendered(resolver.facts.rendered(fact_id), tuple(resolver.facts.get(fact_id).sources))


def _render_title(_: RefResolver, ref: str) -> Rendered:
    from kbserver.ops.providers import find_entry

    entry = find_entry(ref)
    return Rendered(entry.title, entry.sources)


def _render_instruction(_: RefResolver, ref: str) -> Rendered:
    from kbserver.ops.instruction_entries import open_instruction

    sources = open_instruction(ref)[2]
    return Rendered(ref.rpartition("/")[2], sources)


_RENDERERS: dict[str, Callable[[RefResolver, str], Rendered]] = {
    "fact": _render_fact,
    "kernel": _render_title,
    "lesson": _render_title,
    "isa": _render_instruction,
}


def _facts_version() -> tuple[tuple[int, int, int], ...]:
    """Return what changes with any fact or source: documents hold their values and titles."""
    folder = current_roots().content / FACTS_FOLDER
    return tuple(version_of(path) for path in sorted(folder.glob("*.yaml")))


_libraries: dict[str, Library] = {}
_lock = threading.Lock()


def library() -> Library:
    """Return the documents of the content root in force; loaded documents are remembered."""
    root = current_roots().content
    with _lock:
        if str(root) not in _libraries:
            while len(_libraries) >= KEPT_ROOTS:
                _libraries.pop(next(iter(_libraries)))
            _libraries[str(root)] = Library(root, RefResolver, _facts_version)
        return _libraries[str(root)]


def content_faults() -> list[Fault]:
    """Return every problem of `index.yaml` and the documents: unresolved refs and links, orphans, bad front matter."""
    shelf = library()
    faults = shelf.faults()
    # Steps are opened only when all documents load: otherwise each broken one would be reported twice.
    return faults or _reading_path_faults(shelf)


def _reading_path_faults(shelf: Library) -> list[Fault]:
    from kbserver.ops.passages import open_ref

    faults = []
    for path in shelf.index().reading_paths:
        for step in path.steps:
            try:
                open_ref(step)
            except KbError as error:
                faults.append(Fault("index.yaml", f"reading path {path.id}: {step}: {error.message}", error.hint))
    return faults
