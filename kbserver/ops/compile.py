"""`compile_kernel` (`kb compile`): what a kernel costs in registers, LDS, scratch and instructions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kbserver.core.errors import KbError, UsageError
from kbserver.core.model import SourceRef
from kbserver.core.targets import features_of
from kbserver.ops.compile_results import (
    CompileReport,
    CompilerInfo,
    DiagnosticLine,
    Finding,
    HotLoop,
    KernelOccupancy,
    KernelReport,
    PublishedFigure,
)
from kbserver.ops.registry import Arg, operation

if TYPE_CHECKING:
    from kbserver.runs.task import Task, Variant
    from kbserver.toolchain.assembly import Function
    from kbserver.toolchain.build import Build
    from kbserver.toolchain.sources import Snapshot

DEFAULT_ARCH = "gfx950"
MAX_KERNELS = 50
TOP_MNEMONICS = 12
LIMITER_FIELDS = {
    "vgpr": ("vgprs", "vgpr_granule"),
    "sgpr": ("sgprs", "sgpr_granule"),
    "lds": ("lds_bytes", "lds_granule"),
    "waves": ("waves_per_simd",),
    "workgroups": ("workgroups_per_cu",),
}
"""Limiting resource -> the constants of the occupancy model that make it limit."""
OUR_FIGURES = {"waves_per_simd": "compiler_waves_per_simd"}
"""Published figure -> the key of ours that it is compared with, where the names differ."""


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
        Arg(
            "A kernel by name (of kernels/ or reference_kernels/), or a .hip file.",
            positional=True,
            file_argument="path",
            stdin_argument="source",
        ),
    ] = None,
    path: Annotated[str | None, Arg("A kernel source file; quoted includes inside its folder are found.")] = None,
    source: Annotated[str | None, Arg("The kernel source as text.")] = None,
    arch: Annotated[
        str | None, Arg("Target or product: gfx90a, gfx942, MI300X, ...; default gfx950.", flags=("--arch", "-a"))
    ] = None,
    defines: Annotated[
        dict[str, str] | None,
        Arg("Macros: NAME=VALUE, or NAME for 1; repeat for more.", flags=("-D", "--define"), metavar="NAME=VALUE"),
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
    shape: Annotated[str | None, Arg("Shape of a case-study kernel with its sizes built in; default: paper.")] = None,
    compare: Annotated[
        str | None,
        Arg("Another kernel to set this one against: a name, or a source file.", metavar="BEFORE"),
    ] = None,
) -> CompileReport:
    """Compile a HIP kernel for one AMD GPU target and read what it costs: VGPRs, AGPRs, SGPRs, LDS, scratch, spills,
    waves per SIMD and the limiter, instruction mix, hot loop, warnings, and certain findings with their evidence.
    Give exactly one of name (a kernel of the case study), path or source. Needs no GPU. Use it before you state a
    register count or occupancy, and after each change of a kernel; inspect_assembly then shows the code of the build.
    A failed compile is an error with the diagnostics; no other target is tried.
    """  # fmt: skip
    if workgroup is not None and not 1 <= workgroup <= 1024:
        raise UsageError("a workgroup has 1 to 1,024 work-items", where="workgroup")
    target, decided_by = resolve_target(arch)
    features = features_of(arch or "")
    if features:
        decided_by = f"given, with {features.strip(':').replace(':', ' ')}"
    options = _Options(target, decided_by, defines, flags, compiler, workgroup, features)
    origin = find_origin(name=name, path=path, source=source, shape=shape)
    before = None
    if compare is not None:
        from kbserver.ops.other import looks_like_file

        other, is_file = compare.strip(), looks_like_file(compare.strip())
        # A shape is of a kernel with a name: beside a file, the other kernel has its published one.
        before = find_origin(
            name=None if is_file else other,
            path=other if is_file else None,
            source=None,
            shape=None if is_file or name is None else shape,
        )
    report = _compile(origin, options)
    if before is None:
        return report
    from kbserver.ops.compile_compare import compare_builds

    entries = tuple(one.variant.entry if one.variant else None for one in (before, origin))
    return report.model_copy(update={"comparison": compare_builds(_compile(before, options), report, entries)})


@dataclass(frozen=True)
class _Options:
    """How sources are built: the same for both of a comparison."""

    target: str
    decided_by: str
    defines: dict[str, str] | None
    flags: list[str] | None
    compiler: str | None
    workgroup: int | None
    features: str


def _compile(origin: Origin, options: _Options) -> CompileReport:
    """Build a source and read what its kernels cost."""
    from kbserver.toolchain.assembly import parse_assembly

    target, defines, flags = options.target, options.defines, options.flags
    built = build_origin(
        origin, target, features=options.features, defines=defines, flags=flags, compiler=options.compiler
    )
    program = parse_assembly(built.assembly_text)
    variant = origin.variant
    launched = _launches(origin, built.assembly_text)
    reports, findings = [], []
    for function in program.kernels[:MAX_KERNELS]:
        report, found = _kernel_report(function, target, options.workgroup, launched.get(function.name))
        reports.append(report)
        findings += found
    return CompileReport(
        build_id=built.build_id,
        source=f"kernel:{variant.name}" if variant else built.source,
        arch=target,
        decided_by=options.decided_by,
        compiler=CompilerInfo(kind=built.compiler_kind, version=built.compiler_version, isolation=built.isolation),
        cached=built.cached,
        compile_s=built.compile_s,
        flags=list(built.flags),
        kernels=reports,
        total_kernels=len(program.kernels),
        diagnostics=[_diagnostic(item) for item in built.diagnostics.shown],
        total_diagnostics=built.diagnostics.total,
        precheck=[*_build_findings(built, len(program.kernels)), *findings],
        published=_published(origin, target, reports) if not (defines or flags) else [],
    )


@dataclass(frozen=True)
class Origin:
    """Where the source of a build comes from; `task`, `variant` and `shape` only for a kernel given by name."""

    snapshot: Snapshot
    task: Task | None = None
    variant: Variant | None = None
    shape: str | None = None


def find_origin(*, name: str | None, path: str | None, source: str | None, shape: str | None = None) -> Origin:
    """Return the source that is meant. Raises UsageError unless exactly one of name, path and source is given."""
    from kbserver.toolchain.sources import from_file, from_text

    given = [key for key, value in (("name", name), ("path", path), ("source", source)) if value is not None]
    if len(given) != 1:
        raise UsageError(
            f"give exactly one of name, path and source ({' and '.join(given) or 'none'} given)",
            hint="kb compile step3_nchw_lds, kb compile my_kernel.hip",
        )
    if name is not None:
        from kbserver.runs.task import find_kernel

        task, variant = find_kernel(name.strip().removeprefix("kernel:"))
        shape = shape or task.published_shape
        task.dimensions(shape)
        return Origin(from_file(task.source(variant)), task, variant, shape)
    if shape is not None:
        raise UsageError("a shape belongs to a kernel given by name", where="shape", hint="give the sizes as defines")
    return Origin(from_file(Path(path).expanduser()) if path is not None else from_text(source or ""))


def build_origin(
    origin: Origin,
    target: str,
    *,
    features: str = "",
    defines: dict[str, str] | None = None,
    flags: list[str] | None = None,
    compiler: str | None = None,
) -> Build:
    """Build a source for a target; a named kernel is built only for the targets that its task lists."""
    from kbserver.toolchain.build import build

    own: dict[str, str] = {}
    if origin.task and origin.variant and origin.shape:
        if target not in origin.variant.arches:
            raise UsageError(
                f"{origin.variant.name} is written for {', '.join(origin.variant.arches)}, not for {target}",
                where="arch",
                hint="give its file as path to compile it anyway",
            )
        own = origin.task.defines(origin.variant, origin.shape)
    return build(
        origin.snapshot,
        target,
        features=features,
        defines=own | (defines or {}),
        flags=flags or (),
        compiler=compiler,
    )


def resolve_target(arch: str | None) -> tuple[str, str]:
    """Return (gfx target, how that was decided) of an argument. Raises UnknownName."""
    from kbserver.core.targets import targets

    return targets().resolve(arch) if arch is not None else (DEFAULT_ARCH, "default")


def _launches(origin: Origin, text: str) -> dict[str, tuple[int, int]]:
    """Return (work-items of a workgroup, bytes of dynamic LDS) of each kernel that a named variant launches."""
    from kbserver.runs.expression import evaluate
    from kbserver.toolchain.names import symbol_in

    if origin.task is None or origin.variant is None or origin.shape is None:
        return {}
    sizes = origin.task.dimensions(origin.shape)
    found: dict[str, tuple[int, int]] = {}
    for step in origin.variant.steps:
        x, y, z = step.sizes_of("block", sizes)
        symbol = symbol_in(text, step.entry)
        items, lds = found.get(symbol, (0, 0))
        found[symbol] = max(items, x * y * z), max(lds, int(evaluate(step.lds, sizes)))
    return found


def _kernel_report(
    function: Function, target: str, workgroup: int | None, launch: tuple[int, int] | None
) -> tuple[KernelReport, list[Finding]]:
    from kbserver.ops.compile_findings import kernel_findings
    from kbserver.toolchain.mix import count_classes, hot_loop
    from kbserver.toolchain.names import demangle
    from kbserver.toolchain.resources import kernel_resources

    resources = kernel_resources(function)
    items, dynamic_lds = launch or (None, 0)
    workgroup = workgroup or items or resources.workgroup_max
    occupancy, problem = _occupancy(target, resources, workgroup, dynamic_lds)
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


def _occupancy(
    target: str, resources: object, workgroup: int | None, dynamic_lds: int
) -> tuple[KernelOccupancy | None, str | None]:
    from kbserver.hardware.occupancy import occupancy

    figures = {
        key: getattr(resources, field)
        for key, field in (("vgprs", "vgprs"), ("agprs", "agprs"), ("sgprs", "sgprs"), ("lds", "lds_bytes"))
    }
    unknown = [key for key, value in figures.items() if value is None]
    if unknown or workgroup is None:
        return None, f"the compiler gave no number for {', '.join(unknown) or 'the workgroup size'}"
    figures["lds"] += dynamic_lds
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
            explanation=list(found.explanation),
            facts=_limiter_facts(target, found.limiter),
        ),
        None,
    )


def _limiter_facts(target: str, limiter: str) -> list[str]:
    from kbserver.hardware.occupancy_model import load_constants

    constants = load_constants(target, None)
    fields = [field for name in limiter.split("+") for field in LIMITER_FIELDS.get(name, ())]
    return [constants.fact_id(field) for field in fields]


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


def _published(origin: Origin, target: str, reports: list[KernelReport]) -> list[PublishedFigure]:
    """Return the published figures beside ours, when target, shape and macros are those that they are about."""
    task, variant = origin.task, origin.variant
    if task is None or variant is None or variant.published is None:
        return []
    published = variant.published
    if published.arch != target or origin.shape != task.published_shape:
        return []
    from kbserver.core.sources import cite
    from kbserver.toolchain.names import plain_name

    ours = next((report for report in reports if variant.entry in (report.name, plain_name(report.name))), None)
    source = cite(published.source, published.locator)
    figures: list[PublishedFigure] = []
    for figure, value in published.figures:
        if value is not None:
            mine = getattr(ours, OUR_FIGURES.get(figure, figure), None) if ours else None
            figures.append(_beside(figure, value, mine, source, figure in published.not_reproduced))
    loop = ours.hot_loop.mnemonics if ours and ours.hot_loop else {}
    for mnemonic, count in published.loop.items():
        name = f"loop.{mnemonic}"
        mine = loop.get(mnemonic, 0) if ours else None
        figures.append(_beside(name, count, mine, source, name in published.not_reproduced))
    return figures


def _beside(
    figure: str, published: int | float, ours: int | float | None, source: SourceRef, known: bool
) -> PublishedFigure:
    return PublishedFigure(
        figure=figure,
        published=published,
        ours=ours,
        match=None if ours is None else ours == published,
        note="known difference, see kernels/task.yaml" if known else None,
        source=source,
    )
