"""Snippets: the lines that answer, short enough to pay for."""

from __future__ import annotations

from kbserver.knowledge.snippets import ROOM, units_of
from kbserver.knowledge.snippets import excerpt as excerpt_of
from kbserver.knowledge.tokens import Tokenizer

TOKENIZER = Tokenizer([])


def excerpt(text: str, weights: dict[str, float]) -> str:
    units = units_of(text)
    terms = [frozenset(TOKENIZER.tokens(f"{unit.header} {unit.text}")) for unit in units]
    return excerpt_of(units, terms, weights)


FILLER = "Nothing of interest stands in this sentence at all. " * 12


def test_the_answering_sentence_is_quoted_and_not_the_beginning() -> None:
    text = f"{FILLER}\n\nThe granule is 1280 bytes on that target. {FILLER}"
    assert excerpt(text, {"granule": 2.0, "1280": 1.0}).startswith("The granule is 1280 bytes")


def test_a_table_row_comes_with_its_header() -> None:
    rows = "\n".join(f"| op{i} | {i} |" for i in range(40))
    text = f"| instruction | phases |\n|---|---|\n{rows}\n| ds_read_b128 | 8 |\n"
    assert excerpt(text, {"ds_read_b128": 3.0}) == "instruction | phases / ds_read_b128 | 8"


def test_parts_that_are_apart_are_marked() -> None:
    text = f"The first answer names alpha. {FILLER} The second names beta."
    shown = excerpt(text, {"alpha": 3.0, "beta": 2.0})
    assert "alpha" in shown
    assert shown.endswith(" ... The second names beta.")


def test_a_snippet_never_exceeds_its_limit() -> None:
    for text in (
        FILLER,
        "alpha " * 500,
        "| a |\n|---|\n" + "| alpha beta |\n" * 100,
        "```\n" + "alpha\n" * 200 + "```",
    ):
        assert 0 < len(excerpt(text, {"alpha": 1.0, "beta": 1.0})) <= ROOM


def test_a_short_text_is_shown_whole_and_an_empty_one_is_empty() -> None:
    assert excerpt("One. Two.\n\nThree.", {"two": 1.0}) == "One. Two. Three."
    assert excerpt("", {"two": 1.0}) == ""


def test_room_that_is_left_goes_to_what_follows_and_then_to_what_precedes() -> None:
    text = f"{FILLER} Before it stands alpha two. The beta is named here. After it stands alpha one. {FILLER}"
    assert excerpt(text, {"beta": 1.0}).startswith("The beta is named here. After it stands alpha one. ")
    last = f"{FILLER}{FILLER} One of three. Two of three. The beta is named here."
    assert excerpt(last, {"beta": 1.0}).endswith("One of three. Two of three. The beta is named here.")


def test_a_larger_limit_shows_more() -> None:
    units = units_of(f"The beta is named here. {FILLER}")
    terms = [frozenset(TOKENIZER.tokens(unit.text)) for unit in units]
    short, long = (excerpt_of(units, terms, {"beta": 1.0}, limit) for limit in (200, 500))
    assert len(short) <= 200 < len(long) <= 500


def test_a_link_is_shown_by_its_words_and_not_by_where_it_leads() -> None:
    assert excerpt("See [the table](#rates-of-each-shape) and [derived, from it](../a.md).", {}) == (
        "See the table and [derived, from it]."
    )
    code = "Calls are `table[i](x)`, `[&](float)` and `[](auto x)` [llvm-docs, a]."
    assert excerpt(code, {}) == code
