"""How many waves of a kernel fit on a compute unit, what limits them, and why the compiler's remark can differ."""

from __future__ import annotations

from kbserver.core.errors import UsageError
from kbserver.core.model import Record, Result, SourceRef
from kbserver.hardware.occupancy_model import (
    RESOURCES,
    Constants,
    FactTable,
    Kernel,
    Outcome,
    compiler_remark,
    load_constants,
    round_up,
    workgroups_allowed,
)
from kbserver.hardware.occupancy_text import explain, next_step


class Limit(Record):
    """What one resource and the wave slots allow; None when the kernel does not use that resource."""

    workgroups_per_cu: int | None
    waves_per_simd: int | float | None
    used: str


class Occupancy(Result):
    """Waves of one kernel on one compute unit, with the reason."""

    arch: str
    arch_decided_by: str = "given"
    vgprs: int
    agprs: int
    sgprs: int
    lds_bytes: int
    workgroup: int
    waves_per_workgroup: int
    allocated_vgprs: int
    """VGPRs + AGPRs per lane after rounding."""
    allocated_lds_bytes: int
    waves_per_simd: int | float
    """Average over the SIMDs: waves_per_cu / SIMDs; whole unless the waves do not divide evenly."""
    waves_per_cu: int
    workgroups_per_cu: int
    """0 when one workgroup does not fit: the kernel cannot be launched at this size."""
    limiter: str
    """The resource that limits, ties joined by "+"."""
    limits: dict[str, Limit]
    compiler_remark: int
    """What LLVM 22's "Occupancy [waves/SIMD]" says for these figures under `__launch_bounds__(workgroup)`."""
    next_step: str = ""
    """What to change for one more workgroup per CU, or the cap that forbids it."""
    explanation: tuple[str, ...]
    sources: tuple[SourceRef, ...] = ()


def occupancy(
    arch: str,
    vgprs: int,
    agprs: int = 0,
    sgprs: int = 0,
    lds: int = 0,
    workgroup: int = 256,
    *,
    facts: FactTable | None = None,
) -> Occupancy:
    """Return the occupancy of a kernel on `arch` (a gfx target that has facts).

    vgprs, agprs, sgprs: as the compiler reports them, before rounding; lds: bytes per workgroup, static + dynamic;
    workgroup: threads as launched. Raises UsageError for what the hardware cannot have, naming the limit and its fact.
    """
    constants = load_constants(arch, facts)
    kernel = Kernel(vgprs, agprs, sgprs, lds, workgroup)
    _refuse_impossible(constants, kernel)
    allowed = workgroups_allowed(constants, kernel)
    workgroups = min(allowed.values())
    waves = kernel.waves(constants)
    limiters = [name for name in RESOURCES if allowed.get(name) == workgroups]
    outcome = Outcome(kernel, workgroups, tuple(limiters), compiler_remark(constants, kernel))
    return Occupancy(
        arch=arch,
        vgprs=vgprs,
        agprs=agprs,
        sgprs=sgprs,
        lds_bytes=lds,
        workgroup=workgroup,
        waves_per_workgroup=waves,
        allocated_vgprs=kernel.allocated_vgprs(constants),
        allocated_lds_bytes=round_up(lds, constants.lds_granule),
        waves_per_simd=constants.per_simd(workgroups * waves),
        waves_per_cu=workgroups * waves,
        workgroups_per_cu=workgroups,
        limiter="+".join(limiters),
        limits=_limits(constants, kernel, allowed),
        compiler_remark=outcome.remark,
        next_step=next_step(constants, outcome),
        explanation=tuple(explain(constants, outcome)),
        sources=constants.sources,
    )


def _refuse_impossible(constants: Constants, kernel: Kernel) -> None:
    extras = round_up(constants.sgprs_addressable, constants.sgpr_granule)
    for name, value, most, field, unit in (
        ("workgroup", kernel.workgroup, constants.workgroup_size, "workgroup_size", "threads in a workgroup"),
        ("vgprs", kernel.vgprs, constants.vgprs, "vgprs", "VGPRs per lane"),
        ("agprs", kernel.agprs, constants.vgprs, "vgprs", "AGPRs per lane"),
        ("vgprs", kernel.total_vgprs(constants), constants.vgprs, "vgprs", "VGPRs and AGPRs together"),
        ("sgprs", kernel.sgprs, extras, "sgprs_addressable", "SGPRs, VCC and the like included"),
        ("lds", kernel.lds, constants.lds_bytes_per_workgroup, "lds_bytes_per_workgroup", "bytes per workgroup"),
    ):
        least = 1 if name == "workgroup" else 0
        if least <= value <= most:
            continue
        fact = constants.fact_id(field)
        wanted = f"at least {least}" if value < least else f"at most {most:,} {unit} on {constants.arch}"
        raise UsageError(
            f"{name} is {value:,}: {wanted}",
            where=name,
            hint=f"the limit is {fact}, from {'; '.join(ref.title for ref in constants.sources_of[field])}",
            details={"argument": name, "value": value, "least": least, "most": most, "fact": fact},
        )


def _limits(constants: Constants, kernel: Kernel, allowed: dict[str, int]) -> dict[str, Limit]:
    waves = kernel.waves(constants)
    lds = round_up(kernel.lds, constants.lds_granule)
    used = {
        "vgpr": f"{kernel.allocated_vgprs(constants)} of {constants.vgprs} VGPRs per lane",
        "sgpr": f"{kernel.sgprs} of {constants.sgprs} SGPRs per SIMD",
        "lds": f"{lds:,} of {constants.lds_bytes:,} B",
        "waves": f"{waves} of {constants.waves_per_cu} waves per CU",
        "workgroups": f"1 of {constants.workgroups_per_cu} workgroups per CU",
    }
    limits = {}
    for name in RESOURCES:
        if name not in allowed:
            limits[name] = Limit(workgroups_per_cu=None, waves_per_simd=None, used="none")
            continue
        groups = min(allowed[name], allowed["waves"])
        limits[name] = Limit(
            workgroups_per_cu=groups, waves_per_simd=constants.per_simd(groups * waves), used=used[name]
        )
    return limits
