"""Sums over the launches of a verification."""

from __future__ import annotations

from dataclasses import dataclass, field

from kbserver.devices.interface import LaunchReport
from kbserver.runs.acceptance import Comparison
from kbserver.runs.cases import Case, Turn
from kbserver.runs.report import LaunchLine


@dataclass
class Tally:
    """Launches so far, the worst comparison of them, and where the time went (seconds)."""

    launches: list[LaunchLine] = field(default_factory=list)
    worst: tuple[Case, Comparison] | None = None
    slices: tuple[str, int, str | None] | None = None
    """Shape, number of slices and their axis of the first launch's first output."""
    elements: int = 0
    mismatches: int = 0
    unwritten: int = 0
    max_abs: float = 0.0
    max_ulp: int = 0
    build_s: float = 0.0
    load_s: float = 0.0
    launch_s: float = 0.0
    inputs_s: float = 0.0
    compare_s: float = 0.0
    check_s: float = 0.0

    def add(
        self, case: Case, given: dict[str, int], seed: int, family: str, turn: Turn, report: LaunchReport,
        comparison: Comparison,
    ) -> None:  # fmt: skip
        """Take in one compared launch; `given` are the sizes of its shape."""
        if self.slices is None:
            first = comparison.parts[0] if comparison.parts else comparison
            self.slices = (case.shape, first.channels, first.axis)
        self.launches.append(
            LaunchLine(
                shape=case.shape,
                sizes=given,
                seed=seed,
                inputs=family,
                order=turn.order,
                poison=turn.poison,
                elements=comparison.elements,
                mismatches=comparison.mismatches,
                max_ulp=comparison.max_ulp,
                wave_instructions=report.wave_instructions,
                wall_s=round(report.wall_s, 4),
            )
        )
        self.elements += comparison.elements
        self.mismatches += comparison.mismatches
        self.unwritten += comparison.unwritten
        self.max_abs = max(self.max_abs, comparison.max_abs)
        self.max_ulp = max(self.max_ulp, comparison.max_ulp)
        self.launch_s += report.wall_s
        if comparison.failing and (self.worst is None or comparison.mismatches > self.worst[1].mismatches):
            self.worst = (case, comparison)
