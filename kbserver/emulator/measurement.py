"""What a profile measures, as plain numbers: these records travel between processes as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

LINE_BYTES = {"gfx90a": 64, "gfx942": 128, "gfx950": 128}
"""Line of the vector L1 (facts <arch>.caches.l1_vector_line_bytes): what one request of a wave instruction asks for."""


@dataclass
class SiteCounts:
    """What one instruction's recorded accesses come to. `records` may be two an execution (ds_read2).

    kind: a name of `observers.accesses`. width: bytes a lane. lines: sum over accesses of the distinct cache lines that
    a wave instruction touches, 0 for the LDS. ideal_passes: one a phase; conflict_passes: those beyond.
    """

    site: int
    kind: str
    width: int
    records: int = 0
    lanes: int = 0
    lines: int = 0
    ideal_passes: int = 0
    conflict_passes: int = 0
    misaligned: int = 0
    basis: str = ""
    source: tuple[str, str] | None = None

    @property
    def is_lds(self) -> bool:
        return self.kind.startswith("LDS")


@dataclass(frozen=True)
class Measurement:
    """What was counted. `executions` and `lanes` hold one number an instruction, sums over the grid.

    sampled_executions belong to the sampled workgroups alone, as `sites` do. lost_records is above 0 when a workgroup
    made more accesses than are recorded. findings counts accesses out of range.
    """

    waves: int
    workgroups: int
    sampled_workgroups: int
    executions: tuple[int, ...]
    lanes: tuple[int, ...]
    sampled_executions: tuple[int, ...]
    sites: tuple[SiteCounts, ...]
    lost_records: int
    findings: int
    wall_s: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Measurement:
        """Return the measurement that `to_json` wrote."""
        sites = [
            SiteCounts(**{**entry, "source": tuple(entry["source"]) if entry["source"] else None})
            for entry in data["sites"]
        ]
        counts = {name: tuple(data[name]) for name in ("executions", "lanes", "sampled_executions")}
        return cls(**{**data, **counts, "sites": tuple(sites)})
