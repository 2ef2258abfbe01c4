"""The arithmetic of occupancy: constants of a target, what a kernel asks for, and what each resource allows.

Every constant comes from the fact table (`FACT_IDS`); none is typed here. VGPRs and AGPRs share one file per SIMD lane,
each resource is allocated in granules, workgroups are placed whole, and their waves are spread evenly over the SIMDs of
the compute unit (the even spread is an assumption that LLVM makes too).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from kbserver.core.model import SourceRef
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
    sources_of: Mapping[str, tuple[SourceRef, ...]] = field(default_factory=dict)
    """Who says each figure, by the field's name."""

    @property
    def sources(self) -> tuple[SourceRef, ...]:
        """Every citation once."""
        return tuple({(ref.id, ref.locator): ref for refs in self.sources_of.values() for ref in refs}.values())

    def fact_id(self, name: str) -> str:
        return f"fact:{self.arch}.{FACT_IDS[name]}"

    def per_simd(self, waves_per_cu: int) -> int | float:
        """Return the average waves per SIMD, whole when they divide evenly."""
        whole, rest = divmod(waves_per_cu, self.simds)
        return whole if not rest else waves_per_cu / self.simds


def load_constants(arch: str, facts: FactTable | None = None) -> Constants:
    """Return the constants of `arch` from the fact table. Raises UnknownName when the table lacks the target."""
    if facts is None:
        from kbserver.hardware.facts import load_facts

        facts = load_facts()
    return _read_constants(arch, facts)


@lru_cache(maxsize=16)
def _read_constants(arch: str, facts: FactTable) -> Constants:
    entries = {name: facts.get(f"{arch}.{suffix}") for name, suffix in FACT_IDS.items()}
    granules = (conflict.value for conflict in entries["lds_granule"].conflicts)
    return Constants(
        arch=arch,
        sources_of={name: tuple(entry.sources) for name, entry in entries.items()},
        contested_lds_granules=tuple(value for value in granules if isinstance(value, int)),
        lds_elsewhere=tuple(
            (other, facts.get(f"{other}.{FACT_IDS['lds_bytes']}").value) for other in targets().archs if other != arch
        ),
        **{name: int(entry.value) for name, entry in entries.items()},
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


@dataclass(frozen=True)
class Outcome:
    """What the arithmetic gave for one kernel: workgroups per CU, the limiting resources, the compiler's figure."""

    kernel: Kernel
    workgroups: int
    limiters: tuple[str, ...]
    remark: int


def round_up(value: int, granule: int) -> int:
    """Return `value` rounded up to a multiple of `granule`."""
    return -(-value // granule) * granule


def workgroups_allowed(constants: Constants, kernel: Kernel) -> dict[str, int]:
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
    by_registers = min(constants.vgprs // kernel.allocated_vgprs(constants), constants.sgprs // max(kernel.sgprs, 1))
    return max(1, min(-(-best // constants.simds), by_registers, constants.waves_per_simd))
