"""LDS bank conflicts of wave instructions: how many passes each needs beyond one a phase.

In a phase every bank delivers one dword a pass, and any number of lanes may share it (broadcast). So a phase takes as
many passes as its busiest bank has distinct dwords, and the passes beyond the first are what SQ_LDS_BANK_CONFLICT
counts. Every phase takes its pass, with lanes or without: the study's SQ_LDS_IDX_ACTIVE says so.

Lanes whose address is not a multiple of the width are served dword by dword: HipKittens' bank experiment saw no
conflict between an aligned lane and one a dword off. Atomics do not share a dword. Both are models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kbserver.emulator.lds_rules import LANES, READ, WRITE, Rule, find_rule

ALIGNMENT = {4: 1, 8: 8, 12: 16, 16: 16}
"""Width -> alignment in bytes that lets an access be served at once; up to a dword, any."""

WIDTHS = {"b8": 1, "u8": 1, "i8": 1, "b16": 2, "u16": 2, "i16": 2, "b32": 4, "b64": 8, "b96": 12, "b128": 16}


@dataclass(frozen=True)
class LdsAccess:
    """The passes of one access: `phases` without conflicts (`ideal`), `passes` with them, `extra` the difference."""

    phases: int
    passes: int
    ideal: int
    extra: int


def passes(arch: str, op: str, addresses: np.ndarray, exec_mask: int = (1 << LANES) - 1) -> LdsAccess:
    """Return the passes of one `ds_read_*` or `ds_write_*` with 64 byte addresses. Raises KeyError for another name."""
    _, verb, width = op.split("_")[:3]
    rule = find_rule(arch, {"read": READ, "write": WRITE}[verb], WIDTHS[width])
    active = np.array([(exec_mask >> lane) & 1 for lane in range(LANES)], bool)
    row = np.asarray(addresses, np.int64).reshape(1, LANES)
    extra = int(extra_passes(rule, row, active.reshape(1, LANES), WIDTHS[width])[0])
    phases = len(rule.groups)
    return LdsAccess(phases=phases, passes=phases + extra, ideal=phases, extra=extra)


def extra_passes(
    rule: Rule, addresses: np.ndarray, active: np.ndarray, width: int, *, shares: bool = True
) -> np.ndarray:
    """Return the conflict passes of each of n accesses: addresses and active are [n, 64], the result is [n].

    shares: lanes that want the same dword get it together; false for atomics, which take turns.
    """
    words = max(1, width // 4)
    dwords = addresses // 4
    aligned = ~misaligned(addresses, active, width)
    extra = np.zeros(len(addresses), np.int64)
    for group in rule.groups:
        lanes, on = dwords[:, group], active[:, group]
        together = np.concatenate([lanes + word for word in range(words)], axis=1)
        extra[aligned] += _busiest(together[aligned], np.tile(on, words)[aligned], rule.banks, shares)
        for word in range(words):
            extra[~aligned] += _busiest(lanes[~aligned] + word, on[~aligned], rule.banks, shares)
    return extra


def misaligned(addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """Return which accesses have an active lane that is not aligned to the access."""
    return ((addresses % ALIGNMENT[max(4, width)] != 0) & active).any(axis=1)


def _busiest(dwords: np.ndarray, active: np.ndarray, banks: int, shares: bool) -> np.ndarray:
    """Return per row how many passes beyond the first the busiest bank needs."""
    rows = len(dwords)
    if not rows:
        return np.zeros(0, np.int64)
    # Sorted, equal dwords are neighbours; inactive lanes sort to the end under a number that no LDS has.
    keys = np.sort(np.where(active, dwords, np.int64(1) << 40), axis=1)
    counts = keys < (np.int64(1) << 40)
    if shares:
        counts[:, 1:] &= keys[:, 1:] != keys[:, :-1]
    slots = keys % banks + np.arange(rows, dtype=np.int64)[:, None] * banks
    load = np.bincount(slots[counts], minlength=rows * banks).reshape(rows, banks)
    return np.maximum(load.max(axis=1) - 1, 0)
