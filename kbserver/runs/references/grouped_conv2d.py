"""Grouped 2-D convolution, stride 1, padded to the same size; the channels of a group together, pixels of NHWC."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FAMILIES = ("drawn", "whole")


def exact(
    inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int | float]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    x, w = inputs["x"], inputs["w"]
    return {"y": (_convolved(x, w), _convolved(np.abs(x), np.abs(w)))}


def _convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    rows, columns = w.shape[3:]
    padded = np.pad(x, ((0, 0), (rows // 2, rows // 2), (columns // 2, columns // 2), (0, 0)))
    result = np.zeros((*x.shape[:3], w.shape[1]))
    for r in range(rows):
        for s in range(columns):
            window = padded[:, r : r + x.shape[1], s : s + x.shape[2]]
            result += np.einsum("ghwc,gkc->ghwk", window, w[:, :, :, r, s])
    return result


def flops(sizes: Mapping[str, int | float]) -> int:
    return int(2 * sizes["G"] * sizes["H"] * sizes["W"] * sizes["C"] ** 2 * 25)
