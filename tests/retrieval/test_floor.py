"""Retrieval does not fall below what was measured, and the runner can say no."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kbserver.ops.corpus import search_index
from tests.retrieval.runner import (
    Candidate,
    Question,
    all_candidates,
    answerable,
    load_questions,
    our_ranker,
    plain_ranker,
    rank_of,
    score,
)

OWN = Path(__file__).parent / "questions.yaml"


@pytest.mark.parametrize(("form", "floor"), [("question", 0.93), ("short_query", 0.96)])
def test_our_own_questions_are_answered_in_the_first_three_hits(form: str, floor: float) -> None:
    assert score(load_questions(OWN), form, our_ranker(search_index())).hit_at_3 >= floor


@pytest.mark.parametrize("form", ["question", "short_query"])
def test_the_recorded_questions_are_answered_in_the_first_three_hits(shared_data: Path, form: str) -> None:
    questions = load_questions(shared_data / "questions.yaml")
    assert score(questions, form, our_ranker(search_index())).hit_at_3 >= 0.95


def test_search_beats_rank_bm25_as_it_comes() -> None:
    index, questions = search_index(), load_questions(OWN)
    plain = plain_ranker(all_candidates(index))
    for form in ("question", "short_query"):
        assert score(questions, form, our_ranker(index)).mrr > score(questions, form, plain).mrr + 0.1


QUESTION = Question("q", "how many banks", "banks", (re.compile("64"), re.compile("bank")), frozenset({"gfx950"}))


def test_an_answer_must_match_every_pattern_and_fit_a_target() -> None:
    assert QUESTION.answered_by("64 banks", ["gfx950"])
    assert QUESTION.answered_by("64 banks", [])
    assert not QUESTION.answered_by("64 banks", ["gfx942"])
    assert not QUESTION.answered_by("64 lanes", ["gfx950"])


def test_places_are_counted_from_one_and_shares_follow() -> None:
    wrong, right = Candidate("a", "nothing", []), Candidate("b", "64 banks", [])

    def second(text: str) -> list[Candidate]:
        return [wrong, right]

    assert rank_of(QUESTION, "question", second) == 2
    got = score([QUESTION], "question", second)
    assert (got.hit_at_1, got.hit_at_3, got.mrr) == (0.0, 1.0, 0.5)
    assert rank_of(QUESTION, "question", lambda text: [wrong] * 20 + [right]) is None
    assert answerable([QUESTION], [wrong]) == set()
