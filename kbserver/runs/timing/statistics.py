"""Medians with confidence intervals, outliers, and the ratio of two interleaved series. Nothing random in here.

The interval of a median comes from order statistics: between which two sorted samples the true median lies is a
binomial question, whatever the distribution. Times of kernels are skewed, so nothing here assumes a normal one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

OUTLIER_DEVIATIONS = 5.0
"""A sample this many robust standard deviations above the median was disturbed."""
MAD_TO_DEVIATION = 1.4826
"""Median absolute deviation to standard deviation, for a normal distribution."""


@dataclass(frozen=True)
class Interval:
    """A median and between which values the true one lies, at the confidence that was asked for (or a little more)."""

    median: float
    low: float
    high: float
    n: int

    @property
    def relative_half_width(self) -> float:
        """Half the interval as a share of the median."""
        return (self.high - self.low) / 2 / self.median if self.median else float("inf")


def median(values: Sequence[float]) -> float:
    """Return the middle of sorted values, or the mean of the two middle ones."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


@lru_cache(maxsize=1024)
def interval_rank(n: int, confidence: float) -> int | None:
    """Return the largest k for which the k-th smallest and k-th largest of n samples enclose the median.

    The chance that they do not is 2 * P(fewer than k of n fair coins show heads). None: n is too small.
    """
    allowed, missed, rank = (1 - confidence) * 2**n, 0, 0
    while rank < n // 2:
        missed += 2 * comb(n, rank)
        if missed > allowed:
            break
        rank += 1
    return rank or None


def median_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Return the median of the values with its interval, None when there are too few for that confidence."""
    rank = interval_rank(len(values), confidence) if values else None
    if rank is None:
        return None
    ordered = sorted(values)
    return Interval(median(ordered), ordered[rank - 1], ordered[-rank], len(ordered))


def without_slow_outliers(values: Sequence[float]) -> tuple[list[int], int]:
    """Return (places of the values to keep, how many are dropped).

    Only slow ones are dropped: interference slows a kernel down, nothing makes it faster than it is. A sample that is
    too fast stays, and has to be explained.
    """
    if len(values) < 3:
        return list(range(len(values))), 0
    middle = median(values)
    deviation = MAD_TO_DEVIATION * median([abs(value - middle) for value in values])
    # Clocks tick in steps: when most samples are equal, a deviation of zero must not make outliers of the rest.
    limit = middle + OUTLIER_DEVIATIONS * max(deviation, 0.001 * middle)
    kept = [place for place, value in enumerate(values) if value <= limit]
    return kept, len(values) - len(kept)


def ratio_interval(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Return the median of a/b over pairs that were measured next to each other, with its interval.

    Whatever drifts, clocks and temperature, is the same for both of a pair and cancels.
    """
    return median_interval([x / y for x, y in zip(a, b, strict=True)], confidence)
