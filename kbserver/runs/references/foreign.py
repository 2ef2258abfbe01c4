"""A reference that came with somebody's task file: run in a limited process without files or network, never in ours."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from kbserver.core.errors import ContentError, EngineCrashed, TimedOut, UnresolvedRef
from kbserver.core.paths import inside
from kbserver.devices.buffers import Layout, SharedBuffer
from kbserver.devices.child import Child
from kbserver.runs.fills import WHOLE
from kbserver.runs.problem import IN_OUT, INPUT, Problem
from kbserver.runs.references.module import DenseResults, dense
from kbserver.runs.references.protocol import Arrays
from kbserver.runs.task import Task

MODULE = "kbserver.runs.references.worker"
CALL_S = 120.0
"""Limit of one call: inputs, or the exact result, of one shape."""
LIFE_S = 7200.0
MAX_SOURCE_BYTES = 1 << 20


class ForeignReference:
    """The reference of a task's own file. Use it from one thread at a time, and close it."""

    renews = False

    def __init__(self, task: Task, call_s: float = CALL_S) -> None:
        """Start its process. Raises ContentError for a file that does not load."""
        self._call_s = call_s
        self._name = task.reference.removeprefix("./")
        source = _source(task)
        self._lock = threading.Lock()
        self._child = Child(MODULE, where=self._name, wall_s=LIFE_S, engine="the reference")
        try:
            message = {"do": "load", "name": self._name, "source": source, "problem": task.problem.model_dump()}
            self.families = tuple(self._ask(message, limit_s=CALL_S)["families"])
        except BaseException:
            self.close()
            raise

    def inputs(self, problem: Problem, sizes: Mapping[str, int], seed: int, family: str) -> dict[str, np.ndarray]:
        names = problem.named(INPUT, IN_OUT)
        layouts = [Layout(name, problem.dtype_of(name).storage, problem.shape(name, sizes), True) for name in names]
        with _shared(layouts) as buffers:
            message = {"do": "inputs", "sizes": dict(sizes), "seed": seed, "family": family, "buffers": names}
            self._ask(message, buffers)
            return {buffer.layout.name: buffer.array.copy() for buffer in buffers}

    def results(self, problem: Problem, sizes: Mapping[str, int], inputs: Arrays) -> DenseResults:
        layouts = [Layout(name, array.dtype.name, array.shape, False) for name, array in inputs.items()]
        for name in problem.results:
            dtype, shape = problem.dtype_of(name), problem.shape(name, sizes)
            layouts.append(Layout(name, dtype.storage if dtype.is_integer else "float64", shape, True))
            layouts.append(Layout(name, "float64", shape, True))
        with _shared(layouts) as buffers:
            for buffer, array in zip(buffers, inputs.values(), strict=False):
                buffer.array[...] = array
            message = {"do": "exact", "sizes": dict(sizes), "inputs": list(inputs), "outputs": problem.results}
            self._ask(message, buffers)
            pairs = buffers[len(inputs) :]
            arrays = {
                name: (pairs[2 * place].array.copy(), pairs[2 * place + 1].array.copy())
                for place, name in enumerate(problem.results)
            }
        return dense(problem, sizes, arrays)

    def _ask(self, message: dict[str, Any], buffers: Sequence[SharedBuffer] = (), limit_s: float | None = None) -> Any:
        limit_s = self._call_s if limit_s is None else limit_s
        layouts = [{"dtype": one.layout.dtype, "shape": one.layout.shape, "name": one.layout.name,
                    "writable": one.layout.writable} for one in buffers]  # fmt: skip
        with self._lock:
            try:
                return self._child.ask({**message, "layouts": layouts}, [one.fd for one in buffers], limit_s)
            except TimedOut:
                raise TimedOut(
                    f"the reference {self._name} took more than {limit_s:g} s for {message['do']}",
                    where=self._name,
                    hint="use a smaller shape, or NumPy instead of Python loops",
                    details={"limit": "wall"},
                ) from None
            except EngineCrashed as error:
                raise ContentError(
                    f"the process of the reference died: {error.message}", where=self._name,
                    hint="it may use NumPy and the standard library, 4 GiB of memory, no files and no network",
                    details=error.details,
                ) from None  # fmt: skip

    def sums_exactly(self, family: str) -> bool:
        return family == WHOLE

    def renew(self, family: str, stored: np.ndarray, seed: int) -> None:
        raise ValueError("inputs of this reference are made anew, not changed")

    def flops(self, problem: Problem, sizes: Mapping[str, int]) -> int:
        return int(self._ask({"do": "flops", "sizes": dict(sizes)})["flops"])

    def library(self, problem: Problem, sizes: Mapping[str, int]) -> None:
        return None

    def second(self, problem: Problem, inputs: Arrays, channels: int) -> None:
        return None

    def close(self) -> None:
        """End the process."""
        self._child.close()


def _source(task: Task) -> str:
    try:
        path = inside(task.folder, task.reference)
        raw = path.read_bytes()
    except UnresolvedRef as error:
        raise ContentError(error.message, where=task.reference) from None
    except OSError as error:
        raise ContentError(f"cannot read the reference: {error.strerror}", where=task.reference,
                           hint="it stands beside the task file") from None  # fmt: skip
    if len(raw) > MAX_SOURCE_BYTES:
        raise ContentError(f"a reference of more than {MAX_SOURCE_BYTES >> 20} MiB", where=task.reference)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ContentError("not UTF-8 text", where=task.reference) from None


@contextmanager
def _shared(layouts: Sequence[Layout]) -> Iterator[list[SharedBuffer]]:
    buffers: list[SharedBuffer] = []
    try:
        for layout in layouts:
            buffers.append(SharedBuffer(layout))
        yield buffers
    finally:
        for buffer in buffers:
            buffer.close()
