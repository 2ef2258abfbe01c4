"""What about a profile cannot be, and what its units and counting do to a reader who does not know them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from kbserver.core.errors import KbError
from kbserver.runs.profiler_import.gathered import PASSES, WAVES_COUNTER, Dispatch, Gathered, expected_waves
from kbserver.runs.profiler_import.old_versions import arches_of, old_version_notes
from kbserver.runs.profiler_import.report import ImportedAgent, ImportedKernel, Impossible
from kbserver.runs.profiler_import.units import PERCENT

Odd = Callable[[str, float, str], None]
CYCLES = ("GRBM_GUI_ACTIVE", "GRBM_COUNT")
"""Counters of the elapsed clocks."""
# a <= b for counters of one dispatch: (a, b, why a larger a cannot be)
_ORDERED = (
    ("SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE", "conflict cycles are part of the active ones"),
    ("TCC_HIT_sum", "TCC_REQ_sum", "hits are part of the requests"),
    ("TCC_MISS_sum", "TCC_REQ_sum", "misses are part of the requests"),
    ("SQ_INSTS_VALU_FMA_F32", "SQ_INSTS_VALU", "these instructions are part of all VALU ones"),
    ("SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM", "reads are part of all vector memory instructions"),
)
_PER_REQUEST = (
    ("FETCH_SIZE", ("TCC_EA0_RDREQ_sum", "TCC_EA_RDREQ_sum"), 128),
    ("WRITE_SIZE", ("TCC_EA0_WRREQ_sum", "TCC_EA_WRREQ_sum"), 64),
)
"""Kilobytes, the requests that carried them, bytes of the largest request."""
MAX_CLOCK_MHZ, MOST_XCCS = 3000, 8
LONG_US = 1000.0
"""Some 300,000 clocks around a kernel are a seventh of a millisecond: of longer kernels they are little."""
# Metrics of rocprofv3 with GRBM_GUI_ACTIVE in the denominator (rocprofv3-counter-defs, expressions).
OVER_CYCLES = re.compile(
    r"(MFMA|Mfma)Util|[VS]ALUBusy|\w+PipeIssueUtil|LDSBankConflict|LdsUtil|OccupancyPercent|MeanOccupancyPerCU"
    r"|MemUnit(Busy|Stalled)|WriteUnitStalled|ALUStalledByLDS|BANDWIDTH_EA"
)
_LIMITS = (
    ("workgroup", 1024, "a workgroup has at most 1,024 work-items"),
    ("vgprs", 512, "a wavefront has at most 512 vector registers"),
    ("lds_bytes", 160 * 1024, "no target has more than 160 KiB of LDS"),
)


def impossible_values(kernel: str, dispatches: Sequence[Dispatch]) -> list[Impossible]:
    """Return each kind of impossible value once, at its first dispatch."""
    found: dict[str, Impossible] = {}

    def odd(counter: str, value: float, reason: str) -> None:
        found.setdefault(counter, Impossible(kernel=kernel, counter=counter, value=value, reason=reason))

    for one in dispatches:
        if one.start is not None and one.end is not None and one.end < one.start:
            odd("duration", (one.end - one.start) / 1e3, "the end is before the start")
        for field, limit, why in _LIMITS:
            value = getattr(one, field)
            if value is not None and not 0 <= value <= limit:
                odd(field, value, why)
        _odd_counters(one, odd)
    return list(found.values())


def _odd_counters(one: Dispatch, odd: Odd) -> None:
    counters = one.counters
    for name, value in counters.items():
        if value < 0:
            odd(name, value, "a count cannot be negative: computed from counters of different passes; treat it as zero")
        elif PERCENT.fullmatch(name) and value > 100:
            odd(name, value, "above 100 %: a wrong peak, or a counter that is summed over XCDs divided by one of one")
    for size, requests, largest in _PER_REQUEST:
        count = next((counters[name] for name in requests if name in counters), None)
        if count is not None and counters.get(size, 0.0) * 1024 > largest * count * 1.01:
            odd(size, counters[size], f"KB in {count:g} requests of at most {largest} bytes: bytes taken for KB, or "
                "another pass")  # fmt: skip
    for part, whole, why in _ORDERED:
        if part in counters and whole in counters and counters[part] > counters[whole]:
            odd(part, counters[part], f"more than {whole} = {counters[whole]:g}: {why}; different passes, or overflow")
    waves, expected = counters.get(WAVES_COUNTER), expected_waves(one)
    if waves and expected and waves != expected:
        odd(WAVES_COUNTER, waves, f"the grid has {expected} wavefronts of 64: {_how_far(waves / expected)}")


def _how_far(ratio: float) -> str:
    """Return what a count of wavefronts that is not the grid's may mean."""
    if ratio > 1 and ratio == int(ratio):
        return f"{int(ratio)} times as many: summed over instances or dispatches that each saw all of them"
    if ratio < 1:
        return "counted on part of the chip, or the wavefronts of a profiler that was started late"
    return "another launch is in it, or saved and restored wavefronts were counted twice"


def odd_agents(agents: Sequence[ImportedAgent]) -> list[Impossible]:
    """Return compute units that are neither the product's nor those of one of its partitions."""
    from kbserver.hardware.facts import load_facts

    found: dict[str, Impossible] = {}
    for agent in agents:
        if not (agent.product and agent.arch and agent.compute_units):
            continue
        try:
            cus = load_facts().get(f"{agent.arch}.{agent.product.lower()}.compute.cus").value
        except KbError:
            continue
        whole = agent.xccs in (None, 1) and isinstance(cus, int) and cus % agent.compute_units == 0
        if agent.compute_units != cus and not whole:
            reason = f"{agent.product} has {cus} CUs in {agent.xccs} XCDs: masked or early silicon, peaks are not its"
            found[agent.product] = Impossible(
                kernel=None, counter="compute_units", value=agent.compute_units, reason=reason
            )
    return list(found.values())


def notes_of(gathered: Gathered, kernels: Sequence[ImportedKernel]) -> list[str]:
    """Return what a reader must know before using the figures."""
    notes = list(gathered.notes)
    if kernels:
        notes.append("grid counts work-items, not workgroups; registers are allocated ones, rounded up")
    if kernels and not any(kernel.counters for kernel in kernels):
        notes.append("no counters were collected: times and resources only")
    if any(kernel.duration for kernel in kernels) and not any(one.timed for one in gathered.dispatches):
        notes.append("all times are of runs with counters: counting changes them, use a kernel trace for times")
    if gathered.blank:
        notes.append(f"{gathered.blank} counter cells are blank or no number and were left out")
    if any(kernel.lds_bytes == 0 and _counts(kernel, "SQ_INSTS_LDS") for kernel in kernels):
        notes.append("LDS bytes 0 beside LDS instructions: the column leaves out LDS that is requested at launch")
    notes += old_version_notes(arches_of((one.get("arch") for one in gathered.agents), kernels), kernels)
    notes += _clock_notes(gathered, kernels)
    if gathered.summed:
        shown = ", ".join(sorted(gathered.summed)[:3])
        notes.append(
            f"several rows for one dispatch and counter ({shown}) were summed: one is an XCC or instance; a share or a "
            "maximum must not be summed"
        )
    if PASSES not in notes and _passes_differ(gathered.dispatches):
        notes.append(PASSES)
    if gathered.samples:
        notes.append("samples show where wavefronts are, not how long an instruction takes; few samples are anecdotes")
    return notes


def _passes_differ(dispatches: Sequence[Dispatch]) -> bool:
    """Return whether launches of one kernel were counted with different counters."""
    seen: dict[str, frozenset[str]] = {}
    return any(
        seen.setdefault(one.kernel, frozenset(one.counters)) != frozenset(one.counters)
        for one in dispatches
        if one.counters
    )


def _clock_notes(gathered: Gathered, kernels: Sequence[ImportedKernel]) -> list[str]:
    """Explain cycle counters that are sums: set against the time they give clocks that no chip has."""
    notes = []
    counters = {(kernel.short_name, one.name): one.median for kernel in kernels for one in kernel.counters}
    found = next(((kernel, counters[kernel.short_name, name], name) for kernel in kernels for name in CYCLES
                  if (kernel.short_name, name) in counters), None)  # fmt: skip
    if found is not None:
        kernel, cycles, name = found
        xccs = {one["xccs"] for one in gathered.agents if one.get("xccs")}
        known = (
            f"{xccs.pop()} here" if len(xccs) == 1 else "8 on MI300X and MI350X, 6 on MI300A, 1 on MI200, in SPX mode"
        )
        text = f"GRBM counters are sums over the XCDs: divide by their number, {known}"
        if kernel.duration and kernel.duration.median_us:
            mhz = cycles / kernel.duration.median_us
            if mhz > MAX_CLOCK_MHZ:
                text += f"; as it stands {name} of {kernel.short_name} would mean {mhz / 1000:.1f} GHz"
                if mhz > MAX_CLOCK_MHZ * MOST_XCCS:
                    text += f", and {mhz / 1000 / MOST_XCCS:.1f} by {MOST_XCCS} XCDs"
        notes.append(text)
    return [*notes, *_short_kernels(kernels)]


def _short_kernels(kernels: Sequence[ImportedKernel]) -> list[str]:
    """Say that the clocks around a kernel are counted too, and which figures have them below the line."""
    for kernel in kernels:
        over = [one.name for one in kernel.counters if one.name in CYCLES or OVER_CYCLES.fullmatch(one.name)]
        time = kernel.duration.median_us if kernel.duration else None
        if not over or (time is not None and time >= LONG_US):
            continue
        whose = "a kernel below 1 ms" if time is None else f"{kernel.short_name}, {time:g} us,"
        text = (
            f"GRBM_GUI_ACTIVE of {whose} counts time around it too: of copies of 13 to 17 us 311,000 to 378,000 cycles "
            "an XCD on MI300, ten times the kernel, and 1.8 times on MI200 [rocprof-compute-test-data]"
        )
        shares = [name for name in over if name not in CYCLES]
        if shares:
            text += f"; {', '.join(shares[:4])} divide by it and are too low by as much"
        return [f"{text}; take SQ_BUSY_CYCLES over the shader engines, or a longer kernel"]
    return []


def _counts(kernel: ImportedKernel, name: str) -> bool:
    return any(counter.name == name and counter.median > 0 for counter in kernel.counters)
