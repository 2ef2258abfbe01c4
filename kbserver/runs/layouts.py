"""Axis letters of a task file: one letter an axis, so a layout is a permutation of the canonical letters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kbserver.core.errors import ContentError


def to_layout(array: np.ndarray, axes: str, layout: str) -> np.ndarray:
    """Return `array`, whose axes are `axes`, as a view in `layout`. Raises ContentError unless both name the same."""
    if len(axes) != array.ndim or sorted(axes) != sorted(layout) or len(set(axes)) != len(axes):
        raise ContentError(f"layout {layout} is no permutation of the axes {axes}")
    return array.transpose([axes.index(letter) for letter in layout])


def from_layout(array: np.ndarray, axes: str, layout: str) -> np.ndarray:
    """Return `array`, stored in `layout`, as a view with its axes in the order of `axes`."""
    return to_layout(array, layout, axes)


def axis_words(axes: str, box: Sequence[tuple[int, int]]) -> str:
    """Return index ranges in words: `D 0-1, H 8, W 0-19`."""
    spans = zip(axes, box, strict=True)
    return ", ".join(f"{letter} {low}" if low == high else f"{letter} {low}-{high}" for letter, (low, high) in spans)
