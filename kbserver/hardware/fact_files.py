"""Fact files to facts: every entry is checked, and each fault names file, line and id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kbserver.core.errors import ContentError
from kbserver.core.model import SourceRef
from kbserver.core.sources import Source
from kbserver.core.targets import Targets
from kbserver.core.yamlio import parse_yaml
from kbserver.hardware.fact_model import EVIDENCE, Conflict, Fact
from kbserver.hardware.units import UNITS

ID_FORM = re.compile(r"[a-z0-9]+(?:\.[a-z0-9_]+){2,3}")
FIELDS = {
    "name", "value", "unit", "evidence", "sources", "note", "formula", "inputs", "products", "aliases", "conflicts"
}  # fmt: skip
REQUIRED = ("name", "value", "evidence")
NOT_FACTS = {"sources.yaml", "products.yaml", "aliases.yaml", "claims.yaml"}


def read_text(path: Path) -> str:
    """Return a YAML file's text without byte order mark. Raises ContentError."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ContentError(f"cannot read: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise ContentError(f"not UTF-8 at byte {error.start}", where=str(path)) from None


class FactFile:
    """One file of facts while it is read: it knows the line of every id, for faults."""

    def __init__(self, name: str, text: str, sources: Mapping[str, Source], targets: Targets) -> None:
        self.name = name
        self._text = text
        self._sources = sources
        self._products = {p.name.lower().replace(" ", ""): p for p in targets.products.values()}
        self._archs = {*targets.generations, "any"}

    def facts(self, aliases: Mapping[str, tuple[str, ...]]) -> list[Fact]:
        """Return the facts of the file. Raises ContentError at the first fault."""
        data = parse_yaml(self._text, self.name)
        if not isinstance(data, dict) or list(data) != ["facts"] or not isinstance(data["facts"], dict):
            raise ContentError("expected one mapping `facts:` of id to entry", where=self.name)
        return [self._fact(str(fact_id), entry, aliases) for fact_id, entry in data["facts"].items()]

    def _fact(self, fact_id: str, entry: Any, aliases: Mapping[str, tuple[str, ...]]) -> Fact:
        arch, product, key = self._parts(fact_id)
        if not isinstance(entry, dict):
            raise self._fault(fact_id, "the entry must be a mapping")
        for unknown in sorted(set(map(str, entry)) - FIELDS):
            raise self._fault(fact_id, f"unknown field {unknown!r}; fields: {', '.join(sorted(FIELDS))}")
        for field in REQUIRED:
            if field not in entry:
                raise self._fault(fact_id, f"{field} is missing")
        self._check(fact_id, entry, arch)
        return Fact(
            id=fact_id,
            arch=arch,
            product=product,
            key=key,
            name=entry["name"],
            value=entry["value"],
            unit=entry.get("unit"),
            evidence=entry["evidence"],
            sources=self._citations(fact_id, entry.get("sources", [])),
            note=entry.get("note"),
            formula=entry.get("formula"),
            inputs=tuple(entry.get("inputs", ())),
            products=tuple(entry.get("products", ())),
            aliases=(*aliases.get(key, ()), *entry.get("aliases", ())),
            conflicts=tuple(self._conflict(fact_id, one) for one in entry.get("conflicts", [])),
        )

    def _parts(self, fact_id: str) -> tuple[str, str | None, str]:
        if not ID_FORM.fullmatch(fact_id):
            raise self._fault(fact_id, "an id is arch.area.name or arch.product.area.name in lower case")
        arch, *rest = fact_id.split(".")
        if arch not in self._archs:
            raise self._fault(fact_id, f"unknown target {arch!r}")
        if len(rest) == 2:
            return arch, None, ".".join(rest)
        product = self._products.get(rest[0])
        if product is None or product.arch != arch:
            raise self._fault(fact_id, f"{rest[0]!r} is not a product of {arch}")
        return arch, product.name, ".".join(rest[1:])

    def _check(self, fact_id: str, entry: dict[str, Any], arch: str) -> None:
        for field in ("name", "note", "formula", "unit", "evidence"):
            if field in entry and not (isinstance(entry[field], str) and entry[field].strip()):
                raise self._fault(fact_id, f"{field} must be text")
        for field in ("sources", "inputs", "products", "aliases", "conflicts"):
            if not isinstance(entry.get(field, []), list):
                raise self._fault(fact_id, f"{field} must be a list")
        if entry.get("unit") is not None and entry["unit"] not in UNITS:
            raise self._fault(fact_id, f"unknown unit {entry['unit']!r}; units: {', '.join(UNITS)}")
        if entry["evidence"] not in EVIDENCE:
            raise self._fault(fact_id, f"evidence must be one of {', '.join(EVIDENCE)}")
        self._check_value(fact_id, entry)
        if entry["evidence"] == "derived" and not ("formula" in entry and entry.get("inputs")):
            raise self._fault(fact_id, "a derived fact names its formula and its inputs")
        known = {product.name for product in self._products.values() if product.arch == arch}
        for name in entry.get("products", []):
            if name not in known:
                raise self._fault(fact_id, f"{name!r} is not a product of {arch}")

    def _check_value(self, fact_id: str, entry: dict[str, Any]) -> None:
        value = entry["value"]
        if (value is None) != (entry["evidence"] == "none"):
            raise self._fault(fact_id, "evidence none goes with value null, and only with it")
        if value is None and "note" not in entry:
            raise self._fault(fact_id, "a null value needs a note that says what was looked for")
        if value is not None and not entry.get("sources"):
            raise self._fault(fact_id, "a value needs a source")
        if isinstance(value, str) and not value.strip():
            raise self._fault(fact_id, "value is empty; null means unknown")

    def _citations(self, fact_id: str, entries: list[Any]) -> tuple[SourceRef, ...]:
        refs = []
        for entry in entries:
            if not isinstance(entry, dict) or not set(entry) <= {"id", "locator"} or "id" not in entry:
                raise self._fault(fact_id, "a source is {id: ..., locator: ...}")
            source = self._sources.get(entry["id"])
            if source is None:
                raise self._fault(fact_id, f"unknown source {entry['id']!r}")
            locator = entry.get("locator")
            if locator is not None and not isinstance(locator, str):
                raise self._fault(fact_id, f"the locator of {source.id} must be text")
            refs.append(SourceRef(id=source.id, title=source.title, url=source.url, kind=source.kind, locator=locator))
        return tuple(refs)

    def _conflict(self, fact_id: str, entry: Any) -> Conflict:
        if not isinstance(entry, dict) or not set(entry) <= {"value", "unit", "sources", "reason"}:
            raise self._fault(fact_id, "a conflict is {value, unit, sources, reason}")
        if not entry.get("sources") or not isinstance(entry["sources"], list):
            raise self._fault(fact_id, "a conflict names who says so")
        if not (isinstance(entry.get("reason"), str) and entry["reason"].strip()):
            raise self._fault(fact_id, "a conflict says why the fact does not take its value")
        if entry.get("value") is None:
            raise self._fault(fact_id, "a conflict has a value")
        if entry.get("unit") is not None and entry["unit"] not in UNITS:
            raise self._fault(fact_id, f"unknown unit {entry['unit']!r} of a conflict")
        return Conflict(
            value=entry["value"],
            unit=entry.get("unit"),
            sources=self._citations(fact_id, entry["sources"]),
            reason=entry["reason"],
        )

    def _fault(self, fact_id: str, message: str) -> ContentError:
        found = re.search(rf"(?m)^[ \t]*[\"']?{re.escape(fact_id)}[\"']?[ \t]*:", self._text)
        line = f":{self._text.count(chr(10), 0, found.start()) + 1}" if found else ""
        return ContentError(f"fact {fact_id[:80]}: {message}", where=f"{self.name}{line}")


def read_aliases(name: str, text: str) -> dict[str, tuple[str, ...]]:
    """Return what people type for each key, from `aliases.yaml`. Raises ContentError."""
    data = parse_yaml(text, name)
    table = data.get("aliases") if isinstance(data, dict) else None
    if not isinstance(table, dict):
        raise ContentError("expected a mapping `aliases:` of area.name to a list of words", where=name)
    for key, words in table.items():
        if not isinstance(words, list) or not all(isinstance(word, str) and word.strip() for word in words):
            raise ContentError(f"aliases of {key}: expected a list of texts", where=name)
    return {key: tuple(words) for key, words in table.items()}
