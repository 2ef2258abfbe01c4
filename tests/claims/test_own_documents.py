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


# Where the checker misreads: cells of a table under a heading that says what else they are (LDS that a tile needs, CUs
# of one XCD), a title that quotes somebody's figure, a list of peaks. Faults of the checker, counted until they go.
MISREAD = {
    "gpu_arch/general/lds-limits-and-errors.md": 1,
    "gpu_arch/general/occupancy-examples.md": 9,
    "gpu_arch/general/peaks-and-comparisons.md": 1,
    "gpu_arch/general/products.md": 5,
    "gpu_arch/optimization/attention-libraries.md": 1,
    "gpu_arch/optimization/gemm-and-pipelining.md": 4,
    "gpu_arch/optimization/gemm-libraries.md": 1,
}


def test_there_are_documents_to_check() -> None:
    assert len(DOCUMENTS) > 50


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_statement_of_ours_is_contradicted(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    checked = check(path.read_text("utf-8"), name=name)
    wrong = [f"line {one.line}: {one.finding} ({one.text})" for one in checked.claims if one.verdict == CONTRADICTED]
    assert len(wrong) == MISREAD.get(name, 0), wrong
