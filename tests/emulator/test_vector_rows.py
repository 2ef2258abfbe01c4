"""Every vector instruction equals the oracle's rule on edge values and random bits, under random EXEC patterns."""

from __future__ import annotations

from functools import cache

import pytest

from kbserver.emulator.oracle import rules
from tests.emulator.batches import make_wave, run_batch, vector_case, vector_mismatches
from tests.emulator.numbers import KINDS

_CHUNK = 38
_SUFFIX = {"v_bitop3_b32": " bitop3:0x36", "v_bitop3_b16": " bitop3:0xca"}
NAMES = sorted(
    name for name, rule in rules().items() if name.startswith("v_") and not rule.packed and name not in _SUFFIX
)


@cache
def _mismatches(chunk: int) -> dict[str, list[str]]:
    names = NAMES[chunk * _CHUNK : (chunk + 1) * _CHUNK]
    cases = [vector_case(name, rules()[name], 40 + 2 * n, 20 + 2 * n) for n, name in enumerate(names)]
    found: dict[str, list[str]] = {name: [] for name in names}
    for seed in range(2):
        for kind in KINDS:
            before, after = run_batch(cases, make_wave(kind, seed))
            for case in cases:
                found[case.name] += vector_mismatches(case, before, after)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_vector_instruction_equals_its_rule(name: str) -> None:
    assert _mismatches(NAMES.index(name) // _CHUNK)[name] == []
