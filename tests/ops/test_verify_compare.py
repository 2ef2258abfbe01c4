"""`kb verify --compare BEFORE AFTER`: two kernels on the same inputs, and which of them is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.ops import verify_kernel
from kbserver.render import render, render_plain
from kbserver.runs.compare import LESS, MORE, SAME
from kbserver.runs.records import load_run

pytest.importorskip("llvmlite")
SOURCE = Path(__file__).resolve().parents[2] / "kernels" / "step1_naive.hip"
ONCE = {"seeds": [3], "orders": ["forward"], "threads": 1}


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Step 1 with every result doubled."""
    text = SOURCE.read_text()
    assert "output[index] = sum;" in text
    path = tmp_path / "broken.hip"
    path.write_text(text.replace("output[index] = sum;", "output[index] = 2.0f * sum;"))
    return path


def test_two_right_kernels_have_the_same_faults_none() -> None:
    report = verify_kernel(name="step2_nhwc", compare="step1_naive", **ONCE)
    found = report.comparison
    assert found is not None and found.before_ref is not None
    assert (found.verdict, found.before, found.after, found.of) == (SAME, "step1_naive", "step2_nhwc", "faults")
    assert found.notes[0] == "step1_naive PASS, step2_nhwc PASS"
    assert load_run(found.before_ref.removeprefix("run:"))["result"]["seeds"] == [3]


def test_the_verdict_is_that_of_the_kernel_after(broken: Path) -> None:
    report = verify_kernel(path=str(broken), variant="step1_naive", compare="step1_naive", **ONCE)
    assert report.comparison is not None
    assert (report.verdict, report.comparison.verdict) == ("FAIL", MORE)
    assert "wrong elements, % from 0" in report.comparison.reason
    assert render_plain(render(report)).splitlines()[1].startswith("MORE: ")
    fixed = verify_kernel(name="step1_naive", compare=str(broken), **ONCE)
    assert fixed.comparison is not None
    assert (fixed.verdict, fixed.comparison.verdict) == ("PASS", LESS)
