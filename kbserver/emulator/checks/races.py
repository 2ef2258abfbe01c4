"""Find accesses of two wavefronts that nothing orders, from a trace of all accesses: whatever the results are.

In a workgroup only barriers order wavefronts: two accesses of different wavefronts to one LDS byte (or byte of global
memory) in the same barrier interval race when one of them writes and not both are atomic. Between workgroups nothing
orders accesses but atomics: two workgroups that use one atomic variable, one after its access, the other before, count
as ordered by it (the last workgroup that adds up what the others left).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kbserver.emulator.checks.runtime import BARRIER, GLOBAL_READ, GLOBAL_WRITE, LDS_READ, LDS_WRITE

_KIND, _SITE, _ADDRESS, _BYTES, _GROUP, _WAVE, _VALUE = range(7)
MAX_PLACES = 4096
"""Contested places that are looked at one by one; all of them count."""


@dataclass(frozen=True)
class Access:
    """One side of a race. value: what the access left in the bytes of the place, None for a read."""

    site: int
    workgroup: int
    wave: int
    value: int | None
    atomic: bool
    interval: int
    order: int


@dataclass(frozen=True)
class Race:
    """Two accesses to one place. equal: both write, and the same value. `places` such places were met."""

    memory: str
    address: int
    bytes: int
    first: Access
    second: Access
    equal: bool
    places: int = 1


def intervals(trace: np.ndarray) -> np.ndarray:
    """Return for every row how many barriers its wavefront had passed."""
    key = trace[:, _GROUP].astype(np.int64) << 16 | trace[:, _WAVE].astype(np.int64)
    order = np.argsort(key, kind="stable")
    passed = np.cumsum(trace[order, _KIND] == BARRIER)
    starts = np.flatnonzero(np.r_[True, np.diff(key[order]) != 0])
    base = np.repeat(passed[starts] - (trace[order[starts], _KIND] == BARRIER), np.diff(np.r_[starts, len(order)]))
    result = np.empty(len(trace), np.int64)
    result[order] = passed - base
    return result


def lds_races(trace: np.ndarray, atomic: np.ndarray) -> list[Race]:
    """Return the races in LDS; `atomic` tells by site which instructions are."""
    passed = intervals(trace) if len(trace) else np.zeros(0, np.int64)
    keep = (trace[:, _KIND] == LDS_READ) | (trace[:, _KIND] == LDS_WRITE)
    rows, passed, order = trace[keep], passed[keep], np.flatnonzero(keep)
    epoch = rows[:, _GROUP].astype(np.int64) << 24 | passed
    written = np.unique(epoch[rows[:, _KIND] == LDS_WRITE])
    some = np.isin(epoch, written)
    return _contested(
        "LDS", rows[some], epoch[some], passed[some], order[some], atomic, LDS_WRITE, lambda first, second: False
    )


def global_races(trace: np.ndarray, atomic: np.ndarray) -> list[Race]:
    """Return the races in global memory between all wavefronts of the trace."""
    passed = intervals(trace) if len(trace) else np.zeros(0, np.int64)
    writes = trace[:, _KIND] == GLOBAL_WRITE
    if not writes.any():
        return []
    low = trace[writes, _ADDRESS].min()
    high = (trace[writes, _ADDRESS] + trace[writes, _BYTES]).max()
    reads = (trace[:, _KIND] == GLOBAL_READ) & (trace[:, _ADDRESS] < high)
    reads &= trace[:, _ADDRESS] + trace[:, _BYTES] > low
    keep = writes | reads
    rows, order = trace[keep], np.flatnonzero(keep)
    ordered = _Synchronised(rows, order, atomic)
    return _contested("global", rows, np.zeros(len(rows), np.int64), passed[keep], order, atomic, GLOBAL_WRITE, ordered)


class _Synchronised:
    """Which accesses are ordered: by a barrier in one workgroup, by a common atomic variable between two."""

    def __init__(self, rows: np.ndarray, order: np.ndarray, atomic: np.ndarray) -> None:
        self._first: dict[int, dict[int, int]] = {}
        self._last: dict[int, dict[int, int]] = {}
        for place in np.flatnonzero(atomic[rows[:, _SITE].astype(np.int64)]):
            group, address, number = int(rows[place, _GROUP]), int(rows[place, _ADDRESS]), int(order[place])
            self._first.setdefault(group, {}).setdefault(address, number)
            self._last.setdefault(group, {})[address] = number

    def __call__(self, first: Access, second: Access) -> bool:
        if first.workgroup == second.workgroup:
            return first.interval != second.interval
        after, before = self._last.get(first.workgroup, {}), self._first.get(second.workgroup, {})
        return any(
            number > first.order and before[address] < second.order
            for address, number in after.items()
            if address in before
        )


def _contested(
    memory: str, rows: np.ndarray, epoch: np.ndarray, passed: np.ndarray, order: np.ndarray, atomic: np.ndarray,
    write: int, ordered: Callable[[Access, Access], bool],
) -> list[Race]:  # fmt: skip
    """Return the races among accesses that share an epoch and a place."""
    if not len(rows):
        return []
    grain = _grain(rows)
    source, place = _pieces(rows, grain)
    waves = rows[:, _GROUP].astype(np.int64) << 16 | rows[:, _WAVE].astype(np.int64)
    writes = (rows[:, _KIND] == write)[source]
    by = np.lexsort((source, place, epoch[source]))
    source, place, writes = source[by], place[by], writes[by]
    starts = np.flatnonzero(np.r_[True, (np.diff(place) != 0) | (np.diff(epoch[source]) != 0)])
    low, high = np.minimum.reduceat(waves[source], starts), np.maximum.reduceat(waves[source], starts)
    contested = (low != high) & np.logical_or.reduceat(writes, starts)
    ends = np.r_[starts[1:], len(source)]
    found: dict[tuple, Race] = {}
    for number in np.flatnonzero(contested)[:MAX_PLACES]:
        members = source[starts[number] : ends[number]]
        address = int(place[starts[number]]) * grain
        accesses = [_access(rows, int(m), address, grain, passed, order, atomic, write) for m in members]
        for race in _pairs(memory, address, grain, accesses, ordered):
            key = (race.first.site, race.second.site, race.equal)
            known = found.get(key)
            found[key] = race if known is None else replace(known, places=known.places + 1)
    return list(found.values())


def _grain(rows: np.ndarray) -> int:
    """Return the largest power of two that divides every address and size, 8 at most."""
    bits = int(np.bitwise_or.reduce(rows[:, _ADDRESS] | rows[:, _BYTES])) | 8
    return bits & -bits


def _pieces(rows: np.ndarray, grain: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (row, place) for every grain that a row touches."""
    counts = (rows[:, _BYTES] // np.uint64(grain)).astype(np.int64)
    source = np.repeat(np.arange(len(rows)), counts)
    inside = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    return source, (rows[source, _ADDRESS] // np.uint64(grain)).astype(np.int64) + inside


def _access(
    rows: np.ndarray, row: int, address: int, grain: int, passed: np.ndarray, order: np.ndarray, atomic: np.ndarray,
    write: int,
) -> Access:  # fmt: skip
    words = rows[row]
    value = None
    if int(words[_KIND]) == write:
        value = int(words[_VALUE]) >> 8 * (address - int(words[_ADDRESS])) & (1 << 8 * grain) - 1
    site = int(words[_SITE])
    return Access(
        site, int(words[_GROUP]), int(words[_WAVE]), value, bool(atomic[site]), int(passed[row]), int(order[row])
    )


def _pairs(
    memory: str, address: int, grain: int, accesses: list[Access], ordered: Callable[[Access, Access], bool]
) -> list[Race]:
    """Return the races at one place; of several by the same two instructions the first."""
    found: dict[tuple, Race] = {}
    seen = list({(a.site, a.workgroup, a.wave, a.interval, a.value): a for a in accesses}.values())[:64]
    for number, second in enumerate(seen):
        for first in seen[:number]:
            apart = (first.workgroup, first.wave) != (second.workgroup, second.wave)
            writes = first.value is not None or second.value is not None
            if not apart or not writes or (first.atomic and second.atomic) or ordered(first, second):
                continue
            equal = first.value is not None and first.value == second.value
            key = (first.site, second.site, equal)
            found.setdefault(key, Race(memory, address, grain, first, second, equal))
    return list(found.values())
