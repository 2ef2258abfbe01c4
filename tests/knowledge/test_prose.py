"""References in prose: facts rendered, citations recognised, everything unresolved reported with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import ContentError
from kbserver.core.paths import use_roots
from kbserver.knowledge.documents import Document
from tests.knowledge.content import make_content, make_library

FACT = "{fact:gfx950.lds.bytes_per_workgroup}"


def load(tmp_path: Path, text: str) -> Document:
    roots = make_content(tmp_path, {"a.md": text})
    with use_roots(roots):
        return make_library(roots).document("gpu_arch/a.md")


def failure(tmp_path: Path, text: str) -> ContentError:
    with pytest.raises(ContentError) as caught:
        load(tmp_path, text)
    return caught.value


def test_a_fact_renders_value_and_unit_and_brings_its_source(tmp_path: Path) -> None:
    document = load(tmp_path, f"# T\n\nA workgroup may use {FACT}.\n")
    (passage,) = document.passages
    assert passage.text == "A workgroup may use 160 KiB."
    assert [(s.id, s.locator) for s in passage.sources] == [("vendor-isa", "table 3")]


@pytest.mark.parametrize("code", [f"`{FACT}`", f"```\n{FACT}\n```", f"    {FACT}", f"``a ` {FACT}``"])
def test_code_is_left_as_written(tmp_path: Path, code: str) -> None:
    assert FACT in load(tmp_path, f"# T\n\ntext\n\n{code}\n").passages[0].text


def test_citations_with_and_without_locator_belong_to_their_section(tmp_path: Path) -> None:
    document = load(
        tmp_path,
        "# T\n\nOne [vendor-isa, section 4.4;\nrow 2]. Two [lab-2024].\n\n"
        "## U\n\nThree [vendor-isa, p. 9; lab-2024, run 3].\n",
    )
    cited = [[(s.id, s.locator) for s in passage.sources] for passage in document.passages]
    assert cited == [
        [("vendor-isa", "section 4.4; row 2"), ("lab-2024", None)],
        [("vendor-isa", "p. 9"), ("lab-2024", "run 3")],
    ]


def test_a_citation_before_a_colon_counts_and_the_definition_of_a_link_does_not(tmp_path: Path) -> None:
    text = "Measured [lab-2024, run 3]: two.\n[vendor-isa, p. 9]: three.\n\n[lab-2024]: https://example.org\n"
    assert [(s.id, s.locator) for s in load(tmp_path, f"# T\n\n{text}").passages[0].sources] == [
        ("lab-2024", "run 3"),
        ("vendor-isa", "p. 9"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[vendor-isa](https://example.org)",
        "a[lab-2024]",
        "![lab-2024](x.png)",
        "`[lab-2024]`",
        "[x, y]",
        "[0:31]",
        "- [ ] todo",
    ],
)
def test_links_indexes_code_and_ordinary_brackets_are_no_citations(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, f"# T\n\nSee {text} here.\n").passages[0].sources == ()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("# T\n\ntext\n{fact:gfx950.lds.nothing}\n", 4, "unknown fact 'gfx950.lds.nothing'"),
        ("---\ntitle: T\n---\n# T\n\nsaid [no-such-source, p. 1].\n", 6, "unknown source 'no-such-source'"),
        ("# T\n\n{lesson:0001}\n", 3, "unknown fact"),
        ("---\ncolour: red\n---\n# T\n", 1, "front matter key 'colour' is not known"),
        ("---\narch: [gfx999]\n---\n# T\n", 1, "unknown target 'gfx999'"),
        ("---\ntags: lds\n---\n# T\n", 1, "must be a list of strings"),
        ("no heading\n", 1, "no title"),
    ],
)
def test_a_document_with_something_unresolved_does_not_load(tmp_path: Path, text: str, line: int, message: str) -> None:
    error = failure(tmp_path, text)
    assert error.where == f"gpu_arch/a.md:{line}"
    assert message in error.message


def test_the_hint_of_an_unknown_source_names_near_ones(tmp_path: Path) -> None:
    assert "vendor-isa" in (failure(tmp_path, "# T\n\n[vendor-isb, p. 1]\n").hint or "")


def test_all_problems_of_a_document_are_in_the_details(tmp_path: Path) -> None:
    error = failure(tmp_path, "# T\n\n{fact:a.b}\n\n[not-known]\n")
    assert [problem.split(":")[1] for problem in error.details["problems"]] == ["3", "5"]


def test_html_comments_are_not_part_of_what_readers_get(tmp_path: Path) -> None:
    document = load(tmp_path, "# T\n\n<!--\nsecret {fact:a.b}\n-->\n\nshown\n")
    assert document.passages[0].text == "shown"


def test_text_before_the_first_heading_is_the_documents_own_passage(tmp_path: Path) -> None:
    document = load(tmp_path, "---\ntitle: Given\n---\nlead\n\n## Later\n\nmore\n")
    assert [(p.ref, p.title, p.path) for p in document.passages] == [
        ("gpu_arch/a.md", "Given", ("Given",)),
        ("gpu_arch/a.md#later", "Later", ("Given", "Later")),
    ]
