"""The map and the documents it names: schema, orphans, links, reloads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kbserver.core.errors import ContentError
from kbserver.core.paths import use_roots
from kbserver.knowledge.library import load_index
from tests.knowledge.content import default_index, make_content, make_library


def faults(tmp_path: Path, documents: dict[str, str | bytes], index: str | None = None) -> list[tuple[str, str]]:
    roots = make_content(tmp_path, documents, index)
    with use_roots(roots):
        return [(fault.where, fault.message) for fault in make_library(roots).faults()]


def test_content_without_problems_has_no_faults(tmp_path: Path) -> None:
    documents = {
        "a.md": "# A\n\n[b](sub/b.md#deep-down) [self](#a)\n",
        "sub/b.md": "# B\n\n## Deep down\n\n[a](../a.md)\n",
    }
    assert faults(tmp_path, documents) == []


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("version: 1\n", "topics: Field required"),
        ("version: '1'\ntopics: []\n", "version: Input should be a valid integer"),
        ("version: 1\ntopics: []\nextra: 1\n", "extra: Extra inputs are not permitted"),
        (
            "version: 1\ntopics: [{id: a, title: b, summary: c, documents: [x.md, x.md]}]\n",
            "document 'x.md' is named twice",
        ),
        ("- a\n", "Input should be"),
    ],
)
def test_an_index_that_breaks_its_schema_is_refused(tmp_path: Path, index: str, message: str) -> None:
    roots = make_content(tmp_path, {}, index)
    with pytest.raises(ContentError) as caught:
        load_index(roots.content)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("[x](nowhere.md)", "link to 'nowhere.md' leads nowhere"),
        ("[x](b.md#no)", "no section 'no' in gpu_arch/b.md"),
        ("[x](../../outside.md)", "leads nowhere"),
        ("[x](fact:gfx950.nothing)", "unknown fact"),
        ("[x](#no)", "no section 'no' in gpu_arch/a.md"),
    ],
)
def test_a_link_that_leads_nowhere_is_reported_with_its_line(tmp_path: Path, link: str, message: str) -> None:
    found = faults(tmp_path, {"a.md": f"# A\n\ntext\n\n{link}\n", "b.md": "# B\n"})
    assert [where for where, _ in found] == ["gpu_arch/a.md:5"]
    assert message in found[0][1]


def test_orphans_missing_documents_and_doubtful_synonyms_are_reported(tmp_path: Path) -> None:
    documents: dict[str, str | bytes] = {"a.md": "# A\n"}
    index = default_index({"a.md": "", "gone.md": ""}) + "- [SM, shared memory]\n- [alone]\n"
    (tmp_path / "gpu_arch").mkdir()
    (tmp_path / "gpu_arch" / "orphan.md").write_text("# O\n", "utf-8")
    (tmp_path / "gpu_arch" / "README.md").write_text("for editors\n", "utf-8")
    assert faults(tmp_path, documents, index) == [
        ("gpu_arch/orphan.md", "no topic names this document"),
        ("index.yaml", "synonym 'shared memory' stands for LDS and SM"),
        ("index.yaml", "synonyms ['alone'] need at least two names"),
        ("gpu_arch/gone.md:1", "cannot read: No such file or directory"),
    ]


def test_a_document_is_loaded_again_when_its_file_changes(tmp_path: Path) -> None:
    roots = make_content(tmp_path, {"a.md": "# Old\n"})
    with use_roots(roots):
        library = make_library(roots)
        assert library.document("gpu_arch/a.md") is library.document("gpu_arch/a.md")
        path = tmp_path / "gpu_arch" / "a.md"
        path.write_text("# Newer\n", "utf-8")
        os.utime(path, ns=(1, 1))
        assert library.document("gpu_arch/a.md").title == "Newer"


def test_a_document_that_is_a_link_out_of_the_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("# Secret\n", "utf-8")
    content = tmp_path / "content"
    roots = make_content(content, {}, default_index({"a.md": ""}))
    (content / "gpu_arch" / "a.md").symlink_to(tmp_path / "outside.md")
    with use_roots(roots), pytest.raises(ContentError) as caught:
        make_library(roots).document("gpu_arch/a.md")
    assert "outside" not in caught.value.one_line()
