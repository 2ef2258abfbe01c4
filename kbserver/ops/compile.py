"""`compile_kernel` (`kb compile`): what a kernel costs in registers, LDS, scratch and instructions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kbserver.core.errors import KbError, UsageError
from kbserver.core.model import Record, Result, SourceRef
from kbserver.ops.registry import Arg, operation

if TYPE_CHECKING:
    from kbserver.runs.task import Variant
    from kbserver.toolchain.assembly import Function
    from kbserver.toolchain.build import Build
    from kbserver.toolchain.sources import Snapshot

MAX_KERNELS = 50
TOP_MNEMONICS = 12


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
    sources: list[SourceRef]


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


@operation(
    name="compile_kernel",
    command="compile",
    title="Compile a kernel and read its resources",
    toolset="compile",
    read_only=False,
)
def compile_kernel(
    name: Annotated[
        str | None,
        Arg("A kernel of the case study (kernels/task.yaml) or a .hip file.", positional=True,
            file_argument="path", stdin_argument="source"),
    ] = None,
    path: Annotated[str | None, Arg("A kernel source file; quoted includes inside its folder are found.")] = None,
    source: Annotated[str | None, Arg("The kernel source as text.")] = None,
    arch: Annotated[
        str, Arg("Target, generation or product: gfx90a, gfx942, gfx950, MI300X, ...", flags=("--arch", "-a"))
    ] = "gfx950",
    defines: Annotated[
        dict[str, str] | None,
        Arg("Macros: NAME=VALUE, or NAME alone for 1; repeat for more.", flags=("-D", "--define"), metavar="NAME=VALUE"),
    ] = None,
    flags: Annotated[
        list[str] | None, Arg("Compiler flag from the allowed list, such as -O2; repeat for more.", flags=("--flag",))
    ] = None,
    compiler: Annotated[
        str | None, Arg("rocm, system, ziglang or a path that `kb doctor` lists; default: the first that works.")
    ] = None,
    workgroup: Annotated[
        int | None, Arg("Work-items of a workgroup as launched, for the occupancy; default: the declared bound.")
    ] = None,
) -> CompileReport:
    """Compile a HIP kernel for one AMD GPU target and read what it costs: VGPRs, AGPRs, SGPRs, LDS, scratch, spills,
    waves per SIMD and the limiter, instruction mix, hot loop, warnings, and certain findings with their evidence.
    Give exactly one of name (a kernel of the case study), path or source. Needs no GPU. Use it before you state a
    register count or occupancy, and after each change of a kernel; inspect_assembly then shows the code of the build.
    A failed compile is an error with the diagnostics; no other target is tried.
    """  # fmt: skip
    from kbserver.toolchain.assembly import parse_assembly

    if workgroup is not None and not 1 <= workgroup <= 1024:
        raise UsageError("a workgroup has 1 to 1,024 work-items", where="workgroup")
    target, decided_by = _target(arch)
    built, variant = build_named(
        name=name, path=path, source=source, target=target, defines=defines, flags=flags, compiler=compiler
    )
    program = parse_assembly(built.assembly_text)
    launched = workgroup or (variant.block_size if variant else None)
    reports, findings = [], []
    for function in program.kernels[:MAX_KERNELS]:
        report, found = _kernel_report(function, target, launched)
        reports.append(report)
        findings += found
    return CompileReport(
        build_id=built.build_id,
        source=f"kernel:{variant.name}" if variant else built.source,
        arch=target,
        decided_by=decided_by,
        compiler=CompilerInfo(kind=built.compiler_kind, version=built.compiler_version, isolation=built.isolation),
        cached=built.cached,
        compile_s=built.compile_s,
        flags=list(built.flags),
        kernels=reports,
        total_kernels=len(program.kernels),
        diagnostics=[_diagnostic(item) for item in built.diagnostics.shown],
        total_diagnostics=built.diagnostics.total,
        precheck=[*_build_findings(built, len(program.kernels)), *findings],
        published=_published(variant, target, reports) if not defines and not flags else [],
    )


def build_named(
    *,
    name: str | None,
    path: str | None,
    source: str | None,
    target: str,
    defines: dict[str, str] | None = None,
    flags: list[str] | None = None,
    compiler: str | None = None,
) -> tuple[Build, Variant | None]:
    """Build the one source that is named. Raises UsageError unless exactly one of name, path and source is given."""
    from kbserver.toolchain.build import build

    snapshot, variant = _snapshot(name, path, source)
    own = dict(variant.defines) if variant else {}
    return build(snapshot, target, flags=flags or (), defines=own | (defines or {}), compiler=compiler), variant


def _snapshot(name: str | None, path: str | None, source: str | None) -> tuple[Snapshot, Variant | None]:
    from kbserver.toolchain.sources import from_file, from_text

    given = [key for key, value in (("name", name), ("path", path), ("source", source)) if value is not None]
    if len(given) != 1:
        raise UsageError(
            f"give exactly one of name, path and source ({'none' if not given else ' and '.join(given)} given)",
            hint="kb compile step3_nchw_lds, kb compile my_kernel.hip",
        )
    if name is not None:
        from kbserver.runs.task import find_variant

        variant = find_variant(name.strip().removeprefix("kernel:"))
        return from_file(variant.source), variant
    return (from_file(Path(path).expanduser()) if path is not None else from_text(source or "")), None


def _target(arch: str) -> tuple[str, str]:
    from kbserver.core.targets import targets

    return targets().resolve(arch)


def _kernel_report(
    function: Function, target: str, launched: int | None
) -> tuple[KernelReport, list[Finding]]:
    from kbserver.ops.compile_findings import kernel_findings
    from kbserver.toolchain.mix import count_classes, hot_loop
    from kbserver.toolchain.names import demangle
    from kbserver.toolchain.resources import kernel_resources

    resources = kernel_resources(function)
    workgroup = launched or resources.workgroup_max
    occupancy, problem = _occupancy(target, resources, workgroup)
    loop = hot_loop(function)
    report = KernelReport(
        name=function.name,
        demangled=demangle(function.name),
        vgprs=resources.vgprs,
        agprs=resources.agprs,
        sgprs=resources.sgprs,
        lds_bytes=resources.lds_bytes,
        scratch_bytes=resources.scratch_bytes,
        vgpr_spills=resources.vgpr_spills,
        sgpr_spills=resources.sgpr_spills,
        workgroup_max=resources.workgroup_max,
        compiler_waves_per_simd=resources.compiler_waves_per_simd,
        occupancy=occupancy,
        instruction_mix=count_classes(function.instructions),
        hot_loop=_hot_loop(function, loop) if loop else None,
        instructions=len(function.instructions),
        code_bytes=resources.code_bytes,
    )
    return report, kernel_findings(report, resources, problem)


def _occupancy(target: str, resources: object, workgroup: int | None) -> tuple[KernelOccupancy | None, str | None]:
    from kbserver.hardware.occupancy import occupancy

    figures = {
        key: getattr(resources, field)
        for key, field in (("vgprs", "vgprs"), ("agprs", "agprs"), ("sgprs", "sgprs"), ("lds", "lds_bytes"))
    }
    unknown = [key for key, value in figures.items() if value is None]
    if unknown or workgroup is None:
        return None, f"the compiler gave no number for {', '.join(unknown) or 'the workgroup size'}"
    try:
        found = occupancy(arch=target, workgroup=workgroup, **figures)
    except KbError as error:
        return None, error.one_line()
    return (
        KernelOccupancy(
            workgroup=workgroup,
            waves_per_simd=found.waves_per_simd,
            workgroups_per_cu=found.workgroups_per_cu,
            limiter=found.limiter,
            limits={key: limit.waves_per_simd for key, limit in found.limits.items()},
            next_step=found.next_step,
            sources=list(found.sources),
        ),
        None,
    )


def _hot_loop(function: Function, loop: object) -> HotLoop:
    from kbserver.toolchain.mix import count_classes, count_mnemonics

    body = loop.body(function.instructions)  # type: ignore[attr-defined]
    places = [item.source for item in body if item.source is not None and not item.source.file.startswith("../")]
    files = {place.file for place in places}
    span = None
    if len(files) == 1:
        lines = sorted(place.line for place in places)
        span = f"{places[0].file}:{lines[0]}-{lines[-1]}"
    return HotLoop(
        label=loop.label,  # type: ignore[attr-defined]
        depth=loop.depth,  # type: ignore[attr-defined]
        instructions=len(body),
        mix=count_classes(body),
        mnemonics=count_mnemonics(body, TOP_MNEMONICS),
        lines=(body[0].line, body[-1].line),
        source=span,
    )


def _diagnostic(item: object) -> DiagnosticLine:
    from dataclasses import asdict

    return DiagnosticLine(**asdict(item))  # type: ignore[call-overload]


def _build_findings(built: Build, kernels: int) -> list[Finding]:
    findings = []
    if not kernels:
        findings.append(
            Finding(
                code="no_kernel",
                severity="warning",
                kernel=None,
                message="the source has no __global__ function that is emitted: a template needs an instantiation",
                evidence="no .amdhsa_kernel in the assembly",
            )
        )
    if built.isolation == "none":
        findings.append(
            Finding(
                code="not_isolated",
                severity="warning",
                kernel=None,
                message="this kernel has no Landlock: the compiler could read every file that you can",
                evidence="isolation: none",
            )
        )
    return findings


def _published(variant: Variant | None, target: str, reports: list[KernelReport]) -> list[PublishedFigure]:
    if variant is None or not variant.published or variant.published_arch != target:
        return []
    from kbserver.core.sources import cite

    ours = next((report for report in reports if report.name == variant.entry), None)
    figures = []
    for figure, published in variant.published.items():
        key = {"waves_per_simd": "compiler_waves_per_simd"}.get(figure, figure)
        value = getattr(ours, key, None) if ours else None
        figures.append(
            PublishedFigure(
                figure=figure,
                published=published,
                ours=value,
                match=None if value is None else value == published,
                source=cite(variant.published_source, variant.published_locator),
            )
        )
    return figures
