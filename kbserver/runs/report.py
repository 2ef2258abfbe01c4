"""What a verification returns; the record of a run keeps it whole."""

from __future__ import annotations

from pydantic import Field

from kbserver.core.model import Record, Result
from kbserver.runs.compare import Comparison

PASS, FAIL, NOT_VERIFIED = "PASS", "FAIL", "NOT_VERIFIED"


class Finding(Record):
    """Something that is wrong. severity: error decides the verdict, warning and note do not."""

    check: str
    severity: str
    where: str | None
    message: str
    count: int = 1


class WorstElement(Record):
    """A wrong element: index in the output's canonical order, values (null: NaN or infinite), distance in ulp."""

    index: list[int]
    got: float | None
    want: float | None
    ulp: int | None
    shape: str


class ChannelSummary(Record):
    """One channel with wrong elements."""

    channel: int
    mismatches: int
    elements: int
    max_ulp: int


class PerChannel(Record):
    """The channels of the launch with the most wrong elements; the worst of them are listed.

    axis: the letter of the axis whose places are called channels; null when the output is one.
    """

    shape: str
    channels: int
    failing: int
    worst: list[ChannelSummary]
    axis: str | None = None


class LaunchLine(Record):
    """One launch that was compared. inputs: the family of inputs; poison: registers and LDS were filled with NaN."""

    shape: str
    sizes: dict[str, int]
    seed: int
    inputs: str
    order: str
    poison: bool
    elements: int
    mismatches: int
    max_ulp: int
    wave_instructions: int
    wall_s: float


class SecondReference(Record):
    """Another library's result beside our exact one; agrees: every element within float64 rounding."""

    name: str
    elements: int
    max_abs_difference: float
    agrees: bool


class ChecksSummary(Record):
    """The checks that do not look at results: which ran, and on how many workgroups of the launch.

    accesses: of LDS and global memory that were looked at; lost: those for which there was no room. reason: why the
    checks did not end; null when they did.
    """

    checks: list[str]
    shape: str
    workgroups: int
    checked: int
    accesses: int
    lost: int
    reason: str | None = None


class MissingInstruction(Record):
    """An instruction that the device cannot execute, at its first place in the kernel."""

    mnemonic: str
    text: str
    line: int
    source: str | None
    count: int


class SupportSummary(Record):
    """How much of the kernel the device can execute."""

    instructions: int
    supported: int
    missing: list[MissingInstruction]


class Times(Record):
    """Seconds of wall clock by part; cached tells whether the translated code came from the cache."""

    build_s: float
    load_s: float
    launch_s: float
    inputs_s: float
    compare_s: float
    total_s: float
    check_s: float = 0.0
    """Checks of accesses and unwritten memory, once they were prepared beside the load."""
    build_cached: bool
    code_cached: bool


class VerifyReport(Result):
    """The verdict on one kernel and what it rests on. elements and mismatches are sums over all launches."""

    run_id: str
    verdict: str
    reason: str | None
    """Why there is no verdict; null with PASS and FAIL."""
    kernel: str
    source: str
    task: str
    arch: str
    decided_by: str
    device: str
    device_decided_by: str
    reference: str
    output: str | None = None
    """The output that `worst` and `per_channel` are about, and its axes."""
    axes: str | None = None
    second_reference: SecondReference | None
    tolerance: str
    build_id: str | None
    compiler: str | None
    flags: list[str] = Field(default_factory=list)
    """Compiler flags beyond the usual ones."""
    shape: str
    shapes: dict[str, dict[str, int]]
    seeds: list[int]
    orders: list[str]
    elements: int
    mismatches: int
    unwritten: int
    max_abs: float
    max_ulp: int
    worst: list[WorstElement]
    per_channel: PerChannel | None
    findings: list[Finding]
    total_findings: int
    launches: list[LaunchLine]
    support: SupportSummary | None
    notes: list[str] = Field(default_factory=list)
    """What a reader must know about this verdict beyond the rules."""
    times: Times
    checks: ChecksSummary | None = None
    """Races and uses of unwritten memory; null where they were not looked for."""
    comparison: Comparison | None = None
    """With `--compare`: the other kernel, verified on the same inputs, beside this one."""
