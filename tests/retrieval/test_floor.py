"""Retrieval does not fall below what was measured, and the runner can say no."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kbserver.core.targets import targets
from kbserver.core.yamlio import load_yaml
from kbserver.hardware.facts import load_facts
from kbserver.ops.corpus import search_index
from tests.retrieval.runner import (
    FORMS,
    Candidate,
    Question,
    all_candidates,
    answerable,
    load_questions,
    our_ranker,
    plain_ranker,
    rank_of,
    score,
    snippet_share,
)

FOLDER = Path(__file__).parent
OWN = FOLDER / "questions.yaml"
TUNE = FOLDER / "threads_tune.yaml"
HELD = FOLDER / "threads_held.yaml"
FRESH = FOLDER / "threads_fresh.yaml"
PRACTICE = FOLDER / "threads_practice.yaml"
PRACTICE_2 = FOLDER / "threads_practice2.yaml"
OPENED = FOLDER / "threads_a.yaml"
OPENED_2 = FOLDER / "threads_d.yaml"
OPENED_3 = FOLDER / "threads_f.yaml"


@pytest.mark.parametrize(
    ("path", "form", "at_1", "at_3"),
    [
        (OWN, "question", 0.80, 0.96),
        (OWN, "short_query", 0.92, 0.98),
        (TUNE, "question", 0.78, 0.96),
        (TUNE, "short_query", 0.93, 0.96),
        (HELD, "question", 0.81, 0.93),
        (HELD, "short_query", 0.84, 0.96),
        (FRESH, "question", 0.75, 0.94),
        (FRESH, "short_query", 0.75, 0.93),
        (PRACTICE, "question", 0.85, 0.96),
        (PRACTICE, "short_query", 0.82, 0.96),
        (PRACTICE_2, "question", 0.80, 0.96),
        (PRACTICE_2, "short_query", 0.82, 0.97),
        (OPENED, "question", 0.80, 0.93),
        (OPENED, "short_query", 0.80, 0.93),
        (OPENED_2, "question", 0.80, 0.93),
        (OPENED_2, "short_query", 0.80, 0.93),
        (OPENED_3, "question", 0.78, 0.92),
        (OPENED_3, "short_query", 0.80, 0.93),
    ],
)
def test_questions_are_answered_by_the_first_hit_and_in_the_first_three(
    path: Path, form: str, at_1: float, at_3: float
) -> None:
    got = score(load_questions(path), form, our_ranker(search_index()))
    assert (got.hit_at_1 >= at_1, got.hit_at_3 >= at_3) == (True, True), got


@pytest.mark.parametrize(("form", "floor"), [("question", 0.97), ("short_query", 0.96)])
def test_the_recorded_questions_are_answered_in_the_first_three_hits(
    shared_data: Path, form: str, floor: float
) -> None:
    questions = load_questions(shared_data / "questions.yaml")
    assert score(questions, form, our_ranker(search_index())).hit_at_3 >= floor


@pytest.mark.parametrize(("form", "floor"), [("question", 0.95), ("short_query", 0.98)])
def test_title_and_snippet_alone_answer(form: str, floor: float) -> None:
    questions = load_questions(OWN) + load_questions(TUNE) + load_questions(HELD)
    assert snippet_share(questions, form, search_index()) >= floor


@pytest.mark.parametrize(("group", "floor"), [("seen", 0.87), ("unseen", 0.90), ("later", 0.90)])
def test_queries_about_something_else_get_no_hits(group: str, floor: float) -> None:
    queries = load_yaml(FOLDER / "off_topic.yaml")[group]
    answered = [query for query in queries if search_index().search(query).hits]
    assert 1 - len(answered) / len(queries) >= floor, answered


def test_short_queries_of_our_field_get_hits() -> None:
    """Refusing one is worse than answering a stray query: who asked gives up, though the answer is there."""
    queries = load_yaml(FOLDER / "on_topic.yaml")
    refused = [query for query in queries if not search_index().search(query).hits]
    assert len(refused) / len(queries) <= 0.04, refused


def test_no_question_is_taken_for_one_about_something_else() -> None:
    questions = load_questions(OWN) + load_questions(TUNE) + load_questions(HELD)
    empty = [
        (one.id, form) for one in questions for form in FORMS if not search_index().search(getattr(one, form)).hits
    ]
    assert empty == []


def test_a_named_product_never_gets_the_figure_of_another_target_above_its_own() -> None:
    """For every fact that several targets have: its name with a product finds that product's figure first."""
    table = targets()
    products = {"gfx90a": "MI250X", "gfx942": "MI300X", "gfx950": "MI355X"}
    assert {arch: table.resolve(name)[0] for arch, name in products.items()} == {arch: arch for arch in products}
    facts = load_facts()
    wrong = []
    for key in facts.keys:
        by_arch = {fact.arch: fact for fact in facts.with_key(key) if fact.product is None and fact.arch in products}
        if len(by_arch) < 2:
            continue
        for arch, fact in by_arch.items():
            hits = search_index().search(f"{fact.name} {products[arch]}", limit=10).hits
            archs = [hit.row.arch for hit in hits if hit.row.group == f"fact:{key}"]
            if archs and archs[0] != (arch,):
                wrong.append((key, arch, archs))
    assert wrong == []


def test_search_beats_rank_bm25_as_it_comes() -> None:
    index, questions = search_index(), load_questions(OWN)[::4]
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
