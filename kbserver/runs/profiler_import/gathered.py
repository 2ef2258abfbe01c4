"""What the readers of all formats put together: dispatches with their counters, agents, samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

WAVEFRONT = 64
WAVES_COUNTER = "SQ_WAVES"
PASSES = "counters of several passes come from several launches: ratios across passes mix launches"


@dataclass(slots=True)
class Dispatch:
    """One launch as one file has it; a launch profiled in several passes appears once in each."""

    kernel: str
    start: int | None = None
    end: int | None = None
    grid: int | None = None
    workgroup: int | None = None
    vgprs: int | None = None
    agprs: int | None = None
    sgprs: int | None = None
    lds_bytes: int | None = None
    scratch_bytes: int | None = None
    timed: bool = True
    """False for a counter run: collecting counters changes the time."""
    counters: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Sample:
    """One program counter sample."""

    instruction: str
    source: str
    lanes: int
    issued: bool | None
    stall: str | None


@dataclass
class Gathered:
    """Everything read so far."""

    dispatches: list[Dispatch] = field(default_factory=list)
    agents: list[dict[str, Any]] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    trace: list[dict[str, Any]] = field(default_factory=list)
    roofline: dict[str, float] = field(default_factory=dict)
    odd: list[tuple[str | None, str, float, str]] = field(default_factory=list)
    """(kernel, counter, value, reason) of values that cannot be."""
    blank: int = 0
    """Cells of counters without a value."""
    summed: set[str] = field(default_factory=set)
    """Counters that came in several parts for one dispatch."""
    notes: list[str] = field(default_factory=list)

    def add(self, dispatch: Dispatch, name: str, value: float | None, *, is_part: bool = False) -> None:
        """Add a cell of a counter to its dispatch; several of one name are its parts: XCCs, channels, instances.

        is_part: the file itself says that it is one part.
        """
        if value is None:
            self.blank += 1
            return
        counters = dispatch.counters
        if name in counters and not is_part:
            self.summed.add(name)
        counters[name] = counters.get(name, 0.0) + value

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def expected_waves(one: Dispatch) -> int | None:
    """Return the wavefronts that grid and workgroup make, None where they are not known."""
    if not one.grid or not one.workgroup or one.workgroup > 1024:
        return None
    return -(-one.grid // one.workgroup) * -(-one.workgroup // WAVEFRONT)
