"""The order in which the wavefronts of a workgroup take turns between barriers."""

from __future__ import annotations

import numpy as np

from kbserver.core.errors import UnknownName
from kbserver.emulator.context import ORDER_ROUNDS

ORDERS = ("forward", "reversed", "seeded")


def wave_orders(name: str, waves: int, seed: int = 0) -> np.ndarray:
    """Return ORDER_ROUNDS permutations; round k uses the one of number k modulo ORDER_ROUNDS.

    A kernel whose result depends on the order has a race: nothing but a barrier orders wavefronts.
    """
    if name not in ORDERS:
        raise UnknownName("wave order", name, ORDERS)
    rows = np.tile(np.arange(waves, dtype=np.int32), (ORDER_ROUNDS, 1))
    if name == "reversed":
        rows = rows[:, ::-1]
    elif name == "seeded":
        rows = np.random.default_rng(seed).permuted(rows, axis=1)
    return np.ascontiguousarray(rows)
