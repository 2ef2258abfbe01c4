"""`kb profile --compare BEFORE AFTER`: counted work of two kernels per element of the output."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import UsageError
from kbserver.ops import profile_kernel
from kbserver.render import render, render_plain
from kbserver.runs.compare import MIXED, SAME
from kbserver.runs.records import load_run

pytest.importorskip("llvmlite")
OUTPUTS = 2880
"""Elements of the output of shape tiny: 8 channels, depth 4 less 2 of a filter of 3 without padding, 9 x 20."""


def test_counted_work_is_divided_by_the_elements_of_the_output() -> None:
    report = profile_kernel(name="step3_nchw_lds", compare="step1_naive", threads=1)
    found = report.comparison
    assert found is not None
    assert (found.before, found.after, found.per, found.verdict) == (
        "step1_naive", "step3_nchw_lds", "element of the output", MIXED,
    )  # fmt: skip
    rows = {row.figure: row for row in found.figures}
    assert rows["SQ_INSTS_VALU"].after == pytest.approx(report.per_wave["SQ_INSTS_VALU"] * report.waves / OUTPUTS, 1e-5)
    assert (rows["SQ_INSTS_LDS"].before, rows["SQ_INSTS_LDS"].change_percent) == (0.0, None)
    assert "LDS passes from 0" in found.reason and rows["SQ_INSTS_VMEM"].better
    text = render_plain(render(report))
    assert text.startswith("MIXED: step3_nchw_lds against step1_naive, counted work per element of the output")
    assert "counted, not timed" in text


def test_both_runs_are_kept() -> None:
    found = profile_kernel(name="step1_naive", compare="step2_nhwc", threads=1).comparison
    assert found is not None and found.before_ref is not None and found.after_ref is not None
    kept = [load_run(ref.removeprefix("run:"))["result"] for ref in (found.before_ref, found.after_ref)]
    assert [one["kernel"] for one in kept] == ["step2_nhwc", "step1_naive"]
    assert kept[0]["comparison"] is None and kept[1]["comparison"]["before"] == "step2_nhwc"


def test_a_kernel_against_a_copy_of_its_file_is_the_same(tmp_path: Path, roots: object) -> None:
    source = Path(__file__).resolve().parents[2] / "kernels" / "step1_naive.hip"
    copy = tmp_path / "copy.hip"
    copy.write_bytes(source.read_bytes())
    found = profile_kernel(name="step1_naive", compare=str(copy), threads=1).comparison
    assert found is not None
    assert (found.verdict, found.before, found.after) == (
        SAME, "step1_naive (copy.hip)", "step1_naive (kernel:step1_naive)",
    )  # fmt: skip


def test_an_import_cannot_be_compared_with_a_kernel(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="as the emulator counts them"):
        profile_kernel(name="step1_naive", compare="step2_nhwc", from_path=str(tmp_path))
