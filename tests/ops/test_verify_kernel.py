"""`kb verify` from outside: own files, verdicts with their exit status, runs that are read and used as evidence."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from kbserver.cli import cli
from kbserver.core.errors import CompileFailed, ContentError, Unavailable, UnknownName, UnresolvedRef, UsageError
from kbserver.core.paths import Roots, use_roots
from kbserver.ops import read, record_lesson, verify_kernel

pytest.importorskip("llvmlite")
KERNELS = Path(__file__).resolve().parents[2] / "kernels"
SEEDS = [1, 2]
UNKNOWN = 'asm volatile("ds_gws_barrier v0 gds"); uint32_t packed[4];'
"""A barrier across the whole GPU: nothing that one kernel on a CPU could stand for."""


@pytest.fixture(scope="module")
def one_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("verify")


@pytest.fixture(autouse=True)
def roots(one_workspace: Path) -> Roots:
    """One workspace for all, so that builds and translated code are made once."""
    with use_roots(Roots(KERNELS.parent, one_workspace, "the tests' checkout")) as found:
        yield found


def own(folder: Path, kernel: str = "step2_nhwc", search: str = "", replace: str = "") -> str:
    """Return the path of a kernel of one's own: a copy of the named one, changed."""
    text = (KERNELS / f"{kernel}.hip").read_text("utf-8")
    assert text.count(search) == 1 or not search
    path = folder / "my.hip"
    path.write_text(text.replace(search, replace) if search else text)
    return str(path)


def test_an_own_file_is_verified_as_a_variant_with_or_without_the_task_file(tmp_path: Path) -> None:
    path = own(tmp_path)
    report = verify_kernel(path=path, variant="step2_nhwc", seeds=SEEDS)
    again = verify_kernel(path=path, task=str(KERNELS / "task.yaml"), variant="step2_nhwc", seeds=SEEDS)
    assert report.verdict == again.verdict == "PASS"
    assert (report.source, report.kernel, report.shape) == ("my.hip", "step2_nhwc", "tiny")
    assert report.elements == again.elements == sum(line.elements for line in report.launches)
    assert report.run_id != again.run_id
    assert report.support and report.support.supported == report.support.instructions
    assert report.per_channel and (report.per_channel.failing, report.per_channel.channels) == (0, 8)
    assert report.device.startswith("emulator on ") and report.device_decided_by.startswith("auto: ")
    assert {line.inputs for line in report.launches} == {"spread", "whole"}


def test_a_task_file_elsewhere_serves_its_own_variants(tmp_path: Path) -> None:
    shutil.copy(KERNELS / "task.yaml", tmp_path)
    with pytest.raises(ContentError, match="no source file"):
        verify_kernel(path=own(tmp_path), task=str(tmp_path / "task.yaml"), variant="step2_nhwc")


def test_a_wrong_kernel_says_which_elements_are_wrong_and_where(tmp_path: Path) -> None:
    path = own(
        tmp_path, "step2_nhwc", "if (iy < 0 || iy >= height) continue;", "if (iy < 0 || iy >= height - 1) continue;"
    )
    report = verify_kernel(path=path, variant="step2_nhwc", seeds=SEEDS)
    assert report.verdict == "FAIL"
    (wrong,) = [finding for finding in report.findings if finding.check == "wrong_result"]
    assert wrong.where == "tiny" and "in 8 of 8 channels; within D 0-1, H 6-8" in wrong.message
    assert report.per_channel and report.per_channel.failing == 8
    assert all(len(one.index) == 5 and one.index[3] in (6, 7, 8) for one in report.worst)
    assert report.mismatches == sum(line.mismatches for line in report.launches) > 0
    # The verdict stands after the first shape.
    assert {line.shape for line in report.launches} == {"tiny"}


def test_an_instruction_that_cannot_be_executed_is_no_verdict(tmp_path: Path) -> None:
    path = own(tmp_path, "step2_nhwc", "uint32_t packed[4];", UNKNOWN)
    report = verify_kernel(path=path, variant="step2_nhwc", seeds=SEEDS)
    assert (report.verdict, report.elements, report.launches) == ("NOT_VERIFIED", 0, [])
    assert report.reason and "`ds_gws_barrier v0 gds`" in report.reason and "my.hip:" in report.reason
    assert report.support and report.support.supported == report.support.instructions - 1
    assert report.support.missing[0].mnemonic == "ds_gws_barrier"
    assert "no verdict, because:" in read(f"run:{report.run_id}").text


@pytest.mark.parametrize(
    ("change", "status", "verdict"),
    [
        (("", ""), 0, "PASS"),
        (("make_uint4(packed[0],", "make_uint4(packed[1],"), 1, "FAIL"),
        (("uint32_t packed[4];", UNKNOWN), 3, "NOT_VERIFIED"),
    ],
)
def test_the_exit_status_tells_yes_no_and_cannot_tell(
    tmp_path: Path, roots: Roots, change: tuple[str, str], status: int, verdict: str
) -> None:
    words = ["verify", own(tmp_path, "step2_nhwc", *change), "--as", "step2_nhwc", "--seed", "1"]
    common = ["--root", str(roots.content), "--workspace", str(roots.workspace)]
    printed = CliRunner().invoke(cli, [*common, *words])
    assert printed.exit_code == status, printed.output
    assert printed.stdout.startswith(f"{verdict}: my.hip as step2_nhwc for gfx950 (default), shape tiny; run:")
    as_json = CliRunner().invoke(cli, [*common, *words, "--json"])
    assert as_json.exit_code == status
    assert json.loads(as_json.stdout)["verdict"] == verdict


def test_what_cannot_be_asked_is_a_usage_error(tmp_path: Path) -> None:
    path = own(tmp_path)
    for arguments, text in (
        ({}, "give a kernel's name or a file"),
        ({"name": "step1_naive", "path": path}, "not both"),
        ({"path": path}, "say which variant"),
        ({"name": "step1_naive", "variant": "step1_naive"}, "--as is for a file"),
        ({"name": "step3_nchw_lds", "arch": "gfx90a"}, "not for gfx90a"),
        ({"name": "step1_naive", "threads": 0}, "threads are 1 to"),
        ({"path": str(tmp_path / "gone.hip"), "variant": "step1_naive"}, "no such file"),
        ({"path": "/etc/passwd", "variant": "step1_naive"}, "not named like a kernel source"),
    ):
        with pytest.raises(UsageError, match=text):
            verify_kernel(**arguments)  # type: ignore[arg-type]
    for arguments in ({"name": "step9"}, {"path": path, "variant": "step9"}, {"name": "step1_naive", "arch": "gfx951"}):
        with pytest.raises(UnknownName):
            verify_kernel(**arguments)  # type: ignore[arg-type]
    with pytest.raises(ContentError) as caught:
        verify_kernel(path=path, task="/etc/passwd", variant="step1_naive")
    assert "root:" not in caught.value.one_line()


def test_another_interface_is_refused_with_the_one_that_is_wanted(tmp_path: Path) -> None:
    path = own(tmp_path, "step3_nchw_lds", "__hip_bfloat16 *output) {", "__hip_bfloat16 *output, int more) {")
    with pytest.raises(UsageError, match="takes 4 arguments; step3_nchw_lds is launched with 3") as caught:
        verify_kernel(path=path, variant="step3_nchw_lds")
    assert caught.value.hint == "in this order: input, weight, output"
    with pytest.raises(UnknownName, match="step2_nhwc"):
        verify_kernel(path=own(tmp_path, "step1_naive"), variant="step2_nhwc")


def test_a_kernel_that_does_not_compile_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(CompileFailed) as caught:
        verify_kernel(
            path=own(tmp_path, "step2_nhwc", "uint32_t packed[4];", "uint32_t packed[4]"), variant="step2_nhwc"
        )
    assert caught.value.where and caught.value.where.startswith("my.hip:")


def test_without_llvmlite_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").write_text("raise ImportError('not here')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(Unavailable, match="llvmlite") as caught:
        verify_kernel(name="step2_nhwc")
    assert caught.value.hint == "pip install 'kbserver[emulate]'" and caught.value.exit_status == 3


def test_calls_in_several_threads_do_not_disturb_each_other(roots: Roots) -> None:
    def run(name: str) -> str:
        with use_roots(roots):
            return verify_kernel(name=name, seeds=SEEDS, threads=1).verdict

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(run, ["step2_nhwc", "step3_nchw_lds", "step5_sgb"])) == ["PASS"] * 3


def test_a_recorded_run_is_read_by_its_ref_and_can_be_repeated() -> None:
    report = verify_kernel(name="step2_nhwc", seeds=SEEDS)
    page = read(f"run:{report.run_id}")
    assert page.title == "PASS: step2_nhwc for gfx950, shape tiny"
    assert f"build:{report.build_id}" in page.text and "seed 1, spread inputs, order reversed" in page.text
    repeated = verify_kernel(name="step2_nhwc", seeds=report.seeds)
    assert [line.sizes for line in repeated.launches] == [line.sizes for line in report.launches]
    with pytest.raises(UnresolvedRef, match="no run of this id"):
        read("run:000000000000")


def lesson(status: str, run_id: str, arch: str) -> str:
    added = record_lesson(
        action="add",
        title=f"step2_nhwc is right, {status} {run_id} {arch}",
        body="Believed: it is. Found: it is, see the run.",
        arch=[arch],
        evidence=[f"run:{run_id}"],
        status=status,
    )
    return added.status


def test_a_run_that_passed_proves_a_lesson_about_its_target_only() -> None:
    run_id = verify_kernel(name="step2_nhwc", seeds=SEEDS).run_id
    assert lesson("verified", run_id, "gfx950") == "verified"
    assert lesson("verified", run_id, "gfx942") == "unverified"


def test_a_run_that_failed_can_refute_and_not_verify(tmp_path: Path) -> None:
    report = verify_kernel(
        path=own(tmp_path, "step2_nhwc", "make_uint4(packed[0],", "make_uint4(0,"), variant="step2_nhwc"
    )
    assert report.verdict == "FAIL"
    assert lesson("verified", report.run_id, "gfx950") == "unverified"
    assert lesson("refuted", report.run_id, "gfx950") == "refuted"


# Compiler flags


def optimised(name: str, flag: str, *, slow: bool = True) -> object:
    return pytest.param(name, flag, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        optimised("step2_nhwc", "-O0", slow=False),
        optimised("step3_plain", "-O1", slow=False),
        *(optimised(name, "-O0") for name in ("step1_naive", "step3_plain", "step4_mfma", "step5_plain")),
        *(optimised(name, "-O1") for name in ("step1_naive", "step2_nhwc", "step4_mfma", "step5_plain")),
    ],
)
def test_a_build_without_optimisation_verifies(name: str, flag: str) -> None:
    report = verify_kernel(name=name, flags=[flag], seeds=[1], check_workgroups=0)
    assert (report.verdict, report.findings, report.flags) == ("PASS", [], [flag])


def test_loads_of_inline_assembly_that_an_unoptimised_build_uses_too_early_are_found() -> None:
    # At -O0 the compiler stores what `ds_read_b32` of the assembly returns at once, before the kernel waits.
    report = verify_kernel(name="step3_nchw_lds", flags=["-O0"], seeds=[1], check_workgroups=0)
    assert report.verdict == "FAIL"
    assert {finding.check for finding in report.findings} == {"missing_wait"}
    assert report.findings[0].where == "step3_nchw_lds.hip:69"
    built = verify_kernel(name="step3_nchw_lds", flags=["-O1"], seeds=[1], check_workgroups=0)
    assert built.verdict == "PASS"


def test_flags_that_are_not_allowed_or_of_no_use_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="-fplugin=x"):
        verify_kernel(name="step1_naive", flags=["-fplugin=x"])
    given = tmp_path / "given.s"
    given.write_text('\t.amdgcn_target "amdgcn-amd-amdhsa--gfx950"\n')
    with pytest.raises(UsageError, match="flags are for sources"):
        verify_kernel(path=str(given), variant="step1_naive", flags=["-O1"])
