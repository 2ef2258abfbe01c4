"""A reference in one file: a module, or the namespace of a user's file, with one function.

    def exact(inputs, sizes):            # required
        x = inputs["x"]                  # float64, or whole numbers; canonical axes
        return {"y": (2 * x, abs(2 * x))}    # result and magnitude of every output; or the result alone

Optional: `FAMILIES`, names of kinds of input that seeds take in turns ("whole" makes inputs whole numbers, for which a
sum must be exact); `inputs(sizes, generator, family)`, which returns those tensors that no fill can make;
`flops(sizes)`. `sizes` holds the dimensions of the shape, the derived ones and the problem's constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kbserver.core.errors import ContentError
from kbserver.runs.dtypes import Dtype, Integer
from kbserver.runs.fills import WHOLE, filled
from kbserver.runs.problem import IN_OUT, INPUT, Problem
from kbserver.runs.references.protocol import Arrays
from kbserver.runs.slices import slicing_of

FAMILY = "drawn"
TELLING = 64
"""From this many elements on, an exact result that is one value everywhere is refused: any constant would pass."""


@dataclass
class DenseChannel:
    """Exact values and magnitudes of a slice, or of all of them."""

    exact: np.ndarray
    magnitudes: np.ndarray

    def magnitude(self, places: np.ndarray | None = None) -> np.ndarray:
        return self.magnitudes if places is None else self.magnitudes.reshape(-1)[places]


@dataclass(frozen=True)
class DenseResults:
    """All exact results of one set of inputs, by output, with the axis of the slices first."""

    outputs: Mapping[str, DenseChannel] = field(default_factory=dict)

    def channel(self, output: str, number: int) -> DenseChannel:
        whole = self.outputs[output]
        return DenseChannel(np.ascontiguousarray(whole.exact[number]), np.ascontiguousarray(whole.magnitudes[number]))

    def whole(self, output: str) -> DenseChannel:
        return self.outputs[output]


def dense(problem: Problem, sizes: Mapping[str, int], arrays: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Any:
    """Return results from canonical arrays of exact values and magnitudes."""
    outputs = {}
    for name, (exact, magnitude) in arrays.items():
        cut = slicing_of(problem.tensors[name], problem.shape(name, sizes))
        outputs[name] = DenseChannel(np.ascontiguousarray(cut.view(exact)), np.ascontiguousarray(cut.view(magnitude)))
    return DenseResults(outputs)


class ModuleReference:
    """The reference of a module. `name` is what errors call it."""

    renews = False

    def __init__(self, module: Any, name: str) -> None:
        self._name = name
        self._exact = _function(module, "exact", name)
        if self._exact is None:
            raise ContentError("a reference needs a function exact(inputs, sizes)", where=name)
        self._inputs, self._flops = _function(module, "inputs", name), _function(module, "flops", name)
        families = getattr(module, "FAMILIES", (FAMILY,))
        if not isinstance(families, (tuple, list)) or not families or not all(isinstance(f, str) for f in families):
            raise ContentError("FAMILIES is a tuple of names", where=name)
        self.families = tuple(families)

    def inputs(self, problem: Problem, sizes: Mapping[str, int], seed: int, family: str) -> dict[str, np.ndarray]:
        generator = np.random.Generator(np.random.SFC64([seed, self.families.index(family)]))
        given = {}
        if self._inputs is not None:
            given = self._inputs({**sizes, **problem.constants}, generator, family)
            known = problem.named(INPUT, IN_OUT)
            if not isinstance(given, dict) or set(given) - set(known):
                raise ContentError(f"inputs() returns a dict of some of {', '.join(known)}", where=self._name)
        return filled(problem, sizes, generator, family, given)

    def sums_exactly(self, family: str) -> bool:
        return family == WHOLE

    def arrays(
        self, problem: Problem, sizes: Mapping[str, int], inputs: Arrays
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return (exact values, magnitudes) of every output in canonical order, checked. Raises ContentError."""
        # Copies: a reference that computes in place must not change what the kernel was given.
        values = {name: np.array(problem.dtype_of(name).decode(array)) for name, array in inputs.items()}
        found = self._exact(values, {**sizes, **problem.constants})  # type: ignore[misc]
        if not isinstance(found, dict) or set(found) != set(problem.results):
            got = ", ".join(map(str, found)) if isinstance(found, dict) else type(found).__name__
            raise ContentError(
                f"exact() returns a dict of {', '.join(problem.results)}; it returned {got or 'nothing'}",
                where=self._name,
            )
        return {
            name: _checked(value, problem.dtype_of(name), problem.shape(name, sizes), f"{self._name}: exact {name}")
            for name, value in found.items()
        }

    def results(self, problem: Problem, sizes: Mapping[str, int], inputs: Arrays) -> DenseResults:
        return dense(problem, sizes, self.arrays(problem, sizes, inputs))

    def renew(self, family: str, stored: np.ndarray, seed: int) -> None:
        raise ValueError("inputs of this reference are made anew, not changed")

    def flops(self, problem: Problem, sizes: Mapping[str, int]) -> int:
        return int(self._flops({**sizes, **problem.constants})) if self._flops is not None else 0

    def library(self, problem: Problem, sizes: Mapping[str, int]) -> None:
        return None

    def second(self, problem: Problem, inputs: Arrays, channels: int) -> None:
        return None

    def close(self) -> None:
        pass


def _function(module: Any, name: str, where: str) -> Callable[..., Any] | None:
    found = getattr(module, name, None)
    if found is not None and not callable(found):
        raise ContentError(f"{name} is no function", where=where)
    return found


def _checked(value: object, dtype: Dtype, shape: tuple[int, ...], what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (exact, magnitude) of one output. Raises ContentError for a wrong shape and numbers that cannot be."""
    pair = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
    exact = _array(pair[0], shape, what)
    magnitude = np.abs(exact.astype(np.float64)) if pair[1] is None else _array(pair[1], shape, f"{what}, magnitude")
    if magnitude.dtype.kind == "f" and float(magnitude.min(initial=0.0)) < 0:
        raise ContentError("a magnitude is negative", where=what)
    if exact.size >= TELLING and bool((exact == exact.reshape(-1)[0]).all()):
        raise ContentError(
            f"the exact result is {exact.reshape(-1)[0]} everywhere: any kernel that writes this would pass",
            where=what,
            hint="give the inputs another fill",
        )
    if isinstance(dtype, Integer):
        if not dtype.holds(exact):
            raise ContentError(f"the exact result has numbers that {dtype.name} does not have", where=what)
        return exact.astype(dtype.storage), magnitude.astype(np.float64)
    return exact.astype(np.float64), magnitude.astype(np.float64)


def _array(value: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    found = np.asarray(value)
    if found.dtype.kind not in "fiub":
        raise ContentError(f"holds {found.dtype}, not numbers", where=what)
    if found.shape != shape:
        raise ContentError(f"has the shape {found.shape}, not {shape}", where=what)
    if found.dtype == np.float16 or found.dtype == np.float32:
        raise ContentError(f"is {found.dtype}; a reference computes in float64", where=what)
    if found.dtype.kind == "f" and not bool(np.isfinite(found).all()):
        bad = np.unravel_index(int(np.flatnonzero(~np.isfinite(found))[0]), shape)
        raise ContentError(f"holds {found[bad]} at {tuple(map(int, bad))}: no kernel can be judged by that", where=what)
    return found
