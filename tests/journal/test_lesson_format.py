"""A lesson's text survives its file: titles that mean something to YAML, bodies that look like front matter."""

from __future__ import annotations

import pytest

from kbserver.core.errors import ContentError, UsageError
from kbserver.journal.lesson import Lesson, format_lesson, lesson_text, parse_lesson
from kbserver.journal.lessons import Draft

HOSTILE = [
    "@x",
    "NO",
    "~",
    "---",
    "...",
    "a: b",
    "# heading",
    "- item",
    "*alias",
    "&anchor",
    "!tag",
    "1e3",
    "010",
    "0x1F",
    "2024-01-02",
    "12:30:45",
    "'single' and \"double\"",
    "back\\slash \\n",
    "two\nlines",
    "a\ttab",
    "{fact:x}",
    "| pipe",
    "trailing  ",
    "  leading",
    "%percent",
    "`tick`",
    "Урок о LDS",
    "共有メモリは160 KiB",
    "\U0001f600 astral",
    "line\u2028separator",
    "next\u2029paragraph",
    "bom\ufeffinside",
    "nonchar\uffff",
]


def lesson(**changes: object) -> Lesson:
    fields = {"id": "1001", "title": "t", "status": "unverified", "date": "2026-01-02", "body": "b"}
    return Lesson(**{**fields, **changes})


@pytest.mark.parametrize("text", HOSTILE)
def test_any_title_comes_back_unchanged(text: str) -> None:
    kept = lesson(title=text, evidence=[text], toolchain=text, note=text)
    assert parse_lesson(format_lesson(kept), "x.md") == kept


@pytest.mark.parametrize(
    "body", ["---", "a\n---\nb", "---\nid: x\n---\ntext", "# h\n\n```\n---\n```\n...", "  code\n\n\nx"]
)
def test_any_body_comes_back_unchanged(body: str) -> None:
    kept = lesson(body=body)
    assert parse_lesson(format_lesson(kept), "x.md") == kept


def test_the_file_is_plain_front_matter_and_markdown() -> None:
    kept = lesson(title="NO", arch=["gfx950"], evidence=["cite:a, page 1"], body="found\n---\nmore")
    assert format_lesson(kept) == (
        '---\nid: "1001"\ntitle: "NO"\nstatus: "unverified"\narch: ["gfx950"]\nkernels: []\n'
        'evidence: ["cite:a, page 1"]\ndate: "2026-01-02"\n---\n\nfound\n---\nmore\n'
    )


def test_byte_order_mark_and_crlf_change_nothing() -> None:
    text = format_lesson(lesson(body="a\nb"))
    assert parse_lesson("\ufeff" + text.replace("\n", "\r\n"), "x.md") == parse_lesson(text, "x.md")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("  \n", "the file is empty"),
        ("# only text\n", "no front matter"),
        ('---\nid: "1001"\ntitle: "cut', "the file was cut"),
        ("---\n- a\n---\nb\n", "not a mapping"),
        ("---\nid: [1\n---\nb\n", "not valid YAML"),
        ('---\nid: "1001"\nid: "1002"\n---\nb\n', "duplicate key"),
        ('---\nid: "1001"\ntitle: t\nstatus: unverified\ndate: "2026-01-02"\n---\n', "body"),
        ('---\nid: "1001"\ntitle: t\nstatus: proven\ndate: "2026-01-02"\n---\nb\n', "status 'proven'"),
        ('---\nid: "1001"\ntitle: t\nstatus: unverified\ndate: yesterday\n---\nb\n', "not YYYY-MM-DD"),
        ('---\nid: "x"\ntitle: t\nstatus: unverified\ndate: "2026-01-02"\n---\nb\n', "id 'x'"),
        ('---\nid: "1001"\ntitle: t\nstatus: retracted\ndate: "2026-01-02"\n---\nb\n', "retracted_reason"),
        ('---\nid: "1001"\ntitle: t\nstatus: unverified\nevidense: []\ndate: "2026-01-02"\n---\nb\n', "evidense"),
        ('---\nid: "1001"\ntitle: t\nstatus: unverified\nbody: b\ndate: "2026-01-02"\n---\nb\n', "body"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(text: str, message: str) -> None:
    with pytest.raises(ContentError) as caught:
        parse_lesson(text, "x.md")
    assert message in caught.value.message
    assert caught.value.where and caught.value.where.startswith("x.md")


def test_a_fault_in_the_front_matter_names_its_line_of_the_file() -> None:
    with pytest.raises(ContentError) as caught:
        parse_lesson('---\nid: "1001"\ntitle: a\ntitle: b\n---\nb\n', "x.md")
    assert caught.value.where == "x.md:4"


def draft(**changes: object) -> Draft:
    fields = {"title": "t", "body": "b", "arch": [], "kernels": [], "evidence": []}
    return Draft(**{**fields, **changes})


@pytest.mark.parametrize("bad", ["\x00", "\x07", "\x1b[31m", "\x7f", "\x85", "a\rb", "\ud800", "\udfff"])
@pytest.mark.parametrize("name", ["title", "body", "toolchain"])
def test_control_characters_and_surrogates_are_refused(name: str, bad: str) -> None:
    with pytest.raises(UsageError) as caught:
        draft(**{name: f"a{bad}b"})
    assert caught.value.where == name
    with pytest.raises(UsageError):
        draft(evidence=[f"a{bad}b"])


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"title": "x" * 201}, "title"),
        ({"title": " \n "}, "title"),
        ({"body": "x" * 20_481}, "body"),
        ({"body": "ы" * 10_241}, "body"),
        ({"body": "\n\n"}, "body"),
        ({"evidence": [f"lesson:{n}" for n in range(21)]}, "evidence"),
        ({"kernels": ["x" * 201]}, "kernels"),
        ({"arch": [f"gfx{n}" for n in range(21)]}, "arch"),
    ],
)
def test_limits_are_held(changes: dict[str, object], where: str) -> None:
    with pytest.raises(UsageError) as caught:
        draft(**changes)
    assert caught.value.where == where


def test_what_is_just_within_the_limits_is_kept() -> None:
    kept = draft(title="x" * 200, body="ы" * 10_240, evidence=[f"lesson:{n}" for n in range(20)])
    assert (len(kept.title), len(kept.body), len(kept.evidence)) == (200, 10_240, 20)


def test_crlf_of_a_user_becomes_lf_and_repeats_are_dropped() -> None:
    kept = draft(body="\r\na\r\nb\r\n", kernels=["k", " k "])
    assert (kept.body, kept.kernels) == ("a\nb", ["k"])


def test_the_text_to_read_begins_with_the_status() -> None:
    text = lesson_text(
        lesson(status="retracted", title="a\nb", retracted_reason="wrong", retracted_on="2026-02-03", note="old")
    )
    assert text.splitlines()[:5] == [
        "# [retracted] a b",
        "",
        "Status: retracted.",
        "RETRACTED on 2026-02-03: wrong",
        "Note from before the retraction: old",
    ]
    assert text.endswith("Evidence: none.")
