"""Statistics of times against NumPy and against the definition of what an interval promises."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from kbserver.runs.timing.statistics import (
    interval_rank,
    median,
    median_interval,
    ratio_interval,
    without_slow_outliers,
)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 101])
def test_the_median_is_numpys(n: int) -> None:
    values = np.random.default_rng(n).exponential(size=n)
    assert median(values.tolist()) == np.median(values)


def test_ranks_are_those_of_the_published_tables() -> None:
    # Two-sided 95 % ranks of the sign test (Conover, Practical Nonparametric Statistics, table A3).
    assert {n: interval_rank(n, 0.95) for n in (5, 6, 8, 9, 12, 15, 20, 25, 30, 40, 50, 100)} == {
        5: None, 6: 1, 8: 1, 9: 2, 12: 3, 15: 4, 20: 6, 25: 8, 30: 10, 40: 14, 50: 18, 100: 40,
    }  # fmt: skip


@pytest.mark.parametrize("n", range(6, 120))
def test_the_interval_is_the_narrowest_that_keeps_its_promise(n: int) -> None:
    rank = interval_rank(n, 0.95)
    assert rank is not None

    def missed(k: int) -> float:
        return 2 * sum(comb(n, i) for i in range(k)) / 2**n

    assert missed(rank) <= 0.05
    assert rank == n // 2 or missed(rank + 1) > 0.05


def test_intervals_cover_the_true_median_as_often_as_they_say() -> None:
    generator = np.random.default_rng(7)
    covered = 0
    for _ in range(2000):
        interval = median_interval(generator.exponential(size=25).tolist())
        assert interval is not None
        covered += interval.low <= np.log(2) <= interval.high
    assert 0.95 <= covered / 2000 <= 0.985  # 25 samples: the exact coverage is 0.957


def test_too_few_samples_have_no_interval() -> None:
    assert median_interval([]) is None
    assert median_interval([1.0] * 5) is None
    assert median_interval([1.0] * 6) is not None


def test_only_slow_outliers_are_dropped() -> None:
    values = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 5.0, 0.2]
    kept, dropped = without_slow_outliers(values)
    assert (dropped, [values[place] for place in kept]) == (1, [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 0.2])


def test_equal_samples_do_not_make_an_outlier_of_one_clock_tick() -> None:
    assert without_slow_outliers([1.0] * 9 + [1.002])[1] == 0
    assert without_slow_outliers([1.0] * 9 + [1.02])[1] == 1


def test_the_ratio_of_pairs_is_not_moved_by_drift() -> None:
    drift = np.linspace(1.0, 2.0, 40)
    a, b = 0.98 * drift, drift
    ratio = ratio_interval(a.tolist(), b.tolist())
    assert ratio is not None
    assert (round(ratio.low, 12), round(ratio.median, 12), round(ratio.high, 12), ratio.n) == (0.98, 0.98, 0.98, 40)
