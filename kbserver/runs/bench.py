"""The buffers of one case: inputs in the kernel's layout, a filled output, and the comparison with the exact result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from kbserver.core.errors import ContentError
from kbserver.devices.buffers import Layout, SharedBuffer
from kbserver.runs.acceptance import ChannelCheck, Comparison, check_channel, combine
from kbserver.runs.cases import Case, Turn
from kbserver.runs.layouts import from_layout, to_layout
from kbserver.runs.references import Reference
from kbserver.runs.report import SecondReference
from kbserver.runs.task import Task, Variant

CHANNELS_AT_ONCE = 32
"""Channels gathered together when they lie next to each other in memory: 64 bytes, one cache line."""


SECOND_OUTPUTS = 2_000_000
"""Outputs that the second reference computes at most: it is to check ours, not the kernel."""


class Bench:
    """What stays the same over the launches of a case. The inputs that results are judged by are kept here, where no
    kernel can reach them."""

    def __init__(self, task: Task, variant: Variant, reference: Reference, case: Case, threads: int) -> None:
        self._task, self._variant, self._case = task, variant, case
        self._reference, self._threads = reference, threads
        problem = task.problem
        outputs = [name for name, tensor in problem.tensors.items() if tensor.role == "output"]
        if len(outputs) != 1 or problem.dtype != "bf16" or not problem.tensors[outputs[0]].axes.startswith("NC"):
            raise ContentError("verification needs one bfloat16 output with the axes N, C, ...", where=task.name)
        self._output = outputs[0]
        self.output_axes = problem.tensors[self._output].axes
        self.buffers = [self._buffer(name) for name in problem.tensors]
        self.family = ""
        self._inputs: dict[str, np.ndarray] = {}
        self._kept: dict[str, np.ndarray] = {}
        self._first: np.ndarray | None = None

    def _buffer(self, name: str) -> SharedBuffer:
        tensor = self._task.problem.tensors[name]
        shape = self._task.problem.shape(name, self._case.sizes)
        order = [tensor.axes.index(letter) for letter in self._variant.layout[name]]
        stored = tuple(shape[axis] for axis in order)
        return SharedBuffer(Layout(name, "uint16", stored, writable=tensor.role == "output"))

    @property
    def nbytes(self) -> int:
        return sum(buffer.layout.map_bytes for buffer in self.buffers)

    def _of_role(self, writable: bool) -> list[SharedBuffer]:
        return [buffer for buffer in self.buffers if buffer.layout.writable == writable]

    def fill_inputs(self, seed: int, place: int) -> float:
        """Make the inputs of a seed; the families take turns. Returns the seconds that it took."""
        started = time.monotonic()
        families = self._reference.families
        self.family = families[place % len(families)]
        self._kept = {}
        self._inputs = self._reference.inputs(self._task.problem, self._case.sizes, seed, self.family)
        for buffer in self._of_role(writable=False):
            name = buffer.layout.name
            buffer.array[...] = self._stored(name)
        self._first = None
        return time.monotonic() - started

    def renew_inputs(self, seed: int) -> None:
        """Change every element of the inputs that `fill_inputs` made; for many launches of one shape."""
        for place, buffer in enumerate(self._of_role(writable=False)):
            name = buffer.layout.name
            if name not in self._kept:
                self._kept[name] = np.ascontiguousarray(self._stored(name))
                axes, layout = self._task.problem.tensors[name].axes, self._variant.layout[name]
                self._inputs[name] = from_layout(self._kept[name], axes, layout)
            self._reference.renew(self.family, self._kept[name], seed + place)
            buffer.array[...] = self._kept[name]

    def fill_output(self, fill: int) -> None:
        """Fill the output with a pattern that no right result has."""
        for buffer in self._of_role(writable=True):
            buffer.array[...] = fill

    def changed_inputs(self) -> list[str]:
        """Return the names of inputs that are not what they were before the launch."""
        inputs = self._of_role(writable=False)
        return [b.layout.name for b in inputs if not np.array_equal(b.array, self._stored(b.layout.name))]

    def _stored(self, name: str) -> np.ndarray:
        """Return our own copy of an input, which no kernel reaches, in the kernel's layout."""
        return to_layout(self._inputs[name], self._task.problem.tensors[name].axes, self._variant.layout[name])

    def changed_guards(self) -> list[str]:
        """Return the names of buffers with a write beside them."""
        return [buffer.layout.name for buffer in self.buffers if buffer.guards_changed()]

    @property
    def channels(self) -> int:
        """Channels of the output."""
        return int(self._canonical_output().shape[0])

    @property
    def outputs(self) -> int:
        """Elements of the output."""
        return int(self._canonical_output().size)

    def unwritten(self, fill: int) -> int:
        """Return how many elements of the whole output still hold the fill."""
        return sum(int(np.count_nonzero(buffer.array == fill)) for buffer in self._of_role(writable=True))

    def compare(self, fill: int, channels: Sequence[int] | None = None) -> Comparison:
        """Compare the output with the exact result, channel by channel; all of them, or those that are named."""
        got = self._canonical_output()
        count = got.shape[0]
        if channels is None:
            blocks = [range(first, min(first + CHANNELS_AT_ONCE, count)) for first in range(0, count, CHANNELS_AT_ONCE)]
        else:
            blocks = [range(channel, channel + 1) for channel in channels]
        with ThreadPoolExecutor(self._threads) as pool:
            parts = list(pool.map(lambda block: self._check(got, block, fill), blocks))
        return combine([check for part in parts for check in part])

    def _check(self, got: np.ndarray, block: range, fill: int) -> list[ChannelCheck]:
        part = np.ascontiguousarray(got[block.start : block.stop])
        return [
            check_channel(
                number,
                part[number - block.start],
                self._reference.channel(self._task.problem, self._inputs, number),
                self._task.tolerance,
                sums_exactly=self._reference.sums_exactly(self.family),
                fill=fill,
            )
            for number in block
        ]

    def _canonical_output(self) -> np.ndarray:
        (buffer,) = self._of_role(writable=True)
        return from_layout(buffer.array, self.output_axes, self._variant.layout[self._output])[0]

    def compare_with_first(self, turn: Turn) -> int:
        """Return how many elements differ, bit for bit, from the first launch with these inputs."""
        (buffer,) = self._of_role(writable=True)
        if len(self._case.turns) < 2:
            return 0
        if self._first is None:
            self._first = buffer.array.copy()
            return 0
        return int(np.count_nonzero(buffer.array != self._first))

    def second_opinion(self) -> SecondReference | None:
        """Return another library's result beside ours, of as many channels as take no time; None without it."""
        per_channel = int(np.prod(self._task.problem.shape(self._output, self._case.sizes)[2:]))
        channels = max(1, min(self._canonical_output().shape[0], SECOND_OUTPUTS // per_channel))
        try:
            name, values = self._reference.second(self._task.problem, self._inputs, channels)
        except ImportError:
            return None
        ours = [self._reference.channel(self._task.problem, self._inputs, number) for number in range(channels)]
        difference = np.abs(values - np.stack([channel.exact for channel in ours]))
        slack = np.stack([channel.magnitude() for channel in ours]) * (2.0**-28 * self._task.tolerance.accumulated)
        return SecondReference(
            name=name,
            elements=values.size,
            max_abs_difference=float(difference.max()),
            agrees=bool((difference <= slack).all()),
        )

    def close(self) -> None:
        for buffer in self.buffers:
            buffer.close()
