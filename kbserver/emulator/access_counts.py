"""Recorded accesses to counts per instruction: lanes, bytes, cache lines of global memory, conflict passes of the LDS.

Lines are exact: the distinct cache lines that one wave instruction touches, before any cache. LDS passes follow the
rules of `lds_rules`, whose basis each count carries.
"""

from __future__ import annotations

import numpy as np

from kbserver.emulator import lds_rules
from kbserver.emulator.lds_model import extra_passes, misaligned
from kbserver.emulator.measurement import LINE_BYTES, SiteCounts
from kbserver.emulator.observers.accesses import LDS_ATOMIC, LDS_READ, SCRATCH, Accesses, kind_name


def add_accesses(found: dict[tuple[int, int, int], SiteCounts], accesses: Accesses, arch: str) -> None:
    """Add recorded accesses to the counts, keyed by (site, kind, width)."""
    keys = np.stack([accesses.sites, accesses.kinds, accesses.bytes], axis=1)
    if not len(keys):
        return
    groups, which = np.unique(keys, axis=0, return_inverse=True)
    for place, (site, kind, width) in enumerate(groups.tolist()):
        chosen = which.reshape(-1) == place
        counts = found.setdefault((site, kind, width), SiteCounts(site, kind_name(kind), width))
        _add(counts, accesses.addresses[chosen], accesses.active[chosen], arch)


def _add(counts: SiteCounts, addresses: np.ndarray, active: np.ndarray, arch: str) -> None:
    counts.records += len(addresses)
    counts.lanes += int(active.sum())
    if counts.kind == SCRATCH:
        counts.lines += int(private_lines(addresses, active, counts.width, LINE_BYTES[arch]).sum())
        return
    if not counts.is_lds:
        counts.lines += int(distinct_lines(addresses, active, counts.width, LINE_BYTES[arch]).sum())
        return
    atomic = counts.kind == LDS_ATOMIC
    direction = lds_rules.READ if counts.kind == LDS_READ else lds_rules.WRITE
    rule = lds_rules.find_rule(arch, direction, counts.width)
    odd = misaligned(addresses, active, counts.width)
    counts.ideal_passes += len(rule.groups) * len(addresses)
    counts.conflict_passes += int(extra_passes(rule, addresses, active, counts.width, shares=not atomic).sum())
    counts.misaligned += int(odd.sum())
    counts.basis = lds_rules.MODEL if atomic or counts.misaligned else rule.basis
    counts.source = rule.source


def private_lines(addresses: np.ndarray, active: np.ndarray, width: int, line_bytes: int) -> np.ndarray:
    """Return per access to private memory how many distinct lines it touches.

    The hardware keeps dword n of all lanes side by side, 256 bytes, and dword n+1 behind them (LLVM AMDGPU usage,
    "Private Segment"): lanes that access one private address share lines.
    """
    first, last = addresses // 4, (addresses + width - 1) // 4
    lanes = 4 * np.arange(addresses.shape[1])
    places, used = [], []
    for step in range(width // 4 + 1):
        places.append((first + step) * 4 * addresses.shape[1] + lanes)
        used.append(active & (first + step <= last))
    return distinct_lines(np.concatenate(places, axis=1), np.concatenate(used, axis=1), 4, line_bytes)


def distinct_lines(addresses: np.ndarray, active: np.ndarray, width: int, line_bytes: int) -> np.ndarray:
    """Return per access how many distinct lines its active lanes touch; a lane may straddle two."""
    first = np.where(active, addresses // line_bytes, -1)
    last = np.where(active, (addresses + width - 1) // line_bytes, -1)
    lines = np.sort(np.concatenate([first, last], axis=1), axis=1)
    fresh = lines >= 0
    fresh[:, 1:] &= lines[:, 1:] != lines[:, :-1]
    return fresh.sum(axis=1)
