"""What a reference promises: fresh inputs, and what a correct kernel computes of them, in float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from kbserver.runs.problem import Problem

Arrays = Mapping[str, np.ndarray]
"""Tensors by name in canonical order, as stored: bfloat16 as 16-bit patterns, see `runs.dtypes`."""


class Channel(Protocol):
    """The exact result of one slice: the unit in which results are compared and judged."""

    exact: np.ndarray
    """float64, or whole numbers for an integer output; the output's canonical shape without the axis of the slices."""

    def magnitude(self, places: np.ndarray | None = None) -> np.ndarray:
        """Return the sum of the magnitudes of what is added, of every output or at flat `places`: float64."""


class Results(Protocol):
    """The exact results of one set of inputs."""

    def channel(self, output: str, number: int) -> Channel:
        """Return the exact result of a slice, which has the number that it has along its axis."""

    def whole(self, output: str) -> Channel | None:
        """Return the exact result of an output with the axis of the slices first; None when that is too much."""


class Reference(Protocol):
    """One problem. `families` names the kinds of input that `inputs` makes; a seed gets one of them."""

    families: tuple[str, ...]

    def inputs(self, problem: Problem, sizes: Mapping[str, int], seed: int, family: str) -> dict[str, np.ndarray]:
        """Return fresh inputs: equal arguments give equal inputs."""

    def sums_exactly(self, family: str) -> bool:
        """Return whether float32 holds every partial sum of these inputs, so that only the last rounding is free."""

    def results(self, problem: Problem, sizes: Mapping[str, int], inputs: Arrays) -> Results:
        """Return the exact results of some inputs."""

    def renew(self, family: str, stored: np.ndarray, seed: int) -> None:
        """Change every element of an input in place, to others of its family that nobody can foresee.

        Far cheaper than `inputs`: for the many launches of a timing run. `stored` is contiguous, in any layout.
        """

    renews: bool
    """False: `renew` is not available, and inputs are made anew."""

    def flops(self, problem: Problem, sizes: Mapping[str, int]) -> int:
        """Return the floating-point operations that the problem needs, a multiply-add being two; 0: not known."""

    def library(self, problem: Problem, sizes: Mapping[str, int]) -> dict[str, object] | None:
        """Return the call of a library on a GPU that computes the same (devices.library_slot), None without one."""

    def second(self, problem: Problem, inputs: Arrays, channels: int) -> tuple[str, np.ndarray] | None:
        """Return (name, float64 results of the first channels) by another library; None: there is no such library.

        Raises ImportError where it is not installed.
        """

    def close(self) -> None:
        """Give back what the reference holds: the process of one that came with a task file."""
