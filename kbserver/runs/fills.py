"""Inputs by declaration: what `fill:` of a tensor means."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from kbserver.core.errors import ContentError
from kbserver.runs.dtypes import Dtype
from kbserver.runs.expression import number
from kbserver.runs.problem import IN_OUT, INPUT, Fill, Problem

WHOLE = "whole"
WHOLE_LIMIT = 7
"""Largest whole number of the family `whole`: float32 adds 2^18 products of two such numbers exactly."""
_RANGES: dict[str, tuple[float, float]] = {"uniform": (-1.0, 1.0), "integers": (0, 100), "sorted": (0, 100)}


def filled(
    problem: Problem, sizes: Mapping[str, int], generator: np.random.Generator, family: str, given: Mapping[str, object]
) -> dict[str, np.ndarray]:
    """Return every input and inout tensor as stored: those that are `given`, the others as their fill says.

    In the family `whole`, float tensors without a range of their own hold whole numbers, so that sums are exact.
    """
    made = {}
    for name in problem.named(INPUT, IN_OUT):
        dtype, shape = problem.dtype_of(name), problem.shape(name, sizes)
        if name in given:
            made[name] = stored(given[name], dtype, shape, f"inputs: {name}")
            continue
        fill = problem.tensors[name].fill or Fill(kind="integers" if dtype.is_integer else "normal")
        if fill.kind == "given":
            raise ContentError(f"the reference's inputs() returned no {name}, which says `fill: given`", where=name)
        if family == WHOLE and fill.kind in ("normal", "spread") and fill.low is None:
            fill = Fill(kind=WHOLE)
        made[name] = dtype.encode(values(fill, shape, generator, dtype, {**sizes, **problem.constants}))
    return made


def values(
    fill: Fill, shape: tuple[int, ...], generator: np.random.Generator, dtype: Dtype, names: Mapping[str, int | float]
) -> np.ndarray:
    """Return random values of a fill: float64, or int64 for whole numbers."""
    low, high = _RANGES.get(fill.kind, (0.0, 0.0))
    try:
        low = low if fill.low is None else number(fill.low, names)
        high = high if fill.high is None else number(fill.high, names)
    except ValueError as error:
        raise ContentError(f"fill: {error}", where=fill.kind) from None
    if fill.kind in _RANGES and not low < high:
        raise ContentError(f"fill: low {low:g} is not below high {high:g}", where=fill.kind)
    match fill.kind:
        case "zero":
            return np.zeros(shape)
        case "whole":
            return generator.integers(-WHOLE_LIMIT, WHOLE_LIMIT, shape, endpoint=True)
        case "integers":
            return generator.integers(int(low), int(high), shape)
        case "sorted":
            return np.sort(generator.integers(int(low), int(high), shape), axis=-1)
        case "permutation":
            return generator.permutation(prod(shape)).reshape(shape)
        case "uniform":
            return generator.uniform(low, high, shape)
        case "spread":
            # Random signs and significands, exponents over eight binades: sums round.
            size = np.ldexp(generator.uniform(0.5, 1.0, shape), generator.integers(-7, 1, shape))
            return np.copysign(size, generator.standard_normal(shape)) * fill.scale
    return generator.standard_normal(shape) * fill.scale


def stored(array: object, dtype: Dtype, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Return an array of values as stored. Raises ContentError unless it has the shape and finite numbers."""
    found = np.asarray(array)
    if found.shape != shape:
        raise ContentError(f"{what} has the shape {found.shape}, not {shape}", where=what)
    if found.dtype.kind not in "fiub":
        raise ContentError(f"{what} holds {found.dtype}, not numbers", where=what)
    if found.dtype.kind == "f" and not bool(np.isfinite(found).all()):
        raise ContentError(f"{what} holds NaN or infinity", where=what)
    if dtype.is_integer and not dtype.holds(found):  # type: ignore[attr-defined]
        raise ContentError(f"{what} holds numbers that {dtype.name} does not have", where=what)
    return np.ascontiguousarray(dtype.encode(found))
