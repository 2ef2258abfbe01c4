"""Every reference kernel is whole: its task loads, its README teaches, each variant is right, its counts are true.

A new folder under `reference_kernels/` is tested without a change here.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from kbserver.devices import find_device
from kbserver.knowledge.library import load_index
from kbserver.runs.cases import plan
from kbserver.runs.measured import README, count_variant, load_measured, measured_arch, task_files, with_table
from kbserver.runs.references import find_reference
from kbserver.runs.stage import Subject, build_case
from kbserver.runs.task import Task, Variant, find_kernel, load_task
from kbserver.runs.verify import verify
from kbserver.toolchain.assembly import parse_assembly
from kbserver.toolchain.sources import from_file

ROOT = Path(__file__).resolve().parents[2]
SHELF = ROOT / "reference_kernels"
FOLDERS = sorted(path.parent for path in SHELF.glob("*/task.yaml"))
HEADINGS = (
    "The technique",
    "Why it works here",
    "Counters before and after",
    "When not to use it",
    "What to carry over",
    "Sources",
)
THREADS = min(2, len(os.sched_getaffinity(0)))
VARIANTS = [(path, name) for folder in FOLDERS for path in task_files(folder) for name in
            [variant.name for variant in load_task(path).variants]]  # fmt: skip
MAX_KERNEL_LINES = 400


@lru_cache(maxsize=64)
def measured(folder: Path) -> dict[str, Any]:
    return load_measured(folder)


def variant_of(path: Path, name: str) -> tuple[Task, Variant]:
    task = load_task(path)
    return task, task.variant(name)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_folder_has_a_task_with_a_main_and_a_naive_variant(folder: Path) -> None:
    for path in task_files(folder):
        task = load_task(path)
        assert task.main_variant is not None, f"{path.name} marks no main variant"
        assert any(variant.name.endswith("naive") for variant in task.variants), "nothing to compare with"
        assert all(variant.technique for variant in task.variants), "a variant says in one line what it does"
        assert task.tolerance.reason and "tiny" in task.shapes
        find_reference(task).close()
    task, variant = find_kernel(folder.name)
    assert (task.folder, variant) == (folder, task.main_variant)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_readme_teaches_and_is_a_document(folder: Path) -> None:
    text = (folder / README).read_text("utf-8")
    # A heading may go on behind a colon and say what it answers here: search weighs titles.
    found = [line.removeprefix("## ").partition(":")[0] for line in text.splitlines() if line.startswith("## ")]
    assert [heading for heading in HEADINGS if heading in found] == list(HEADINGS)
    assert "not timed on AMD hardware" in " ".join(text.split())
    assert f"reference_kernels/{folder.name}/{README}" in load_index(ROOT).documents
    for source in folder.glob("*.hip"):
        assert len(source.read_text("utf-8").splitlines()) <= MAX_KERNEL_LINES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_table_of_a_readme_is_made_of_its_measurements(folder: Path) -> None:
    text = (folder / README).read_text("utf-8")
    assert with_table(text, measured(folder), folder.name) == text
    named = {name for run in measured(folder)["runs"] for name in run["counts"]}
    assert named == {name for path, name in VARIANTS if path.parent == folder}


LONG = {"bucket_dispatch_naive", "bucket_sort_naive", "bucket_sort_direct", "grouped_conv8_naive"}
"""Variants that take ten seconds each and are no folder's main one."""


@pytest.mark.parametrize(
    ("path", "name"),
    [pytest.param(path, name, marks=[pytest.mark.slow] if name in LONG else []) for path, name in VARIANTS],
    ids=[name for _, name in VARIANTS],
)
def test_a_variant_builds_without_warnings_is_right_and_counts_as_its_file_says(path: Path, name: str) -> None:
    task, variant = variant_of(path, name)
    emulator = find_device("emulator")
    for arch in variant.arches:
        subject = Subject(task, variant, from_file(task.source(variant)), arch)
        cases = plan(task, variant, task.smallest_shape, [1], ["seeded"])
        built = build_case(subject, cases[0])
        assert not built.diagnostics.total, built.diagnostics.shown
        assert set(variant.entries) <= set(parse_assembly(built.assembly_text).functions)
        if arch == measured_arch(variant):
            outcome = verify(subject, cases[:1], emulator, THREADS)
            assert outcome.verdict == "PASS", (outcome.reason, outcome.findings.found)
    counts, compiler = count_variant(task, variant, task.smallest_shape)
    if compiler != measured(path.parent)["compiler"]:
        pytest.skip(f"counted with {measured(path.parent)['compiler']}, this is {compiler}")
    (written,) = [run["counts"][name] for run in measured(path.parent)["runs"] if run["task"] == task.name]
    assert {"arch": measured_arch(variant), **counts} == written


@pytest.mark.parametrize("path", sorted({path for path, _ in VARIANTS}), ids=lambda path: path.parent.name)
def test_the_main_variant_is_right_on_a_shape_that_nobody_has_seen(path: Path) -> None:
    task = load_task(path)
    variant = task.main_variant
    assert variant is not None
    cases = plan(task, variant, task.smallest_shape, [2], ["reversed"])
    if len(cases) < 2:
        pytest.skip("the task's shapes leave no other")
    arch = measured_arch(variant)
    outcome = verify(
        Subject(task, variant, from_file(task.source(variant)), arch), cases[1:], find_device("emulator"), THREADS
    )
    assert outcome.verdict == "PASS", (outcome.reason, outcome.findings.found)
