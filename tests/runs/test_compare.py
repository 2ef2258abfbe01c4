"""Two kernels side by side: which way a figure went, what decides, and when nothing can be said."""

from __future__ import annotations

import pytest

from kbserver.runs.compare import CANNOT_TELL, LESS, MIXED, MORE, SAME, Comparison, Figure, compare


def of(*figures: Figure, cannot_tell: str | None = None) -> Comparison:
    return compare(("a", "b"), (None, None), "counted work", None, figures, cannot_tell=cannot_tell)


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ([("x", 100, 90)], LESS),
        ([("x", 100, 110)], MORE),
        ([("x", 100, 90), ("y", 10, 20)], MIXED),
        ([("x", 100, 100.9)], SAME),
        ([("x", 100, 100)], SAME),
        ([("x", 0, 3)], MORE),
        ([("x", 3, 0)], LESS),
        ([("x", None, 3)], SAME),
    ],
)
def test_figures_that_decide_give_the_verdict(figures: list[tuple[str, float, float]], verdict: str) -> None:
    assert of(*(Figure(name, before, after, decides=True) for name, before, after in figures)).verdict == verdict


def test_a_figure_that_does_not_decide_has_a_direction_and_no_say() -> None:
    found = of(Figure("x", 10, 5), Figure("y", 10, 5, None, decides=True))
    assert found.verdict == SAME
    assert [(row.figure, row.better) for row in found.figures] == [("x", True), ("y", None)]


def test_more_can_be_good() -> None:
    found = of(Figure("waves per SIMD", 3, 4, "more", decides=True))
    assert (found.verdict, found.reason) == (LESS, "better: waves per SIMD +33.3 %")


def test_what_neither_has_is_left_out() -> None:
    assert [row.figure for row in of(Figure("x", 0, 0), Figure("y", None, None), Figure("z", 1, 1)).figures] == ["z"]


def test_the_reason_names_both_sides_and_what_was_not_there_before() -> None:
    found = of(Figure("x", 8, 4, decides=True), Figure("y", 0, 2, decides=True))
    assert found.reason == "better: x -50.0 %; worse: y from 0"
    assert found.figures[1].change_percent is None


def test_different_problems_have_figures_and_no_verdict() -> None:
    found = of(Figure("x", 8, 4, decides=True), cannot_tell="different problems")
    assert (found.verdict, found.reason) == (CANNOT_TELL, "different problems")
    assert found.figures[0].change_percent == -50.0
