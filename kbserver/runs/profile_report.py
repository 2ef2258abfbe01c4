"""What a profile returns. Figures are per wavefront unless a name says otherwise."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from kbserver.core.model import Record, Result, SourceRef
from kbserver.runs.compare import Comparison
from kbserver.runs.profiler_import.report import ImportedProfile
from kbserver.runs.rocprof.report import ProfilerRuns


class LdsRule(Record):
    """How accesses of one kind and width were modelled. basis: measured, vendor or model (see the page on profiles)."""

    access: str
    bytes: int
    banks: int
    phases: int
    basis: str
    source: SourceRef


class LdsSummary(Record):
    """LDS per wavefront. accesses counts instructions; active_passes = ideal_passes + conflict_passes."""

    accesses: float
    reads: float
    writes: float
    bytes: float
    ideal_passes: float
    conflict_passes: float
    active_passes: float
    misaligned: float
    model: list[LdsRule]


class GlobalSummary(Record):
    """Global memory per wavefront. requests: wave instructions; lines: distinct cache lines that they touch.

    lines_read: those of loads alone; null in records of older versions.
    """

    requests: float
    reads: float
    writes: float
    lines: float
    lines_read: float | None = None
    lines_per_request: float | None
    line_bytes: int
    bytes: float
    bytes_read: float
    bytes_written: float


class ScratchSummary(Record):
    """Scratch (private memory, spills) per wavefront."""

    requests: float
    bytes: float


class MemorySite(Record):
    """One memory instruction. passes_per_access is the LDS's, lines_per_request global memory's."""

    instruction: str
    line: int
    source: str | None
    access: str
    executions: float
    active_lanes: float
    passes_per_access: float | None
    conflicts_per_access: float | None
    lines_per_request: float | None


class SourceLine(Record):
    """What one line of the source executes: wave instructions per wavefront and their classes."""

    source: str
    instructions: float
    share_percent: float
    mix: dict[str, float]


class HotLoop(Record):
    """The innermost loop that executes most instructions: its body as it stands in the code, and how often it runs."""

    label: str
    source: str | None
    iterations: float
    instructions: int
    share_percent: float
    mix: dict[str, int]
    mnemonics: dict[str, int]


class PublishedCounter(Record):
    """A published counter beside ours; difference_percent is ours against theirs."""

    counter: str
    published: float
    ours: float | None
    difference_percent: float | None
    explanation: str | None
    source: SourceRef


class ProfileTimes(Record):
    """Seconds of wall clock by part."""

    build_s: float = 0.0
    load_s: float = 0.0
    count_s: float = 0.0
    total_s: float = 0.0


class ProfileReport(Result):
    """Counted instructions and accesses of one launch. exact_addresses: every workgroup was recorded."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)

    run_id: str = ""
    kernel: str = ""
    source: str = ""
    task: str = ""
    arch: str = ""
    decided_by: str = ""
    device: str = ""
    device_decided_by: str = ""
    build_id: str = ""
    compiler: str = ""
    shape: str = ""
    sizes: dict[str, int] = Field(default_factory=dict)
    grid: list[int] = Field(default_factory=list)
    block: list[int] = Field(default_factory=list)
    seed: int = 0
    workgroups: int = 0
    waves: int = 0
    sampled_workgroups: int = 0
    exact_addresses: bool = False
    per_wave: dict[str, float] = Field(default_factory=dict)
    mix: dict[str, float] = Field(default_factory=dict)
    active_lanes: float | None = None
    lds: LdsSummary | None = None
    global_: GlobalSummary | None = Field(alias="global", default=None)
    scratch: ScratchSummary | None = None
    hot_loop: HotLoop | None = None
    hot_lines: list[SourceLine] = Field(default_factory=list)
    sites: list[MemorySite] = Field(default_factory=list)
    total_sites: int = 0
    published: list[PublishedCounter] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    times: ProfileTimes = ProfileTimes()
    imported: ImportedProfile | None = None
    """What a profiler measured, with `--from`; without a kernel it is all that there is."""
    profiler: ProfilerRuns | None = None
    """With `--device hip`: how rocprofv3 measures this launch, and whether it did."""
    comparison: Comparison | None = None
    """With `--compare`: the other kernel beside this one."""
