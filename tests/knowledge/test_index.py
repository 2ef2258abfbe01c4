"""Search over entries: ranking, targets, spread over documents, queries without an answer, scores of rank-bm25."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from rank_bm25 import BM25Plus

from kbserver.core.errors import UsageError
from kbserver.knowledge import bm25
from kbserver.knowledge.entries import Entry
from kbserver.knowledge.fields import read
from kbserver.knowledge.tokens import Tokenizer
from tests.knowledge.entries_fake import GROUPS, SMALL, entry, make_index


def refs(query: str, entries: Sequence[Entry] = SMALL, **options: object) -> list[str]:
    return [hit.row.ref for hit in make_index(entries).search(query, **options).hits]


def test_scores_are_those_of_rank_bm25() -> None:
    chance = random.Random(7)
    words = [f"w{number}" for number in range(60)]
    entries = [entry(f"e{i}", "t", " ".join(chance.choices(words, k=chance.randint(1, 80)))) for i in range(50)]
    index = make_index(entries)
    tokenizer = Tokenizer(GROUPS)
    model = BM25Plus([read(one, tokenizer).fields() for one in entries], k1=bm25.K1, b=bm25.B, delta=bm25.DELTA)
    for query in (["w1"], ["w1", "w2", "w59"], words, ["absent"], ["w3", "absent"]):
        expected = model.get_scores(query)
        got = index.scores(dict.fromkeys(query, 1.0))
        assert got == pytest.approx(list(expected), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("shared memory of MI355X", "a.md#size"),
        ("smem size CDNA3", "b.md#size"),
        ("how many threads are in a warp", "c.md#waves"),
        ("sq_lds_bank_conflict", "fact:x"),
        ("BANK_CONFLICT", "fact:x"),
        ("v_mfma_f32_16x16x32_bf16", "lesson:0001"),
        ("mfma 16x16", "lesson:0001"),
        ("64KB", "b.md#size"),
        ("163840 B", "a.md#size"),
        ("wavefrnt", "c.md#waves"),
        ("confilcts", "fact:x"),
    ],
)
def test_the_right_entry_comes_first(query: str, first: str) -> None:
    assert refs(query)[0] == first


def test_tables_and_prose_are_scored_as_if_each_stood_alone() -> None:
    prose = [entry(f"d{i}", "t", f"load wave number{i}") for i in range(5)]
    table = [entry(f"i{i}", f"v_op{i}_f32", "load vector", kind="instruction") for i in range(40)]
    together = make_index([*prose, *table])
    alone, other = make_index(prose), make_index(table)
    for word in ("load", "wav", "number3", "vector", "absent"):
        scores = together.scores({word: 1.0})
        assert scores == [*alone.scores({word: 1.0}), *other.scores({word: 1.0})]


def test_a_repaired_word_is_reported_as_the_hits_spell_it() -> None:
    found = make_index(SMALL).search("wavefrnt")
    assert (found.query.repaired, found.repaired) == ({"wavefrnt": "wavefront"}, {"wavefrnt": "wavefront"})
    assert make_index([entry("a", "Caches", "All of them.")]).search("cahces").repaired == {"cahces": "caches"}


@pytest.mark.parametrize("name", ["gfx951", "v_mfma_f32_16x16x33_bf17x", "MI357X"])
def test_a_name_with_digits_is_never_taken_for_another(name: str) -> None:
    assert make_index(SMALL).search(name).query.repaired == {}


def test_a_target_that_is_not_ours_is_reported() -> None:
    assert make_index(SMALL).search("wavefront on gfx1100 and gfx942").query.foreign == ("gfx1100",)


def test_a_named_product_puts_other_targets_last_and_keeps_what_holds_for_all() -> None:
    found = refs("LDS size wavefront MI300X")
    assert found.index("b.md#size") < found.index("a.md#size")
    assert "c.md#waves" in found


def test_a_comparison_of_two_targets_demotes_neither() -> None:
    assert set(refs("LDS size MI300X versus MI355X")[:2]) == {"a.md#size", "b.md#size"}


def test_the_arch_argument_leaves_other_targets_out() -> None:
    assert refs("LDS size", arch="gfx942") == ["b.md#size", *[r for r in refs("LDS size") if r == "fact:x"]]


def test_the_kind_argument_leaves_other_kinds_out() -> None:
    assert refs("bank conflicts", kind="lesson") == ["lesson:0001"]


@pytest.mark.parametrize("query", ["", "   ", "the of and", "!!!", "zzzzqqqq", "k" * 100_000, "\u2028", "🙂"])
def test_a_query_without_usable_words_has_no_hits(query: str) -> None:
    found = make_index(SMALL).search(query)
    assert (list(found.hits), found.total) == ([], 0)


@pytest.mark.parametrize("query", ["lds " * 30_000, "lds.size-" * 20_000, " ".join(f"word{i}" for i in range(20_000))])
def test_a_huge_query_is_cut_and_says_so(query: str) -> None:
    found = make_index(SMALL).search(query)
    assert found.query.truncated
    assert len(found.query.terms) < 200


def test_every_hit_has_a_positive_score_even_for_a_word_of_every_entry() -> None:
    entries = [entry(f"e{i}", "common", "common common") for i in range(4)]
    found = make_index(entries).search("common")
    assert len(found.hits) == 4
    assert all(hit.score > 0 for hit in found.hits)


def test_an_empty_corpus_answers_with_nothing() -> None:
    index = make_index([])
    assert len(index) == 0
    assert list(index.search("LDS").hits) == []


def test_entries_without_any_word_are_searched_without_a_fault() -> None:
    index = make_index([entry("!", "!!!", "!!!")])
    assert list(index.search("lds").hits) == []


def test_more_hits_than_entries_may_be_asked_for_and_fewer_than_one_may_not() -> None:
    assert len(refs("LDS", limit=1000)) == 3
    for limit in (0, -1):
        with pytest.raises(UsageError, match="at least 1"):
            refs("LDS", limit=limit)


def test_one_document_fills_at_most_two_places_while_others_match() -> None:
    same = [entry(f"d.md#{i}", "barrier", "barrier " * (9 - i), group="d.md") for i in range(4)]
    other = [entry("e.md#x", "other", "a barrier among many words of another kind", group="e.md")]
    assert [ref.split("#")[0] for ref in refs("barrier", [*same, *other], limit=3)] == ["d.md", "d.md", "e.md"]
    assert len(refs("barrier", same, limit=4)) == 4


def test_the_title_weighs_more_than_the_body() -> None:
    title = entry("t", "prefetch", "words about something that is quite other")
    body = entry("b", "something", "words about prefetch that is quite other")
    assert refs("prefetch", [body, title]) == ["t", "b"]


def test_hits_carry_snippet_and_sources() -> None:
    (hit, *_) = make_index(SMALL).search("LDS MI355X").hits
    assert hit.snippet == "A workgroup may use 160 KiB."
    assert [source.id for source in hit.sources] == ["vendor-isa"]


def test_the_same_query_gives_the_same_order() -> None:
    entries = [entry(f"e{i}", "equal", "equal text") for i in range(20)]
    assert refs("equal", entries, limit=20) == [f"e{i}" for i in range(20)]


def test_words_that_stand_in_one_sentence_beat_words_that_are_strewn() -> None:
    filler = "Other things are said here at some length. "
    strewn = entry("s", "one", f"The prefetch is old. {filler} The barrier is new. {filler} The drain is slow.")
    together = entry("t", "two", f"The prefetch ends when the barrier has its drain. {filler} {filler} {filler}")
    assert refs("prefetch barrier drain", [strewn, together]) == ["t", "s"]


def test_an_instruction_is_found_by_a_part_of_its_name_and_by_its_name_above_all() -> None:
    page = entry("p.md#swap", "Swapping halves", "On gfx950 v_permlane32_swap_b32 swaps halves of two registers.")
    table = [
        entry(f"isa:gfx950/{name}", name, f"{name}: VOP1 on gfx950.", kind="instruction", arch=("gfx950",))
        for name in ("v_permlane32_swap_b32", "v_permlane16_swap_b32", "v_swap_b32")
    ]
    assert set(refs("permlane swap", [page, *table])[:3]) == {"p.md#swap", *(one.ref for one in table[:2])}
    assert refs("v_permlane16_swap_b32", [page, *table])[0] == "isa:gfx950/v_permlane16_swap_b32"
    assert refs("v_permlane32_swap_b32 gfx942", [page, *table])[0] == "p.md#swap"


def test_a_table_of_names_does_not_crowd_out_the_page_that_explains() -> None:
    page = entry("p.md#wait", "Waiting for loads", "s_waitcnt vmcnt waits for loads of a wave.")
    table = [
        entry(f"isa:x/buffer_load_{n}", f"buffer_load_{n}", "buffer loads count in vmcnt.", kind="instruction")
        for n in range(30)
    ]
    assert refs("which counter waits for loads", [page, *table])[0] == "p.md#wait"


def test_where_a_link_leads_says_nothing_about_the_section_that_links() -> None:
    pages = [
        entry("a.md#x", "Loads", "Loads are wide, see [there](b.md#bank-conflicts-of-rows)."),
        entry("b.md#bank-conflicts-of-rows", "Bank conflicts of rows", "Rows conflict when the stride is even."),
    ]
    assert [hit.row.ref for hit in make_index(pages).search("bank conflicts").hits] == ["b.md#bank-conflicts-of-rows"]


def test_one_word_is_explained_first_by_the_glossary_and_two_words_are_a_question() -> None:
    pages = [
        entry("a.md#tr", "Barrier hangs", "A barrier hangs when a barrier is in a branch: barrier, barrier."),
        entry("g.md#barrier", "Barrier: what it is", "Where all wait; see others.", defines=True),
        entry("g.md#fence", "Fence: what it is", "It orders what a barrier, a barrier, a barrier does.", defines=True),
        entry("b.md#x", "Waits", "Wait."),
    ]
    index = make_index(pages)
    assert index.search("barrier").hits[0].row.ref == "g.md#barrier"
    assert index.search("barrier branch").hits[0].row.ref == "a.md#tr"
