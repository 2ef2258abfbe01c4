"""Every scalar instruction equals the oracle's rule, SCC and EXEC included."""

from __future__ import annotations

from functools import lru_cache

import pytest

from kbserver.emulator.oracle import rules
from tests.emulator.batches import Case, make_wave, run_batch, scalar_cases, scalar_mismatches
from tests.emulator.numbers import KINDS

NAMES = sorted(name for name in rules() if name.startswith("s_"))
_FIRST, _LAST = 16, 100


def _chunks() -> list[list[Case]]:
    chunks: list[list[Case]] = [[]]
    free = _FIRST
    for name in NAMES:
        if free > _LAST - 40:
            chunks.append([])
            free = _FIRST
        for case, after in scalar_cases(name, rules()[name], free):
            chunks[-1].append(case)
            free = after
    return chunks


@lru_cache(maxsize=1)
def _mismatches() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in NAMES}
    for cases in _chunks():
        for seed in range(12):
            for kind in KINDS:
                before, after = run_batch(cases, make_wave(kind, seed))
                for case in cases:
                    found[case.name] += scalar_mismatches(case, before, after)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_scalar_instruction_equals_its_rule(name: str) -> None:
    assert _mismatches()[name] == []
