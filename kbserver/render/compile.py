"""Text of `compile_kernel`: one table of figures, then what the build proves, shortest first."""

from __future__ import annotations

from kbserver.ops.compile_results import CompileReport, KernelReport
from kbserver.render.compare import say_comparison
from kbserver.render.document import Document
from kbserver.render.registry import renders

MAX_DIAGNOSTICS = 10


@renders(CompileReport)
def _(report: CompileReport) -> Document:
    state = "cached" if report.cached else f"compiled in {report.compile_s:.2f} s"
    document = Document().say(
        f"{report.source} for {report.arch} ({report.decided_by}); build:{report.build_id}, {state}; "
        f"{report.compiler.kind} {report.compiler.version}, isolation {report.compiler.isolation}"
        + (f"; flags {' '.join(report.flags)}" if report.flags else "")
    )
    if report.comparison is not None:
        return say_comparison(document, report.comparison).say(f"before: {report.comparison.before_ref}")
    document.table(
        ("kernel", "VGPR", "AGPR", "SGPR", "LDS B", "scratch B", "spills", "waves/SIMD", "limiter", "remark", "instr"),
        [_row(kernel) for kernel in report.kernels],
    )
    if report.total_kernels > len(report.kernels):
        document.say(f"{report.total_kernels - len(report.kernels)} more kernels are not shown.")
    for kernel in report.kernels:
        _say_kernel(document, kernel, several=len(report.kernels) > 1)
    document.table(
        ("figure", "published", "ours", "match"),
        [(item.figure, item.published, item.ours if item.ours is not None else "not measured here",
          "-" if item.match is None else item.note or item.match) for item in report.published],
        title=f"Published by {report.published[0].source.title}:" if report.published else None,
    )  # fmt: skip
    for finding in report.precheck:
        of = f" {finding.kernel}" if finding.kernel and len(report.kernels) > 1 else ""
        document.say(f"{finding.severity}{of} [{finding.code}]: {finding.message} ({finding.evidence})")
    _say_diagnostics(document, report)
    return document


def _row(kernel: KernelReport) -> tuple[object, ...]:
    spills = None if kernel.vgpr_spills is None else kernel.vgpr_spills + (kernel.sgpr_spills or 0)
    occupancy = kernel.occupancy
    return (
        kernel.demangled or kernel.name,
        kernel.vgprs,
        kernel.agprs,
        kernel.sgprs,
        kernel.lds_bytes,
        kernel.scratch_bytes,
        spills,
        occupancy.waves_per_simd if occupancy else None,
        occupancy.limiter if occupancy else None,
        kernel.compiler_waves_per_simd,
        kernel.instructions,
    )


def _say_kernel(document: Document, kernel: KernelReport, *, several: bool) -> None:
    prefix = f"{kernel.name}: " if several else ""
    if kernel.occupancy:
        document.say(
            f"{prefix}waves/SIMD for workgroups of {kernel.occupancy.workgroup} work-items, {_limits(kernel)} "
            f"[{', '.join(kernel.occupancy.facts)}]; remark = the compiler's own figure"
        )
    document.say(f"{prefix}mix: {_counts(kernel.instruction_mix)}")
    loop = kernel.hot_loop
    if loop:
        at = f", source {loop.source}" if loop.source else ""
        document.say(
            f"{prefix}largest innermost loop {loop.label} (assembly lines {loop.lines[0]}-{loop.lines[1]}{at}): "
            f"{loop.instructions} instructions, {_counts(loop.mnemonics)}"
        )


def _limits(kernel: KernelReport) -> str:
    limits = kernel.occupancy.limits if kernel.occupancy else {}
    return "each resource alone: " + ", ".join(
        f"{name} {value:g}" if value is not None else f"{name} not used" for name, value in limits.items()
    )


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _say_diagnostics(document: Document, report: CompileReport) -> None:
    for item in report.diagnostics[:MAX_DIAGNOSTICS]:
        place = f"{item.file}:{item.line}: " if item.file and item.line else ""
        document.say(f"{place}{item.severity}: {item.message}" + (f" [{item.flag}]" if item.flag else ""))
    rest = report.total_diagnostics - min(len(report.diagnostics), MAX_DIAGNOSTICS)
    if rest > 0:
        document.say(f"{rest} more messages of the compiler.")
