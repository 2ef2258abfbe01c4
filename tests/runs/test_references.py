"""The float64 convolution against a scalar loop written from its definition, and against torch where there is one."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from kbserver.core.errors import ContentError
from kbserver.runs import bf16
from kbserver.runs.layouts import axis_words, from_layout, to_layout
from kbserver.runs.references import find_reference
from kbserver.runs.task import Problem, Task, find_kernel


def problem(padding: tuple[int, int, int] = (0, 2, 2), kernel: tuple[int, int, int] = (3, 5, 5)) -> Problem:
    task, _ = find_kernel("step1_naive")
    tensors = {
        "input": {"axes": "NCDHW", "size": [1, "C", "D", "H", "W"], "role": "input"},
        "weight": {"axes": "CITRS", "size": ["C", 1, *kernel], "role": "input"},
        "output": {"axes": "NCDHW", "size": [1, "C", "OD", "H", "W"], "role": "output"},
    }
    return Problem(**{**task.problem.model_dump(), "kernel": kernel, "padding": padding, "tensors": tensors})


def by_definition(planes: np.ndarray, weight: np.ndarray, padding: tuple[int, ...], magnitudes: bool) -> np.ndarray:
    """Return the convolution in exact fractions, output by output and tap by tap."""
    sizes = [n + 2 * p - k + 1 for n, p, k in zip(planes.shape, padding, weight.shape, strict=True)]
    result = np.zeros(sizes)
    for out in itertools.product(*map(range, sizes)):
        total = Fraction(0)
        for tap in itertools.product(*map(range, weight.shape)):
            at = tuple(o + t - p for o, t, p in zip(out, tap, padding, strict=True))
            if all(0 <= a < n for a, n in zip(at, planes.shape, strict=True)):
                product = Fraction(float(planes[at])) * Fraction(float(weight[tap]))
                total += abs(product) if magnitudes else product
        result[out] = float(total)
    return result


@pytest.mark.parametrize(
    ("padding", "kernel"), [((0, 2, 2), (3, 5, 5)), ((1, 0, 3), (2, 3, 4)), ((0, 0, 0), (1, 1, 1))]
)
@pytest.mark.parametrize("family", ["spread", "whole"])
def test_exact_values_and_magnitudes_are_those_of_the_definition(
    padding: tuple[int, int, int], kernel: tuple[int, int, int], family: str
) -> None:
    task, _ = find_kernel("step1_naive")
    reference = find_reference(task)
    inputs = reference.inputs(problem(padding, kernel), {"C": 2, "D": 4, "H": 5, "W": 7}, 3, family)
    planes, weight = bf16.widen(inputs["input"][0, 1]), bf16.widen(inputs["weight"][1, 0])
    channel = reference.channel(problem(padding, kernel), inputs, 1)
    exact = by_definition(planes, weight, padding, magnitudes=False)
    sums = by_definition(planes, weight, padding, magnitudes=True)
    assert channel.exact.shape == exact.shape
    np.testing.assert_allclose(channel.exact, exact, rtol=0, atol=1e-13)
    np.testing.assert_allclose(channel.magnitude(), sums, rtol=1e-13, atol=0)
    places = np.array([0, exact.size // 2, exact.size - 1])
    np.testing.assert_allclose(channel.magnitude(places), sums.reshape(-1)[places], rtol=1e-13, atol=0)


def test_chunks_of_planes_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    from kbserver.runs.references import depthwise_conv3d

    task, _ = find_kernel("step1_naive")
    reference = find_reference(task)
    inputs = reference.inputs(task.problem, {"C": 1, "D": 9, "H": 6, "W": 8}, 1, "spread")
    whole = reference.channel(task.problem, inputs, 0).exact
    monkeypatch.setattr(depthwise_conv3d, "CHUNK_ELEMENTS", 250)
    np.testing.assert_array_equal(reference.channel(task.problem, inputs, 0).exact, whole)


def test_inputs_repeat_for_a_seed_and_differ_between_seeds() -> None:
    task, _ = find_kernel("step1_naive")
    reference, sizes = find_reference(task), task.dimensions("tiny")
    first = reference.inputs(task.problem, sizes, 1, "spread")
    assert (first["input"] == reference.inputs(task.problem, sizes, 1, "spread")["input"]).all()
    assert (first["input"] != reference.inputs(task.problem, sizes, 2, "spread")["input"]).any()
    assert first["input"].shape == (1, 8, 4, 9, 20) and first["weight"].shape == (8, 1, 3, 5, 5)


def test_the_families_are_what_they_promise() -> None:
    task, _ = find_kernel("step1_naive")
    reference, sizes = find_reference(task), task.dimensions("small")
    spread = bf16.widen(reference.inputs(task.problem, sizes, 5, "spread")["input"])
    assert np.abs(spread).min() >= 2.0**-7 and np.abs(spread).max() < 2
    assert {int(e) for e in np.unique(np.frexp(spread)[1])} == set(range(-6, 2))
    whole = bf16.widen(reference.inputs(task.problem, sizes, 5, "whole")["input"])
    assert set(np.unique(whole).tolist()) == set(range(-15, 16))
    assert reference.sums_exactly("whole") and not reference.sums_exactly("spread")


def test_torch_agrees_where_it_is_installed() -> None:
    torch = pytest.importorskip("torch", reason="SKIPPED LOUDLY: torch (extra `torch`) is not installed")
    task, _ = find_kernel("step1_naive")
    reference = find_reference(task)
    inputs = reference.inputs(task.problem, task.dimensions("small"), 9, "spread")
    name, values = reference.second(task.problem, inputs, 24)
    ours = np.stack([reference.channel(task.problem, inputs, number).exact for number in range(24)])
    assert torch.__version__ in name
    np.testing.assert_allclose(values, ours, rtol=0, atol=1e-12)


def test_an_unknown_reference_is_named() -> None:
    task, _ = find_kernel("step1_naive")
    other = Task(**{**task.model_dump(), "reference": "softmax"})
    with pytest.raises(ContentError, match="no reference 'softmax'"):
        find_reference(other)


def test_a_layout_is_a_permutation_of_letters() -> None:
    array = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    stored = to_layout(array, "CDH", "HCD")
    assert stored.shape == (4, 2, 3) and stored[3, 1, 2] == array[1, 2, 3]
    assert (from_layout(stored, "CDH", "HCD") == array).all()
    for wrong in ("CD", "CDW", "CDD"):
        with pytest.raises(ContentError, match="no permutation"):
            to_layout(array, "CDH", wrong)
    assert axis_words("DHW", [(0, 1), (8, 8), (0, 19)]) == "D 0-1, H 8, W 0-19"
