"""Where an undefined value came from: the launch again, with ever less memory counted as undefined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kbserver.emulator.checks.report import place_of, text_of
from kbserver.emulator.checks.runtime import LDS_READ
from kbserver.emulator.checks.watched import NOTHING, Origins, WatchedMachine
from kbserver.emulator.effects import effects
from kbserver.emulator.memory import Buffer, Memory
from kbserver.emulator.operands import Register

UNKNOWN = "what nobody wrote"
_KIND, _SITE, _ADDRESS, _BYTES = range(4)


@dataclass
class Rerun:
    """A launch that can be run again, one workgroup of it."""

    machine: WatchedMachine
    memory: Memory
    arguments: Sequence[Buffer | int | float | bytes]
    shape: dict

    def reaches(self, use: tuple[int, int, int, int], origins: Origins) -> np.ndarray | None:
        """Return the trace when the same use is undefined with these origins alone, else None."""
        kind, site, workgroup, _ = use
        part = range(workgroup, workgroup + 1)
        seen = self.machine.watch(self.memory, self.arguments, workgroups=part, origins=origins, **self.shape)
        hit = (seen.uses[:, 0] == kind) & (seen.uses[:, 1] == site)
        return seen.trace if hit.any() else None


def origin_of(rerun: Rerun, use: tuple[int, int, int, int]) -> str:
    """Return what was read before it was written, in words."""
    kernel = rerun.machine.kernel
    limits = {"vgprs": kernel.vgpr_slots, "sgprs": 256, "lds": _lds_bytes(rerun)}
    for name, limit in limits.items():
        if limit and rerun.reaches(use, replace(NOTHING, **{name: range(limit)})) is not None:
            found = _narrow(rerun, use, name, range(limit))
            if name == "lds":
                return _lds(rerun, use, found)
            return _register(rerun, "v" if name == "vgprs" else "s", found)
    if rerun.reaches(use, replace(NOTHING, private=True)) is not None:
        return "private memory that nobody wrote"
    return UNKNOWN


def _lds_bytes(rerun: Rerun) -> int:
    return rerun.machine.kernel.entry.lds_bytes + int(rerun.shape.get("dynamic_lds_bytes", 0))


def _narrow(rerun: Rerun, use: tuple[int, int, int, int], name: str, whole: range) -> range:
    """Return a part of the range that reaches the use alone, as short as halving gets it."""
    while len(whole) > 1:
        middle = (whole.start + whole.stop) // 2
        for half in (range(whole.start, middle), range(middle, whole.stop)):
            if rerun.reaches(use, replace(NOTHING, **{name: half})) is not None:
                whole = half
                break
        else:
            return whole
    return whole


def _register(rerun: Rerun, file: str, found: range) -> str:
    kernel = rerun.machine.kernel
    register = Register(file, found.start, len(found))
    for d, row in zip(kernel.code, kernel.rows, strict=True):
        for read in effects(d, row).reads:
            if read.file == file and read.index < found.stop and found.start < read.index + read.count:
                where = f"{text_of(kernel, d.index)} ({place_of(kernel, d.index)})"
                return f"{register}, which nobody wrote in these lanes; first named by {where}"
    return f"{register}, which nobody wrote"


def _lds(rerun: Rerun, use: tuple[int, int, int, int], found: range) -> str:
    kernel = rerun.machine.kernel
    text = f"LDS byte {found.start}" if len(found) == 1 else f"LDS bytes {found.start}-{found.stop - 1}"
    trace = rerun.reaches(use, replace(NOTHING, lds=found))
    if trace is not None:
        first, size = trace[:, _ADDRESS].astype(np.int64), trace[:, _BYTES].astype(np.int64)
        reads = (trace[:, _KIND] == LDS_READ) & (first < found.stop) & (first + size > found.start)
        for place in np.flatnonzero(reads)[:1]:
            site = int(trace[place, _SITE])
            text += f", read by {text_of(kernel, site)} ({place_of(kernel, site)})"
    return f"{text}, which nobody wrote in this workgroup"
