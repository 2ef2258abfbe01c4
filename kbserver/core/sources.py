"""Cited documents: `gpu_arch/facts/sources.yaml` names each once; a citation is an id and a locator."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from kbserver.core.errors import ContentError, UnknownName
from kbserver.core.model import Record, SourceRef
from kbserver.core.paths import current_roots
from kbserver.core.store import version_of
from kbserver.core.yamlio import load_yaml

SOURCES_FILE = "gpu_arch/facts/sources.yaml"
KINDS = ("vendor", "compiler", "measured", "secondary", "derived", "claimed")


class Source(Record):
    """A document that statements cite. `kind` is its evidence class; `note` says how far it is trusted and why."""

    id: str
    title: str
    url: str | None = None
    kind: str
    date: str | None = None
    note: str | None = None

    def at(self, locator: str | None) -> SourceRef:
        """Return the citation of a place in it."""
        return SourceRef(id=self.id, title=self.title, url=self.url, kind=self.kind, locator=locator)


def sources() -> dict[str, Source]:
    """Return all sources of the content root in force, by id, as the file has them now."""
    path = current_roots().content / SOURCES_FILE
    return _load(path, version_of(path))


def cite(source_id: str, locator: str | None = None, *, where: str | None = None) -> SourceRef:
    """Return the citation of `source_id`. Raises UnknownName."""
    table = sources()
    if source_id not in table:
        raise UnknownName("source", source_id, table, where=where)
    return table[source_id].at(locator)


@lru_cache(maxsize=8)
def _load(path: Path, version: tuple[int, int, int]) -> dict[str, Source]:
    data = load_yaml(path)
    if not isinstance(data, dict) or not isinstance(data.get("sources"), dict):
        raise ContentError("expected a mapping `sources:` of id to entry", where=str(path))
    table = {}
    for source_id, entry in data["sources"].items():
        try:
            source = Source(id=source_id, **entry)
        except (TypeError, ValueError) as error:
            raise ContentError(f"source {source_id}: {error}", where=str(path)) from None
        if source.kind not in KINDS:
            raise ContentError(f"source {source_id}: kind must be one of {', '.join(KINDS)}", where=str(path))
        table[source_id] = source
    return table
