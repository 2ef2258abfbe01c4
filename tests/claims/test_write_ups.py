"""Precision and recall on whole write-ups: nothing right is called wrong, and most of what is wrong is found."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.claims.write_ups import WRITE_UPS, judged

PARTS = ("tuning", "held_out")


def test_the_write_ups_hold_a_hundred_sentences_of_every_kind() -> None:
    counts = Counter(one.expect for part in PARTS for one in judged(part))
    assert counts == {"contradicted": 38, "none": 35, "supported": 28, "unsourced": 9}
    assert sum(len(entries) for entries in WRITE_UPS.values()) == 12


@pytest.mark.parametrize("part", PARTS)
def test_nothing_else_is_called_contradicted(part: str) -> None:
    wrong = [one.text for one in judged(part) if one.expect != "contradicted" and "contradicted" in one.verdicts]
    assert wrong == []


@pytest.mark.parametrize("part", PARTS)
def test_nothing_that_cannot_be_decided_is_called_supported(part: str) -> None:
    assert [one.text for one in judged(part) if one.expect == "none" and "supported" in one.verdicts] == []


FLOORS = {"contradicted": (19, 18), "supported": (13, 12), "unsourced": (5, 4)}
"""Sentences found at least, of `tuning` and `held_out`."""


@pytest.mark.parametrize("expect", FLOORS)
@pytest.mark.parametrize("part", PARTS)
def test_most_of_it_is_found(part: str, expect: str) -> None:
    found = [one for one in judged(part) if one.expect == expect and one.as_expected]
    assert len(found) >= FLOORS[expect][PARTS.index(part)]
