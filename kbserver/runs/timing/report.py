"""What a timing run returns; the record of a run keeps it whole."""

from __future__ import annotations

from kbserver.core.model import Record, Result
from kbserver.runs.report import Finding


class TimedDevice(Record):
    """The device that times were taken on. figures: what they may be used as."""

    kind: str
    name: str
    arch: str
    driver: str
    library: str
    bus: str
    compute_units: int
    figures: str


class Timing(Record):
    """Times of one kernel in one cache state. ci: where the true median lies, at the method's confidence."""

    median_ms: float
    ci: list[float]
    n: int
    min_ms: float
    max_ms: float
    dropped_outliers: int
    dropped_throttled: int


class Ratio(Record):
    """Time of the kernel over time of the baseline, pair by pair."""

    median: float
    ci: list[float]
    pairs: int
    verdict: str


class Ratios(Record):
    cold: Ratio | None
    warm: Ratio | None


class Baseline(Record):
    """What the kernel was timed against, in the same run. findings: what is wrong with the baseline's own output."""

    name: str
    about: str
    cold: Timing | None
    warm: Timing | None
    findings: list[Finding]


class FloorReport(Record):
    """Times below which a result is impossible, in ms; null: not known, and reason says why."""

    memory_ms: float | None
    compute_ms: float | None
    unit: str | None
    product: str | None
    facts: list[str]
    bytes: int
    flops: int
    reason: str | None


class DeviceFigures(Record):
    """Measured in this run: an empty window, and a copy of device memory counted in bytes read and written."""

    empty_window_ms: float
    copy_gb_s: float
    copy_of_problem_ms: float
    """How long copying as many bytes as the problem must move takes: no cold kernel is much faster."""


class DeviceState(Record):
    """A reading of the device; null where it cannot be read here."""

    clock_mhz: float | None
    memory_clock_mhz: float | None
    power_w: float | None
    temperature_c: float | None
    busy_percent: float | None
    other_processes: int | None
    throttle: list[str] | None


class Clocks(Record):
    """Readings before the first launch and after the last batch, and the range of all batches."""

    before: DeviceState | None
    after: DeviceState | None
    lowest_mhz: float | None
    highest_mhz: float | None


class CheckedOutputs(Record):
    """What was looked at of the kernel's outputs: every launch's, none left out."""

    launches: int
    complete: int
    elements: int
    written: int
    gate_run: str | None
    """Verdict of the verification on small and held-out shapes before the first timed launch."""


class TimingSeconds(Record):
    build_s: float
    gate_s: float
    measure_s: float
    total_s: float


class TimeReport(Result):
    """Times of a kernel and the verdict. cold: no cache holds its data; warm: the inputs were just read."""

    run_id: str
    verdict: str
    reason: str
    kernel: str
    source: str
    task: str
    arch: str
    decided_by: str
    device: TimedDevice
    device_decided_by: str
    shape: str
    sizes: dict[str, int]
    build_id: str
    compiler: str
    resources: dict[str, int]
    cold: Timing | None
    warm: Timing | None
    baseline: Baseline | None
    ratio: Ratios | None
    floor_ms: float | None
    floor: FloorReport
    measured_device: DeviceFigures | None
    clocks: Clocks
    checks: CheckedOutputs
    findings: list[Finding]
    method_id: str
    method: dict[str, str | int | float]
    sets: int
    warmup_batches: int
    warmup_stable: bool
    stopped_by: str
    seed: str
    notes: list[str]
    times: TimingSeconds
