"""What claims are held against: facts, targets, instructions, refs, builds, kernels. Operations supply it.

The checker knows no journal and no documents: `resolve` opens refs of every kind, so tests can hand in small worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kbserver.claims.model import Evidence
from kbserver.core.model import SourceRef
from kbserver.core.targets import Targets
from kbserver.hardware import units
from kbserver.hardware.fact_model import Fact, FactTable
from kbserver.hardware.known_claims import KnownClaim

MAX_SOURCES = 2
KeyedFigures = Mapping[str, int | float]


@dataclass(frozen=True)
class KernelFigures:
    """What is published of a kernel on `arch`, and what its problem cannot do without."""

    name: str
    arch: str
    figures: KeyedFigures
    not_reproduced: tuple[str, ...]
    source: str
    bytes_moved: int
    """Bytes of inputs and outputs at the published shape, each moved once."""
    variant: int = 0
    """The step number that a text may call it by."""


@dataclass(frozen=True)
class BuildFigures:
    """What the kernels of one build take: kernel name -> figures."""

    build_id: str
    arch: str
    compiler: str
    kernels: Mapping[str, KeyedFigures]


def _no_ref(ref: str) -> str:
    raise LookupError(ref)


@dataclass(frozen=True)
class World:
    """Everything that decides a verdict.

    exists(name, arch) -> bool, or None when no table of that target is there. is_family(name): a beginning of names.
    replacement(name, arch) -> what takes its place. canonical(name, arch) -> the
    name by which the tables call it. resolve(ref) -> title; build(id) and run(id) -> what they recorded:
    the three raise LookupError or KbError when nothing has the ref.
    """

    facts: FactTable
    targets: Targets
    exists: Callable[[str, str], bool | None] = lambda name, arch: None
    is_family: Callable[[str], bool] = lambda name: False
    replacement: Callable[[str, str], str | None] = lambda name, arch: None
    canonical: Callable[[str, str], str] = lambda name, arch: name
    elsewhere: Callable[[str], tuple[str, ...]] = lambda name: ()
    isa_source: str | None = None
    is_document: Callable[[str], bool] = lambda path: False
    resolve: Callable[[str], str] = _no_ref
    build: Callable[[str], BuildFigures] = _no_ref  # type: ignore[assignment]
    run: Callable[[str], Mapping[str, Any]] = _no_ref  # type: ignore[assignment]
    sources: Mapping[str, Any] = field(default_factory=dict)
    kernels: Mapping[str, KernelFigures] = field(default_factory=dict)
    known: tuple[KnownClaim, ...] = ()

    @cached_property
    def archs(self) -> tuple[str, ...]:
        return tuple(self.targets.archs)

    def fact_of(self, key: str, arch: str, product: str | None) -> Fact | None:
        """Return the fact of a meaning for a product, else for the whole target; None when it is unknown."""
        best = None
        for fact in self.facts.with_key(key):
            if fact.arch not in (arch, "any") or not fact.known:
                continue
            if fact.product == product and product is not None:
                return fact
            if fact.product is None and (not fact.products or product is None or product in fact.products):
                best = fact
        return best

    def facts_of_arch(self, key: str, arch: str) -> list[Fact]:
        """Return every figure of a meaning on a target: one of the target, or those of its products."""
        return [fact for fact in self.facts.with_key(key) if fact.arch in (arch, "any") and fact.known]


def fact_evidence(fact: Fact) -> Evidence:
    """Return a fact as evidence: what it says and who says so; a value that others give is named as well."""
    text = f"{fact.title}: {units.full(fact.value, fact.unit)}"
    return Evidence(ref=f"fact:{fact.id}", text=text, source=cited(fact.sources))


def cited(sources: tuple[SourceRef, ...]) -> str | None:
    """Return the first sources of a figure as one line."""
    shown = [f"{one.title} ({one.locator})" if one.locator else one.title for one in sources[:MAX_SOURCES]]
    return "; ".join(shown) or None
