"""Two linear layers with GELU between, Y = gelu(X U^T) W^T; the hidden values are rounded to bfloat16."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kbserver.runs.dtypes import BF16

FAMILIES = ("drawn",)
ULP = 2.0**-23
"""Most that one addition in float is off, as a share of what is added up: one that truncates."""
GELU_SHARE = 2.0**-20
"""Error of GELU as a share of its result, for each unit of its exponent's argument, and once."""
STEEPEST = 1.13
"""Largest slope of GELU."""


def exact(
    inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int | float]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    x, up, down = inputs["x"], inputs["up"], inputs["down"]
    before = x @ up.T
    argument = np.sqrt(8 / np.pi) * (before + 0.044715 * before**3)
    hidden = before * _sigmoid(argument)
    error = STEEPEST * sizes["D"] * ULP * (np.abs(x) @ np.abs(up).T)
    error += GELU_SHARE * np.abs(hidden) * (1 + np.abs(argument))
    low, rounded, high = (BF16.decode(BF16.encode(value)) for value in (hidden - error, hidden, hidden + error))
    sums = sizes["H"] * (np.abs(rounded) @ np.abs(down).T)
    gaps = (high - low) @ np.abs(down).T
    return {"y": (rounded @ down.T, sums + gaps / ULP)}


def _sigmoid(z: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + e^-z) without overflow."""
    power = np.exp(-np.abs(z))
    return np.where(z >= 0, 1, power) / (1 + power)


def flops(sizes: Mapping[str, int | float]) -> int:
    return int(4 * sizes["M"] * sizes["D"] * sizes["H"])
