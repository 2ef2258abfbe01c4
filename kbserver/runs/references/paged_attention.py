"""Attention of one query token a sequence over keys and values in pages, which a table names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FAMILIES = ("drawn", "steep")
"""steep: scores of some hundred, where exp overflows float unless the maximum was subtracted."""

HEAD, PAGE = 128, 16
STEEPNESS = 60.0
GARBAGE = 1e30
"""What slots hold that no sequence owns, as a cache does that was used before."""
NO_PAGE = -1


def inputs(sizes: Mapping[str, int], generator: np.random.Generator, family: str) -> dict[str, np.ndarray]:
    sequences, heads, longest = sizes["S"], sizes["N"], sizes["L"]
    lengths = generator.integers(1, longest, sequences, endpoint=True)
    # The ends always occur: the longest sequence, and beside another one a sequence of one token.
    ends = [longest, 1][:sequences]
    lengths[: len(ends)] = ends
    lengths = generator.permutation(lengths)
    pages = -(-lengths // PAGE)
    numbers = iter(generator.permutation(sizes["P"]))
    table = np.full((sequences, sizes["B"]), NO_PAGE)
    cache = {
        name: np.copysign(GARBAGE, generator.standard_normal((sizes["P"], heads, PAGE, HEAD))) for name in ("k", "v")
    }
    for sequence, length in enumerate(lengths):
        for place in range(pages[sequence]):
            number = table[sequence, place] = next(numbers)
            used = min(PAGE, length - place * PAGE)
            for array in cache.values():
                array[number, :, :used] = generator.standard_normal((heads, used, HEAD))
    query = generator.standard_normal((sequences, heads, sizes["G"], HEAD))
    return {"q": query * (STEEPNESS if family == "steep" else 1), **cache, "table": table, "lengths": lengths}


def exact(
    inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int | float]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    result = np.empty(inputs["q"].shape)
    roundings = np.empty(inputs["q"].shape)
    for sequence, length in enumerate(inputs["lengths"]):
        pages = inputs["table"][sequence, : -(-length // PAGE)]
        keys, values = (
            # [page, head, token, d] to [head, token of the sequence, d]
            inputs[name][pages].transpose(1, 0, 2, 3).reshape(-1, len(pages) * PAGE, HEAD)[:, :length]
            for name in ("k", "v")
        )
        result[sequence], roundings[sequence] = attention(inputs["q"][sequence], keys, values)
    return {"y": (result, roundings)}


def attention(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return [head, query, d] of the result, and of its error in units of 2^-24; see the task's tolerance."""
    scale = 1 / np.sqrt(HEAD)
    scores = np.einsum("hgd,htd->hgt", query, keys) * scale
    sizes = np.einsum("hgd,htd->hgt", np.abs(query), np.abs(keys)) * scale
    below = scores.max(axis=2, keepdims=True) - scores
    weights = np.exp(-below)
    weights /= weights.sum(axis=2, keepdims=True)
    # Relative errors of a token's weight, and of the sums over all tokens.
    errors = weights * ((HEAD + 2) * sizes + 2 * below + 16 + keys.shape[1])
    magnitudes = np.einsum("hgt,htd->hgd", weights, np.abs(values))
    of_values = np.einsum("hgt,htd->hgd", errors, np.abs(values))
    of_sum = errors.sum(axis=2, keepdims=True) * magnitudes
    return np.einsum("hgt,htd->hgd", weights, values), of_values + of_sum


def flops(sizes: Mapping[str, int | float]) -> int:
    """Of sequences that all have the full length: the most that can be asked for."""
    return int(4 * sizes["S"] * sizes["N"] * sizes["G"] * sizes["L"] * HEAD)
