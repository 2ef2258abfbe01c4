"""The acceptance rule: each element has its own bound, each channel its own verdict."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.runs import bf16
from kbserver.runs.acceptance import ChannelCheck, check_channel, combine
from kbserver.runs.references import find_reference
from kbserver.runs.task import find_kernel

FILL = 0xFFFF


class Exact:
    """A channel with given exact values and sums of magnitudes."""

    def __init__(self, exact: np.ndarray, magnitude: float | np.ndarray = 0.0) -> None:
        self.exact = np.asarray(exact, np.float64)
        self._magnitude = np.broadcast_to(np.asarray(magnitude, np.float64), self.exact.shape)

    def magnitude(self, places: np.ndarray | None = None) -> np.ndarray:
        return self._magnitude.copy() if places is None else self._magnitude.reshape(-1)[places]


def check(got: list[float] | np.ndarray, exact: Exact, *, sums_exactly: bool = False, fill: int = FILL) -> ChannelCheck:
    bits = got if isinstance(got, np.ndarray) else bf16.round_float64(np.array(got, np.float64))
    tolerance = find_kernel("step1_naive")[0].tolerance
    return check_channel(0, bits.reshape(exact.exact.shape), exact, tolerance, sums_exactly=sums_exactly, fill=fill)


def convolved(family: str) -> Exact:
    task, _ = find_kernel("step1_naive")
    reference = find_reference(task)
    inputs = reference.inputs(task.problem, task.dimensions("small"), 11, family)
    channel = reference.channel(task.problem, inputs, 4)
    return Exact(channel.exact, channel.magnitude())


def rounded(exact: Exact) -> np.ndarray:
    return bf16.round_float64(exact.exact)


def test_the_rounded_exact_value_is_right() -> None:
    exact = convolved("spread")
    result = check(rounded(exact), exact)
    assert (result.mismatches, result.max_ulp, result.elements) == (0, 0, 5 * 13 * 48)
    assert 0 < result.max_abs <= float(bf16.half_ulp(np.abs(exact.exact)).max())


def test_one_ulp_off_is_wrong_unless_float32_itself_can_be_that_far() -> None:
    # 1 + 2^-7 is the next number after 1. The exact value 1 + 2^-9 rounds to 1; 1 + 2^-7 is 0.75 ulp away.
    exact = [1 + 2.0**-9]
    assert check([1 + 2.0**-7], Exact(exact)).mismatches == 1
    # With a sum of magnitudes of 500, float32 may be off by 76 * 2^-24 * 500 = 0.0023 > 2^-9: it may round up.
    assert check([1 + 2.0**-7], Exact(exact, 500.0)).mismatches == 0
    assert check([1 + 2.0**-6], Exact(exact, 500.0)).mismatches == 1


@pytest.mark.parametrize("family", ["spread", "whole"])
def test_a_scale_of_1_04_fails_in_nearly_every_element(family: str) -> None:
    exact = convolved(family)
    result = check(bf16.round_float64(exact.exact * 1.04), exact, sums_exactly=family == "whole")
    assert result.mismatches > 0.9 * np.count_nonzero(exact.exact)
    assert result.ratio == pytest.approx(1.04, abs=0.004)


def test_truncation_instead_of_rounding_fails() -> None:
    exact = convolved("spread")
    truncated = (exact.exact.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    assert check(truncated, exact).mismatches > 0.4 * exact.exact.size


def test_four_percent_of_noise_fails() -> None:
    exact = convolved("spread")
    noisy = exact.exact * (1 + 0.04 * np.random.default_rng(3).standard_normal(exact.exact.shape))
    assert check(bf16.round_float64(noisy), exact).mismatches > 0.5 * exact.exact.size


def test_one_zero_in_520_fails() -> None:
    exact = convolved("spread")
    got = rounded(exact)
    got.reshape(-1)[::520] = 0
    assert check(got, exact).mismatches == len(got.reshape(-1)[::520])


def test_ties_must_go_to_the_even_number_where_sums_are_exact() -> None:
    # 257 lies half way between 256 and 258 (8 significant bits): even is 256.
    tie = Exact([257.0, 1.0], 1000.0)
    assert check([256.0, 1.0], tie, sums_exactly=True).mismatches == 0
    away = np.array([0x4381, 0x3F80], np.uint16)
    assert float(bf16.widen(away)[0]) == 258.0
    assert check(away, tie, sums_exactly=True).mismatches == 1
    assert check(away, tie, sums_exactly=False).mismatches == 0


def test_zeros_and_constants_fail_and_say_so() -> None:
    exact = convolved("spread")
    for value in (0.0, 1.5):
        result = check(bf16.round_float64(np.full(exact.exact.shape, value)), exact)
        assert result.mismatches > 0.95 * exact.exact.size
        assert result.constant == value


def test_small_values_are_judged_on_their_own_scale() -> None:
    """Zeros where every true value is about 2.5e-6 pass a loose absolute tolerance; here they do not."""
    exact = Exact(np.full(1000, 2.5e-6), 1e-5)
    assert check(np.zeros(1000, np.uint16), exact).mismatches == 1000


@pytest.mark.parametrize("fill", [0xFFFF, 0x5F3C, 0x7FA5])
def test_elements_that_still_hold_the_fill_are_counted(fill: int) -> None:
    exact = convolved("spread")
    got = rounded(exact)
    got.reshape(-1)[10:17] = fill
    result = check(got, exact, fill=fill)
    assert (result.mismatches, result.unwritten) == (7, 7)


def test_nan_and_infinity_fail_and_are_listed_first() -> None:
    exact = Exact([1.0, 2.0, 3.0, 4.0], 10.0)
    result = check(np.array([0x3F80, 0x7FC0, 0x7F80, 0x4081], np.uint16), exact)
    assert (result.mismatches, result.nonfinite) == (3, 2)
    assert result.worst[0].ulp == -1 and np.isnan(result.worst[0].got)
    assert result.worst[0].index == (1,)
    assert result.box == ((1, 3),)


def test_a_wrong_zero_sign_is_no_error() -> None:
    assert check(np.array([0x8000], np.uint16), Exact([0.0])).mismatches == 0


def test_one_failing_channel_of_512_fails_the_launch() -> None:
    good = ChannelCheck(0, 1000, 0, 0, 0, 0.01, 0)
    bad = ChannelCheck(77, 1000, 1, 0, 0, 0.5, 3, box=((0, 0),))
    total = combine([*[good] * 511, bad])
    assert not total.right
    assert (total.mismatches, total.channels, [one.channel for one in total.failing]) == (1, 512, [77])
    assert combine([good] * 512).right


def test_cancelled_elements_do_not_set_the_largest_distance() -> None:
    # float32 cannot tell 1e-9 from 0 beside products of 100: many ulp of the result, and right.
    result = check([2e-9, 1.0], Exact([1e-9, 1.0], 100.0))
    assert (result.mismatches, result.max_ulp) == (0, 0)
