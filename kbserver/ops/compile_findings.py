"""Findings of a compiled kernel: only what the build proves, each with the figure it was read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbserver.ops.compile_results import Finding, KernelReport

if TYPE_CHECKING:
    from kbserver.toolchain.resources import Resources

NOP_SHARE = 0.10
"""From this share of the hot loop on, no-operation slots are worth a word."""


def kernel_findings(kernel: KernelReport, resources: Resources, occupancy_problem: str | None) -> list[Finding]:
    """Return the findings of one kernel, the costly ones first."""
    found: list[tuple[str, str, str, str]] = []
    for check in (_scratch, _occupancy_unknown, _does_not_fit, _no_bound, _registers, _remark_differs, _nops, _flat):
        found += check(kernel, resources, occupancy_problem)
    return [
        Finding(code=code, severity=severity, kernel=kernel.name, message=message, evidence=evidence)
        for code, severity, message, evidence in found
    ]


def _scratch(kernel: KernelReport, resources: Resources, _: str | None) -> list[tuple[str, str, str, str]]:
    spills = (resources.vgpr_spills or 0) + (resources.sgpr_spills or 0)
    if not resources.scratch_bytes and not spills and not resources.dynamic_stack:
        return []
    in_loop = kernel.hot_loop.mix.get("scratch", 0) if kernel.hot_loop else 0
    where = f"; {in_loop} scratch accesses are in the hot loop" if in_loop else ""
    stack = ", dynamic stack" if resources.dynamic_stack else ""
    return [
        (
            "scratch",
            "warning",
            f"values live in scratch (memory behind the caches), not in registers{where}",
            f"scratch_bytes {resources.scratch_bytes} per lane, vgpr_spills {resources.vgpr_spills}, "
            f"sgpr_spills {resources.sgpr_spills}{stack}",
        )
    ]


def _occupancy_unknown(_: KernelReport, __: Resources, problem: str | None) -> list[tuple[str, str, str, str]]:
    return [("occupancy_unknown", "warning", "the occupancy cannot be computed", problem)] if problem else []


def _does_not_fit(kernel: KernelReport, _: Resources, __: str | None) -> list[tuple[str, str, str, str]]:
    if kernel.occupancy is None or kernel.occupancy.workgroups_per_cu > 0:
        return []
    return [
        (
            "does_not_fit",
            "error",
            f"a workgroup of {kernel.occupancy.workgroup} work-items does not fit on a compute unit: it cannot launch",
            f"limiter {kernel.occupancy.limiter}",
        )
    ]


def _no_bound(kernel: KernelReport, resources: Resources, _: str | None) -> list[tuple[str, str, str, str]]:
    if resources.workgroup_max != 1024:
        return []
    return [
        (
            "no_launch_bounds",
            "warning",
            "workgroups of up to 1,024 work-items are planned for: without __launch_bounds__(N) registers are limited "
            "for that case, and compiler_waves_per_simd is the best case over all sizes",
            ".max_flat_workgroup_size 1024",
        )
    ]


def _registers(kernel: KernelReport, _: Resources, __: str | None) -> list[tuple[str, str, str, str]]:
    occupancy = kernel.occupancy
    if occupancy is None or "vgpr" not in occupancy.limiter.split("+") or not occupancy.next_step:
        return []
    return [
        (
            "vgpr_limited",
            "info",
            f"registers decide the {occupancy.waves_per_simd:g} waves per SIMD; {occupancy.next_step}",
            f"vgprs {kernel.vgprs}, agprs {kernel.agprs}",
        )
    ]


def _remark_differs(kernel: KernelReport, _: Resources, __: str | None) -> list[tuple[str, str, str, str]]:
    occupancy, remark = kernel.occupancy, kernel.compiler_waves_per_simd
    if occupancy is None or remark is None or remark == occupancy.waves_per_simd:
        return []
    why = ""
    if kernel.workgroup_max is not None and occupancy.workgroup < kernel.workgroup_max:
        why = "the remark takes the best workgroup size of the declared range"
    elif occupancy.waves_per_simd != int(occupancy.waves_per_simd):
        why = "the waves do not spread evenly: ours is the average over the SIMDs, the remark a whole number"
    gets = f"a launch of {occupancy.workgroup} work-items gets {occupancy.waves_per_simd:g} waves per SIMD"
    return [
        (
            "remark_differs",
            "info",
            f"{gets}, the compiler's remark says {remark}: {why}" if why else f"{gets}. {occupancy.explanation[-1]}",
            f"workgroup_max {kernel.workgroup_max}, limiter {occupancy.limiter}",
        )
    ]


def _nops(kernel: KernelReport, _: Resources, __: str | None) -> list[tuple[str, str, str, str]]:
    loop = kernel.hot_loop
    nops = loop.mix.get("nop", 0) if loop else 0
    if loop is None or nops < NOP_SHARE * loop.instructions:
        return []
    return [
        (
            "nops_in_hot_loop",
            "info",
            f"{nops} of {loop.instructions} instructions of the hot loop are s_nop: slots that do no work",
            f"loop {loop.label}, assembly lines {loop.lines[0]}-{loop.lines[1]}",
        )
    ]


def _flat(kernel: KernelReport, _: Resources, __: str | None) -> list[tuple[str, str, str, str]]:
    flat = kernel.instruction_mix.get("flat", 0)
    if not flat:
        return []
    return [
        (
            "flat_access",
            "info",
            "flat accesses: the compiler could not tell global memory from LDS, and each counts for both waits",
            f"{flat} flat_* instructions",
        )
    ]
