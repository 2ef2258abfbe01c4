"""From dispatches to figures by kernel and by wavefront."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from kbserver.core.targets import targets
from kbserver.runs.profiler_import.gathered import WAVES_COUNTER, Dispatch, Gathered, Sample, expected_waves
from kbserver.runs.profiler_import.oddities import impossible_values, notes_of, odd_agents
from kbserver.runs.profiler_import.report import (
    CounterValue,
    DurationSummary,
    ImportedAgent,
    ImportedFile,
    ImportedKernel,
    ImportedProfile,
    Impossible,
    SampledInstruction,
    TracedInstruction,
)
from kbserver.runs.profiler_import.units import PER_WAVE, unit_of

MAX_KERNELS, MAX_SAMPLES, MAX_IMPOSSIBLE = 20, 15, 30
MAX_COUNTERS, FEWEST_COUNTERS = 400, 12
"""Of all kernels together, and of each in any case."""
MAX_NAME, MAX_SHORT = 300, 60
INTEREST = tuple(
    re.compile(pattern)
    for pattern in (
        "SQ_WAVES", "SQ_INSTS_(VALU|SALU|LDS|VMEM|SMEM|MFMA)", "SQ_LDS_(BANK_CONFLICT|IDX_ACTIVE)",
        "(FETCH|WRITE)_SIZE", "GRBM_GUI_ACTIVE", "TCC_(HIT|MISS)_sum", "SQ_(WAVE_CYCLES|BUSY_CU_CYCLES|WAIT_ANY)",
        "SQ_INSTS_.*", "SQ_(WAIT|ACTIVE)_.*", "TCC_(REQ|EA0?_(RD|WR)REQ.*)_sum", "SQ_.*", "TC[CP]_.*",
    )
)  # fmt: skip
"""Counters are listed in this order, the rest by name."""


def summarise(
    source: str, files: list[ImportedFile], gathered: Gathered, wanted: Sequence[str] = ()
) -> ImportedProfile:
    """Return the import of everything that was gathered."""
    groups: dict[str, list[Dispatch]] = defaultdict(list)
    for one in one_each(gathered.dispatches):
        groups[one.kernel].append(one)
    kernels, impossible = [], [Impossible(kernel=k, counter=c, value=v, reason=r) for k, c, v, r in gathered.odd]
    for name, dispatches in groups.items():
        kernel = _kernel(name, dispatches)
        impossible += impossible_values(kernel.short_name, dispatches)
        kernels.append(kernel)
    kernels.sort(
        key=lambda one: (not any(name in one.name for name in wanted), -(one.duration.total_us if one.duration else 0))
    )
    agents = _agents(gathered.agents)
    impossible += odd_agents(agents)
    return ImportedProfile(
        source=source,
        files=files,
        kernels=_shortened(kernels[:MAX_KERNELS]),
        total_kernels=len(kernels),
        agents=agents,
        samples=_samples(gathered.samples),
        total_samples=len(gathered.samples),
        trace=[TracedInstruction(**one) for one in sorted(gathered.trace, key=lambda t: -t["latency"])[:MAX_SAMPLES]],
        roofline=gathered.roofline,
        impossible=impossible[:MAX_IMPOSSIBLE],
        compared=[],
        notes=notes_of(gathered, kernels),
    )


def one_each(dispatches: Sequence[Dispatch]) -> Iterator[Dispatch]:
    """Yield every dispatch once: a run with a trace and counters has it in two files, or two views, at one time."""
    seen: dict[tuple[str, int, int], Dispatch] = {}
    for one in dispatches:
        if one.start is None or one.end is None:
            yield one
            continue
        first = seen.setdefault((one.kernel, one.start, one.end), one)
        if first is not one:
            first.counters.update(one.counters)
            # A time that was taken while counters were is that of a counter run, in whichever file it stands.
            first.timed = first.timed and one.timed
    yield from seen.values()


def _shortened(kernels: Sequence[ImportedKernel]) -> list[ImportedKernel]:
    """Leave the counters that most is asked about, so that a result stays one that can be read."""
    share = max(FEWEST_COUNTERS, MAX_COUNTERS // max(1, len(kernels)))
    return [one.model_copy(update={"counters": one.counters[:share]}) for one in kernels]


def _interest(name: str) -> tuple[int, str]:
    return next((place for place, pattern in enumerate(INTEREST) if pattern.fullmatch(name)), len(INTEREST)), name


def short_name(name: str) -> str:
    """Return a kernel's name without arguments, templates and what tools append; for display only."""
    plain = re.sub(r"\s*(\[clone [^\]]*\]|\(\.kd\)|\.kd)$", "", name).strip()
    plain = re.sub(r"^(void|static|const)\s+", "", plain).replace("(anonymous namespace)::", "")
    depth, kept = 0, []
    for character in plain:
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(character)
    text = "".join(kept).split(" ")[0] or plain
    return text if len(text) <= MAX_SHORT else text[: MAX_SHORT - 3] + "..."


def _kernel(name: str, dispatches: Sequence[Dispatch]) -> ImportedKernel:
    counted = [one for one in dispatches if one.counters]
    waves, waves_from = _waves(counted, dispatches)
    counters = _counters(counted)
    return ImportedKernel(
        name=name if len(name) <= MAX_NAME else name[: MAX_NAME - 3] + "...",
        short_name=short_name(name),
        dispatches=len(dispatches),
        duration=_duration(dispatches),
        grid=_first(dispatches, "grid"),
        workgroup=_first(dispatches, "workgroup"),
        waves=waves,
        waves_from=waves_from,
        vgprs=_first(dispatches, "vgprs"),
        agprs=_first(dispatches, "agprs"),
        sgprs=_first(dispatches, "sgprs"),
        lds_bytes=_first(dispatches, "lds_bytes"),
        scratch_bytes=_first(dispatches, "scratch_bytes"),
        counters=counters,
        total_counters=len(counters),
    )


def _first(dispatches: Sequence[Dispatch], field: str) -> int | None:
    return next((value for one in dispatches if (value := getattr(one, field)) is not None), None)


def _duration(dispatches: Sequence[Dispatch]) -> DurationSummary | None:
    """Return durations of the runs without counters, or of the others when there are no such."""
    spans = [(one.timed, one.end - one.start) for one in dispatches if one.start and one.end and one.end >= one.start]
    times = [ns for timed, ns in spans if timed] or [ns for _, ns in spans]
    if not times:
        return None
    return DurationSummary(
        dispatches=len(times),
        median_us=round(median(times) / 1e3, 3),
        min_us=min(times) / 1e3,
        max_us=max(times) / 1e3,
        total_us=round(sum(times) / 1e3, 3),
    )


def _waves(counted: Sequence[Dispatch], dispatches: Sequence[Dispatch]) -> tuple[int | None, str | None]:
    values = [one.counters[WAVES_COUNTER] for one in counted if one.counters.get(WAVES_COUNTER)]
    if values:
        return int(median(values)), WAVES_COUNTER
    expected = [waves for one in dispatches if (waves := expected_waves(one))]
    return (int(median(expected)), "grid and workgroup, wavefronts of 64") if expected else (None, None)


def _counters(counted: Sequence[Dispatch]) -> list[CounterValue]:
    values: dict[str, list[float]] = defaultdict(list)
    shares: dict[str, list[float]] = defaultdict(list)
    for one in counted:
        waves = one.counters.get(WAVES_COUNTER) or expected_waves(one)
        for name, value in one.counters.items():
            values[name].append(value)
            if waves and PER_WAVE.fullmatch(name):
                shares[name].append(value / waves)
    return [
        CounterValue(
            name=name,
            median=median(found),
            total=sum(found),
            dispatches=len(found),
            per_wave=round(median(shares[name]), 4) if shares.get(name) else None,
            unit=unit_of(name),
        )
        for name, found in sorted(values.items(), key=lambda item: _interest(item[0]))
    ]


def _agents(agents: Sequence[dict[str, Any]]) -> list[ImportedAgent]:
    found = []
    for one in agents:
        known = targets().by_chip_id(one["chip_id"]) if one.get("chip_id") else None
        fields = {key: value for key, value in one.items() if key != "chip_id"}
        found.append(ImportedAgent(**fields, product=known[0].name if known else None))
    return found


def _samples(samples: Sequence[Sample]) -> list[SampledInstruction]:
    groups: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for one in samples:
        groups[one.instruction, one.source].append(one)
    rows = []
    for (instruction, source), group in sorted(groups.items(), key=lambda item: -len(item[1]))[:MAX_SAMPLES]:
        stalls = Counter(one.stall for one in group if one.issued is False and one.stall)
        rows.append(
            SampledInstruction(
                instruction=instruction,
                source=source or None,
                samples=len(group),
                share_percent=round(100 * len(group) / len(samples), 2),
                active_lanes=round(sum(one.lanes for one in group) / len(group), 2),
                stalls={name: round(100 * count / len(group), 1) for name, count in stalls.most_common(4)},
            )
        )
    return rows
