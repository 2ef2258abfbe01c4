"""Markdown to sections: what a CommonMark reader sees as a heading is one, everything else is text."""

from __future__ import annotations

import pytest

from kbserver.core.errors import ContentError
from kbserver.knowledge.sections import MAX_DOCUMENT_BYTES, decode, parse_markdown, slug


def titles(text: str) -> list[str]:
    return [section.title for section in parse_markdown(text, "x.md").sections]


def ids(text: str) -> list[str]:
    return [section.id for section in parse_markdown(text, "x.md").sections]


@pytest.mark.parametrize("fence", ["~~~", "```", "````"])
def test_a_shell_comment_in_a_code_fence_is_text_and_the_fence_stays_whole(fence: str) -> None:
    text = f"# Real\n\n{fence}sh\n# not a heading\nhipcc a.hip\n{fence}\nmore\n"
    (section,) = parse_markdown(text, "x.md").sections
    assert section.title == "Real"
    assert section.text == f"{fence}sh\n# not a heading\nhipcc a.hip\n{fence}\nmore"


def test_an_unclosed_fence_runs_to_the_end_of_the_document() -> None:
    assert titles("# A\n\n```\n# b\n## c\n") == ["A"]


def test_a_preprocessor_line_is_no_heading() -> None:
    assert titles("# A\n\n#include <hip/hip_runtime.h>\n") == ["A"]


@pytest.mark.parametrize("hidden", ["<!--\n# hidden\n-->\n# Shown\n", "<!-- x\n\n# hidden\n\n-->\n\n# Shown\n"])
def test_a_heading_in_an_html_comment_is_hidden(hidden: str) -> None:
    assert titles(hidden) == ["Shown"]


@pytest.mark.parametrize(
    "text", ["> # quoted\n\n# Real\n", "- # in a list\n\n# Real\n", "    # indented code\n\n# Real\n"]
)
def test_a_heading_inside_a_quotation_list_or_code_block_is_text(text: str) -> None:
    assert titles(text) == ["Real"]


def test_setext_and_atx_headings_are_sections_with_their_path() -> None:
    parsed = parse_markdown("Top\n===\n\nOne\n---\n\n### Deep ###\n\n## Two\n", "x.md")
    assert [(s.title, s.level, s.path) for s in parsed.sections] == [
        ("Top", 1, ("Top",)),
        ("One", 2, ("Top", "One")),
        ("Deep", 3, ("Top", "One", "Deep")),
        ("Two", 2, ("Top", "Two")),
    ]


# The expected ids are those that github.com gives these headings.
@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Bank conflicts", "bank-conflicts"),
        ("How much LDS can one workgroup use?", "how-much-lds-can-one-workgroup-use"),
        ("ds_read_b64 & ds_read_b128", "ds_read_b64--ds_read_b128"),
        ("s_waitcnt: vmcnt(0)", "s_waitcnt-vmcnt0"),
        ("Größe", "größe"),
        ("C++/HIP", "chip"),
        ("!!!", "section"),
    ],
)
def test_ids_are_those_of_github(title: str, expected: str) -> None:
    assert slug(title) == expected


def test_repeated_headings_get_numbers_and_never_collide_with_a_heading_of_that_name() -> None:
    assert ids("# A\n# A\n# A-1\n# A\n") == ["a", "a-1", "a-1-1", "a-2"]


def test_markup_in_a_heading_is_dropped_from_title_and_id() -> None:
    parsed = parse_markdown("# The `s_barrier` **rule** of [LDS](lds.md)\n", "x.md")
    assert parsed.title == "The s_barrier rule of LDS"
    assert parsed.sections[0].id == "the-s_barrier-rule-of-lds"


PLAIN = "---\ntitle: T\n---\n# Title\n\ntext\n\n## Next\n\nend\n"


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("\n", "\r").encode(),
    ],
    ids=["BOM", "CRLF", "BOM and CRLF", "CR"],
)
def test_bom_and_line_ends_change_nothing(data: bytes) -> None:
    expected = parse_markdown(PLAIN, "x.md")
    parsed = parse_markdown(decode(data, "x.md"), "x.md")
    assert parsed.front == {"title": "T"}
    assert parsed.sections == expected.sections
    assert [s.id for s in parsed.sections] == ["title", "next"]


def test_a_bom_before_a_heading_without_front_matter_is_dropped() -> None:
    parsed = parse_markdown(decode(b"\xef\xbb\xbf# Title\n\ntext\n", "x.md"), "x.md")
    assert (parsed.title, parsed.sections[0].text) == ("Title", "text")


def test_tables_stay_intact() -> None:
    table = "| a | b |\n|---|---|\n| 1 | `x\\|y` |"
    assert parse_markdown(f"# T\n\n{table}\n\nafter\n", "x.md").sections[0].text == f"{table}\n\nafter"


def test_front_matter_faults_name_the_line_of_the_file() -> None:
    with pytest.raises(ContentError) as caught:
        parse_markdown("---\ntitle: a\ntitle: b\n---\n# x\n", "x.md")
    assert caught.value.where == "x.md:3"
    with pytest.raises(ContentError, match="no closing"):
        parse_markdown("---\ntitle: a\n\n# x\n", "x.md")
    with pytest.raises(ContentError, match="mapping"):
        parse_markdown("---\n- a\n---\n# x\n", "x.md")


def test_oversized_and_undecodable_documents_are_refused() -> None:
    with pytest.raises(ContentError, match="larger"):
        decode(b"a" * (MAX_DOCUMENT_BYTES + 1), "x.md")
    with pytest.raises(ContentError, match="not UTF-8 at byte 2"):
        decode(b"ab\xff", "x.md")
    with pytest.raises(ContentError, match="headings"):
        parse_markdown("# h\n" * 1001, "x.md")


@pytest.mark.parametrize(
    "text", [">" * 5000 + " x\n", "- " * 5000 + "x\n", "[" * 5000, "*a " * 5000, "`" * 5001 + "\n"]
)
def test_hostile_nesting_ends(text: str) -> None:
    assert titles("# Real\n\n" + text)[0] == "Real"


@pytest.mark.parametrize("text", ["", "\n\n", "just text\n"])
def test_a_document_without_headings_has_no_sections(text: str) -> None:
    assert parse_markdown(text, "gpu_arch/some.md").sections == ()
