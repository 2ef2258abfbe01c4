"""Profile a launch: exact counts of every instruction over the whole grid, addresses over a sample of its workgroups.

The two are separate passes, because recording addresses costs much more than counting. What depends on addresses is
then scaled from the sample to the grid by the exact executions of each instruction; with every workgroup sampled it is
exact as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kbserver.emulator.access_counts import add_accesses
from kbserver.emulator.machine import DEFAULT_FUEL, Machine
from kbserver.emulator.measurement import Measurement, SiteCounts
from kbserver.emulator.memory import Buffer, Memory
from kbserver.emulator.observers.accesses import AccessRecorder, make_trace, read_trace

FIRST_RECORDS = 16_384
MAX_RECORDS = 1 << 20
"""Records of one launch: 560 MB, what a few thousand memory instructions of sixteen wavefronts need at most."""
RECORDS_AT_ONCE = 65_536
"""Records evaluated together when many workgroups are sampled."""


def choose_workgroups(total: int, sample: int | None) -> list[range]:
    """Return the workgroups to record: all of them in one range for None, else `sample` single ones spread evenly."""
    if sample is None or sample >= total:
        return [range(total)]
    last = total - 1
    places = {round(number * last / max(1, sample - 1)) for number in range(sample)} if sample > 1 else {total // 2}
    return [range(place, place + 1) for place in sorted(places)]


def profile(
    machine: Machine,
    memory: Memory,
    arguments: Sequence[Buffer | int | float | bytes],
    *,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    dynamic_lds_bytes: int = 0,
    sample: int | None = None,
    threads: int = 1,
    cache: Path | None = None,
    fuel: int = DEFAULT_FUEL,
) -> Measurement:
    """Run the whole grid once for the counts, then the sampled workgroups again from the same memory for addresses.

    Raises what Machine.launch raises.
    """
    writable = [buffer for buffer in memory.buffers if buffer.writable]
    saved = [buffer.array.copy() for buffer in writable]
    shape = {"grid": grid, "block": block, "dynamic_lds_bytes": dynamic_lds_bytes, "fuel": fuel}
    whole = machine.launch(memory, arguments, threads=threads, **shape)
    length = len(machine.kernel.code)
    executions, lanes = whole.counts.per_instruction(length)
    for buffer, before in zip(writable, saved, strict=True):
        buffer.array[...] = before
    recorder = _Recording(Machine(machine.kernel, cache=cache, observers=[AccessRecorder()]), memory, arguments, shape)
    total = grid[0] * grid[1] * grid[2]
    chosen = choose_workgroups(total, sample)
    for workgroups in chosen:
        recorder.run(workgroups)
    sampled = sum(len(workgroups) for workgroups in chosen)
    return Measurement(
        waves=whole.waves,
        workgroups=total,
        sampled_workgroups=sampled,
        executions=tuple(executions.tolist()),
        lanes=tuple(lanes.tolist()),
        sampled_executions=tuple(recorder.executions.tolist()),
        sites=tuple(recorder.sites[key] for key in sorted(recorder.sites)),
        lost_records=recorder.lost,
        findings=whole.finding_count,
        wall_s=whole.wall_s,
    )


class _Recording:
    """The second pass: runs pieces of the grid with the recorder and adds up what it saw."""

    def __init__(self, machine: Machine, memory: Memory, arguments: Sequence, shape: dict) -> None:
        self._machine, self._memory, self._arguments, self._shape = machine, memory, arguments, shape
        self.executions = np.zeros(len(machine.kernel.code), np.uint64)
        self.sites: dict[tuple[int, int, int], SiteCounts] = {}
        self.lost = 0
        self._table = make_trace(FIRST_RECORDS)

    def run(self, workgroups: range) -> None:
        """Record a range, in pieces as large as the table holds."""
        piece, start = 1, workgroups.start
        while start < workgroups.stop:
            part = range(start, min(start + piece, workgroups.stop))
            records = self._record(part)
            start = part.stop
            piece = max(1, RECORDS_AT_ONCE * len(part) // max(1, records))

    def _record(self, part: range) -> int:
        """Record one piece; a table that was too small is replaced and the piece run again. Returns its records."""
        while True:
            self._table[0, 0] = 0
            outcome = self._machine.launch(
                self._memory, self._arguments, workgroups=part, trace=self._table, **self._shape
            )
            accesses, lost = read_trace(self._table)
            if not lost or len(self._table) > MAX_RECORDS:
                break
            self._table = make_trace(min(MAX_RECORDS, max(RECORDS_AT_ONCE, 2 * (len(accesses.sites) + lost))))
        add_accesses(self.sites, accesses, self._machine.kernel.arch)
        self.executions += outcome.counts.per_instruction(len(self.executions))[0]
        self.lost += lost
        return len(accesses.sites)
