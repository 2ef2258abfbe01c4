"""Product of two matrices, C = A B^T: every row of A with every row of B."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FAMILIES = ("drawn", "whole")
"""In "whole" the sums are exact in float32 whatever their order: an element that is left out shows."""


def exact(
    inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int | float]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    a, b = inputs["a"], inputs["b"]
    # Errors grow with the number of additions, one a product.
    return {"c": (a @ b.T, sizes["K"] * (np.abs(a) @ np.abs(b).T))}


def flops(sizes: Mapping[str, int | float]) -> int:
    return int(2 * sizes["M"] * sizes["N"] * sizes["K"])
