"""Verifies a kernel of a reference folder after one change of its text, as somebody's own file for the same variant."""

from __future__ import annotations

import shutil
from pathlib import Path

from kbserver.ops import verify_kernel
from kbserver.runs.task import find_kernel


def checks_of(name: str, old: str, new: str, folder: Path) -> set[str]:
    """Return the checks that reject variant `name` when `old`, which stands once in its source, reads `new`."""
    task, variant = find_kernel(name)
    text = task.source(variant).read_text("utf-8")
    assert text.count(old) == 1, f"{text.count(old)} times in {variant.source}: {old}"
    for header in task.folder.glob("*.h"):
        shutil.copy(header, folder)
    (folder / "kernel.hip").write_text(text.replace(old, new))
    report = verify_kernel(
        path=str(folder / "kernel.hip"), task=str(task.path), variant=name, arch="gfx950",
        seeds=[1], orders=["forward"], threads=1,
    )  # fmt: skip
    return {finding.check for finding in report.findings} if report.verdict == "FAIL" else set()
