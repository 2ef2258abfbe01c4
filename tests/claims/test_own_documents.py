"""Our own documents and lessons state nothing that our own facts contradict."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.claims.model import CONTRADICTED
from kbserver.ops.claims import check

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = (
    "*.md",
    "docs/*.md",
    "gpu_arch/**/*.md",
    "lessons/*.md",
    "kernels/*.md",
    "reference_kernels/**/*.md",
)
# The page about the checker shows wrong sentences on purpose, in console blocks, which are not read.
DOCUMENTS = sorted({path for pattern in PATTERNS for path in ROOT.glob(pattern)})


def test_there_are_documents_to_check() -> None:
    assert len(DOCUMENTS) > 50


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_statement_of_ours_is_contradicted(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    checked = check(path.read_text("utf-8"), name=name)
    wrong = [f"line {one.line}: {one.finding} ({one.text})" for one in checked.claims if one.verdict == CONTRADICTED]
    assert not wrong, wrong
