"""`kb time` works for any task of one launch: other formats, another reference, one that a user wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import UsageError
from kbserver.ops import time_kernel
from tests.devices.fakehip import FakeHip

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "swiglu"


def test_two_variants_of_a_reference_kernel_are_compared(fakehip: FakeHip) -> None:
    fakehip.duration = lambda entry, number: 0.5
    report = time_kernel(
        name="transpose_swizzled", against="transpose_naive", shape="tiny", device="hip", budget=20.0, threads=1
    )
    assert report.verdict == "SAME"
    assert report.floor.bytes == 2 * 2 * 64 * 128
    assert report.floor.compute_ms is None and report.floor.memory_ms is not None
    assert report.checks.launches == report.checks.complete > 0


def test_a_kernel_of_somebodys_own_task_is_timed_and_a_wrong_one_rejected(fakehip: FakeHip) -> None:
    fakehip.duration = lambda entry, number: 0.5
    how = {"task": str(EXAMPLE / "task.yaml"), "shape": "tiny", "device": "hip", "budget": 20.0, "threads": 1}
    assert time_kernel(path=str(EXAMPLE / "swiglu.hip"), **how).verdict == "MEASURED"
    rejected = time_kernel(path=str(EXAMPLE / "broken.hip"), **how)
    assert rejected.verdict == "REJECTED" and rejected.cold is None


def test_without_a_library_call_there_is_no_library_baseline(fakehip: FakeHip) -> None:
    fakehip.duration = lambda entry, number: 0.5
    with pytest.raises(UsageError, match="no library has a kernel for transpose"):
        time_kernel(name="transpose_naive", against="torch", shape="tiny", device="hip", budget=5.0, threads=1)
