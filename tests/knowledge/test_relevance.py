"""Queries that nothing answers get nothing, and questions in many words still get their answer."""

from __future__ import annotations

import pytest

from kbserver.knowledge.relevance import Answer
from tests.knowledge.entries_fake import entry, make_index

PAGES = [
    entry("a.md#size", "LDS size of a workgroup", "MI355X has 160 KiB of LDS for a workgroup.", arch=("gfx950",)),
    entry("b.md#wait", "Waiting for loads", "The kernel must wait for its loads before it can restart the loop."),
    entry("c.md#port", "What replaces cp.async", "Direct loads to LDS replace cp.async of NVIDIA H100 code."),
    entry("d.md#wave", "Wavefront of other chips", "gfx1100 has wavefronts of 32 lanes, most chips have 64."),
    entry("f.md#barrier", "Barriers", "A barrier has a price in cycles."),
    *(entry(f"e.md#{n}", f"Case {n}", f"Case {n} of something that costs cycles.") for n in range(40)),
]
INDEX = make_index(PAGES)


def answer(query: str) -> Answer:
    found = INDEX.search(query)
    assert bool(found.hits) == (found.answer is Answer.FOUND)
    assert found.hits or found.total == 0
    return found.answer


@pytest.mark.parametrize(
    "query",
    ["kubernetes pod restart", "price of bitcoin tomorrow", "bake a chocolate loop cake", "spring holiday code waits"],
)
def test_a_stray_word_is_no_answer(query: str) -> None:
    assert answer(query) is Answer.UNRELATED


@pytest.mark.parametrize("query", ["weather", "zzzz qqqq", "???"])
def test_words_that_no_entry_holds_match_nothing(query: str) -> None:
    assert answer(query) is Answer.NO_MATCH


@pytest.mark.parametrize(
    "query",
    [
        "restart",
        "LDS size foo",
        "frobnicated workgroup",
        "Kindly explain at your earliest convenience: how large is the LDS size of a workgroup nowadays?",
    ],
)
def test_a_topic_among_unknown_words_is_answered(query: str) -> None:
    assert answer(query) is Answer.FOUND


@pytest.mark.parametrize(
    "query",
    [
        "H100 LDS size in KB".replace("LDS", "cache"),
        "NVIDIA wavefront size",
        "sm_90 loads",
        "what is it like to load on H100",
    ],
)
def test_another_vendors_product_alone_is_not_answered_from_ours(query: str) -> None:
    assert answer(query) is Answer.OTHER_VENDOR


@pytest.mark.parametrize(
    "query",
    [
        "loads hang, on NVIDIA it worked",
        "H100 code: what replaces cp.async",
        "MI355X or H100: LDS size",
        "port H100 loads",
        "what do LDS loads of sm_90 become",
        "AMD or NVIDIA size",
        "do loads wait like they do on Hopper",
        "are loads slow, unlike those of an H100",
        "__builtin_amdgcn_loads wait H100",
    ],
)
def test_a_counterpart_or_a_comparison_with_ours_is_answered(query: str) -> None:
    assert answer(query) is Answer.FOUND


@pytest.mark.parametrize(
    "query",
    [
        "restart 16384100 987650 12345",
        "is there any way whatsoever of asking politely about LDS",
        "FROBNICATE_ALL cannot dispatch loads MI355X",
    ],
)
def test_numbers_names_of_the_field_and_targets_are_no_sign_of_another_topic(query: str) -> None:
    assert answer(query) is Answer.FOUND


def test_a_target_that_is_not_ours_is_answered_only_by_what_names_it() -> None:
    assert [hit.row.ref for hit in INDEX.search("wavefront of gfx1100").hits] == ["d.md#wave"]
    assert answer("LDS size of gfx1201") is Answer.OTHER_TARGET
    assert INDEX.search("wavefront on gfx1201 and MI355X").hits


def test_a_short_word_is_repaired_but_not_taken_for_a_topic() -> None:
    assert INDEX.search("codde").query.repaired == {"codde": "cod"}
    assert answer("codde") is Answer.UNRELATED
    assert answer("barriar costs") is Answer.FOUND
