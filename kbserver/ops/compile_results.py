"""What `compile_kernel` returns."""

from __future__ import annotations

from kbserver.core.model import Record, Result, SourceRef
from kbserver.runs.compare import Comparison


class CompilerInfo(Record):
    """The compiler behind the figures. `isolation` says whether the source could read other files: landlock or none."""

    kind: str
    version: str
    isolation: str


class KernelOccupancy(Record):
    """Waves of this kernel on one compute unit; `limits` gives what each resource alone would allow."""

    workgroup: int
    waves_per_simd: int | float
    workgroups_per_cu: int
    limiter: str
    limits: dict[str, int | float | None]
    """Resource -> waves per SIMD; null when the kernel does not use it."""
    next_step: str
    explanation: list[str]
    """The arithmetic, one line a resource; the last line is about the compiler's remark."""
    facts: list[str]
    """Refs of the facts behind the limiter; `kb occupancy` cites all."""


class HotLoop(Record):
    """The innermost loop with the most instructions. The text does not say how often it runs."""

    label: str
    depth: int
    instructions: int
    mix: dict[str, int]
    mnemonics: dict[str, int]
    lines: tuple[int, int]
    """First and last line in the assembly text."""
    source: str | None


class KernelReport(Record):
    """One kernel. A figure is null when the compiler gave no number."""

    name: str
    demangled: str | None
    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    lds_bytes: int | None
    scratch_bytes: int | None
    vgpr_spills: int | None
    sgpr_spills: int | None
    workgroup_max: int | None
    compiler_waves_per_simd: int | None
    occupancy: KernelOccupancy | None
    instruction_mix: dict[str, int]
    hot_loop: HotLoop | None
    instructions: int
    code_bytes: int | None


class DiagnosticLine(Record):
    severity: str
    message: str
    file: str | None
    line: int | None
    column: int | None
    flag: str | None


class Finding(Record):
    """Something certain that costs speed or makes a figure mislead, with what it was seen on."""

    code: str
    severity: str
    kernel: str | None
    message: str
    evidence: str


class PublishedFigure(Record):
    """A figure that others published for this kernel beside ours; `match` is null where we have none."""

    figure: str
    published: int | float
    ours: int | float | None
    match: bool | None
    note: str | None = None
    source: SourceRef


class CompileReport(Result):
    """What one build gave."""

    build_id: str
    source: str
    arch: str
    decided_by: str
    compiler: CompilerInfo
    cached: bool
    compile_s: float
    flags: list[str]
    kernels: list[KernelReport]
    total_kernels: int
    diagnostics: list[DiagnosticLine]
    total_diagnostics: int
    precheck: list[Finding]
    published: list[PublishedFigure]
    comparison: Comparison | None = None
    """With `--compare`: the other kernel's resources beside this one's."""
