"""What an import returns. Values are as the profiler wrote them; what is odd about them is said beside them."""

from __future__ import annotations

from kbserver.core.model import Record


class ImportedFile(Record):
    """One file: what it is, how many rows were read, or why it was not."""

    path: str
    format: str | None
    rows: int
    refused: str | None = None


class DurationSummary(Record):
    """Microseconds over the dispatches of a kernel, from the profiler's nanosecond timestamps."""

    dispatches: int
    median_us: float
    min_us: float
    max_us: float
    total_us: float


class CounterValue(Record):
    """One counter: the median over the dispatches that have it, the same per wavefront, and its unit where it traps.

    per_wave is null where a counter does not count what wavefronts do.
    """

    name: str
    median: float
    total: float
    dispatches: int
    per_wave: float | None
    unit: str | None


class ImportedKernel(Record):
    """One kernel. Sizes in bytes; grid in work-items, as the profilers count it; vgprs as allocated, rounded up."""

    name: str
    short_name: str
    dispatches: int
    duration: DurationSummary | None
    grid: int | None
    workgroup: int | None
    waves: int | None
    waves_from: str | None
    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    lds_bytes: int | None
    scratch_bytes: int | None
    counters: list[CounterValue]
    total_counters: int


class Impossible(Record):
    """A value that cannot be, and the likely reason. Advice must not rest on it."""

    kernel: str | None
    counter: str
    value: float
    reason: str


class ImportedAgent(Record):
    """A GPU as the profiler saw it."""

    name: str
    arch: str | None
    product: str | None
    compute_units: int | None
    xccs: int | None
    lds_bytes: int | None
    max_clock_mhz: int | None


class SampledInstruction(Record):
    """Where program counter samples fell. stalls: reasons by share of the samples that were not issued."""

    instruction: str
    source: str | None
    samples: int
    share_percent: float
    active_lanes: float
    stalls: dict[str, float]


class TracedInstruction(Record):
    """One instruction of a thread trace, in clocks summed over its executions."""

    instruction: str
    source: str | None
    hits: int
    latency: int
    stall: int | None
    idle: int | None


class ComparedCounter(Record):
    """A counter per wavefront as imported, and as the emulator counts it.

    ratio: imported by emulated, null where that is 0. remark: where the two do not count the same.
    """

    counter: str
    imported: float
    emulated: float
    difference_percent: float | None
    ratio: float | None
    remark: str | None = None


class ImportedProfile(Record):
    """Everything that was read. notes: what a reader must know about units and counting."""

    source: str
    files: list[ImportedFile]
    kernels: list[ImportedKernel]
    total_kernels: int
    agents: list[ImportedAgent]
    samples: list[SampledInstruction]
    total_samples: int
    trace: list[TracedInstruction]
    roofline: dict[str, float]
    impossible: list[Impossible]
    compared: list[ComparedCounter]
    notes: list[str]
