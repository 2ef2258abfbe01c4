"""Slices of an output along one of its axes: the unit in which results are judged and reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kbserver.runs.problem import Tensor


@dataclass(frozen=True)
class Slicing:
    """How an output is cut. axis: place of the slices' axis, None when the output is one slice.

    dropped: a first axis N of one element, which stands before channels and is left out of a slice's indices.
    """

    axes: str
    axis: int | None
    dropped: bool

    @property
    def letter(self) -> str | None:
        return None if self.axis is None else self.axes[self.axis]

    @property
    def rest(self) -> str:
        """The axes of one slice."""
        return "".join(
            letter for place, letter in enumerate(self.axes) if place != self.axis and not (self.dropped and place == 0)
        )

    def view(self, array: np.ndarray) -> np.ndarray:
        """Return a canonical array with its slices first."""
        if self.axis is None:
            return array[np.newaxis]
        moved = np.moveaxis(array, self.axis, 0)
        return moved[:, 0] if self.dropped else moved

    def index(self, number: int, rest: Sequence[int]) -> list[int]:
        """Return the canonical index of an element from its slice and its index in that."""
        if self.axis is None:
            return list(rest)
        index = [0, *rest] if self.dropped else list(rest)
        index.insert(self.axis, number)
        return index


def slicing_of(tensor: Tensor, shape: Sequence[int]) -> Slicing:
    """Return how results of a tensor are cut: as it says, by channel when it has N, C, ..., else by its first axis."""
    if tensor.slices is not None:
        return Slicing(tensor.axes, tensor.axes.index(tensor.slices), False)
    if tensor.axes.startswith("NC") and shape[0] == 1 and len(shape) > 2:
        return Slicing(tensor.axes, 1, True)
    return Slicing(tensor.axes, 0 if len(shape) > 1 else None, False)
