"""References: what a correct kernel computes, in float64 NumPy, and the inputs that it is asked for.

To add a problem: a module with a class that fulfils `Reference`, and one line in `REFERENCES`, named by `reference:` of
the task file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from kbserver.core.errors import ContentError
from kbserver.runs.task import Problem, Task

Arrays = Mapping[str, np.ndarray]
"""Tensors by name in canonical order; bfloat16 as 16-bit patterns."""


class Channel(Protocol):
    """The exact result of one channel: the unit in which results are compared and judged."""

    exact: np.ndarray
    """float64, the output's canonical shape without the axes N and C."""

    def magnitude(self, places: np.ndarray | None = None) -> np.ndarray:
        """Return the sum of the magnitudes of what is added, of every output or at flat `places`: float64."""


class Reference(Protocol):
    """One problem. `families` names the kinds of input that `inputs` makes; a seed gets one of them."""

    families: tuple[str, ...]

    def inputs(self, problem: Problem, sizes: Mapping[str, int], seed: int, family: str) -> dict[str, np.ndarray]:
        """Return fresh inputs: equal arguments give equal inputs."""

    def sums_exactly(self, family: str) -> bool:
        """Return whether float32 holds every partial sum of these inputs, so that only the last rounding is free."""

    def channel(self, problem: Problem, inputs: Arrays, channel: int) -> Channel:
        """Return the exact result of a channel."""

    def renew(self, family: str, stored: np.ndarray, seed: int) -> None:
        """Change every element of an input in place, to others of its family that nobody can foresee.

        Far cheaper than `inputs`: for the many launches of a timing run. `stored` is contiguous, in any layout.
        """

    def flops(self, problem: Problem, sizes: Mapping[str, int]) -> int:
        """Return the floating-point operations that the problem needs, a multiply-add being two."""

    def library(self, problem: Problem, sizes: Mapping[str, int]) -> dict[str, object] | None:
        """Return the call of a library on a GPU that computes the same (devices.library_slot), None without one."""

    def second(self, problem: Problem, inputs: Arrays, channels: int) -> tuple[str, np.ndarray]:
        """Return (name, float64 results of the first channels) by another library. Raises ImportError without it."""


def _depthwise_conv3d() -> Reference:
    from kbserver.runs.references.depthwise_conv3d import DepthwiseConv3d

    return DepthwiseConv3d()


REFERENCES: dict[str, Callable[[], Reference]] = {"depthwise_conv3d": _depthwise_conv3d}


def find_reference(task: Task) -> Reference:
    """Return the reference that a task names. Raises ContentError for one that does not exist."""
    if task.reference not in REFERENCES:
        raise ContentError(
            f"there is no reference {task.reference!r}", where=task.name, hint=f"known: {', '.join(REFERENCES)}"
        )
    return REFERENCES[task.reference]()
