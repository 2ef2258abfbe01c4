"""Sources and targets are read once for each version of their file: an edit is seen without a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbserver.core.errors import ContentError, UnknownName
from kbserver.core.paths import Roots, use_roots
from kbserver.core.sources import SOURCES_FILE, cite, sources
from kbserver.core.targets import PRODUCTS_FILE, targets

SOURCES = "sources:\n  manual: {title: A manual, kind: vendor}\n"
PRODUCTS = """\
targets:
  gfx942: {generation: CDNA3}
products:
  MI300X: {arch: gfx942, marketing: AMD Instinct MI300X}
"""


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / SOURCES_FILE).parent.mkdir(parents=True)
    (tmp_path / SOURCES_FILE).write_text(SOURCES, "utf-8")
    (tmp_path / PRODUCTS_FILE).write_text(PRODUCTS, "utf-8")
    with use_roots(Roots(tmp_path, tmp_path / ".kb", "made by a test")):
        yield tmp_path


def test_unchanged_files_are_parsed_once(root: Path) -> None:
    assert sources() is sources()
    assert targets() is targets()


def test_an_edited_source_is_cited_as_it_is_now(root: Path) -> None:
    assert cite("manual").title == "A manual"
    (root / SOURCES_FILE).write_text(SOURCES.replace("A manual", "Second edition"), "utf-8")
    assert cite("manual").title == "Second edition"


def test_an_added_product_is_known_and_a_removed_one_is_not(root: Path) -> None:
    with pytest.raises(UnknownName):
        targets().resolve("MI325X")
    (root / PRODUCTS_FILE).write_text(PRODUCTS.replace("MI300X", "MI325X"), "utf-8")
    assert targets().resolve("MI325X")[0] == "gfx942"
    with pytest.raises(UnknownName):
        targets().product("MI300X")


def test_a_file_that_was_broken_and_repaired_is_read_again(root: Path) -> None:
    assert "manual" in sources()
    (root / SOURCES_FILE).write_text("sources: [", "utf-8")
    with pytest.raises(ContentError):
        sources()
    (root / SOURCES_FILE).unlink()
    with pytest.raises(ContentError, match="cannot read"):
        sources()
    (root / SOURCES_FILE).write_text(SOURCES, "utf-8")
    assert "manual" in sources()
