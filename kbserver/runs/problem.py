"""What a task computes, apart from how: tensors with formats, sizes and fills, constants, bounds of right results."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator, model_validator

from kbserver.core.errors import UnknownName
from kbserver.core.model import Record
from kbserver.runs.expression import evaluate
from kbserver.runs.formats import BITS, canonical

if TYPE_CHECKING:
    from kbserver.runs.dtypes import Dtype

INPUT, OUTPUT, IN_OUT, SCRATCH = "input", "output", "inout", "scratch"
ROLES = (INPUT, OUTPUT, IN_OUT, SCRATCH)
FILLS = ("normal", "uniform", "spread", "whole", "integers", "sorted", "permutation", "zero", "given")
"""How inputs can be made (`runs.fills`); given: by the reference's own `inputs`."""


class Fill(Record):
    """How an input is made. low and high: expressions over the dimensions, high excluded for whole numbers."""

    kind: str
    low: int | float | str | None = None
    high: int | float | str | None = None
    scale: float = 1.0

    @field_validator("kind")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in FILLS:
            raise ValueError(f"unknown fill {value!r}; known: {', '.join(FILLS)}")
        return value


class Tolerance(Record):
    """The bound of a correct result per element, and why it is that."""

    against: str = "float64"
    rule: str
    exact: bool = False
    """Only the exact value is right; for floats the exact value rounded once."""
    ulp_of_output: float | None = None
    """Share of the output's spacing that its rounding may cost; without it, `relative` stands for the rounding."""
    relative: float = 0.0
    accumulated: float = 0.0
    """Times the magnitude that the reference gives: for a sum, the sum of the magnitudes of what is added."""
    absolute: float = 0.0
    reason: str
    bitwise_equal: tuple[tuple[str, ...], ...] = ()


class Tensor(Record):
    """One argument tensor in its canonical order; `size` has numbers or expressions over the dimensions of a shape.

    role: input; output; inout, filled before and compared after; scratch, whose contents nobody specifies. slices: the
    axis along which results are judged and reported; without it the channels of N, C, ... or the first of several axes.
    """

    axes: str
    size: tuple[int | str, ...]
    role: str
    dtype: str | None = None
    fill: Fill | None = None
    slices: str | None = None
    tolerance: Tolerance | None = None

    @field_validator("role")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in ROLES:
            raise ValueError(f"unknown role {value!r}; known: {', '.join(ROLES)}")
        return value

    @field_validator("fill", mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fits(self) -> Tensor:
        if len(self.axes) != len(self.size) or len(set(self.axes)) != len(self.axes):
            raise ValueError(f"axes {self.axes!r} are one different letter for each of {len(self.size)} sizes")
        if self.slices is not None and (len(self.slices) != 1 or self.slices not in self.axes):
            raise ValueError(f"slices {self.slices!r} is no axis of {self.axes}")
        return self

    @property
    def is_result(self) -> bool:
        """True when its contents after the launch are compared."""
        return self.role in (OUTPUT, IN_OUT)


class Problem(Record):
    """What is computed, apart from how. dtype: the format of tensors that name none. constants: named numbers."""

    dtype: str
    accumulate: str = "fp32"
    kernel: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    constants: dict[str, int | float] = Field(default_factory=dict)
    tensors: dict[str, Tensor]

    @model_validator(mode="after")
    def _formats(self) -> Problem:
        for name in self.tensors:
            try:
                self.format_of(name)
            except UnknownName as error:
                raise ValueError(f"tensor {name}: {error.message} ({error.hint})") from None
        if not any(tensor.is_result for tensor in self.tensors.values()):
            raise ValueError("no tensor has the role output or inout: there is nothing to compare")
        return self

    def shape(self, tensor: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the canonical shape of a tensor for the sizes of a shape."""
        return tuple(int(evaluate(size, sizes)) for size in self.tensors[tensor].size)

    def format_of(self, tensor: str) -> str:
        """Return the name of the format of a tensor's elements."""
        return canonical(self.tensors[tensor].dtype or self.dtype)

    def dtype_of(self, tensor: str) -> Dtype:
        """Return the format of a tensor's elements."""
        from kbserver.runs.dtypes import find_dtype

        return find_dtype(self.format_of(tensor))

    def named(self, *roles: str) -> list[str]:
        """Return the names of the tensors of these roles, in order."""
        return [name for name, tensor in self.tensors.items() if tensor.role in roles]

    @property
    def results(self) -> list[str]:
        """Names of the tensors that are compared."""
        return self.named(OUTPUT, IN_OUT)

    def nbytes(self, sizes: Mapping[str, int]) -> int:
        """Return the fewest bytes that the problem moves: each input read once, each output written once."""
        passes = {INPUT: 1, OUTPUT: 1, IN_OUT: 2, SCRATCH: 0}
        return sum(
            passes[tensor.role] * prod(self.shape(name, sizes)) * BITS[self.format_of(name)] // 8
            for name, tensor in self.tensors.items()
        )
