"""Where a GPU's report differs from the fact table, why, and which value to trust."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from kbserver.core.errors import UnknownName
from kbserver.core.model import Record, SourceRef
from kbserver.core.targets import targets
from kbserver.hardware.identify import Gpu


class FactTable(Protocol):
    """What this module needs: `get(id)` returns an entry with value and sources, or raises UnknownName."""

    def get(self, fact_id: str) -> Any: ...


class Difference(Record):
    """One field on which the report and the fact table disagree; sizes in bytes, clocks in MHz."""

    gpus: tuple[int, ...]
    """Indices of the GPUs that report this."""
    field: str
    reported: int | None
    reference: int
    fact: str
    """The ref of the fact, for `kb read` and `kb fact`."""
    trust: str
    """`reference`, `reported`, or `unsettled`."""
    explanation: str
    sources: tuple[SourceRef, ...] = ()


@dataclass(frozen=True)
class _Shape:
    """How many dies the product has and how many compute units in all; None when no fact says."""

    cus: int | None
    dies: int | None
    die: str


@dataclass(frozen=True)
class _Rule:
    field: str
    fact: str
    """Fact id below `<arch>.`; `{product}` makes it a fact of the product."""
    judge: Callable[[Gpu, int, _Shape], tuple[str, str]]
    """(GPU, reference value, shape) -> (trust, explanation)."""
    report_absent: bool = False


def differences(gpus: list[Gpu], facts: FactTable) -> list[Difference]:
    """Return the differences of all GPUs, equal ones of several GPUs merged."""
    merged: dict[tuple[Any, ...], list[Difference]] = {}
    for gpu in gpus:
        for difference in _of_one(gpu, facts):
            key = (difference.field, difference.reported, difference.fact)
            merged.setdefault(key, []).append(difference)
    return [
        same[0].model_copy(update={"gpus": tuple(index for one in same for index in one.gpus)})
        for same in merged.values()
    ]


def _of_one(gpu: Gpu, facts: FactTable) -> Iterator[Difference]:
    if gpu.arch not in targets().archs:
        return
    shape = _shape(gpu, facts)
    for rule in _RULES:
        if "{product}" in rule.fact and gpu.product is None:
            continue
        fact_id = f"{gpu.arch}.{rule.fact.format(product=_slug(gpu.product))}"
        fact = _get(facts, fact_id)
        reported = getattr(gpu, rule.field)
        if fact is None or not isinstance(fact.value, int) or reported == fact.value:
            continue
        if reported is None and not (rule.report_absent and fact.value and gpu.l2_bytes is not None):
            continue
        trust, explanation = rule.judge(gpu, fact.value, shape)
        yield Difference(
            gpus=(gpu.index,),
            field=rule.field,
            reported=reported,
            reference=fact.value,
            fact=f"fact:{fact_id}",
            trust=trust,
            explanation=explanation,
            sources=tuple(fact.sources),
        )


def partition(gpu: Gpu, facts: FactTable) -> str | None:
    """Return what the compute units say about partitions, as a stated inference; None when nothing can be said."""
    shape = _shape(gpu, facts)
    if gpu.compute_units is None or not shape.cus or not shape.dies:
        return None
    whose = gpu.product or f"every {gpu.arch} product in the fact table"
    has = f"{whose} has {shape.cus} CUs in {shape.dies} {shape.die}{'s' if shape.dies > 1 else ''}"
    if gpu.compute_units == shape.cus:
        return f"whole device: {has}" if shape.dies > 1 else None
    if shape.cus % gpu.compute_units:
        return f"unknown: {gpu.compute_units} CUs are no even part ({has})"
    parts = shape.cus // gpu.compute_units
    if shape.die == "GCD":
        return f"one GCD: {has}, and each GCD is a device of its own"
    if parts == shape.dies:
        return f"looks like CPX, one XCD per agent: {has}, this agent {gpu.compute_units}"
    return f"looks like {parts} partitions of {shape.dies // parts} XCDs: {has}, this agent {gpu.compute_units}"


def _shape(gpu: Gpu, facts: FactTable) -> _Shape:
    """Return the shape of the GPU's product, or the one that all products of its target share."""
    if gpu.arch not in targets().archs:
        return _Shape(None, None, "XCD")
    die = "GCD" if _get(facts, f"{gpu.arch}.caches.l2_bytes_per_gcd") else "XCD"
    names = [gpu.product] if gpu.product else [p.name for p in targets().products.values() if p.arch == gpu.arch]
    shapes = set()
    for name in names:
        values = [_get(facts, f"{gpu.arch}.{_slug(name)}.compute.{field}") for field in ("cus", f"{die.lower()}s")]
        if all(values):
            shapes.add(tuple(fact.value for fact in values))
    if len(shapes) != 1:
        return _Shape(None, None, die)
    cus, dies = shapes.pop()
    return _Shape(cus, dies, die)


def _get(facts: FactTable, fact_id: str) -> Any:
    try:
        fact = facts.get(fact_id)
    except UnknownName:
        return None
    return None if fact is None or fact.value is None else fact


def _slug(product: str | None) -> str:
    return (product or "").lower().replace(" ", "")


def _kib(value: int | None) -> str:
    return "none" if value is None else f"{value // 1024} KB"


def _l1(gpu: Gpu, reference: int, shape: _Shape) -> tuple[str, str]:
    return "reference", (
        "rocminfo prints what the table of its ROCm version holds, not what the chip has: early ROCm 6 printed 16 KB"
        f" for gfx942; the reference is {_kib(reference)}"
    )


def _l2(gpu: Gpu, reference: int, shape: _Shape) -> tuple[str, str]:
    if shape.dies and gpu.l2_bytes == reference * shape.dies:
        return "reference", (
            f"{_kib(gpu.l2_bytes)} is the sum over {shape.dies} {shape.die}s, as some ROCm versions print it; each"
            f" {shape.die} has its own {_kib(reference)}, and a workgroup sees only that one"
        )
    return "reference", (
        f"the L2 that rocminfo prints depends on the ROCm version (MI300X was printed with 8192, 32768 and 4096 KB);"
        f" each {shape.die} has {_kib(reference)}"
    )


def _l3(gpu: Gpu, reference: int, shape: _Shape) -> tuple[str, str]:
    if gpu.l3_bytes is None:
        return "reference", "older rocminfo versions print no L3 line; the Infinity Cache is there all the same"
    return "reference", "the L3 that rocminfo prints depends on the ROCm version"


def _line(gpu: Gpu, reference: int, shape: _Shape) -> tuple[str, str]:
    return "reference", (
        "rocminfo prints 64 or 128 by ROCm version and does not say for which cache; the reference is the L2 line"
    )


def _cus(gpu: Gpu, reference: int, shape: _Shape) -> tuple[str, str]:
    reason = gpu.partition or "no known partition mode gives this number"
    return "reported", f"{reason}. The report counts this agent, the reference the whole product"


def _clock(gpu: Gpu, reference: int, shape: _Shape) -> tuple[str, str]:
    return "reported", (
        "the driver reports the limit that is set on this device (power profile, virtual function, partition or early"
        " stepping); compute peaks from the reported clock"
    )


def _lds(gpu: Gpu, reference: int, shape: _Shape) -> tuple[str, str]:
    return "unsettled", (
        "no known cause: some runtimes have under-stated LDS. The compiler accepts the reference size; a launch that"
        " asks for more than the runtime's figure may still be refused, so try one"
    )


def _fixed(gpu: Gpu, reference: int, shape: _Shape) -> tuple[str, str]:
    return "unsettled", "no known cause for this difference: check the record, and report it if it is complete"


_RULES = (
    _Rule("lds_bytes", "lds.bytes_per_workgroup", _lds),
    _Rule("wavefront_size", "execution.wavefront_size", _fixed),
    _Rule("simds_per_cu", "execution.simds_per_cu", _fixed),
    _Rule("max_waves_per_cu", "execution.max_waves_per_cu", _fixed),
    _Rule("max_workgroup_size", "execution.max_workgroup_size", _fixed),
    _Rule("compute_units", "{product}.compute.cus", _cus),
    _Rule("max_clock_mhz", "{product}.clock.max_engine_mhz", _clock),
    _Rule("l1_bytes", "caches.l1_vector_bytes", _l1),
    _Rule("l2_bytes", "caches.l2_bytes_per_xcd", _l2),
    _Rule("l2_bytes", "caches.l2_bytes_per_gcd", _l2),
    _Rule("l3_bytes", "caches.infinity_cache_bytes", _l3, report_absent=True),
    _Rule("cacheline_bytes", "caches.l2_line_bytes", _line),
)
