"""FASTER, SLOWER, SAME or CANNOT_TELL, each with the reason: "cannot tell" is an answer."""

from __future__ import annotations

from dataclasses import dataclass

from kbserver.runs.timing.statistics import Interval

FASTER, SLOWER, SAME, CANNOT_TELL = "FASTER", "SLOWER", "SAME", "CANNOT_TELL"
MEASURED, REJECTED = "MEASURED", "REJECTED"
"""MEASURED: there was no baseline to compare with. REJECTED: the kernel is wrong or its time cannot be."""

SMALLEST_EFFECT = 0.005
"""A difference below half a percent is no finding: addresses and code alignment alone make as much."""
SAME_WITHIN = 0.01
"""Two kernels are the same when the ratio's whole interval lies within one percent of 1."""


@dataclass(frozen=True)
class Verdict:
    """A verdict and why."""

    verdict: str
    reason: str


def judge(ratio: Interval | None) -> Verdict:
    """Return the verdict on the ratio of the kernel's time to the baseline's."""
    if ratio is None:
        return Verdict(CANNOT_TELL, "too few pairs of samples")
    text = f"time / baseline = {ratio.median:.4f}, 95 % interval {ratio.low:.4f} to {ratio.high:.4f}, {ratio.n} pairs"
    if ratio.high < 1 and ratio.median <= 1 - SMALLEST_EFFECT:
        return Verdict(FASTER, text)
    if ratio.low > 1 and ratio.median >= 1 + SMALLEST_EFFECT:
        return Verdict(SLOWER, text)
    if ratio.low >= 1 - SAME_WITHIN and ratio.high <= 1 + SAME_WITHIN:
        return Verdict(SAME, text)
    return Verdict(CANNOT_TELL, f"{text}: the interval holds both a difference and none; measure longer")


def combine(cold: Verdict, warm: Verdict) -> Verdict:
    """Return the verdict of a run: the cold one, unless the warm one says the opposite."""
    if {cold.verdict, warm.verdict} == {FASTER, SLOWER}:
        return Verdict(CANNOT_TELL, f"cold it is {cold.verdict} ({cold.reason}), warm {warm.verdict} ({warm.reason})")
    return Verdict(cold.verdict, f"cold: {cold.reason}")
