"""Kernel tasks: `kernels/task.yaml` and `reference_kernels/*/task.yaml` say what is computed and by which variants.

A file is read strictly: an unknown key, a missing source file, or an expression over an unknown name is an error that
names the file and the entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field, ValidationError, field_validator

from kbserver.core.errors import ContentError, KbError, UnknownName, UsageError
from kbserver.core.model import Record
from kbserver.core.paths import current_roots, inside
from kbserver.core.yamlio import load_yaml
from kbserver.runs.expression import evaluate

TASK_FILE = "task.yaml"
KERNELS, REFERENCE_KERNELS = "kernels", "reference_kernels"
PUBLISHED_SHAPE = "paper"
"""The shape that published figures are about, by convention of the task files."""


class Tensor(Record):
    """One argument tensor in its canonical order; `size` may name dimensions of the shape."""

    axes: str
    size: tuple[int | str, ...]
    role: str


class Problem(Record):
    """What is computed, apart from how."""

    dtype: str
    accumulate: str
    kernel: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    tensors: dict[str, Tensor]

    def shape(self, tensor: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the canonical shape of a tensor for the sizes of a shape."""
        return tuple(size if isinstance(size, int) else sizes[size] for size in self.tensors[tensor].size)


class Tolerance(Record):
    """The bound of a correct result per element, and why it is that."""

    against: str
    rule: str
    ulp_of_output: float | None = None
    """Share of the output's spacing that its rounding may cost; without it, `relative` stands for the rounding."""
    relative: float = 0.0
    accumulated: float = 0.0
    """Times the sum of the magnitudes of what is added."""
    absolute: float = 0.0
    reason: str
    bitwise_equal: tuple[tuple[str, ...], ...] = ()


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


class Variant(Record):
    """One kernel of a task. `grid`, `defines` and `requires` are expressions over the dimensions of a shape."""

    name: str
    source: str
    entry: str
    layout: dict[str, str]
    block: tuple[int, int, int]
    grid: tuple[int | str, int | str, int | str]
    defines: dict[str, int | str] = Field(default_factory=dict)
    arguments: tuple[str, ...]
    arches: tuple[str, ...]
    requires: tuple[str, ...] = ()
    finite_inputs_only: bool = False
    published: Published | None = None

    @property
    def workgroup(self) -> int:
        """Work-items of one workgroup."""
        return self.block[0] * self.block[1] * self.block[2]


class Task(Record):
    """A problem, its shapes and its variants. `folder` holds the sources."""

    name: str
    title: str
    reference: str
    problem: Problem
    shapes: dict[str, dict[str, int]]
    tolerance: Tolerance
    variants: tuple[Variant, ...]
    folder: Path

    def variant(self, name: str) -> Variant:
        """Return the variant of this name. Raises UnknownName."""
        for variant in self.variants:
            if variant.name == name:
                return variant
        raise UnknownName("kernel", name, [variant.name for variant in self.variants])

    def source(self, variant: Variant) -> Path:
        """Return the source file of a variant."""
        return inside(self.folder, variant.source)

    def dimensions(self, shape: str) -> Mapping[str, int]:
        """Return the dimensions of a shape and the output sizes that follow (OD, OH, OW). Raises UnknownName."""
        if shape not in self.shapes:
            raise UnknownName("shape", shape, self.shapes)
        return self.derived(self.shapes[shape])

    def derived(self, given: Mapping[str, int]) -> Mapping[str, int]:
        """Return the sizes given together with the output sizes that follow from them."""
        sizes, problem = dict(given), self.problem
        for axis, kernel, padding, stride in zip("DHW", problem.kernel, problem.padding, problem.stride, strict=False):
            if axis in sizes:
                sizes[f"O{axis}"] = (sizes[axis] + 2 * padding - kernel) // stride + 1
        return MappingProxyType(sizes)

    def defines(self, variant: Variant, shape: str) -> dict[str, str]:
        """Return the macros of a variant for a shape. Raises UsageError when the variant cannot do that shape."""
        return self.defines_for(variant, self.dimensions(shape), shape)

    def defines_for(self, variant: Variant, sizes: Mapping[str, int], shape: str) -> dict[str, str]:
        """Return the macros for sizes that no named shape has; `shape` is what the error calls them."""
        for condition in variant.requires:
            if not evaluate(condition, sizes):
                raise UsageError(
                    f"{variant.name} needs {condition}, which shape {shape} does not fulfil",
                    where=f"kernel:{variant.name}",
                )
        return {name: str(evaluate(value, sizes)) for name, value in variant.defines.items()}

    @property
    def published_shape(self) -> str:
        """The shape that published figures are about: "paper", else the last one of the file."""
        return PUBLISHED_SHAPE if PUBLISHED_SHAPE in self.shapes else list(self.shapes)[-1]


def tasks() -> dict[str, Task]:
    """Return every task of the content root by name."""
    content = current_roots().content
    files = [content / KERNELS / TASK_FILE, *sorted((content / REFERENCE_KERNELS).glob(f"*/{TASK_FILE}"))]
    found: dict[str, Task] = {}
    owners: dict[str, str] = {}
    for path in files:
        if not path.is_file():
            continue
        task = load_task(path)
        for variant in task.variants:
            if variant.name in owners:
                raise ContentError(f"kernel {variant.name} is also in task {owners[variant.name]}", where=str(path))
            owners[variant.name] = task.name
        if task.name in found:
            raise ContentError(f"task {task.name} exists twice", where=str(path))
        found[task.name] = task
    return found


def find_kernel(name: str) -> tuple[Task, Variant]:
    """Return the task and variant that `name` means: a variant, or a task with one variant. Raises UnknownName."""
    everything = tasks()
    for task in everything.values():
        for variant in task.variants:
            if name == variant.name or (name == task.name and len(task.variants) == 1):
                return task, variant
    raise UnknownName("kernel", name, [v.name for task in everything.values() for v in task.variants], where="name")


def load_task(path: Path) -> Task:
    """Return the task of one file, checked. Raises ContentError with the file and the entry."""
    try:
        stat = path.stat()
    except OSError as error:
        raise ContentError(f"cannot read: {error.strerror}", where=str(path)) from None
    return _load(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=32)
def _load(path: Path, mtime_ns: int, size: int) -> Task:
    data = load_yaml(path)
    if not isinstance(data, dict) or "folder" in data:
        raise ContentError("expected a mapping with name, problem, shapes and variants", where=str(path))
    try:
        task = Task(**data, folder=path.parent)
    except (ValidationError, TypeError) as error:
        raise ContentError(*_first_problem(error, data), where=str(path)) from None
    _check(task, path)
    return task


def _first_problem(error: ValidationError | TypeError, data: dict[str, Any]) -> tuple[str]:
    if isinstance(error, TypeError):
        return (str(error),)
    first = error.errors()[0]
    parts = [str(part) for part in first["loc"]]
    if len(parts) > 1 and parts[0] == "variants":
        entry = data["variants"][int(parts[1])]
        parts[1] = str(entry.get("name", parts[1])) if isinstance(entry, dict) else parts[1]
    return (f"{'.'.join(parts)}: {first['msg']}",)


def _check(task: Task, path: Path) -> None:
    """Check what the schema cannot: files, names and every expression for every shape."""
    from kbserver.core.targets import targets

    names = [variant.name for variant in task.variants]
    if not names or len(set(names)) != len(names) or not task.shapes:
        raise ContentError("a task needs shapes and variants of different names", where=str(path))
    for variant in task.variants:
        where = f"{path}: variant {variant.name}"
        try:
            if not task.source(variant).is_file():
                raise ContentError(f"no source file {variant.source}", where=where)
            for shape in task.shapes:
                sizes = task.dimensions(shape)
                for expression in (*variant.grid, *variant.defines.values(), *variant.requires):
                    evaluate(expression, sizes)
            if variant.published:
                targets().resolve(variant.published.arch)
            for arch in variant.arches:
                targets().resolve(arch)
        except ValueError as error:
            raise ContentError(str(error), where=where) from None
        except ContentError:
            raise
        except KbError as error:
            raise ContentError(error.message, where=where, hint=error.hint) from None
        unknown = set(variant.layout) - set(task.problem.tensors)
        unknown |= {name for name in variant.arguments if ":" not in name} - set(task.problem.tensors)
        if unknown:
            raise ContentError(f"unknown tensors {', '.join(sorted(unknown))}", where=where)
