"""The operation `hardware_fact`: figures of the hardware with who says so and who disagrees."""

from __future__ import annotations

from typing import Annotated

from pydantic import JsonValue

from kbserver.core.model import Record, Result, SourceRef
from kbserver.core.targets import targets
from kbserver.hardware import factquery, units
from kbserver.hardware.facts import Fact, load_facts
from kbserver.ops.registry import Arg, operation

MAX_FACTS = 12


class FactConflict(Record):
    """Another value that a source gives, and why the fact does not take it."""

    value: JsonValue
    unit: str | None
    shown: str
    sources: list[SourceRef]
    reason: str


class FactAnswer(Record):
    """One figure. `value` is null when nobody gives it; `shown` is value and unit as a person reads them."""

    id: str
    arch: str
    product: str | None
    name: str
    value: JsonValue
    unit: str | None
    shown: str
    evidence: str
    """vendor | compiler | measured | derived | claimed | none."""
    note: str | None
    formula: str | None
    sources: list[SourceRef]
    conflicts: list[FactConflict]


class HardwareFacts(Result):
    """Facts that answer a query, best first; `total` counts those beyond the cap as well."""

    query: str
    arch: str | None
    product: str | None
    decided_by: str
    facts: list[FactAnswer]
    total: int
    truncated: bool


@operation(name="hardware_fact", command="fact", title="Hardware fact", toolset="hardware")
def hardware_fact(
    query: Annotated[
        str, Arg("a fact id, or what is asked: lds, l2 size, bf16 peak, waves per simd", positional=True, words=True)
    ],
    arch: Annotated[str | None, Arg("gfx target, generation or product; without it all targets answer")] = None,
    product: Annotated[str | None, Arg("a product, for figures that differ by board: MI355X")] = None,
) -> HardwareFacts:
    """Look up a hardware figure of AMD Instinct GPUs: LDS, registers, caches, occupancy limits, peaks, bandwidth, MFMA
    cost, wait states. Use it before you rely on any number. Each answer gives value and unit, the evidence class, the
    source with locator, and, where sources disagree, who says otherwise and why the value stands. A figure that nobody
    gives is answered as unknown. Without arch the targets stand side by side.
    """
    table, known = load_facts(), targets()
    scope = factquery.read_scope(known, arch, product)
    found, scope = factquery.find(table, known, query, scope)
    return HardwareFacts(
        query=query,
        arch=scope.arch,
        product=scope.product.name if scope.product else None,
        decided_by=scope.decided_by,
        facts=[_answer(fact) for fact in found[:MAX_FACTS]],
        total=len(found),
        truncated=len(found) > MAX_FACTS,
    )


def _answer(fact: Fact) -> FactAnswer:
    return FactAnswer(
        id=fact.id,
        arch=fact.arch,
        product=fact.product,
        name=fact.name,
        value=fact.value,
        unit=fact.unit,
        shown=units.full(fact.value, fact.unit),
        evidence=fact.evidence,
        note=fact.note,
        formula=fact.formula,
        sources=list(fact.sources),
        conflicts=[
            FactConflict(
                value=one.value,
                unit=one.unit,
                shown=units.full(one.value, one.unit),
                sources=list(one.sources),
                reason=one.reason,
            )
            for one in fact.conflicts
        ],
    )
