"""Verdicts: each needs both an interval and an effect that matters."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UsageError
from kbserver.runs.timing.method import Method, require_same_method
from kbserver.runs.timing.statistics import Interval
from kbserver.runs.timing.verdict import Verdict, combine, judge


@pytest.mark.parametrize(
    ("median", "low", "high", "verdict"),
    [
        (0.90, 0.89, 0.91, "FASTER"),
        (1.10, 1.09, 1.11, "SLOWER"),
        (1.00, 0.995, 1.005, "SAME"),
        (0.997, 0.996, 0.998, "SAME"),  # surely below 1, by less than matters
        (0.98, 0.95, 1.01, "CANNOT_TELL"),
        (1.00, 0.97, 1.03, "CANNOT_TELL"),
        (0.99, 0.985, 0.995, "FASTER"),
        (1.02, 1.019, 1.021, "SLOWER"),
    ],
)
def test_verdicts(median: float, low: float, high: float, verdict: str) -> None:
    judged = judge(Interval(median, low, high, 20))
    assert judged.verdict == verdict
    assert f"{low:.4f} to {high:.4f}, 20 pairs" in judged.reason


def test_no_pairs_are_no_verdict() -> None:
    assert judge(None).verdict == "CANNOT_TELL"


def test_cold_and_warm_that_contradict_each_other_are_no_verdict() -> None:
    both = combine(Verdict("FASTER", "a"), Verdict("SLOWER", "b"))
    assert both.verdict == "CANNOT_TELL" and "a" in both.reason and "b" in both.reason
    assert combine(Verdict("FASTER", "a"), Verdict("SAME", "b")).verdict == "FASTER"


def test_methods_that_differ_in_anything_have_other_ids_and_are_not_compared() -> None:
    assert Method().method_id == Method().method_id
    ids = {Method().method_id, Method(flush_bytes=1 << 29).method_id, Method(spin_ms=0).method_id}
    assert len(ids) == 3
    require_same_method(Method().method_id, Method().method_id)
    with pytest.raises(UsageError, match="different ways"):
        require_same_method(Method().method_id, Method(spin_ms=0).method_id)
