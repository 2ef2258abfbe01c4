"""`kb time` on the stand-in GPU: known durations give known verdicts, and what cheats is rejected."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kbserver.core.errors import LaunchFailed, NoDevice, Unavailable, UsageError
from kbserver.core.progress import progress_to
from kbserver.devices import gpu
from kbserver.ops import read, time_kernel
from kbserver.render import render, render_plain
from kbserver.runs.timing import harness
from kbserver.runs.timing.report import TimeReport
from tests.devices.fakehip import FakeHip


def durations(noise: float, **ms: float) -> object:
    """Return durations by kernel with a little noise, the same in every run."""
    dice = random.Random(5)
    return lambda entry, number: ms[entry] * (1 + noise * dice.random())


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 0.1 s pass whenever the harness asks for the time, however fast this machine is."""
    ticks = itertools.count()
    monkeypatch.setattr(harness, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 10))


def timed(**arguments: object) -> TimeReport:
    return time_kernel(**{"shape": "tiny", "device": "hip", "budget": 30.0, "threads": 1} | arguments)  # type: ignore[arg-type]


def test_without_a_gpu_the_answer_is_no_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    for device in ("auto", "hip"):
        with pytest.raises(NoDevice) as caught:
            time_kernel(name="step5_sgb", device=device)
        assert (caught.value.code, caught.value.exit_status) == ("no_device", 3)
    with pytest.raises(UsageError, match="no notion of time"):
        time_kernel(name="step5_sgb", device="emulator")


def test_a_faster_kernel_is_told_with_times_and_ratio(fakehip: FakeHip) -> None:
    fakehip.duration = durations(0.002, step5_sgb=0.5, step3_nchw_lds=0.6)
    said: list[str] = []
    with progress_to(said.append):
        report = timed(name="step5_sgb", against="step3_nchw_lds")
    assert report.verdict == "FASTER"
    assert report.cold is not None and report.warm is not None and report.ratio is not None
    assert report.cold.median_ms == pytest.approx(0.5005, abs=0.0005)
    assert report.ratio.cold is not None and report.ratio.cold.median == pytest.approx(5 / 6, abs=0.001)
    assert report.cold.n >= 20 and report.stopped_by == "the target of 0.5%"
    assert report.checks.launches == report.checks.complete
    assert report.checks.gate_run == "PASS: tiny, held-out"
    assert report.floor.facts == [
        "fact:gfx950.mi355x.memory.hbm_bandwidth", "fact:gfx950.mi355x.peak.vector_fp32",
    ]  # fmt: skip
    assert "verifying on small shapes" in said and any("uncertain" in text for text in said)
    text = render_plain(render(report))
    assert text.startswith("FASTER: kernel:step5_sgb against step3_nchw_lds, shape tiny, on AMD Instinct MI355X")
    assert "FASTER: step5_sgb" in read(ref=f"run:{report.run_id}").title


def test_a_slower_and_a_same_kernel_are_told_apart(fakehip: FakeHip) -> None:
    fakehip.duration = durations(0.004, step5_sgb=0.51, step3_nchw_lds=0.5)
    assert timed(name="step5_sgb", against="step3_nchw_lds").verdict == "SLOWER"
    fakehip.duration = durations(0.004, step5_sgb=0.5005, step3_nchw_lds=0.5)
    assert timed(name="step5_sgb", against="step3_nchw_lds").verdict == "SAME"


def test_noise_larger_than_the_difference_is_no_verdict(fakehip: FakeHip) -> None:
    # Half of the launches are faster than the baseline and half are slower. Noise from a die would not do: the order
    # of a pair is drawn anew in every run, and one run in some dozens would see a difference.
    turns = itertools.cycle([0.45, 0.55])
    fakehip.duration = lambda entry, number: next(turns) if entry == "step5_sgb" else 0.5
    report = timed(name="step5_sgb", against="step3_nchw_lds", budget=1.0)
    assert report.verdict == "CANNOT_TELL"
    assert "measure longer" in report.reason
    assert report.stopped_by == "the time limit of 1 s"
    assert report.ratio is not None and report.ratio.cold is not None
    assert report.ratio.cold.ci == pytest.approx([0.9, 1.1])


def test_without_a_baseline_times_are_measured_and_nothing_is_compared(fakehip: FakeHip) -> None:
    report = timed(name="step1_naive")
    assert (report.verdict, report.ratio, report.baseline) == ("MEASURED", None, None)
    assert report.cold is not None and report.cold.median_ms == 1.0


def test_cold_launches_have_the_caches_flushed_outside_the_window(fakehip: FakeHip) -> None:
    report = timed(name="step1_naive")
    assert report.method["flush_bytes"] == 1 << 30
    # The stand-in's clock moves 0.27 ms on for each flush: none of it is inside a window.
    assert report.cold is not None and (report.cold.min_ms, report.cold.max_ms) == (1.0, 1.0)


def test_slow_outliers_are_dropped_and_counted(fakehip: FakeHip) -> None:
    fakehip.duration = lambda entry, number: 3.0 if number % 10 == 0 else 1.0
    report = timed(name="step1_naive")
    assert report.cold is not None and report.cold.max_ms == 1.0
    assert report.cold.dropped_outliers >= 2


def test_a_time_below_the_physics_floor_is_rejected(fakehip: FakeHip) -> None:
    fakehip.duration = lambda entry, number: 1e-6
    report = timed(name="step1_naive")
    assert report.verdict == "REJECTED"
    assert {(f.check, f.where) for f in report.findings} >= {("below_floor", "cold"), ("below_floor", "warm")}


class Remembers:
    """A kernel with a memory: it computes in its first launch and then hands out what it computed."""

    def __init__(self, honest: int) -> None:
        self.honest, self.calls, self.kept = honest, 0, b""

    def __call__(self, number: int, pointers: list[np.ndarray], execute: object) -> int:
        self.calls += 1
        output = pointers[-1]
        if self.calls <= self.honest:
            status = execute()  # type: ignore[operator]
            self.kept = bytes(output)
            return status
        size = min(len(self.kept), len(output))
        output[:size] = np.frombuffer(self.kept, np.uint8)[:size]
        return 0


@pytest.mark.parametrize("honest", [1, 20, 30])
def test_a_kernel_that_hands_out_old_results_is_rejected_whenever_it_begins(fakehip: FakeHip, honest: int) -> None:
    fakehip.tamper = Remembers(honest)
    report = timed(name="step1_naive")
    assert report.verdict == "REJECTED"
    assert "wrong_result" in {finding.check for finding in report.findings}


def test_a_kernel_that_stops_writing_after_a_while_is_rejected(fakehip: FakeHip) -> None:
    fakehip.tamper = lambda number, pointers, execute: execute() if number < 40 else 0
    report = timed(name="step1_naive")
    assert report.verdict == "REJECTED"
    assert "unwritten_output" in {finding.check for finding in report.findings}
    assert report.stopped_by in ("a wrong output", "")


def test_a_kernel_that_spoils_its_inputs_is_rejected(fakehip: FakeHip) -> None:
    def spoil(number: int, pointers: list[np.ndarray], execute: object) -> int:
        status = execute()  # type: ignore[operator]
        pointers[0][100] ^= 1
        return status

    fakehip.tamper = spoil
    report = timed(name="step1_naive")
    assert "input_modified" in {finding.check for finding in report.findings}


def test_a_baseline_with_wrong_results_is_noted_not_rejected(fakehip: FakeHip, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.hip"
    source = (Path(__file__).resolve().parents[3] / "kernels/step1_naive.hip").read_text()
    wrong.write_text(source.replace("output[index] = sum;", "output[index] = sum * 2.0f;"))
    report = timed(name="step1_naive", against=str(wrong))
    assert report.verdict == "SAME"
    assert report.baseline is not None
    assert "wrong_result" in {finding.check for finding in report.baseline.findings}
    assert any("baseline's own output" in note for note in report.notes)


def test_a_hang_and_a_fault_end_the_run_with_their_own_error(fakehip: FakeHip, monkeypatch: pytest.MonkeyPatch) -> None:
    fakehip.duration = lambda entry, number: 1.0
    fakehip.tamper = lambda number, pointers, execute: execute() if number < 30 else 719
    with pytest.raises(LaunchFailed, match="719"):
        timed(name="step1_naive")
    monkeypatch.setattr(gpu, "LAUNCH_LIMIT_S", 0.2)
    fakehip.tamper = None
    fakehip.configure(mode="hang")
    report = timed(name="step1_naive")
    assert report.verdict == "REJECTED"
    assert {finding.check for finding in report.findings} == {"endless_loop"}


def test_wrong_baselines_are_refused(fakehip: FakeHip) -> None:
    for against, error in (("run:0123456789ab", UsageError), ("nothing_like_it", UsageError), ("torch", Unavailable)):
        try:
            import torch  # noqa: F401

            if against == "torch":
                continue
        except ImportError:
            pass
        with pytest.raises(error):
            timed(name="step1_naive", against=against)


def test_a_build_for_another_target_is_refused(fakehip: FakeHip) -> None:
    with pytest.raises(UsageError, match=r"gfx942.*gfx950 \(AMD Instinct MI355X\)"):
        timed(name="step1_naive", arch="MI300X")
    with pytest.raises(UsageError, match="without xnack-"):
        timed(name="step1_naive", arch="gfx950:xnack-")
    assert fakehip.launches == []
