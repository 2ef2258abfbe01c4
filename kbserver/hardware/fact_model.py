"""What a fact is: one figure of one target, who says so, and who says otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from kbserver.core.errors import UnknownName
from kbserver.core.model import Record, SourceRef
from kbserver.hardware import units

EVIDENCE = ("vendor", "compiler", "measured", "derived", "claimed", "none")
"""Evidence classes of a fact; `none` is for a figure that was looked for and not found (value null)."""


class Conflict(Record):
    """Another value that a source gives, and the reason why the fact does not take it."""

    value: JsonValue
    unit: str | None = None
    sources: tuple[SourceRef, ...]
    reason: str


class Fact(Record):
    """One figure. `arch` is a gfx target or `any`; `product` is None when it holds for every product of the target."""

    id: str
    arch: str
    product: str | None = None
    key: str
    """The id without arch and product: `lds.banks`. Facts of the same meaning share it."""
    name: str
    value: JsonValue
    unit: str | None = None
    evidence: str
    sources: tuple[SourceRef, ...] = ()
    note: str | None = None
    formula: str | None = None
    inputs: tuple[str, ...] = ()
    products: tuple[str, ...] = ()
    """Products for which the figure of a target is known, when it is not all of them."""
    aliases: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()

    @property
    def known(self) -> bool:
        return self.value is not None

    @property
    def title(self) -> str:
        """Name with its scope: "LDS banks, gfx950", "Matrix BF16 peak, MI300X"."""
        scope = self.product or ("all targets" if self.arch == "any" else self.arch)
        return f"{self.name}, {scope}"

    @property
    def text(self) -> str:
        """Everything that search should find it by, in one paragraph."""
        parts = [f"{self.title}: {units.full(self.value, self.unit)}."]
        if not self.known:
            parts[0] = f"{self.title}: unknown, no source found."
        if self.note:
            parts.append(self.note)
        for one in self.conflicts:
            said_by = ", ".join(ref.title for ref in one.sources)
            parts.append(f"Contested: {units.full(one.value, one.unit)} ({said_by}). {one.reason}")
        return " ".join(parts)


class FactTable:
    """All facts by id, in the order of the files."""

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        self._facts = dict(facts)
        self._by_key: dict[str, list[Fact]] = {}
        for fact in self._facts.values():
            self._by_key.setdefault(fact.key, []).append(fact)

    def get(self, fact_id: str) -> Fact:
        """Return the fact of this id. Raises UnknownName with near ids."""
        fact = self._facts.get(fact_id.strip().removeprefix("fact:").lower())
        if fact is None:
            raise UnknownName("fact", fact_id, self._facts)
        return fact

    def rendered(self, fact_id: str) -> str:
        """Return value and unit for prose: "160 KiB", "5.3 TB/s", "unknown". Raises UnknownName."""
        fact = self.get(fact_id)
        return units.short(fact.value, fact.unit)

    def with_key(self, key: str) -> list[Fact]:
        """Return the facts of one meaning, for example every `lds.banks`."""
        return list(self._by_key.get(key, ()))

    @property
    def keys(self) -> list[str]:
        return list(self._by_key)

    def __contains__(self, fact_id: object) -> bool:
        return fact_id in self._facts

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts.values())

    def __len__(self) -> int:
        return len(self._facts)
