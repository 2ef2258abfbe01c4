"""`kb profile --device hip`: passes that fit, a launch that can be replayed, and rocprofv3 played by a stand-in."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kbserver.core.errors import ToolFailure, UnsupportedInstruction, UsageError
from kbserver.devices.launch_once import launch_folder
from kbserver.ops import profile_kernel
from kbserver.ops.registry import find_operation
from kbserver.render import render, render_plain
from kbserver.runs.rocprof import passes as passes_module
from kbserver.runs.rocprof.passes import LIMITS, cost, measured, passes
from tests.devices.fakehip import FakeHip

STAND_IN = Path(__file__).resolve().parents[2] / "fixtures" / "rocprofv3.py"
NAME = "step1_naive"
WAVES = 48


@pytest.fixture
def rocprofv3(fakehip: FakeHip) -> dict[str, object]:
    """A rocprofv3 in ROCM_PATH/bin; what it counts is in the dictionary until `write` is called."""
    folder = fakehip.rocm / "bin"
    folder.mkdir()
    program = folder / "rocprofv3"
    program.write_text(f"#!{sys.executable}\n" + STAND_IN.read_text())
    program.chmod(0o755)
    counts: dict[str, object] = {"kernel": f"{NAME}(__hip_bfloat16 const*, int)", "grid": 64 * WAVES}
    counts |= {"SQ_WAVES": WAVES, "SQ_INSTS_SALU": 10 * WAVES, "SQ_WAVE_CYCLES": 100 * WAVES}
    (folder / "counts.json").write_text(json.dumps(counts))
    return counts


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_every_counter_is_in_one_pass_and_every_pass_fits_the_hardware(arch: str) -> None:
    groups = passes(measured(arch))
    assert sorted(name for group in groups for name in group[1:]) == sorted(measured(arch))
    for group in groups:
        assert group[0] == "SQ_WAVES"
        used: Counter[str] = Counter()
        for name in group:
            block, needs = cost(name)
            used[block] += needs
        assert all(count <= LIMITS[block] for block, count in used.items())


def test_counters_that_are_divided_by_each_other_are_of_one_pass() -> None:
    for pair in (
        {"TCC_HIT_sum", "TCC_MISS_sum"},
        {"SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE"},
        {"SQ_WAIT_ANY", "SQ_WAVE_CYCLES"},
        {"SQ_ACTIVE_INST_VALU", "SQ_BUSY_CU_CYCLES"},
        {"SQ_ACTIVE_INST_FLAT", "SQ_BUSY_CU_CYCLES"},
        {"GRBM_GUI_ACTIVE", "SQ_BUSY_CYCLES"},
        {"TCP_TOTAL_CACHE_ACCESSES_sum", "TCP_TCC_READ_REQ_sum", "TCP_TCC_WRITE_REQ_sum"},
        {"FETCH_SIZE", "TCC_EA0_RDREQ_sum"},
    ):
        assert any(pair <= set(group) for group in passes(measured("gfx950")))


# Events of block SQ by AMD's definitions (rocprofv3-counter-defs) for counters that the recorded profiles lack.
DEFINED = {
    "gfx90a": {"SQ_WAIT_INST_LDS": 91},
    "gfx942": {"SQ_WAIT_INST_LDS": 96},
    "gfx950": {"SQ_WAIT_INST_LDS": 112, "SQ_INSTS_VMEM_RD": 60, "SQ_INSTS_VMEM_WR": 59},
}


@pytest.mark.parametrize(
    ("arch", "record"), [("gfx90a", "gfx90a-mi200-104cu"), ("gfx942", "gfx942-mi300x"), ("gfx950", "gfx950-mi350")]
)
def test_every_counter_was_recorded_on_its_target_or_is_defined_for_it(
    arch: str, record: str, shared_data: Path
) -> None:
    with (shared_data / "profiles" / f"{record}-rocprof-compute-vcopy-pmc_perf.csv").open() as handle:
        recorded = set(next(csv.reader(handle)))
    # The two sizes are made of requests, which are recorded.
    assert set(measured(arch)) - recorded == {"FETCH_SIZE", "WRITE_SIZE", *DEFINED[arch]}


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_loads_and_stores_of_global_memory_show_in_what_is_measured(arch: str) -> None:
    # In AMD's record of a copy SQ_ACTIVE_INST_VMEM is 0 and SQ_ACTIVE_INST_FLAT 32,768 on MI200, MI300X and MI350.
    assert {"SQ_ACTIVE_INST_FLAT", "SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR"} <= set(measured(arch))


def test_rocprofv3_is_run_and_its_counters_stand_beside_the_emulators(
    fakehip: FakeHip, rocprofv3: dict[str, object]
) -> None:
    report = profile_kernel(name=NAME, device="hip", threads=1)
    assert report.profiler is not None and report.imported is not None
    assert (report.profiler.reason, [one.failure for one in report.profiler.passes]) == (None, [None] * 5)
    assert fakehip.launches == [NAME] * 3 * 5
    assert fakehip.faults == []
    compared = {one.counter: one for one in report.imported.compared}
    assert compared["SQ_INSTS_SALU"].imported == 10.0
    assert compared["SQ_INSTS_SALU"].emulated == report.per_wave["SQ_INSTS_SALU"]
    (kernel,) = report.imported.kernels
    assert kernel.duration is not None and (kernel.duration.dispatches, kernel.duration.median_us) == (3, 0.502)
    text = render_plain(render(report))
    assert "measured by rocprofv3 in 5 of 5 runs" in text and "SQ_INSTS_SALU" in text
    assert not find_operation("profile_kernel").cannot_tell(report)


def test_a_pass_that_is_refused_is_named_and_the_others_count(
    rocprofv3: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(passes_module.LIMITS, "SQ", 12)
    report = profile_kernel(name=NAME, device="hip", threads=1)
    assert report.profiler is not None and report.imported is not None
    failures = [one.failure for one in report.profiler.passes if one.failure]
    assert failures[0] == "ended with 1: Request exceeds the capabilities of the hardware to collect"
    assert report.imported.kernels[0].duration is not None


def test_a_profiler_that_always_fails_is_an_error_with_its_words(
    fakehip: FakeHip, rocprofv3: dict[str, object]
) -> None:
    program = fakehip.rocm / "bin" / "rocprofv3"
    program.write_text("#!/bin/sh\necho 'cannot open the performance counters' >&2\nexit 2\n")
    with pytest.raises(ToolFailure, match="failed in every run: ended with 2: cannot open the performance counters"):
        profile_kernel(name=NAME, device="hip", threads=1)


def test_what_was_measured_stands_when_the_emulator_cannot_count(
    rocprofv3: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(*_: object, **__: object) -> None:
        raise UnsupportedInstruction("v_example has no rule")

    monkeypatch.setattr("kbserver.runs.profile.profile", lacking)
    report = profile_kernel(name=NAME, device="hip", threads=1)
    assert report.imported is not None and report.imported.kernels[0].waves == WAVES
    assert report.run_id == "" and "v_example has no rule" in report.notes[0]
    assert "measured by rocprofv3 in 5 of 5 runs" in render_plain(render(report))


def test_without_a_gpu_the_command_lines_and_the_reason_are_the_answer(fakehip: FakeHip) -> None:
    fakehip.configure(mode="no_device")
    report = profile_kernel(name=NAME, device="hip", arch="gfx942")
    assert find_operation("profile_kernel").cannot_tell(report)
    runs = report.profiler
    assert runs is not None and runs.reason is not None
    assert "no AMD GPU here" in runs.reason and "rocprofv3 was not found" in runs.reason
    assert runs.passes[0].counters == []
    assert runs.passes[0].command.startswith("rocprofv3 --kernel-trace --output-format csv -d ")
    assert fakehip.launches == []
    text = render_plain(render(report))
    assert f"then: kb profile {NAME} --shape tiny --from {runs.output}" in text
    script = Path(runs.script).read_text()
    assert "-- python3 -P -m kbserver.devices.launch_once ." in script and "/tmp" not in script


def test_a_captured_launch_runs_again_from_its_folder(fakehip: FakeHip, tmp_path: Path) -> None:
    report = profile_kernel(name=NAME, device="hip")
    assert report.profiler is not None and report.profiler.reason is not None  # a GPU, but no rocprofv3
    moved = tmp_path / "elsewhere"
    Path(report.profiler.folder).rename(moved)
    assert launch_folder(moved) == 3
    assert fakehip.launches == [NAME] * 3 and fakehip.faults == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "no captured launch"), ("{", "no captured launch"), ('{"format": 0}', "by another version")],
)
def test_a_folder_that_is_no_captured_launch_is_refused(tmp_path: Path, content: str | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "launch.json").write_text(content)
    argv = [sys.executable, "-m", "kbserver.devices.launch_once", str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and reason in done.stderr and "Traceback" not in done.stderr


def test_code_for_another_target_is_not_launched(fakehip: FakeHip) -> None:
    report = profile_kernel(name=NAME, device="hip")
    assert report.profiler is not None
    fakehip.configure(arch="gfx942:sramecc+:xnack-")
    with pytest.raises(SystemExit, match="built for gfx950, the device is gfx942"):
        launch_folder(Path(report.profiler.folder))


def test_measuring_and_reading_at_once_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give one"):
        profile_kernel(name=NAME, device="hip", from_path=str(tmp_path))
