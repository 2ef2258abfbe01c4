"""One kernel of a task: its source, its launches, and what others published about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, field_validator, model_validator

from kbserver.core.model import Record
from kbserver.runs.expression import evaluate, number

INTEGER_ARGUMENTS = ("i32", "u32", "i64", "u64")
FLOAT_ARGUMENTS = ("f32", "f64")


class Figures(Record):
    """What can be published of a kernel; times in ms, sizes in bytes."""

    time_ms: float | None = None
    vgprs: int | None = None
    agprs: int | None = None
    sgprs: int | None = None
    waves_per_simd: int | None = None
    lds_bytes: int | None = None
    scratch_bytes: int | None = None


class Published(Record):
    """Figures that others published for a variant on `arch`, and which of them ours is known not to reproduce.

    `loop` counts instructions of the hot loop; `per_wave` are counters of a whole run divided by its wavefronts, with
    a `source` of their own when they stand elsewhere; `explained` says why ours differ, by counter.
    """

    source: str
    locator: str | None = None
    arch: str
    figures: Figures
    loop: dict[str, int] = Field(default_factory=dict)
    per_wave: dict[str, int | float | str] = Field(default_factory=dict)
    explained: dict[str, str] = Field(default_factory=dict)
    not_reproduced: tuple[str, ...] = ()

    @field_validator("per_wave")
    @classmethod
    def _only_the_source_is_text(cls, value: dict[str, int | float | str]) -> dict[str, int | float | str]:
        for key, entry in value.items():
            if isinstance(entry, str) != (key == "source"):
                raise ValueError(f"{key} must be {'a source id' if key == 'source' else 'a number'}")
        return value


class Step(Record):
    """One launch. grid, block and lds (dynamic LDS in bytes) are numbers or expressions over the dimensions.

    arguments: names of tensors, or `type:expression` for numbers, the types being i32, u32, i64, u64, f32 and f64.
    """

    entry: str
    grid: tuple[int | str, int | str, int | str]
    block: tuple[int | str, int | str, int | str]
    arguments: tuple[str, ...]
    lds: int | str = 0

    def sizes_of(self, what: str, names: Mapping[str, int]) -> tuple[int, int, int]:
        """Return `grid` or `block` for the sizes of a shape."""
        x, y, z = (int(evaluate(part, names)) for part in getattr(self, what))
        return x, y, z

    def values(self, names: Mapping[str, int | float]) -> tuple[str | tuple[str, int | float], ...]:
        """Return what the launch passes: tensor names, and (type, number) pairs. Raises ValueError."""
        return tuple(self._value(text, names) for text in self.arguments)

    def _value(self, text: str, names: Mapping[str, int | float]) -> str | tuple[str, int | float]:
        kind, colon, expression = text.partition(":")
        if not colon:
            return text
        if kind in FLOAT_ARGUMENTS:
            return kind, float(number(expression, names))
        if kind in INTEGER_ARGUMENTS:
            return kind, int(evaluate(expression, names))
        raise ValueError(f"argument {text!r}: types are {', '.join((*INTEGER_ARGUMENTS, *FLOAT_ARGUMENTS))}")

    def expressions(self) -> Iterator[int | str]:
        """Yield every expression over dimensions alone."""
        yield from (*self.grid, *self.block, self.lds)


_OF_ONE = ("entry", "grid", "block", "arguments", "lds")


class Variant(Record):
    """One kernel of a task: one launch, written flat, or several in `launches`, which run in order on one stream.

    `grid`, `block`, `lds`, `defines` and `requires` are expressions over the dimensions of a shape. entry, grid, block
    and arguments are those of the launch `profiled`, the one that figures of a kernel are about; default: the first.
    """

    name: str
    source: str
    technique: str | None = None
    entry: str = ""
    layout: dict[str, str] = Field(default_factory=dict)
    block: tuple[int | str, int | str, int | str] = (1, 1, 1)
    grid: tuple[int | str, int | str, int | str] = (1, 1, 1)
    lds: int | str = 0
    defines: dict[str, int | str] = Field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    launches: tuple[Step, ...] = ()
    profiled: str | None = None
    arches: tuple[str, ...]
    requires: tuple[str, ...] = ()
    finite_inputs_only: bool = False
    published: Published | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_form(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("launches"):
            both = [key for key in _OF_ONE if key in data]
            entries = [one.get("entry") if isinstance(one, dict) else getattr(one, "entry", None)
                       for one in data["launches"]]  # fmt: skip
            wanted = data.get("profiled")
            if both and data.get("entry") not in entries:
                raise ValueError(f"{', '.join(both)} belong into each of `launches`")
            if wanted is not None and wanted not in entries:
                raise ValueError(f"profiled {wanted!r} is none of {', '.join(map(str, entries))}")
            main = data["launches"][entries.index(wanted) if wanted else 0]
            return {**data, **(main if isinstance(main, dict) else main.model_dump())}
        missing = [key for key in ("entry", "grid", "block", "arguments") if key not in data]
        if missing:
            raise ValueError(f"needs {', '.join(missing)}, or `launches` with these in each")
        return data

    @property
    def steps(self) -> tuple[Step, ...]:
        """The launches in order."""
        if self.launches:
            return self.launches
        return (Step(entry=self.entry, grid=self.grid, block=self.block, arguments=self.arguments, lds=self.lds),)

    @property
    def entries(self) -> list[str]:
        """The different symbols that are launched, in order."""
        return list(dict.fromkeys(step.entry for step in self.steps))

    @property
    def workgroup(self) -> int | None:
        """Work-items of one workgroup of the profiled launch; None where that depends on the shape."""
        x, y, z = self.block
        return x * y * z if isinstance(x, int) and isinstance(y, int) and isinstance(z, int) else None
