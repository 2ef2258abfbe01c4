"""Softmax of each row: exp(x - max) over the sum of these."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def exact(
    inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int | float]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    x = inputs["x"]
    terms = np.exp(x - x.max(axis=1, keepdims=True))
    result = terms / terms.sum(axis=1, keepdims=True)
    # An error of the exponent's argument is relative to that argument's size: |x - max| roundings of the result.
    return {"y": (result, result * (1 + np.abs(x - x.max(axis=1, keepdims=True))))}


def flops(sizes: Mapping[str, int | float]) -> int:
    return int(5 * sizes["R"] * sizes["N"])
