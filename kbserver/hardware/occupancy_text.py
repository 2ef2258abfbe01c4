"""The words of an occupancy answer: each resource's arithmetic, the compiler's remark, and the next step up."""

from __future__ import annotations

from collections.abc import Iterator

from kbserver.hardware.occupancy import (
    Constants,
    Kernel,
    Occupancy,
    compiler_remark,
    round_up,
    sgpr_waves,
)


def explain(constants: Constants, result: Occupancy) -> Iterator[str]:
    """Yield the arithmetic of each resource, then the outcome, then why the compiler's remark can differ."""
    yield _vgpr_line(constants, result)
    if result.sgprs:
        yield _sgpr_line(constants, result)
    if result.lds_bytes:
        yield _lds_line(constants, result)
    yield _wave_line(constants, result)
    yield _outcome(constants, result)
    yield _remark_line(constants, result)


def _vgpr_line(constants: Constants, result: Occupancy) -> str:
    line = f"VGPR: {result.vgprs}"
    if result.agprs:
        total = round_up(result.vgprs, constants.agpr_offset_granule) + result.agprs
        line += (
            f" VGPRs (rounded up to {constants.agpr_offset_granule}) + {result.agprs} AGPRs = {total}"
            f"; both share one file of {constants.vgprs} per SIMD lane"
        )
    waves = constants.vgprs // result.allocated_vgprs
    line += (
        f", rounded up to {result.allocated_vgprs} (granule {constants.vgpr_granule}):"
        f" floor({constants.vgprs} / {result.allocated_vgprs}) = {waves} {_plural(waves, 'wave')} per SIMD"
    )
    if waves > constants.waves_per_simd:
        line += f", capped at {constants.waves_per_simd}"
    if result.vgprs > constants.vgprs // 2 and not result.agprs:
        line += (
            f". An instruction addresses {constants.vgprs // 2} VGPRs and {constants.vgprs // 2} AGPRs;"
            " the figure is read as their sum"
        )
    return line + "."


def _sgpr_line(constants: Constants, result: Occupancy) -> str:
    allocated = round_up(result.sgprs, constants.sgpr_granule)
    waves = sgpr_waves(constants, result.sgprs)
    line = (
        f"SGPR: {result.sgprs} rounded up to {allocated}, + {constants.trap_sgprs} of the trap handler that ROCm"
        f" installs, of {constants.sgprs} per SIMD: {waves} waves per SIMD"
    )
    if waves > constants.waves_per_simd:
        line += f", capped at {constants.waves_per_simd}"
    elif waves > constants.sgprs // (allocated + constants.trap_sgprs):
        line += f" (LLVM counts {waves} with all {constants.sgprs_addressable} addressable SGPRs in use, never fewer)"
    return line + "."


def _lds_line(constants: Constants, result: Occupancy) -> str:
    groups = constants.lds_bytes // result.allocated_lds_bytes
    elsewhere = ", ".join(f"{size // 1024} KiB on {arch}" for arch, size in constants.lds_elsewhere)
    line = (
        f"LDS: {result.lds_bytes:,} B rounded up to {result.allocated_lds_bytes:,} B (granule"
        f" {constants.lds_granule:,} B) of {constants.lds_bytes:,} B per CU"
        f" ({constants.lds_bytes // 1024} KiB on {constants.arch}"
        + (f"; {elsewhere})" if elsewhere else ")")
        + f": {groups} {_plural(groups, 'workgroup')} per CU."
    )
    for granule in constants.contested_lds_granules:
        other = constants.lds_bytes // round_up(result.lds_bytes, granule)
        if other != groups:
            line += (
                f" The granule is contested: {granule:,} B would give {other}"
                f" ({constants.fact_id('lds_granule')} has both sources)."
            )
    return line


def _wave_line(constants: Constants, result: Occupancy) -> str:
    waves = result.waves_per_workgroup
    line = f"Workgroup: {result.workgroup} threads = {waves} {_plural(waves, 'wave')} of {constants.wavefront_size}"
    idle = waves * constants.wavefront_size - result.workgroup
    if idle:
        line += f" (the last with {idle} idle lanes)"
    line += f"; at most {constants.waves_per_simd} waves per SIMD, {constants.waves_per_cu} per CU"
    if waves == 1:
        return line + ", and a workgroup of one wave needs no barrier slot."
    return line + f", and {constants.workgroups_per_cu} workgroups of several waves per CU."


def _outcome(constants: Constants, result: Occupancy) -> str:
    groups, waves = result.workgroups_per_cu, result.waves_per_workgroup
    names = result.limiter.replace("+", " and ")
    if not groups:
        return (
            f"One workgroup does not fit on a CU (limited by {names}): this kernel cannot be launched with"
            f" {result.workgroup} threads."
        )
    return (
        f"{groups} {_plural(groups, 'workgroup')} x {waves} {_plural(waves, 'wave')} = {result.waves_per_cu} waves over"
        f" {constants.simds} SIMDs = {result.waves_per_simd:g} per SIMD, limited by {names}."
    )


def _remark_line(constants: Constants, result: Occupancy) -> str:
    same = result.compiler_remark == result.waves_per_simd
    line = (
        f"The compiler's Occupancy remark (LLVM 22) {'also ' if same else ''}says {result.compiler_remark} when the"
        f" kernel declares at most {result.workgroup} threads. It is the best case over the declared workgroup sizes"
        f" and counts static, but not dynamic LDS"
    )
    kernel = Kernel(
        result.vgprs, result.agprs, result.sgprs, result.lds_bytes, workgroup=constants.workgroup_size
    )
    undeclared = compiler_remark(constants, kernel)
    if undeclared != result.compiler_remark:
        line += f"; without __launch_bounds__ (1 to {constants.workgroup_size} threads) it would say {undeclared}"
    if not same:
        line += ". Here it differs because " + "; ".join(_reasons(constants, result))
    return line + "."


def _reasons(constants: Constants, result: Occupancy) -> Iterator[str]:
    if not result.workgroups_per_cu:
        yield "it keeps the declared size launchable, so such figures come from a kernel declared for fewer threads"
        return
    limiters = result.limiter.split("+")
    if "lds" in limiters and constants.lds_bytes // result.lds_bytes > result.workgroups_per_cu:
        yield (
            "it does not round LDS up to the allocation granule, which overstates (fixed in LLVM after 22:"
            " llvm/llvm-project#205637)"
        )
    if "sgpr" in limiters and constants.sgprs // result.sgprs > sgpr_waves(constants, result.sgprs):
        yield "it leaves out the SGPRs of the trap handler"
    exact = result.compiler_remark - result.waves_per_simd
    if result.waves_per_workgroup > 1 and (0 < exact < 1 or "workgroups" in limiters or "waves" in limiters):
        yield f"it does not insist on whole workgroups of {result.waves_per_workgroup} waves and rounds up"
        return
    if exact >= 1 and limiters == ["vgpr"]:
        yield f"whole workgroups of {result.waves_per_workgroup} waves leave free slots that smaller ones would fill"


def next_step(constants: Constants, result: Occupancy) -> str:
    """Return what to change for one more workgroup per CU, or which fixed cap forbids it."""
    goal = result.workgroups_per_cu + 1
    waves_per_cu = goal * result.waves_per_workgroup
    if result.waves_per_cu == constants.waves_per_cu:
        return "none: every wave slot is in use"
    if waves_per_cu > constants.waves_per_cu:
        return f"a smaller workgroup: no more of {result.workgroup} threads fit in {constants.waves_per_cu} wave slots"
    if result.waves_per_workgroup > 1 and goal > constants.workgroups_per_cu:
        return f"a larger workgroup: {constants.workgroups_per_cu} of several waves are the most a CU holds"
    per_simd = -(-waves_per_cu // constants.simds)
    needs = []
    most_vgprs = constants.vgprs // per_simd // constants.vgpr_granule * constants.vgpr_granule
    if result.allocated_vgprs > most_vgprs:
        needs.append(f"<= {most_vgprs} {'VGPRs + AGPRs' if result.agprs else 'VGPRs'}")
    if result.sgprs and sgpr_waves(constants, result.sgprs) < per_simd:
        needs.append(f"<= {_most_sgprs(constants, per_simd)} SGPRs")
    most_lds = constants.lds_bytes // goal // constants.lds_granule * constants.lds_granule
    if result.allocated_lds_bytes > most_lds:
        needs.append(f"<= {most_lds:,} B of LDS")
    waves = waves_per_cu / constants.simds
    return f"{' and '.join(needs)} for {waves:g} waves per SIMD ({goal} {_plural(goal, 'workgroup')} per CU)"


def _most_sgprs(constants: Constants, waves: int) -> int:
    granule = constants.sgpr_granule
    return constants.sgprs // waves // granule * granule - constants.trap_sgprs


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else noun + "s"
