"""What a verification launches is decided before it runs, and can be neither guessed nor avoided."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UnknownName, UsageError
from kbserver.runs.cases import FILLS, plan
from kbserver.runs.expression import evaluate
from kbserver.runs.shapes import held_out
from kbserver.runs.task import find_kernel


def test_a_small_shape_gets_two_seeds_every_order_and_a_shape_not_seen() -> None:
    task, variant = find_kernel("step3_nchw_lds")
    first, other = plan(task, variant, "tiny", None, None)
    assert (first.shape, other.shape) == ("tiny", "held-out")
    assert len(first.seeds) == 2 and first.seeds == other.seeds
    for case in (first, other):
        assert [turn.order for turn in case.turns] == ["forward", "reversed", "seeded", "forward"]
        assert [turn.poison for turn in case.turns] == [True, True, True, False]
        assert [turn.fill for turn in case.turns[:3]] == list(FILLS)


def test_seeds_are_drawn_anew_unless_given() -> None:
    task, variant = find_kernel("step1_naive")
    drawn = {plan(task, variant, "tiny", None, None)[0].seeds for _ in range(5)}
    assert len(drawn) == 5
    assert plan(task, variant, "tiny", [5, 5, 7], None)[0].seeds == (5, 7)
    assert plan(task, variant, "tiny", [5], None) == plan(task, variant, "tiny", [5], None)


def test_the_published_shape_runs_once_and_the_orders_on_the_other_shape() -> None:
    task, variant = find_kernel("step3_nchw_lds")
    first, other = plan(task, variant, "paper", [1], None)
    assert first.large and not other.large
    assert [turn.order for turn in first.turns] == ["forward"]
    assert {turn.order for turn in other.turns} == {"forward", "reversed", "seeded"}
    assert [turn.order for turn in plan(task, variant, "paper", [1], ["reversed", "seeded"])[0].turns] == [
        "reversed",
        "seeded",
    ]


def test_a_large_tensor_that_changes_in_place_runs_once_too() -> None:
    task, variant = find_kernel("step3_nchw_lds")
    (output,) = task.problem.results
    changed = task.problem.tensors[output].model_copy(update={"role": "inout"})
    problem = task.problem.model_copy(update={"tensors": {**task.problem.tensors, output: changed}})
    first, _ = plan(task.model_copy(update={"problem": problem}), variant, "paper", [1], None)
    assert first.large and len(first.turns) == 1


@pytest.mark.parametrize("name", ["step1_naive", "step2_nhwc", "step3_nchw_lds", "step4_mfma", "step5_sgb"])
def test_a_held_out_shape_meets_the_variant_and_differs_in_every_size(name: str) -> None:
    task, variant = find_kernel(name)
    tiny = task.dimensions("tiny")
    found = [held_out(task, variant, tiny, seed) for seed in range(30)]
    assert len({tuple(sizes.items()) for sizes in found if sizes}) > 15
    for sizes in found:
        assert sizes is not None
        assert all(evaluate(condition, sizes) for condition in variant.requires)
        assert all(sizes[key] != tiny[key] for key in "CDHW")
        assert sizes["OD"] == sizes["D"] - 2


def test_wrong_seeds_orders_and_shapes_are_refused() -> None:
    task, variant = find_kernel("step1_naive")
    for seeds in ([-1], [2**32], list(range(17))):
        with pytest.raises(UsageError, match="seeds are"):
            plan(task, variant, "tiny", seeds, None)
    with pytest.raises(UnknownName, match="wave order 'random'"):
        plan(task, variant, "tiny", None, ["random"])
    with pytest.raises(UnknownName, match="shape 'papper'"):
        plan(task, variant, "papper", None, None)
