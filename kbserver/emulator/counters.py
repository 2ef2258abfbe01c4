"""Exact counts of a launch: how often every instruction ran and with how many active lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kbserver.emulator.translate import Segment


@dataclass(frozen=True, eq=False)
class Counts:
    """Counters of a launch, one entry a segment; all of a segment's instructions ran equally often."""

    segments: Sequence[Segment]
    executions: np.ndarray
    """Wave instructions issued by each instruction of the segment."""
    lanes: np.ndarray
    """Sum of active lanes over those executions."""

    def per_instruction(self, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (executions, active lanes) of every instruction of a kernel with `length` instructions."""
        executions, lanes = np.zeros(length, np.uint64), np.zeros(length, np.uint64)
        for segment, count, active in zip(self.segments, self.executions, self.lanes, strict=True):
            executions[segment.start : segment.end] = count
            lanes[segment.start : segment.end] = active
        return executions, lanes

    @property
    def wave_instructions(self) -> int:
        """Return how many instructions all wavefronts executed together."""
        sizes = np.array([segment.end - segment.start for segment in self.segments], np.uint64)
        return int((sizes * self.executions).sum())
