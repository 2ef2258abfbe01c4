"""Is a result right? Element by element against the exact value, judged per channel, never by an average.

An average hides what a kernel leaves out: skipping one channel of 512 changes it by less than the roundings of a
correct kernel may. So every element has a bound of its own, from the exact value and the sum of magnitudes behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kbserver.runs import bf16
from kbserver.runs.references import Channel
from kbserver.runs.task import Tolerance

KEPT_WORST = 5
DENSE_SHARE = 0.02
"""Above this share of elements that need the sum of magnitudes, the whole channel's is cheaper than theirs alone."""


@dataclass(frozen=True)
class Wrong:
    """One element outside its bound. `index` is in the output's canonical order without the axes N and C."""

    index: tuple[int, ...]
    got: float
    want: float
    ulp: int
    """bfloat16 numbers between them; -1 when got is a NaN."""


@dataclass(frozen=True)
class ChannelCheck:
    """The verdict on one channel.

    max_abs is over all its elements that are finite. max_ulp leaves out right elements whose products cancel: there
    float32's own error is many ulp of the result and says nothing about the kernel.
    """

    channel: int
    elements: int
    mismatches: int
    unwritten: int
    nonfinite: int
    max_abs: float
    max_ulp: int
    worst: tuple[Wrong, ...] = ()
    box: tuple[tuple[int, int], ...] = ()
    """First and last index of the wrong elements along each axis."""
    ratio: float | None = None
    """got / exact where all wrong elements share it: a factor that is wrong, not the sum."""
    constant: float | None = None
    """The one value that all elements have, where the exact values differ."""


def check_channel(
    number: int, got: np.ndarray, channel: Channel, tolerance: Tolerance, *, sums_exactly: bool, fill: int
) -> ChannelCheck:
    """Compare one channel's bfloat16 patterns with the exact values.

    sums_exactly: the inputs leave no room for another order of summation. fill: the pattern that the output was
    filled with before the launch; wrong elements that still have it are counted as unwritten.
    """
    # Wrong results hold NaNs of every kind, signalling ones too, and values that float32 cannot hold.
    with np.errstate(all="ignore"):
        return _check(number, got, channel, tolerance, sums_exactly, fill)


def _check(
    number: int, got: np.ndarray, channel: Channel, tolerance: Tolerance, sums_exactly: bool, fill: int
) -> ChannelCheck:
    exact = channel.exact
    nearest = exact.astype(np.float32)
    want = bf16.round_float32(nearest)
    # What equals the rounded exact value is right whatever its bound; the few others need the sum of magnitudes.
    suspects = np.flatnonzero(got != want)
    max_abs = _max_abs(got, nearest)
    if not len(suspects):
        return ChannelCheck(number, got.size, 0, 0, 0, max_abs, 0)
    flat_got, flat_exact = got.reshape(-1)[suspects], exact.reshape(-1)[suspects]
    ulps = bf16.ulp_distance(flat_got, bf16.round_float64(flat_exact))
    finite = bf16.is_finite(flat_got)
    if sums_exactly:
        # Nothing but the last rounding is left, and that has one right answer, also where two are equally near.
        slack, wrong = np.zeros(len(suspects)), ulps != 0
    else:
        slack = tolerance.accumulated * _magnitude(channel, suspects)
        error = np.abs(np.where(finite, bf16.widen(flat_got), 0).astype(np.float64) - flat_exact)
        wrong = ~finite | (error > bound(np.abs(flat_exact), slack, tolerance))
    places = suspects[wrong]
    telling = wrong | (slack <= bf16.half_ulp(np.abs(flat_exact)))
    return ChannelCheck(
        channel=number,
        elements=got.size,
        mismatches=len(places),
        unwritten=int(np.count_nonzero(flat_got[wrong] == fill)),
        nonfinite=int(np.count_nonzero(~finite)),
        max_abs=max_abs,
        max_ulp=int(ulps[telling].max(initial=0)),
        **_describe(places, got, exact, flat_got[wrong], flat_exact[wrong], ulps[wrong]),
    )


def bound(magnitude: np.ndarray, slack: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """Return how far a correct result may be from an exact value of this magnitude.

    The float32 sum is off by up to `slack`, which can carry it into the next binade; it is then rounded once.
    """
    if tolerance.ulp_of_output is not None:
        rounding = 2 * tolerance.ulp_of_output * bf16.half_ulp(magnitude + slack)
    else:
        rounding = tolerance.relative * magnitude
    return rounding + slack + tolerance.absolute


def _magnitude(channel: Channel, places: np.ndarray) -> np.ndarray:
    if len(places) > DENSE_SHARE * channel.exact.size:
        return channel.magnitude().reshape(-1)[places]
    return channel.magnitude(places)


def _max_abs(got: np.ndarray, nearest: np.ndarray) -> float:
    """Return the largest error, to float32 precision: enough for a figure that is shown, not judged by."""
    difference = bf16.widen(got)
    difference -= nearest
    np.abs(difference, out=difference)
    largest = float(difference.max())
    if not np.isfinite(largest):
        largest = float(np.max(difference, initial=0.0, where=np.isfinite(difference)))
    return largest


def _describe(
    places: np.ndarray, got: np.ndarray, exact: np.ndarray, wrong_got: np.ndarray, wrong_exact: np.ndarray,
    ulps: np.ndarray,
) -> dict[str, object]:  # fmt: skip
    """Return the fields that help to find the fault; nothing when no element is wrong."""
    if not len(places):
        return {}
    coordinates = np.unravel_index(places, exact.shape)
    values = bf16.widen(wrong_got)
    order = np.argsort(np.where(ulps < 0, np.iinfo(np.int32).max, ulps), kind="stable")[::-1][:KEPT_WORST]
    worst = tuple(
        Wrong(tuple(int(axis[k]) for axis in coordinates), float(values[k]), float(wrong_exact[k]), int(ulps[k]))
        for k in order
    )
    one_value = got.size > 1 and bool((got == got.reshape(-1)[0]).all()) and exact.min() != exact.max()
    return {
        "worst": worst,
        "box": tuple((int(axis.min()), int(axis.max())) for axis in coordinates),
        "ratio": _ratio(values.astype(np.float64), wrong_exact),
        "constant": float(bf16.widen(got.reshape(-1)[:1])[0]) if one_value else None,
    }


def _ratio(got: np.ndarray, exact: np.ndarray) -> float | None:
    """Return the factor that all wrong elements share within bfloat16's rounding, or None."""
    usable = np.isfinite(got) & (exact != 0)
    if np.count_nonzero(usable) < 0.9 * len(got) or len(got) < 8:
        return None
    ratios = got[usable] / exact[usable]
    middle = float(np.median(ratios))
    if middle == 0 or np.count_nonzero(np.abs(ratios / middle - 1) < 0.006) < 0.9 * len(ratios):
        return None
    return middle


@dataclass(frozen=True)
class Comparison:
    """The verdict on one launch: every channel's, and their totals."""

    elements: int
    mismatches: int
    unwritten: int
    nonfinite: int
    max_abs: float
    max_ulp: int
    channels: int
    failing: tuple[ChannelCheck, ...] = field(default_factory=tuple)

    @property
    def right(self) -> bool:
        return not self.failing


def combine(checks: Sequence[ChannelCheck]) -> Comparison:
    """Return the totals; a launch is right when no channel has a wrong element."""
    return Comparison(
        elements=sum(check.elements for check in checks),
        mismatches=sum(check.mismatches for check in checks),
        unwritten=sum(check.unwritten for check in checks),
        nonfinite=sum(check.nonfinite for check in checks),
        max_abs=max((check.max_abs for check in checks), default=0.0),
        max_ulp=max((check.max_ulp for check in checks), default=0),
        channels=len(checks),
        failing=tuple(check for check in checks if check.mismatches),
    )
