"""The documents themselves: every reference resolves, every figure has a source, nothing is too long to be a hit."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kbserver.knowledge.library import Library
from kbserver.knowledge.sections import Parsed, parse_markdown
from kbserver.ops.documents import library

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*(ROOT / "gpu_arch").rglob("*.md"), *(ROOT / "reference_kernels").glob("*/README.md"))
    if path.parent.name not in ("facts", "isa", "rocminfo")
)

MAX_TITLE = 120
MAX_SECTION_WORDS = 400
MAX_LINES = 300
MAX_MAP_CHARACTERS = 4000

FIGURE = re.compile(
    r"(?<![\w.])\d[\d.,]*\s?"
    r"(?:KiB|MiB|GiB|KB|MB|GB|B|TB/s|GB/s|B/clk|[TP]FLOPS|GHz|MHz|ms|ns|microseconds|clocks|cycles|percent|%)(?![\w/])"
)
SOURCED = re.compile(r"\{fact:|\[[a-z][a-z0-9.]*(?:-[a-z0-9.]+)+[,\]]|\[derived,")

LISTING = "CODE"

needs_codespell = pytest.mark.skipif(
    importlib.util.find_spec("codespell_lib") is None,
    reason="SKIPPED LOUDLY: codespell is not installed (pip install '.[dev]')",
)

# Well-known wrong statements (pattern) and the words of which a section that mentions one must use one.
WRONG_UNLESS_CALLED_SO = {
    r"\b320 CUs\b": r"wrong",
    r"\b512 MB\b.*(?:cache|MALL)|(?:cache|MALL).*\b512 MB\b": r"wrong|write a buffer",
    r"64 KB (?:LDS )?(?:per CU )?(?:for|on) MI35": r"carry|wrong|refuted",
    r"\b653(?:\.7)?\b": r"TF32",
    r"--maxrregcount": r"not supported|unknown argument",
    r"32-?byte.{0,20}loads?": r"not exist|no\b|two|contradicted",
}


@pytest.fixture
def content() -> Library:
    return library()


def parsed(path: str) -> Parsed:
    return parse_markdown((ROOT / path).read_text("utf-8"), path)


def prose(text: str) -> str:
    """The text without code."""
    return re.sub(r"`[^`]*`", "", re.sub(r"```.*?```", "", text, flags=re.S))


def test_there_are_documents_to_judge():
    assert len(PAGES) >= 60


def test_every_fact_source_link_and_topic_of_the_content_resolves(content: Library):
    assert [f"{fault.where}: {fault.message}" for fault in content.faults()] == []


def test_every_document_is_named_by_exactly_one_topic(content: Library):
    named = content.index().documents
    assert sorted(named) == PAGES
    assert len(named) == len(set(named))


def test_every_reading_path_names_refs_that_open(content: Library):
    for path in content.index().reading_paths:
        for step in path.steps:
            document, _, anchor = step.partition("#")
            if document.endswith(".md"):
                loaded = content.document(document)
                assert not anchor or loaded.position(anchor) is not None, step


def test_the_map_stays_one_page(content: Library):
    index = content.index()
    size = sum(len(topic.id) + len(topic.title) + len(topic.summary) for topic in index.topics)
    size += sum(len(path.id) + len(path.title) for path in index.reading_paths)
    assert size < MAX_MAP_CHARACTERS


def test_every_topic_has_a_summary_that_says_something(content: Library):
    short = [topic.id for topic in content.index().topics if not 40 <= len(topic.summary) <= 240]
    assert short == []


def test_a_topic_is_small_enough_to_choose_from(content: Library):
    assert {topic.id: len(topic.documents) for topic in content.index().topics if len(topic.documents) > 14} == {}


@pytest.mark.parametrize("path", PAGES)
def test_a_document_has_title_tags_summary_and_a_readable_length(path: str):
    page = parsed(path)
    assert page.front["title"] == page.sections[0].title
    assert page.front["tags"]
    assert 15 <= len(page.sections[0].text.split()) <= 80, "one or two sentences under the title"
    assert len(page.lines) <= MAX_LINES


@pytest.mark.parametrize("path", PAGES)
def test_a_title_is_one_question_or_statement_and_no_list_of_words(path: str):
    assert [section.title for section in parsed(path).sections if len(section.title) > MAX_TITLE] == []


def test_no_word_stands_twice_in_a_row_where_a_fact_brings_its_unit(content: Library):
    # "8 phases phases": the reference renders value and unit. `long long` is a type, hi hi a product of split numbers.
    doubled = [
        (passage.ref, match[0])
        for path in content.index().documents
        for passage in content.document(path).passages
        for match in re.finditer(r"\b([A-Za-z]{2,})\s+\1\b", re.sub(r"(`+).*?\1", "`", passage.text, flags=re.S))
        if match[1] not in ("hi", "long")
    ]
    assert doubled == []


@pytest.mark.parametrize("path", PAGES)
def test_a_section_is_short_enough_to_be_one_answer(path: str):
    # A generated table of counts is as long as its kernel has variants.
    texts = {
        section.id: re.sub(r"<!-- counts -->.*?<!-- end", "", section.text, flags=re.S)
        for section in parsed(path).sections
    }
    sizes = {name: len(text.split()) for name, text in texts.items()}
    assert {name: size for name, size in sizes.items() if size > MAX_SECTION_WORDS} == {}


def blocks(text: str) -> list[str]:
    """The paragraphs of a section; a table, list or listing goes with the paragraph below it, or above if none is."""
    parts = [part for part in re.split(r"\n\s*\n", re.sub(r"```.*?```", LISTING, text, flags=re.S)) if part.strip()]
    found: list[str] = []
    waiting = ""
    for part in parts:
        waiting += part + "\n"
        if not part.lstrip().startswith((LISTING, "|", "- ", "1. ")):
            found.append(waiting)
            waiting = ""
    if waiting:
        found = [*found[:-1], found[-1] + waiting] if found else [waiting]
    return found


@pytest.mark.parametrize("path", PAGES)
def test_a_paragraph_with_a_figure_says_where_it_comes_from(path: str):
    unsourced = [
        (section.id, FIGURE.findall(prose(block)))
        for section in parsed(path).sections
        for block in blocks(section.text)
        if FIGURE.search(prose(block)) and not SOURCED.search(block)
    ]
    assert unsourced == []


def test_a_table_takes_its_source_from_the_paragraph_below_it():
    text = "Words.\n\n| a | 4 KB |\n|---|---|\n\n[some-source, here] says so.\n\n5 ms without a source."
    assert [bool(SOURCED.search(block)) for block in blocks(text)] == [False, True, False]
    assert [bool(FIGURE.search(block)) for block in blocks(text)] == [False, True, True]


@needs_codespell
def test_the_documents_are_spelt_right():
    ignored = ROOT / "tests" / "knowledge" / "spelling.txt"
    folders = sorted({str(ROOT / Path(path).parent) for path in PAGES})
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "--ignore-words", str(ignored), *folders, str(ROOT / "index.yaml")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_misspelt_word_is_found(tmp_path: Path):
    pytest.importorskip("codespell_lib", reason="SKIPPED LOUDLY: codespell is not installed (pip install '.[dev]')")
    page = tmp_path / "page.md"
    page.write_text("The adress of a register.\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", str(page)], capture_output=True, check=False, timeout=60
    )
    assert done.returncode != 0


@pytest.mark.parametrize("path", PAGES)
def test_popular_wrong_statements_appear_only_where_they_are_called_wrong(path: str):
    for section in parsed(path).sections:
        text = " ".join(section.text.split())
        for wrong, called in WRONG_UNLESS_CALLED_SO.items():
            if re.search(wrong, text, re.I):
                assert re.search(called, text, re.I), f"{path}#{section.id} repeats {wrong!r}"


@pytest.mark.parametrize("path", PAGES)
def test_a_document_names_no_machine_path_and_no_folder_of_its_making(path: str):
    text = (ROOT / path).read_text("utf-8")
    assert not re.search(r"/tmp/|\bseed\b|helper session", text)


def test_the_rule_on_figures_can_fail():
    assert FIGURE.search("a tile of 160 KiB") and not SOURCED.search("a tile of 160 KiB")
    assert SOURCED.search("160 KiB [rocm-gpu-specs-7.13, LDS]") and SOURCED.search("{fact:gfx950.lds.bytes_per_cu}")
