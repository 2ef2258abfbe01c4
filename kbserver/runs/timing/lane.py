"""One competitor of a timing run: its kernel, its buffer sets, fresh inputs and the check of every output."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kbserver.devices.gpu import GpuProcess, step_of
from kbserver.devices.interface import Launch
from kbserver.runs.acceptance import Comparison
from kbserver.runs.bench import Bench
from kbserver.runs.cases import FILLS
from kbserver.runs.findings import Findings

CHECKED_CHANNELS = 4
"""Channels of each timed output that are compared with the exact result, drawn after the launch."""
SMALL_OUTPUTS = 2_000_000
"""Up to this many outputs every channel of every timed output is compared."""
INPUT_CHECKS = 8
"""One launch of so many, drawn at random, has its inputs read back as well."""


@dataclass
class Checks:
    """What was looked at: launches, elements compared with the exact result, elements that must have been written."""

    launches: int = 0
    elements: int = 0
    written: int = 0
    complete: int = 0
    """Launches of which every channel was compared."""


@dataclass
class Lane:
    """A kernel under time. `benches` are its buffer sets: inputs and an output each, at addresses of their own."""

    slot: str
    name: str
    launch: Launch | None
    benches: list[Bench]
    shape: str
    process: GpuProcess
    dice: random.Random
    findings: Findings = field(default_factory=Findings)
    checks: Checks = field(default_factory=Checks)
    _keys: list[dict[str, str]] = field(default_factory=list)
    _fills: list[int] = field(default_factory=list)

    def attach(self) -> None:
        """Make the inputs of every set and give the sets their device memory."""
        for bench in self.benches:
            bench.fill_inputs(self.dice.getrandbits(32), 0)
            keys = self.process.attach(bench.buffers)
            self._keys.append({one.layout.name: key for one, key in zip(bench.buffers, keys, strict=True)})
        self._fills = [FILLS[0]] * len(self.benches)

    def freshen(self, place: int) -> None:
        """Change every input and the output's fill of a set, and bring it to the device."""
        bench = self.benches[place]
        bench.renew_inputs(self.dice.getrandbits(60))
        self._fills[place] = self.dice.choice(FILLS)
        bench.fill_output(self._fills[place])
        self.process.upload(list(self._keys[place].values()))

    def step(self, place: int, state: str) -> dict[str, Any]:
        """Return the step of a plan that launches on a set."""
        return step_of(self.slot, self.launch, self._keys[place], state)

    def check(self, place: int, *, complete: bool) -> None:
        """Judge what a launch left: the whole output is written, sampled or all channels are right, nothing else is."""
        bench, fill = self.benches[place], self._fills[place]
        small = bench.outputs <= SMALL_OUTPUTS
        inputs_too = complete or small or self.dice.randrange(INPUT_CHECKS) == 0
        names = [one.layout.name for one in bench.buffers if one.layout.writable or inputs_too]
        self.process.download([self._keys[place][name] for name in names])
        chosen = None
        if not (complete or small):
            # Drawn now, after the launch: nothing on the device can know which.
            chosen = self.dice.sample(range(bench.channels), min(CHECKED_CHANNELS, bench.channels))
        comparison = bench.compare(fill, chosen)
        self._note(comparison, bench, bench.unwritten(fill), inputs_too, complete=chosen is None)

    def _note(self, comparison: Comparison, bench: Bench, unwritten: int, inputs_too: bool, *, complete: bool) -> None:
        self.checks.launches += 1
        self.checks.complete += complete
        self.checks.elements += comparison.elements
        self.checks.written += bench.outputs
        if unwritten and not comparison.unwritten:
            self.findings.add("unwritten_output", f"{unwritten:,} elements still hold the fill", where=self.shape,
                              count=unwritten)  # fmt: skip
        self.findings.of_comparison(comparison, self.shape)
        self.findings.of_memory(bench.changed_inputs() if inputs_too else [], bench.changed_guards())

    def close(self) -> None:
        for bench in self.benches:
            bench.close()


def make_lane(
    slot: str, name: str, launch: Launch | None, make_bench: Callable[[], Bench], sets: int, where: Mapping[str, Any]
) -> Lane:
    """Return a lane with its sets attached. `where` gives shape, process and dice."""
    lane = Lane(slot, name, launch, [], **where)
    try:
        lane.benches.extend(make_bench() for _ in range(sets))
        lane.attach()
    except BaseException:
        lane.close()
        raise
    return lane
