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

from pydantic import Field, ValidationError

from kbserver.core.errors import ContentError, KbError, UnknownName, UsageError
from kbserver.core.model import Record
from kbserver.core.paths import current_roots, inside
from kbserver.core.yamlio import load_yaml
from kbserver.runs.expression import evaluate
from kbserver.runs.problem import Problem, Tensor, Tolerance
from kbserver.runs.variant import Figures, Published, Step, Variant

TASK_FILE = "task.yaml"
KERNELS, REFERENCE_KERNELS = "kernels", "reference_kernels"
PUBLISHED_SHAPE, SMALLEST_SHAPE = "paper", "tiny"
"""The shape that published figures are about, and the one for quick checks, by convention of the task files."""

__all__ = [
    "Figures", "Problem", "Published", "Step", "Task", "Tensor", "Tolerance", "Variant", "find_kernel", "load_task",
    "tasks",
]  # fmt: skip


class Task(Record):
    """A problem, its shapes and its variants. `folder` holds the sources.

    reference: a name of `runs.references`, or `./file.py` beside the task file. derived: dimensions that follow from
    those of a shape, each an expression that may use the ones before it. held_out: [low, high] or [low, high, step] of
    dimensions in shapes that verification draws. main: the variant that the task's name means.
    """

    name: str
    title: str
    reference: str
    problem: Problem
    shapes: dict[str, dict[str, int]]
    derived: dict[str, int | str] = Field(default_factory=dict)
    held_out: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    tolerance: Tolerance
    variants: tuple[Variant, ...]
    main: str | None = None
    folder: Path
    file_name: str = TASK_FILE

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
        return self.complete(self.shapes[shape])

    def complete(self, given: Mapping[str, int]) -> Mapping[str, int]:
        """Return the sizes given together with the output sizes that follow from them."""
        sizes, problem = dict(given), self.problem
        for axis, kernel, padding, stride in zip("DHW", problem.kernel, problem.padding, problem.stride, strict=False):
            if axis in sizes:
                sizes[f"O{axis}"] = (sizes[axis] + 2 * padding - kernel) // stride + 1
        for name, expression in self.derived.items():
            sizes[name] = int(evaluate(expression, sizes))
        return MappingProxyType(sizes)

    def given(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Return the sizes that a shape gives, without those that follow from them."""
        names = next(iter(self.shapes.values()))
        return {name: sizes[name] for name in names}

    def constants(self, sizes: Mapping[str, int]) -> dict[str, int | float]:
        """Return the sizes together with the problem's constants: what arguments of a launch can name."""
        return {**sizes, **self.problem.constants}

    def tolerance_of(self, tensor: str) -> Tolerance:
        """Return the bound of an output: its own, else the task's."""
        return self.problem.tensors[tensor].tolerance or self.tolerance

    @property
    def folder_name(self) -> str | None:
        """The folder that stands for this task: its own under `reference_kernels`, when it is the main one there."""
        return self.folder.name if self.file_name == TASK_FILE else None

    @property
    def path(self) -> Path:
        """The task file."""
        return self.folder / self.file_name

    @property
    def main_variant(self) -> Variant | None:
        """The variant that the task's name means: the one marked `main`, or the only one."""
        if self.main is not None:
            return self.variant(self.main)
        return self.variants[0] if len(self.variants) == 1 else None

    @property
    def smallest_shape(self) -> str:
        """The shape for quick checks: "tiny", else the first of the file."""
        return SMALLEST_SHAPE if SMALLEST_SHAPE in self.shapes else next(iter(self.shapes))

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
    # A folder may hold a second problem of the same technique: `rms_norm.task.yaml` beside `task.yaml`.
    files = [content / KERNELS / TASK_FILE, *sorted((content / REFERENCE_KERNELS).glob(f"*/*{TASK_FILE}"))]
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
    """Return the task and variant that `name` means: a variant, or a task or folder for its main variant.

    Raises UnknownName.
    """
    everything = tasks()
    for task in everything.values():
        for variant in task.variants:
            if name == variant.name:
                return task, variant
    for task in everything.values():
        if name in (task.name, task.folder_name) and task.main_variant is not None:
            return task, task.main_variant
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
    if not isinstance(data, dict) or {"folder", "file_name"} & set(data):
        raise ContentError("expected a mapping with name, problem, shapes and variants", where=str(path))
    try:
        task = Task(**data, folder=path.parent, file_name=path.name)
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
    names = [variant.name for variant in task.variants]
    if not names or len(set(names)) != len(names) or not task.shapes:
        raise ContentError("a task needs shapes and variants of different names", where=str(path))
    if task.main is not None and task.main not in names:
        raise ContentError(f"main {task.main!r} is no variant", where=str(path), hint=f"one of: {', '.join(names)}")
    if any(set(sizes) != set(next(iter(task.shapes.values()))) for sizes in task.shapes.values()):
        raise ContentError("every shape gives the same dimensions", where=str(path))
    given = next(iter(task.shapes.values()))
    for key, span in task.held_out.items():
        if key not in given or len(span) not in (2, 3) or not 0 < span[0] <= span[1] or min(span) < 1:
            raise ContentError(f"held_out {key}: [low, high] or [low, high, step] of a shape's dimension",
                               where=str(path))  # fmt: skip
    _check_problem(task, path)
    for variant in task.variants:
        _check_variant(task, variant, f"{path}: variant {variant.name}")


def _check_variant(task: Task, variant: Variant, where: str) -> None:
    """Check the source, names, layouts and expressions of a variant."""
    from kbserver.core.targets import targets

    try:
        if not task.source(variant).is_file():
            raise ContentError(f"no source file {variant.source}", where=where)
        for shape in task.shapes:
            _check_expressions(task, variant, shape)
        for arch in (*variant.arches, *([variant.published.arch] if variant.published else [])):
            targets().resolve(arch)
    except ValueError as error:
        raise ContentError(str(error), where=where) from None
    except ContentError:
        raise
    except KbError as error:
        raise ContentError(error.message, where=where, hint=error.hint) from None
    tensors = task.problem.tensors
    arguments = {name for step in variant.steps for name in step.arguments if ":" not in name}
    unknown = (set(variant.layout) | arguments) - set(tensors)
    if unknown:
        raise ContentError(f"unknown tensors {', '.join(sorted(unknown))}", where=where)
    for name, layout in variant.layout.items():
        if sorted(layout) != sorted(tensors[name].axes):
            text = f"layout {layout} is no permutation of {name}'s axes {tensors[name].axes}"
            raise ContentError(text, where=where)


def _check_problem(task: Task, path: Path) -> None:
    """Check the sizes of every tensor for every shape."""
    for shape in task.shapes:
        for name in task.problem.tensors:
            where = f"{path}: tensor {name}, shape {shape}"
            try:
                sizes = task.problem.shape(name, task.dimensions(shape))
            except ValueError as error:
                raise ContentError(str(error), where=where) from None
            if min(sizes, default=1) < 1:
                raise ContentError(f"sizes {sizes} are not all positive", where=where)


def _check_expressions(task: Task, variant: Variant, shape: str) -> None:
    """Evaluate every expression of a variant. Raises ValueError."""
    sizes = task.dimensions(shape)
    for expression in (*variant.defines.values(), *variant.requires):
        evaluate(expression, sizes)
    for step in variant.steps:
        for expression in step.expressions():
            evaluate(expression, sizes)
        step.values(task.constants(sizes))
