"""The buffers of one case: inputs in the kernel's layout, filled outputs, and the comparison with the exact results."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from kbserver.devices.buffers import Layout, SharedBuffer
from kbserver.runs.acceptance import ChannelCheck, Comparison, check_channel, combine, joined
from kbserver.runs.cases import FILLS, Case, Turn
from kbserver.runs.dtypes import Dtype
from kbserver.runs.layouts import from_layout, to_layout
from kbserver.runs.problem import IN_OUT, INPUT, OUTPUT, SCRATCH, Tolerance
from kbserver.runs.references.protocol import Reference, Results
from kbserver.runs.report import SecondReference
from kbserver.runs.slices import Slicing, slicing_of
from kbserver.runs.task import Task, Variant

CHANNELS_AT_ONCE = 32
"""Channels gathered together when they lie next to each other in memory: 64 bytes, one cache line."""


SECOND_OUTPUTS = 2_000_000
"""Outputs that the second reference computes at most: it is to check ours, not the kernel."""


@dataclass(frozen=True)
class _Result:
    """One tensor that is compared: its buffer, format, bound and slices."""

    name: str
    buffer: SharedBuffer
    dtype: Dtype
    tolerance: Tolerance
    slicing: Slicing
    axes: str
    layout: str

    @property
    def named(self) -> dict[str, str | None]:
        return {"axes": self.slicing.rest, "axis": self.slicing.letter}

    def stored(self) -> np.ndarray:
        """Return what is in the buffer now, with the slices first."""
        return self.slicing.view(from_layout(self.buffer.array, self.axes, self.layout))


class Bench:
    """What stays the same over the launches of a case. The inputs that results are judged by are kept here, where no
    kernel can reach them."""

    def __init__(self, task: Task, variant: Variant, reference: Reference, case: Case, threads: int) -> None:
        self._task, self._variant, self._case = task, variant, case
        self._reference, self._threads = reference, threads
        self.buffers = [self._buffer(name) for name in task.problem.tensors]
        self._by_name = {buffer.layout.name: buffer for buffer in self.buffers}
        self._results_of = [self._result(name) for name in task.problem.results]
        self.family = ""
        self._inputs: dict[str, np.ndarray] = {}
        self._kept: dict[str, np.ndarray] = {}
        self._first: dict[str, np.ndarray] | None = None
        self._first_fill = 0
        self._exact: Results | None = None
        self._lock = threading.Lock()

    def _layout(self, name: str) -> str:
        return self._variant.layout.get(name, self._task.problem.tensors[name].axes)

    def _buffer(self, name: str) -> SharedBuffer:
        problem = self._task.problem
        tensor, shape = problem.tensors[name], problem.shape(name, self._case.sizes)
        order = [tensor.axes.index(letter) for letter in self._layout(name)]
        stored = tuple(shape[axis] for axis in order)
        return SharedBuffer(Layout(name, problem.dtype_of(name).storage, stored, writable=tensor.role != INPUT))

    def _result(self, name: str) -> _Result:
        problem = self._task.problem
        tensor = problem.tensors[name]
        slicing = slicing_of(tensor, problem.shape(name, self._case.sizes))
        return _Result(
            name, self._by_name[name], problem.dtype_of(name), self._task.tolerance_of(name), slicing, tensor.axes,
            self._layout(name),
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        return sum(buffer.layout.map_bytes for buffer in self.buffers)

    def _of_role(self, *roles: str) -> list[SharedBuffer]:
        return [self._by_name[name] for name in self._task.problem.named(*roles)]

    def fill_inputs(self, seed: int, place: int) -> float:
        """Make the inputs of a seed; the families take turns. Returns the seconds that it took."""
        started = time.monotonic()
        families = self._reference.families
        self.family = families[place % len(families)]
        self._new_inputs(seed)
        return time.monotonic() - started

    def _new_inputs(self, seed: int) -> None:
        self._kept, self._exact, self._first = {}, None, None
        self._inputs = self._reference.inputs(self._task.problem, self._case.sizes, seed, self.family)
        for buffer in self._of_role(INPUT, IN_OUT):
            buffer.array[...] = self._stored(buffer.layout.name)

    def renew_inputs(self, seed: int) -> None:
        """Change every element of the inputs that `fill_inputs` made; for many launches of one shape."""
        if not self._reference.renews:
            self._new_inputs(seed)
            return
        self._exact = None
        for place, buffer in enumerate(self._of_role(INPUT)):
            name = buffer.layout.name
            if name not in self._kept:
                self._kept[name] = np.ascontiguousarray(self._stored(name))
                self._inputs[name] = from_layout(
                    self._kept[name], self._task.problem.tensors[name].axes, self._layout(name)
                )
            self._reference.renew(self.family, self._kept[name], seed + place)
            buffer.array[...] = self._kept[name]

    def fill_output(self, fill: int) -> None:
        """Fill outputs and scratch with a pattern that no right result has, and give inout tensors their values back.

        fill: one of `cases.FILLS`, which stand for the fills of each format.
        """
        for buffer in self._of_role(OUTPUT, SCRATCH):
            dtype = self._task.problem.dtype_of(buffer.layout.name)
            dtype.patterns(buffer.array)[...] = dtype.fills[FILLS.index(fill)]
        for buffer in self._of_role(IN_OUT):
            buffer.array[...] = self._stored(buffer.layout.name)

    def changed_inputs(self) -> list[str]:
        """Return the names of inputs that are not what they were before the launch."""
        return [
            buffer.layout.name
            for buffer in self._of_role(INPUT)
            if not np.array_equal(buffer.array.view(np.uint8), _bytes(self._stored(buffer.layout.name)))
        ]

    def _stored(self, name: str) -> np.ndarray:
        """Return our own copy of an input, which no kernel reaches, in the kernel's layout."""
        return to_layout(self._inputs[name], self._task.problem.tensors[name].axes, self._layout(name))

    def changed_guards(self) -> list[str]:
        """Return the names of buffers with a write beside them."""
        return [buffer.layout.name for buffer in self.buffers if buffer.guards_changed()]

    @property
    def channels(self) -> int:
        """Slices of the first output."""
        return int(self._results_of[0].stored().shape[0])

    @property
    def outputs(self) -> int:
        """Elements of all outputs."""
        return sum(int(one.buffer.array.size) for one in self._results_of)

    def unwritten(self, fill: int) -> int:
        """Return how many elements of the outputs still hold the fill, where that can only mean one thing."""
        return sum(
            int(np.count_nonzero(one.dtype.is_fill(one.buffer.array, FILLS.index(fill))))
            for one in self._results_of
            if one.dtype.fill_is_telling and self._task.problem.tensors[one.name].role == OUTPUT
        )

    def compare(self, fill: int, channels: Sequence[int] | None = None) -> Comparison:
        """Compare the outputs with the exact results, slice by slice; all of them, or those that are named."""
        exact = self._exact_results()
        return joined([self._compare(one, exact, FILLS.index(fill), channels) for one in self._results_of])

    def _exact_results(self) -> Results:
        with self._lock:
            if self._exact is None:
                self._exact = self._reference.results(self._task.problem, self._case.sizes, self._inputs)
            return self._exact

    def _compare(self, one: _Result, exact: Results, turn: int, channels: Sequence[int] | None) -> Comparison:
        got = one.stored()
        count = got.shape[0]
        whole = exact.whole(one.name)
        if whole is not None:
            # What is computed anyway is compared: all of it.
            all_at_once = self._check(one, -1, np.ascontiguousarray(got), whole, turn)
            if not all_at_once.mismatches:
                return replace(combine([all_at_once], channels=count), output=one.name, **one.named)
            channels = None
        if channels is None:
            blocks = [range(first, min(first + CHANNELS_AT_ONCE, count)) for first in range(0, count, CHANNELS_AT_ONCE)]
        else:
            blocks = [range(channel, channel + 1) for channel in channels if channel < count]
        with ThreadPoolExecutor(self._threads) as pool:
            parts = list(pool.map(lambda block: self._block(one, got, exact, block, turn), blocks))
        checks = [check for part in parts for check in part]
        return replace(combine(checks), output=one.name, **one.named)

    def _block(self, one: _Result, got: np.ndarray, exact: Results, block: range, turn: int) -> list[ChannelCheck]:
        part = np.ascontiguousarray(got[block.start : block.stop])
        return [
            self._check(one, number, part[number - block.start], exact.channel(one.name, number), turn)
            for number in block
        ]

    def _check(self, one: _Result, number: int, got: np.ndarray, channel: object, turn: int) -> ChannelCheck:
        return check_channel(
            number,
            got,
            channel,  # type: ignore[arg-type]
            one.tolerance,
            sums_exactly=self._reference.sums_exactly(self.family),
            fill=one.dtype.fills[turn],
            dtype=one.dtype,
        )

    def compare_with_first(self, turn: Turn) -> int:
        """Return how many elements differ, bit for bit, from the first launch with these inputs.

        What one of the two did not write is left out: it holds the fills, which differ.
        """
        if len(self._case.turns) < 2:
            return 0
        place = FILLS.index(turn.fill)
        now = {one.name: one.dtype.patterns(one.buffer.array) for one in self._results_of}
        if self._first is None:
            self._first = {name: array.copy() for name, array in now.items()}
            self._first_fill = place
            return 0
        return sum(self._differing(one, now[one.name], place) for one in self._results_of)

    def _differing(self, one: _Result, now: np.ndarray, place: int) -> int:
        first = self._first[one.name]  # type: ignore[index]
        differs = now != first
        if not differs.any():
            return 0
        differs &= (now != one.dtype.fills[place]) & (first != one.dtype.fills[self._first_fill])
        return int(np.count_nonzero(differs))

    def second_opinion(self) -> SecondReference | None:
        """Return another library's result beside ours, of as many channels as take no time; None without it."""
        one = self._results_of[0]
        got = one.stored()
        channels = max(1, min(got.shape[0], SECOND_OUTPUTS // max(1, got[0].size)))
        try:
            found = self._reference.second(self._task.problem, self._inputs, channels)
        except ImportError:
            return None
        if found is None:
            return None
        name, values = found
        exact = self._exact_results()
        ours = [exact.channel(one.name, number) for number in range(channels)]
        difference = np.abs(values - np.stack([channel.exact for channel in ours]))
        slack = np.stack([channel.magnitude() for channel in ours]) * (2.0**-28 * one.tolerance.accumulated)
        return SecondReference(
            name=name,
            elements=values.size,
            max_abs_difference=float(difference.max()),
            agrees=bool((difference <= slack).all()),
        )

    def close(self) -> None:
        self._results_of = []
        for buffer in self.buffers:
            buffer.close()
        self._by_name = {}


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.uint8)
