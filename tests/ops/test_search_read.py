"""`read` and `knowledge_map`: every ref opens, nothing else does, texts are cut where asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbserver.core.errors import ContentError, UnknownName, UnresolvedRef, UsageError
from kbserver.core.paths import Roots, use_roots
from kbserver.ops import knowledge_map, read, search
from kbserver.ops.corpus import check_content
from kbserver.render import render, render_plain
from tests.ops.search_content import make_roots


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Roots]:
    with use_roots(make_roots(tmp_path / "content")) as roots:
        yield roots


def test_a_section_is_read_with_values_sources_and_what_follows(small: Roots) -> None:
    result = read("gpu_arch/lds.md#size")
    assert result.text == (
        "## Size\n\nOn gfx950 a workgroup may use 160 KiB [vendor-isa, table 3].\n\n"
        "### Granule\n\nAllocations are rounded up [lab-2024]."
    )
    assert {(s.id, s.locator) for s in result.sources} == {("vendor-isa", "table 3"), ("lab-2024", None)}
    assert (result.title, result.next_ref, result.truncated) == ("LDS > Size", "gpu_arch/lds.md#conflicts", False)
    assert result.total_chars == len(result.text)


def test_following_next_ref_reads_every_section_of_every_document(small: Roots) -> None:
    ref: str | None = "gpu_arch/lds.md#lds"
    visited = []
    while ref:
        visited.append(ref)
        ref = read(ref).next_ref
    assert visited == [
        "gpu_arch/lds.md#lds",
        "gpu_arch/lds.md#size",
        "gpu_arch/lds.md#conflicts",
        "gpu_arch/barriers.md",
    ]


def test_a_document_is_cut_between_sections(small: Roots) -> None:
    result = read("gpu_arch/lds.md", max_tokens=30)
    assert result.text.startswith("# LDS\n\nShared memory of a workgroup.")
    assert "Granule" not in result.text
    assert result.truncated
    assert result.next_ref == "gpu_arch/lds.md#granule"
    assert result.total_chars > 30 * 4


def test_one_long_section_is_cut_between_lines_and_its_fence_closed(tmp_path: Path) -> None:
    body = "\n".join(f"line {number}" for number in range(500))
    with use_roots(make_roots(tmp_path, long=f"# Long\n\n```sh\n{body}\n```\n")):
        result = read("gpu_arch/long.md#long", max_tokens=100)
    assert result.truncated
    assert len(result.text) <= 400 + 4
    assert result.text.endswith("\n```")
    assert result.text.splitlines()[-2].startswith("line ")


def test_a_fact_is_read_with_its_source(small: Roots) -> None:
    result = read("fact:gfx950.lds.bytes_per_workgroup")
    assert "160 KiB" in result.text
    assert [(s.id, s.locator) for s in result.sources] == [("vendor-isa", "table 3")]


@pytest.mark.parametrize(
    ("ref", "near"),
    [
        ("gpu_arch/ldss.md", "gpu_arch/lds.md"),
        ("gpu_arch/lds.md#sizes", "gpu_arch/lds.md#size"),
        ("fact:gfx950.lds.byte_per_workgroup", "fact:gfx950.lds.bytes_per_workgroup"),
    ],
)
def test_a_wrong_ref_names_near_ones(small: Roots, ref: str, near: str) -> None:
    with pytest.raises(UnresolvedRef) as caught:
        read(ref)
    assert caught.value.details["near"][0] == near


@pytest.mark.parametrize(
    "ref", ["lesson:9999", "lesson:x", "kernel:none", "build:0000", "nonsense:1", "isa:gfx950/v_add"]
)
def test_a_ref_of_another_kind_that_does_not_exist_is_unresolved(small: Roots, ref: str) -> None:
    with pytest.raises(UnresolvedRef):
        read(ref)


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "/",
        "..",
        "../outside.md",
        "gpu_arch/../../outside.md",
        "gpu_arch/%2e%2e/%2e%2e/outside.md",
        "..%2F..%2Foutside.md",
        "..%252Foutside.md",
        "..\\outside.md",
        "..%5coutside.md",
        "/etc/passwd",
        "//etc/passwd",
        "file:///etc/passwd",
        "gpu_arch/lds.md\x00",
        "gpu_arch/",
        "pyproject.toml",
        "index.yaml",
        "gpu_arch/facts/lds.yaml",
        "C:\\outside.md",
        "lesson:../../outside",
        "build:../../outside",
        "fact:../outside",
        "x" * 100_000,
    ],
)
def test_what_is_no_document_is_refused_without_repeating_a_path_that_leads_outside(small: Roots, ref: str) -> None:
    (small.content.parent / "outside.md").write_text("# Secret\n", "utf-8")
    with pytest.raises((UnresolvedRef, UsageError)) as caught:
        read(ref)
    shown = caught.value.one_line()
    assert "Secret" not in shown
    assert "outside" not in shown
    assert "passwd" not in shown
    assert len(shown) < 500


def test_a_document_that_is_a_link_out_of_the_content_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("# Secret\n", "utf-8")
    roots = make_roots(tmp_path / "content", linked="# Linked\n")
    path = roots.content / "gpu_arch" / "linked.md"
    path.unlink()
    path.symlink_to(tmp_path / "outside.md")
    with use_roots(roots), pytest.raises(ContentError) as caught:
        read("gpu_arch/linked.md")
    assert "outside" not in caught.value.one_line()
    with use_roots(roots):
        assert search("secret").hits == []


def test_reading_no_tokens_is_refused(small: Roots) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        read("gpu_arch/lds.md", max_tokens=0)


def test_the_map_lists_documents_a_topic_describes_them_a_document_lists_sections(small: Roots) -> None:
    whole = knowledge_map()
    assert [(topic.id, topic.refs) for topic in whole.topics] == [
        ("memory", ["gpu_arch/lds.md"]),
        ("waits", ["gpu_arch/barriers.md"]),
    ]
    assert whole.reading_paths[0].steps == ["gpu_arch/lds.md#size", "fact:gfx950.lds.bytes_per_workgroup"]
    (topic,) = knowledge_map("memory").topics
    (described,) = topic.documents
    assert (topic.refs, described.ref) == (["gpu_arch/lds.md"], "gpu_arch/lds.md")
    (opened,) = knowledge_map("gpu_arch/lds.md").topics
    assert opened.refs == ["gpu_arch/lds.md#size", "gpu_arch/lds.md#granule", "gpu_arch/lds.md#conflicts"]
    (path,) = knowledge_map("first").reading_paths
    assert path.steps == whole.reading_paths[0].steps


def test_an_unknown_topic_names_the_known_ones(small: Roots) -> None:
    with pytest.raises(UnknownName) as caught:
        knowledge_map("memori")
    assert "memory" in (caught.value.hint or "")


def test_content_problems_are_listed_with_file_and_line(tmp_path: Path) -> None:
    with use_roots(make_roots(tmp_path, bad="# Bad\n\n[x](lds.md#none)\n\n[no-such-source]\n")):
        (problem,) = check_content().problems
        assert problem == "gpu_arch/bad.md:5: unknown source 'no-such-source'"
    with use_roots(make_roots(tmp_path, bad="# Bad\n\n[x](lds.md#none)\n")):
        assert check_content().problems == ["gpu_arch/bad.md:3: no section 'none' in gpu_arch/lds.md"]


def test_a_reading_path_that_leads_nowhere_is_a_content_problem(small: Roots) -> None:
    index = small.content / "index.yaml"
    index.write_text(index.read_text("utf-8").replace("lds.md#size", "lds.md#seize"), "utf-8")
    (problem,) = check_content().problems
    assert "reading path first: gpu_arch/lds.md#seize" in problem


def test_content_is_counted(small: Roots) -> None:
    report = check_content()
    assert (report.documents, report.facts, report.lessons, report.kernels, report.problems) == (2, 2, 0, 0, [])


def test_broken_lessons_and_facts_are_content_problems(small: Roots) -> None:
    small.lessons.mkdir(parents=True)
    (small.lessons / "1000-cut.md").write_text("---\nid: '1000'\n", "utf-8")
    (small.content / "gpu_arch" / "facts" / "lds.yaml").write_text("facts: [\n", "utf-8")
    problems = check_content().problems
    assert any("1000-cut.md" in problem for problem in problems)
    assert any("lds.yaml" in problem for problem in problems)


# The checkout's own content.


def test_the_whole_map_costs_less_than_1500_tokens() -> None:
    assert len(render_plain(render(knowledge_map()))) / 4 < 1500


def test_the_content_of_this_checkout_has_no_problems() -> None:
    assert check_content().problems == []


def test_a_topic_describes_each_document_in_a_page() -> None:
    for topic in knowledge_map().topics:
        (described,) = knowledge_map(topic.id).topics
        assert [one.ref for one in described.documents] == topic.refs
        assert all(len(one.summary.split()) >= 10 for one in described.documents), topic.id
        assert [one.ref for one in described.documents if "](" in one.summary] == [], "where a link leads is no summary"
        assert len(render_plain(render(knowledge_map(topic.id)))) / 4 < 1500


def test_the_page_of_the_map_names_every_topic_with_its_number_of_documents_and_every_path() -> None:
    whole = knowledge_map()
    page = render_plain(render(whole))
    assert [topic.id for topic in whole.topics if f"\n{topic.id} ({len(topic.refs)}): {topic.title}." not in page] == []
    assert [path.id for path in whole.reading_paths if f"\n  {path.id}: {path.title}" not in page] == []


def test_every_ref_of_the_map_and_of_the_index_opens() -> None:
    from kbserver.ops.corpus import search_index

    for topic in knowledge_map().topics:
        for ref in topic.refs:
            for section in knowledge_map(ref).topics[0].refs:
                assert read(section).text
    for row in search_index().rows:
        assert read(row.ref).ref == row.ref


def test_an_edited_fact_or_source_shows_in_documents_without_a_restart(small: Roots) -> None:
    assert "160 KiB" in read("gpu_arch/lds.md#size").text
    facts, sources = (small.content / "gpu_arch" / "facts" / name for name in ("lds.yaml", "sources.yaml"))
    facts.write_text(facts.read_text("utf-8").replace("163840", "172032"), "utf-8")
    sources.write_text(sources.read_text("utf-8").replace("A vendor manual", "Its second edition"), "utf-8")
    result = read("gpu_arch/lds.md#size")
    assert "168 KiB" in result.text
    assert "Its second edition" in [source.title for source in result.sources]
    assert "168 KiB" in search("LDS size of a workgroup on gfx950").hits[0].snippet
