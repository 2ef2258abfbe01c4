"""The words of an occupancy answer: each resource's arithmetic, the compiler's remark, and the next step up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kbserver.hardware.occupancy_model import Constants, Kernel, Outcome, compiler_remark, round_up, sgpr_waves


def explain(constants: Constants, outcome: Outcome) -> Iterator[str]:
    """Yield the arithmetic of each resource, then the outcome, then why the compiler's remark can differ."""
    kernel = outcome.kernel
    yield _vgpr_line(constants, kernel)
    if kernel.sgprs:
        yield _sgpr_line(constants, kernel)
    if kernel.lds:
        yield _lds_line(constants, kernel)
    yield _wave_line(constants, kernel)
    yield _outcome_line(constants, outcome)
    yield _remark_line(constants, outcome)


def _vgpr_line(constants: Constants, kernel: Kernel) -> str:
    line = f"VGPR: {kernel.vgprs}"
    if kernel.agprs:
        line += (
            f" VGPRs (rounded up to a multiple of {constants.agpr_offset_granule}) + {kernel.agprs} AGPRs ="
            f" {kernel.total_vgprs(constants)}; both share one file of {constants.vgprs} per SIMD lane"
        )
    allocated = kernel.allocated_vgprs(constants)
    waves = constants.vgprs // allocated
    line += (
        f", rounded up to {allocated} (granule {constants.vgpr_granule}):"
        f" floor({constants.vgprs} / {allocated}) = {_count(waves, 'wave')} per SIMD"
    )
    if waves > constants.waves_per_simd:
        line += f", capped at {constants.waves_per_simd}"
    half = constants.vgprs // 2
    if kernel.vgprs > half and not kernel.agprs:
        line += f". Instructions address {half} VGPRs and {half} AGPRs: the figure is read as their sum"
    return line + "."


def _sgpr_line(constants: Constants, kernel: Kernel) -> str:
    allocated = round_up(kernel.sgprs, constants.sgpr_granule)
    waves = sgpr_waves(constants, kernel.sgprs)
    line = (
        f"SGPR: {kernel.sgprs} rounded up to {allocated}, + {constants.trap_sgprs} of the trap handler that ROCm"
        f" installs, of {constants.sgprs} per SIMD: {_count(waves, 'wave')} per SIMD"
    )
    if waves > constants.waves_per_simd:
        line += f", capped at {constants.waves_per_simd}"
    elif waves > constants.sgprs // (allocated + constants.trap_sgprs):
        line += f" (LLVM counts {waves} with all {constants.sgprs_addressable} addressable SGPRs in use, never fewer)"
    return line + "."


def _lds_line(constants: Constants, kernel: Kernel) -> str:
    allocated = round_up(kernel.lds, constants.lds_granule)
    groups = constants.lds_bytes // allocated
    elsewhere = "".join(f"; {size // 1024} KiB on {arch}" for arch, size in constants.lds_elsewhere)
    line = (
        f"LDS: {kernel.lds:,} B rounded up to {allocated:,} B (granule {constants.lds_granule:,} B) of"
        f" {constants.lds_bytes:,} B per CU ({constants.lds_bytes // 1024} KiB on {constants.arch}{elsewhere}):"
        f" {_count(groups, 'workgroup')} per CU."
    )
    for granule in constants.contested_lds_granules:
        other = constants.lds_bytes // round_up(kernel.lds, granule)
        if other != groups:
            line += (
                f" A granule of {granule:,} B, as another source has it, would give {other}"
                f" ({constants.fact_id('lds_granule')} says why it is not taken)."
            )
    return line


def _wave_line(constants: Constants, kernel: Kernel) -> str:
    waves = kernel.waves(constants)
    line = f"Workgroup: {kernel.workgroup} threads = {_count(waves, 'wave')} of {constants.wavefront_size}"
    idle = waves * constants.wavefront_size - kernel.workgroup
    if idle:
        line += f" (the last with {_count(idle, 'idle lane')})"
    line += f"; at most {constants.waves_per_simd} waves per SIMD, {constants.waves_per_cu} per CU"
    if waves == 1:
        return line + ", and a workgroup of one wave needs no barrier slot."
    return line + f", and {constants.workgroups_per_cu} workgroups of several waves per CU."


def _outcome_line(constants: Constants, outcome: Outcome) -> str:
    names = " and ".join(outcome.limiters)
    if not outcome.workgroups:
        return (
            f"One workgroup does not fit on a CU (limited by {names}): this kernel cannot be launched with"
            f" {outcome.kernel.workgroup} threads."
        )
    waves = outcome.kernel.waves(constants)
    total = outcome.workgroups * waves
    return (
        f"{_count(outcome.workgroups, 'workgroup')} x {_count(waves, 'wave')} = {total} waves over"
        f" {constants.simds} SIMDs = {constants.per_simd(total):g} per SIMD, limited by {names}."
    )


def _remark_line(constants: Constants, outcome: Outcome) -> str:
    kernel, remark = outcome.kernel, outcome.remark
    same = remark == constants.per_simd(outcome.workgroups * kernel.waves(constants))
    line = (
        f"The compiler's Occupancy remark (LLVM 22) {'also ' if same else ''}says {remark} when the kernel declares at"
        f" most {kernel.workgroup} threads. It is the best case over the declared workgroup sizes; it counts static"
        " LDS, not dynamic LDS"
    )
    undeclared = compiler_remark(constants, replace(kernel, workgroup=constants.workgroup_size))
    if undeclared != remark:
        line += f"; without __launch_bounds__ (1 to {constants.workgroup_size} threads) it would say {undeclared}"
    if not same:
        line += ". Here it differs because " + "; ".join(_reasons(constants, outcome))
    return line + "."


def _reasons(constants: Constants, outcome: Outcome) -> Iterator[str]:
    """Yield why the remark is not the answer: each cause that can be shown from the figures."""
    kernel, waves = outcome.kernel, outcome.kernel.waves(constants)
    if not outcome.workgroups:
        yield "it keeps the declared size launchable, so such figures come from a kernel declared for fewer threads"
        return
    if "lds" in outcome.limiters and constants.lds_bytes // kernel.lds > outcome.workgroups:
        yield (
            "it does not round LDS up to the allocation granule, which overstates (fixed in LLVM after 22:"
            " llvm/llvm-project#205637)"
        )
    if "sgpr" in outcome.limiters and constants.sgprs // kernel.sgprs > sgpr_waves(constants, kernel.sgprs):
        yield "it leaves out the SGPRs of the trap handler"
    if waves > 1 and (outcome.workgroups + 1) * waves > outcome.remark * constants.simds:
        yield f"it does not insist on whole workgroups of {_count(waves, 'wave')}"


def next_step(constants: Constants, outcome: Outcome) -> str:
    """Return what to change for one more workgroup per CU, or which fixed cap forbids it."""
    kernel, waves = outcome.kernel, outcome.kernel.waves(constants)
    goal = outcome.workgroups + 1
    if outcome.workgroups * waves == constants.waves_per_cu:
        return "none: every wave slot is in use"
    if goal * waves > constants.waves_per_cu:
        return f"a smaller workgroup: no more of {kernel.workgroup} threads fit in {constants.waves_per_cu} wave slots"
    if waves > 1 and goal > constants.workgroups_per_cu:
        return f"a larger workgroup: {constants.workgroups_per_cu} of several waves are the most a CU holds"
    per_simd = -(-goal * waves // constants.simds)
    needs = []
    most_vgprs = _round_down(constants.vgprs // per_simd, constants.vgpr_granule)
    if kernel.allocated_vgprs(constants) > most_vgprs:
        needs.append(f"<= {most_vgprs} {'VGPRs + AGPRs' if kernel.agprs else 'VGPRs'}")
    if kernel.sgprs and sgpr_waves(constants, kernel.sgprs) < per_simd:
        most_sgprs = _round_down(constants.sgprs // per_simd, constants.sgpr_granule) - constants.trap_sgprs
        needs.append(f"<= {most_sgprs} SGPRs")
    most_lds = _round_down(constants.lds_bytes // goal, constants.lds_granule)
    if kernel.lds > most_lds:
        needs.append(f"<= {most_lds:,} B of LDS")
    reached = constants.per_simd(goal * waves)
    return f"{' and '.join(needs)} for {reached:g} waves per SIMD ({_count(goal, 'workgroup')} per CU)"


def _round_down(value: int, granule: int) -> int:
    return value // granule * granule


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
