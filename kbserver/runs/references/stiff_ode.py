"""Stiff rate equations on a sparse network, T steps; the equations stand in reference_kernels/stiff_ode/network.h."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

MAX_WEIGHT = 3


def inputs(sizes: Mapping[str, int | float], generator: np.random.Generator, family: str) -> dict[str, np.ndarray]:
    """Return a random network: popular species take part in many reactions, so that rows are ragged; stiff rates."""
    zones, species, terms = int(sizes["Z"]), int(sizes["S"]), int(sizes["R"])
    popularity = -np.log1p(np.arange(species))
    # The largest of "log of the weight plus Gumbel noise" are a draw without repetition: two reactants, two products.
    reactants, products = (
        np.argsort(-(popularity + generator.gumbel(size=(terms, species))), axis=1)[:, :2] for _ in range(2)
    )
    # A reaction gives as much as it takes.
    weights = np.broadcast_to(generator.integers(1, MAX_WEIGHT, (terms, 2), endpoint=True), (2, terms, 2))
    # Row 2 s holds what makes species s, row 2 s + 1 what loses it.
    rows = np.stack([2 * products, 2 * reactants + 1]).reshape(-1)
    order = np.argsort(rows, kind="stable")
    reaction = np.broadcast_to(np.arange(terms)[None, :, None], (2, terms, 2)).reshape(-1)
    return {
        "a": 10.0 ** generator.uniform(-3, 3, terms),
        "b": generator.uniform(0, 1, terms),
        "y0": 10.0 ** generator.uniform(-3, 0, (zones, species)),
        "reactants": reactants,
        "starts": np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=2 * species))]),
        "terms": reaction[order],
        "weights": weights.reshape(-1)[order],
    }


def exact(
    inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int | float]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    steps, dt, y = int(sizes["T"]), float(sizes["dt"]), inputs["y0"]
    lengths = np.diff(inputs["starts"])
    table = np.zeros((len(lengths), int(sizes["R"])))
    np.add.at(table, (np.repeat(np.arange(len(lengths)), lengths), inputs["terms"]), inputs["weights"])
    rates = inputs["a"] * (1 + inputs["b"] * inputs["temperature"][:, None])
    first, second = inputs["reactants"].T
    for _ in range(steps):
        sums = (rates * y[:, first] * y[:, second]) @ table.T
        y = y * (y + dt * sums[:, 0::2]) / (y + dt * sums[:, 1::2])
    # The task's tolerance says where this bound of the rounding errors comes from.
    return {"y": (y, y * (2 * lengths.max() + 18) * (3**steps - 1) / 2)}


def flops(sizes: Mapping[str, int | float]) -> int:
    return int(sizes["Z"] * sizes["T"] * (10 * sizes["R"] + 6 * sizes["S"]))
