"""Is a result right? Element by element against the exact value, judged per slice, never by an average.

A slice is what an output has at one place along one of its axes: a channel, a row, a head. It is called a channel here.

An average hides what a kernel leaves out: skipping one channel of 512 changes it by less than the roundings of a
correct kernel may. So every element has a bound of its own, from the exact value and the sum of magnitudes behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kbserver.runs import bf16
from kbserver.runs.dtypes import BF16, Dtype
from kbserver.runs.problem import Tolerance
from kbserver.runs.references.protocol import Channel

KEPT_WORST = 5
DENSE_SHARE = 0.02
"""Above this share of elements that need the sum of magnitudes, the whole channel's is cheaper than theirs alone."""


@dataclass(frozen=True)
class Wrong:
    """One element outside its bound. `index` is in the output's canonical order without the axis of the slices."""

    index: tuple[int, ...]
    got: float
    want: float
    ulp: int
    """Numbers of the output's format between them; -1 when got is a NaN."""


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
    number: int, got: np.ndarray, channel: Channel, tolerance: Tolerance, *, sums_exactly: bool, fill: int,
    dtype: Dtype = BF16,
) -> ChannelCheck:  # fmt: skip
    """Compare one channel's stored elements with the exact values.

    sums_exactly: the inputs leave no room for another order of summation. fill: the bit pattern that the output was
    filled with before the launch; wrong elements that still have it are counted as unwritten.
    """
    # Wrong results hold NaNs of every kind, signalling ones too, and values that float32 cannot hold.
    with np.errstate(all="ignore"):
        return _check(number, got, channel, tolerance, sums_exactly or tolerance.exact, fill, dtype)


def _check(
    number: int, got: np.ndarray, channel: Channel, tolerance: Tolerance, exactly: bool, fill: int, dtype: Dtype
) -> ChannelCheck:
    exact = channel.exact
    # What equals the rounded exact value is right whatever its bound; the few others need the sum of magnitudes.
    suspects, max_abs = _suspects(got, exact, dtype)
    if not len(suspects):
        return ChannelCheck(number, got.size, 0, 0, 0, max_abs, 0)
    flat_got, flat_exact = got.reshape(-1)[suspects], exact.reshape(-1)[suspects]
    ulps = dtype.ulp_distance(flat_got, dtype.encode(flat_exact))
    finite = dtype.is_finite(flat_got)
    if dtype.is_integer:
        slack = np.full(len(suspects), tolerance.absolute)
        far = np.abs(flat_got.astype(np.float64) - flat_exact.astype(np.float64))
        wrong = far > slack if tolerance.absolute else np.ones(len(suspects), bool)
    elif exactly:
        # Nothing but the last rounding is left, and that has one right answer, also where two are equally near.
        slack, wrong = np.zeros(len(suspects)), ulps != 0
    else:
        slack = tolerance.accumulated * _magnitude(channel, suspects)
        error = np.abs(np.where(finite, dtype.decode(flat_got), 0) - flat_exact)
        wrong = ~finite | (error > bound(np.abs(flat_exact), slack, tolerance, dtype))
    places = suspects[wrong]
    telling = wrong | (slack <= dtype.half_ulp(np.abs(flat_exact)))
    return ChannelCheck(
        channel=number,
        elements=got.size,
        mismatches=len(places),
        unwritten=int(np.count_nonzero(dtype.patterns(flat_got[wrong]) == fill)),
        nonfinite=int(np.count_nonzero(~finite)),
        max_abs=max_abs,
        max_ulp=int(ulps[telling].max(initial=0)),
        **_describe(places, got, exact, flat_got[wrong], flat_exact[wrong], ulps[wrong], dtype),
    )


def _suspects(got: np.ndarray, exact: np.ndarray, dtype: Dtype) -> tuple[np.ndarray, float]:
    """Return the flat places of elements that are not the rounded exact value, and the largest error."""
    if dtype is BF16:
        # Through float32: it may round twice, which only makes a suspect of a right element, and is far faster.
        nearest = exact.astype(np.float32)
        return np.flatnonzero(got != bf16.round_float32(nearest)), _max_abs(bf16.widen(got), nearest)
    values = dtype.decode(got).astype(np.float64)
    suspects = np.flatnonzero(dtype.patterns(got) != dtype.patterns(dtype.encode(exact)))
    return suspects, _max_abs(values, exact.astype(np.float64))


def bound(magnitude: np.ndarray, slack: np.ndarray, tolerance: Tolerance, dtype: Dtype = BF16) -> np.ndarray:
    """Return how far a correct result may be from an exact value of this magnitude.

    The float32 sum is off by up to `slack`, which can carry it into the next binade; it is then rounded once.
    """
    if tolerance.ulp_of_output is not None:
        rounding = 2 * tolerance.ulp_of_output * dtype.half_ulp(magnitude + slack)
    else:
        rounding = tolerance.relative * magnitude
    return rounding + slack + tolerance.absolute


def _magnitude(channel: Channel, places: np.ndarray) -> np.ndarray:
    if len(places) > DENSE_SHARE * channel.exact.size:
        return channel.magnitude().reshape(-1)[places]
    return channel.magnitude(places)


def _max_abs(values: np.ndarray, nearest: np.ndarray) -> float:
    """Return the largest error, to the precision of `values`: enough for a figure that is shown, not judged by."""
    difference = values - nearest
    np.abs(difference, out=difference)
    largest = float(difference.max(initial=0.0))
    if not np.isfinite(largest):
        largest = float(np.max(difference, initial=0.0, where=np.isfinite(difference)))
    return largest


def _describe(
    places: np.ndarray, got: np.ndarray, exact: np.ndarray, wrong_got: np.ndarray, wrong_exact: np.ndarray,
    ulps: np.ndarray, dtype: Dtype,
) -> dict[str, object]:  # fmt: skip
    """Return the fields that help to find the fault; nothing when no element is wrong."""
    if not len(places):
        return {}
    coordinates = np.unravel_index(places, exact.shape)
    values = dtype.decode(wrong_got).astype(np.float64)
    order = np.argsort(np.where(ulps < 0, np.iinfo(np.int32).max, ulps), kind="stable")[::-1][:KEPT_WORST]
    worst = tuple(
        Wrong(tuple(int(axis[k]) for axis in coordinates), float(values[k]), float(wrong_exact[k]), int(ulps[k]))
        for k in order
    )
    one_value = got.size > 1 and bool((got == got.reshape(-1)[0]).all()) and exact.min() != exact.max()
    return {
        "worst": worst,
        "box": tuple((int(axis.min()), int(axis.max())) for axis in coordinates),
        "ratio": None if dtype.is_integer else _ratio(values, wrong_exact),
        "constant": float(dtype.decode(got.reshape(-1)[:1])[0]) if one_value else None,
    }


def _ratio(got: np.ndarray, exact: np.ndarray) -> float | None:
    """Return the factor that all wrong elements share within the rounding of a short format, or None."""
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
    """The verdict on one launch: every channel's, and their totals.

    output: the tensor that was compared, axes: those of one slice, axis: that of the slices. Of several outputs,
    `parts` has one comparison each.
    """

    elements: int
    mismatches: int
    unwritten: int
    nonfinite: int
    max_abs: float
    max_ulp: int
    channels: int
    failing: tuple[ChannelCheck, ...] = field(default_factory=tuple)
    output: str | None = None
    axes: str | None = None
    axis: str | None = None
    parts: tuple[Comparison, ...] = ()

    @property
    def right(self) -> bool:
        return not self.mismatches

    @property
    def worst_part(self) -> Comparison:
        """The comparison of the output with the most wrong elements."""
        return max(self.parts, key=lambda part: part.mismatches) if self.parts else self


def combine(checks: Sequence[ChannelCheck], channels: int | None = None) -> Comparison:
    """Return the totals; a launch is right when no channel has a wrong element. channels: default, one a check."""
    return Comparison(
        elements=sum(check.elements for check in checks),
        mismatches=sum(check.mismatches for check in checks),
        unwritten=sum(check.unwritten for check in checks),
        nonfinite=sum(check.nonfinite for check in checks),
        max_abs=max((check.max_abs for check in checks), default=0.0),
        max_ulp=max((check.max_ulp for check in checks), default=0),
        channels=len(checks) if channels is None else channels,
        failing=tuple(check for check in checks if check.mismatches),
    )


def joined(parts: Sequence[Comparison]) -> Comparison:
    """Return one comparison for all outputs of a launch."""
    if len(parts) == 1:
        return parts[0]
    return Comparison(
        elements=sum(part.elements for part in parts),
        mismatches=sum(part.mismatches for part in parts),
        unwritten=sum(part.unwritten for part in parts),
        nonfinite=sum(part.nonfinite for part in parts),
        max_abs=max(part.max_abs for part in parts),
        max_ulp=max(part.max_ulp for part in parts),
        channels=sum(part.channels for part in parts),
        failing=tuple(check for part in parts for check in part.failing),
        parts=tuple(parts),
    )
