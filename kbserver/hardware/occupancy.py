"""How many waves of a kernel fit on a compute unit, what limits them, and why the compiler's remark can differ.

Every constant comes from the fact table (`FACT_IDS`); none is typed here. The model: VGPRs and AGPRs share one file per
SIMD lane, each resource is allocated in granules, workgroups are placed whole, and their waves are spread evenly over
the SIMDs of the compute unit (the even spread is an assumption that LLVM makes too).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from kbserver.core.errors import UsageError
from kbserver.core.model import Record, Result, SourceRef
from kbserver.core.targets import targets

FACT_IDS = {
    "wavefront_size": "execution.wavefront_size",
    "simds": "execution.simds_per_cu",
    "waves_per_simd": "execution.max_waves_per_simd",
    "waves_per_cu": "execution.max_waves_per_cu",
    "workgroups_per_cu": "execution.max_workgroups_per_cu",
    "workgroup_size": "execution.max_workgroup_size",
    "vgprs": "registers.vgprs_per_simd_lane",
    "vgpr_granule": "registers.vgpr_granule",
    "agpr_offset_granule": "registers.agpr_offset_granule",
    "sgprs": "registers.sgprs_per_simd",
    "sgpr_granule": "registers.sgpr_granule",
    "sgprs_addressable": "registers.sgprs_addressable",
    "trap_sgprs": "registers.trap_handler_sgprs",
    "lds_bytes": "lds.bytes_per_cu",
    "lds_bytes_per_workgroup": "lds.bytes_per_workgroup",
    "lds_granule": "lds.allocation_granule_bytes",
}
"""Field of `Constants` -> fact id without its `<arch>.` prefix."""

RESOURCES = ("vgpr", "sgpr", "lds", "waves", "workgroups")


class FactTable(Protocol):
    """What this module needs of the fact table: `get(id)` returns an entry with value, sources and conflicts."""

    def get(self, fact_id: str) -> Any: ...


@dataclass(frozen=True)
class Constants:
    """The figures of one target that decide occupancy; bytes, registers, waves as the names say."""

    arch: str
    wavefront_size: int
    simds: int
    waves_per_simd: int
    waves_per_cu: int
    workgroups_per_cu: int
    workgroup_size: int
    vgprs: int
    vgpr_granule: int
    agpr_offset_granule: int
    sgprs: int
    sgpr_granule: int
    sgprs_addressable: int
    trap_sgprs: int
    lds_bytes: int
    lds_bytes_per_workgroup: int
    lds_granule: int
    contested_lds_granules: tuple[int, ...] = ()
    """Other values that sources give for `lds_granule`."""
    lds_elsewhere: tuple[tuple[str, int], ...] = ()
    """LDS bytes per CU of the other targets: a common confusion."""
    sources: tuple[SourceRef, ...] = ()

    def fact_id(self, field: str) -> str:
        return f"fact:{self.arch}.{FACT_IDS[field]}"


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
    from kbserver.hardware.occupancy_text import explain, next_step

    constants = load_constants(arch, facts)
    kernel = Kernel(vgprs, agprs, sgprs, lds, workgroup)
    _refuse_impossible(constants, kernel)
    allowed = _workgroups_allowed(constants, kernel)
    workgroups = min(allowed.values())
    waves = kernel.waves(constants)
    result = Occupancy(
        arch=arch,
        vgprs=vgprs,
        agprs=agprs,
        sgprs=sgprs,
        lds_bytes=lds,
        workgroup=workgroup,
        waves_per_workgroup=waves,
        allocated_vgprs=kernel.allocated_vgprs(constants),
        allocated_lds_bytes=round_up(lds, constants.lds_granule),
        waves_per_simd=_per_simd(workgroups * waves, constants),
        waves_per_cu=workgroups * waves,
        workgroups_per_cu=workgroups,
        limiter="+".join(name for name in RESOURCES if allowed.get(name) == workgroups),
        limits=_limits(constants, kernel, allowed),
        compiler_remark=compiler_remark(constants, kernel),
        explanation=(),
        sources=constants.sources,
    )
    return result.model_copy(
        update={
            "next_step": next_step(constants, result),
            "explanation": tuple(explain(constants, result)),
        }
    )


@dataclass(frozen=True)
class Kernel:
    """What a kernel asks for: registers per lane (wave for SGPRs), LDS bytes and threads of one workgroup."""

    vgprs: int
    agprs: int
    sgprs: int
    lds: int
    workgroup: int

    def waves(self, constants: Constants) -> int:
        return -(-self.workgroup // constants.wavefront_size)

    def total_vgprs(self, constants: Constants) -> int:
        """VGPRs + AGPRs: AGPRs begin at a rounded offset in the same file."""
        if not self.agprs:
            return self.vgprs
        return round_up(self.vgprs, constants.agpr_offset_granule) + self.agprs

    def allocated_vgprs(self, constants: Constants) -> int:
        return max(constants.vgpr_granule, round_up(self.total_vgprs(constants), constants.vgpr_granule))


def round_up(value: int, granule: int) -> int:
    """Return `value` rounded up to a multiple of `granule`."""
    return -(-value // granule) * granule


def load_constants(arch: str, facts: FactTable | None = None) -> Constants:
    """Return the constants of `arch` from the fact table. Raises UnknownName when the table lacks the target."""
    if facts is None:
        from kbserver.hardware.facts import load_facts

        facts = load_facts()
    return _read_constants(arch, facts)


@lru_cache(maxsize=16)
def _read_constants(arch: str, facts: FactTable) -> Constants:
    entries = {field: facts.get(f"{arch}.{suffix}") for field, suffix in FACT_IDS.items()}
    cited = {(ref.id, ref.locator): ref for entry in entries.values() for ref in entry.sources}
    granules = (conflict.value for conflict in entries["lds_granule"].conflicts)
    return Constants(
        arch=arch,
        sources=tuple(cited.values()),
        contested_lds_granules=tuple(value for value in granules if isinstance(value, int)),
        lds_elsewhere=tuple(
            (other, facts.get(f"{other}.{FACT_IDS['lds_bytes']}").value)
            for other in targets().archs
            if other != arch
        ),
        **{field: int(entry.value) for field, entry in entries.items()},
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
            hint=f"the limit is {fact}",
            details={"argument": name, "value": value, "least": least, "most": most, "fact": fact},
        )


def _workgroups_allowed(constants: Constants, kernel: Kernel) -> dict[str, int]:
    """Return the workgroups per CU that each resource in use allows, without regard to the others."""
    waves = kernel.waves(constants)
    allowed = {
        "vgpr": constants.vgprs // kernel.allocated_vgprs(constants) * constants.simds // waves,
        "waves": constants.waves_per_cu // waves,
    }
    if kernel.sgprs:
        allowed["sgpr"] = sgpr_waves(constants, kernel.sgprs) * constants.simds // waves
    if kernel.lds:
        allowed["lds"] = constants.lds_bytes // round_up(kernel.lds, constants.lds_granule)
    if waves > 1:  # a workgroup of one wave needs no barrier slot
        allowed["workgroups"] = constants.workgroups_per_cu
    return allowed


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
            workgroups_per_cu=groups, waves_per_simd=_per_simd(groups * waves, constants), used=used[name]
        )
    return limits


def sgpr_waves(constants: Constants, sgprs: int) -> int:
    """Return the waves per SIMD that SGPRs alone allow.

    The trap handler that ROCm installs takes its own SGPRs of every wave. The result is never below what a kernel with
    all addressable SGPRs was measured to get.
    """
    allocated = round_up(sgprs, constants.sgpr_granule) + constants.trap_sgprs
    fewest = constants.sgprs // round_up(constants.sgprs_addressable, constants.sgpr_granule)
    return max(constants.sgprs // allocated, fewest)


def compiler_remark(constants: Constants, kernel: Kernel) -> int:
    """Return what LLVM 22's resource remark says: the best case over workgroups of 1 to `kernel.workgroup` threads.

    It rounds VGPRs to their granule but neither LDS nor SGPRs, and rounds waves per SIMD up. Equal to clang 22.1.8 in
    all of 420 combinations of target, LDS size and workgroup size that were compiled.
    """
    waves = kernel.waves(constants)
    lds_groups = constants.lds_bytes // max(kernel.lds, 1)

    def groups(size: int) -> int:
        slots = constants.waves_per_cu // size
        return min(slots if size == 1 else min(slots, constants.workgroups_per_cu), lds_groups)

    small, large = groups(1), waves * groups(waves)
    best = large
    if small > large:
        best = small + small * min((constants.waves_per_cu - small) // small, waves - 1)
    by_registers = min(
        constants.vgprs // kernel.allocated_vgprs(constants), constants.sgprs // max(kernel.sgprs, 1)
    )
    return max(1, min(-(-best // constants.simds), by_registers, constants.waves_per_simd))


def _per_simd(waves_per_cu: int, constants: Constants) -> int | float:
    whole, rest = divmod(waves_per_cu, constants.simds)
    return whole if not rest else waves_per_cu / constants.simds
