"""RMSNorm of each row: x over the root of the mean square (plus eps), times a weight per column."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def exact(
    inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int | float]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    x, weight = inputs["x"], inputs["weight"]
    scale = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + sizes["eps"])
    result = x * scale * weight
    # Every step is a product or a sum of squares, so that errors are relative to the result.
    return {"y": (result, np.abs(result))}


def flops(sizes: Mapping[str, int | float]) -> int:
    return int(4 * sizes["R"] * sizes["N"])
