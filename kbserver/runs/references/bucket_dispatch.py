"""Tokens to experts: each token times its expert's factor, and where each expert's tokens start.

The order inside an expert is free, so it is no output; a token in no bucket, in two or in a wrong one is seen in `y`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kbserver.runs.references.bucket_sort import FAMILIES, inputs, offsets_of

__all__ = ["FAMILIES", "exact", "inputs"]


def exact(inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int | float]) -> dict[str, np.ndarray]:
    keys = inputs["keys"].astype(np.int64)
    return {"offsets": offsets_of(keys, int(sizes["B"])), "y": inputs["x"] * inputs["scale"][keys]}
