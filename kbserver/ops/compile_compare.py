"""Two builds side by side: registers, memory, occupancy, instruction mix."""

from __future__ import annotations

from kbserver.core.errors import UsageError
from kbserver.ops.compile_results import CompileReport, KernelReport
from kbserver.runs.compare import NOT_TIMED, Comparison, Figure, compare


def compare_builds(before: CompileReport, after: CompileReport, entries: tuple[str | None, str | None]) -> Comparison:
    """Return the kernels of two builds side by side. entries: which kernel of each; None where there is only one.

    Raises UsageError when a build has several kernels and nothing says which.
    """
    first, second = _kernel(before, entries[0]), _kernel(after, entries[1])
    names = (before.source.removeprefix("kernel:"), after.source.removeprefix("kernel:"))
    figures = [
        Figure("VGPRs + AGPRs", _sum(first.vgprs, first.agprs), _sum(second.vgprs, second.agprs), decides=True),
        Figure("SGPRs", first.sgprs, second.sgprs),
        Figure("LDS bytes", first.lds_bytes, second.lds_bytes, decides=True),
        Figure("scratch bytes", first.scratch_bytes, second.scratch_bytes, decides=True),
        Figure("spilled registers", _spills(first), _spills(second), decides=True),
        Figure("waves per SIMD", _waves(first), _waves(second), "more", decides=True),
        Figure("instructions in the code", first.instructions, second.instructions, None),
        Figure("code bytes", first.code_bytes, second.code_bytes, None),
        *_mix("", first.instruction_mix, second.instruction_mix),
    ]
    if first.hot_loop and second.hot_loop:
        figures.append(Figure("hot loop", first.hot_loop.instructions, second.hot_loop.instructions, None))
        figures += _mix("hot loop ", first.hot_loop.mix, second.hot_loop.mix)
    notes = [f"the code does not say how often an instruction runs: kb profile --compare counts; {NOT_TIMED}"]
    if before.compiler.version != after.compiler.version:
        notes.append(f"different compilers: {before.compiler.version} and {after.compiler.version}")
    return compare(
        names if names[0] != names[1] else (f"{names[0]} before", names[1]),
        (f"build:{before.build_id}", f"build:{after.build_id}"),
        "resources", None, figures, notes=notes,
    )  # fmt: skip


def _kernel(report: CompileReport, entry: str | None) -> KernelReport:
    from kbserver.toolchain.names import find_symbol

    names = [one.name for one in report.kernels]
    symbol = find_symbol(entry, names, kind="kernel", where="compare") if entry is not None else None
    found = [one for one in report.kernels if symbol in (None, one.name)]
    if len(found) == 1:
        return found[0]
    raise UsageError(
        f"which kernel is to be compared? {report.source} has: {', '.join(names) or 'none'}", where="compare"
    )


def _mix(prefix: str, first: dict[str, int], second: dict[str, int]) -> list[Figure]:
    return [
        Figure(prefix + name, first.get(name, 0), second.get(name, 0), None)
        for name in dict.fromkeys([*first, *second])
    ]


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _spills(kernel: KernelReport) -> int | None:
    return _sum(kernel.vgpr_spills, kernel.sgpr_spills)


def _waves(kernel: KernelReport) -> float | None:
    return kernel.occupancy.waves_per_simd if kernel.occupancy else None
