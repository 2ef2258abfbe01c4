"""Run the checks on a launch: all workgroups of a small grid, a sample of a large one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kbserver.emulator.checks.origins import Rerun, origin_of
from kbserver.emulator.checks.races import global_races, lds_races
from kbserver.emulator.checks.report import CheckFinding, CheckReport, atomic_sites, told, used
from kbserver.emulator.checks.runtime import GLOBAL_READ, GLOBAL_WRITE
from kbserver.emulator.checks.watched import MAX_TRACE_ROOM, WatchedMachine
from kbserver.emulator.kernel import Kernel
from kbserver.emulator.machine import DEFAULT_FUEL
from kbserver.emulator.memory import Buffer, Memory
from kbserver.emulator.profiling import choose_workgroups

MAX_ORIGINS = 4
"""Uses of undefined values whose origin is looked for; each costs some twenty launches of one workgroup."""
MAX_GLOBAL_ROWS = 1 << 22
"""Accesses to global memory that are kept to compare workgroups with each other."""
_KIND, _ADDRESS, _BYTES = 0, 2, 3


class Checker:
    """A kernel compiled for checking; use it for any number of launches."""

    def __init__(self, kernel: Kernel, *, cache: Path | None = None) -> None:
        started = time.monotonic()
        self.machine = WatchedMachine(kernel, cache=cache)
        self.compile_s = time.monotonic() - started

    def check(
        self,
        memory: Memory,
        arguments: Sequence[Buffer | int | float | bytes],
        *,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        dynamic_lds_bytes: int = 0,
        sample: int | None = None,
        fuel: int = DEFAULT_FUEL,
    ) -> CheckReport:
        """Check `sample` workgroups spread over the grid, all of them for None; buffers keep what they held.

        Raises what Machine.launch raises.
        """
        started = time.monotonic()
        shape = {"grid": grid, "block": block, "dynamic_lds_bytes": dynamic_lds_bytes, "fuel": fuel}
        writable = [buffer for buffer in memory.buffers if buffer.writable]
        saved = [buffer.array.copy() for buffer in writable]
        one = _Launch(self.machine, memory, arguments, shape)
        total = grid[0] * grid[1] * grid[2]
        try:
            chosen = choose_workgroups(total, sample)
            for workgroups in chosen:
                one.run(workgroups)
            findings = one.findings()
        finally:
            for buffer, before in zip(writable, saved, strict=True):
                buffer.array[...] = before
        return CheckReport(
            findings=tuple(findings),
            workgroups=total,
            checked=sum(len(workgroups) for workgroups in chosen),
            accesses=one.accesses,
            lost=one.lost,
            compile_s=self.compile_s,
            wall_s=time.monotonic() - started,
        )


class _Launch:
    """Pieces of one launch, and what they reported."""

    def __init__(self, machine: WatchedMachine, memory: Memory, arguments: Sequence, shape: dict) -> None:
        self._machine, self._memory, self._arguments, self._shape = machine, memory, arguments, shape
        self._atomic = atomic_sites(machine.kernel)
        self._uses: Counter[tuple[int, int]] = Counter()
        self._first: dict[tuple[int, int], tuple[int, int, int, int]] = {}
        self._races: list = []
        self._global: list[np.ndarray] = []
        self._kept = 0
        self.accesses = self.lost = 0

    def run(self, workgroups: range) -> None:
        """Run a range in pieces as large as the trace holds: one workgroup first, to see how much it takes."""
        piece, start = 1, workgroups.start
        while start < workgroups.stop:
            part = range(start, min(start + piece, workgroups.stop))
            rows = self._piece(part)
            start = part.stop
            piece = max(1, self._machine.room * len(part) // (2 * max(1, rows)))

    def _piece(self, part: range) -> int:
        while True:
            seen = self._machine.watch(self._memory, self._arguments, workgroups=part, **self._shape)
            if not seen.lost or self._machine.room >= MAX_TRACE_ROOM:
                break
            self._machine.grow(2 * (len(seen.trace) + seen.lost))
        for row in seen.uses.tolist():
            self._uses[row[0], row[1]] += 1
            self._first.setdefault((row[0], row[1]), tuple(row))
        self._races += lds_races(seen.trace, self._atomic)
        kinds = seen.trace[:, _KIND]
        rows = seen.trace[(kinds >= GLOBAL_READ)]
        if self._kept + len(rows) <= MAX_GLOBAL_ROWS:
            self._global.append(rows)
            self._kept += len(rows)
        else:
            self._global.append(rows[rows[:, _KIND] == GLOBAL_WRITE])
            self.lost += int((rows[:, _KIND] == GLOBAL_READ).sum())
        self.accesses += len(seen.trace)
        self.lost += seen.lost
        return len(seen.trace) + seen.lost

    def findings(self) -> list[CheckFinding]:
        """Return everything that was found, races first."""
        kernel = self._machine.kernel
        races = [*self._races, *global_races(np.concatenate(self._global), self._atomic)]
        found = _merged([told(kernel, race, self._memory.describe) for race in races])
        rerun = Rerun(self._machine, self._memory, self._arguments, self._shape)
        for number, (key, count) in enumerate(self._uses.most_common()):
            use = self._first[key]
            origin = origin_of(rerun, use) if number < MAX_ORIGINS else "what nobody wrote"
            found.append(used(kernel, use, origin, count))
        return found


def _merged(findings: list[CheckFinding]) -> list[CheckFinding]:
    """Findings of one kind at one place are one; an error goes before a note."""
    kept: dict[tuple[str, str, str], CheckFinding] = {}
    for one in findings:
        key = (one.kind, one.severity, one.where)
        known = kept.get(key)
        kept[key] = one if known is None else CheckFinding(
            one.kind, one.severity, known.message, one.where, known.count + one.count
        )  # fmt: skip
    return sorted(kept.values(), key=lambda one: one.severity)
