"""Indices sorted by key, stable, and where each bucket starts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FAMILIES = ("drawn", "one")


def inputs(sizes: Mapping[str, int | float], generator: np.random.Generator, family: str) -> dict[str, np.ndarray]:
    """Return the keys: skewed, as tokens choose experts; in "one" nearly all the same, the worst for atomics."""
    count, buckets = int(sizes["N"]), int(sizes["B"])
    weights = 1.0 / (1.0 + np.arange(buckets)) ** (0.5 if family == "drawn" else 8.0)
    names = generator.permutation(buckets)
    return {"keys": names[generator.choice(buckets, count, p=weights / weights.sum())]}


def offsets_of(keys: np.ndarray, buckets: int) -> np.ndarray:
    """Return where each bucket starts, and the end of the last."""
    return np.concatenate([[0], np.cumsum(np.bincount(keys.astype(np.int64), minlength=buckets))])


def exact(inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int | float]) -> dict[str, np.ndarray]:
    keys = inputs["keys"]
    return {"offsets": offsets_of(keys, int(sizes["B"])), "order": np.argsort(keys, kind="stable")}
