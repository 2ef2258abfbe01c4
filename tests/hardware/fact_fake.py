"""A small fact table for tests: the figures typed here are independent of the project's own table."""

from __future__ import annotations

from dataclasses import dataclass, field

from kbserver.core.errors import UnknownName
from kbserver.core.model import SourceRef


@dataclass(frozen=True)
class FakeFact:
    value: object
    sources: tuple[SourceRef, ...] = (SourceRef(id="test", title="typed in the test"),)
    conflicts: tuple[object, ...] = ()


@dataclass(eq=False)
class FakeFacts:
    values: dict[str, object] = field(default_factory=dict)

    def get(self, fact_id: str) -> FakeFact:
        if fact_id not in self.values:
            raise UnknownName("fact", fact_id, self.values)
        return FakeFact(self.values[fact_id])


def occupancy_facts() -> FakeFacts:
    """Figures of gfx90a, gfx942 and gfx950, from LLVM's AMDGPU backend and the ROCm specification tables."""
    same = {
        "execution.wavefront_size": 64,
        "execution.simds_per_cu": 4,
        "execution.max_waves_per_simd": 8,
        "execution.max_waves_per_cu": 32,
        "execution.max_workgroups_per_cu": 16,
        "execution.max_workgroup_size": 1024,
        "registers.vgprs_per_simd_lane": 512,
        "registers.vgpr_granule": 8,
        "registers.agpr_offset_granule": 4,
        "registers.sgprs_per_simd": 800,
        "registers.sgpr_granule": 16,
        "registers.sgprs_addressable": 102,
        "registers.trap_handler_sgprs": 16,
    }
    lds = {"gfx90a": (65536, 512), "gfx942": (65536, 512), "gfx950": (163840, 1280)}
    values: dict[str, object] = {}
    for arch, (size, granule) in lds.items():
        values |= {f"{arch}.{name}": value for name, value in same.items()}
        values[f"{arch}.lds.bytes_per_cu"] = values[f"{arch}.lds.bytes_per_workgroup"] = size
        values[f"{arch}.lds.allocation_granule_bytes"] = granule
    return FakeFacts(values)
