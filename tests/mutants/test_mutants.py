"""Verification rejects: every broken kernel fails, for the right reason; every original passes in every wave order."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import CompileFailed
from kbserver.core.paths import Roots
from kbserver.ops import verify_kernel
from kbserver.runs.report import VerifyReport
from tests.mutants.mutant_table import ROOT, Mutant, mutants

pytest.importorskip("llvmlite")

KERNELS = ("step1_naive", "step2_nhwc", "step3_nchw_lds", "step4_mfma", "step5_sgb")
ALL = mutants()
CHECKS = {"lds_race", "global_race", "uninitialised_read"}


def verify(mutant: Mutant, folder: Path) -> VerifyReport:
    path = folder / f"{mutant.name}.hip"
    path.write_text(mutant.source())
    # Compiling the checks is most of the time of a small launch: left out where other findings are expected.
    workgroups = None if mutant.right or CHECKS & set(mutant.expect) else 0
    return verify_kernel(
        path=str(path), variant=mutant.kernel, arch="gfx950", seeds=[1, 2], threads=1, check_workgroups=workgroups
    )


@pytest.mark.parametrize("mutant", ALL, ids=lambda m: m.name)
def test_a_broken_kernel_is_rejected_for_the_right_reason(mutant: Mutant, tmp_path: Path) -> None:
    try:
        report = verify(mutant, tmp_path)
    except CompileFailed:
        assert mutant.expect == ("compile_failed",)
        return
    assert report.verdict == "FAIL"
    errors = {finding.check for finding in report.findings if finding.severity == "error"}
    assert set(mutant.expect) <= errors, report.findings
    if mutant.right:
        assert report.mismatches == 0 and report.elements > 0
        assert errors <= {"lds_race", "global_race", "uninitialised_read", "missing_wait_states"}


@pytest.mark.parametrize("arch", [pytest.param("gfx942", marks=pytest.mark.slow), "gfx950"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_an_original_passes_in_every_wave_order(kernel: str, arch: str) -> None:
    report = verify_kernel(name=kernel, arch=arch, seeds=[1, 2], threads=1)
    assert report.verdict == "PASS", report.findings
    assert report.findings == []
    assert {line.order for line in report.launches} == {"forward", "reversed", "seeded"}
    assert {line.shape for line in report.launches} == {"tiny", "held-out"}
    assert report.mismatches == 0 and report.elements > 0


def test_the_table_covers_every_kernel_with_at_least_twenty_changes() -> None:
    assert len({m.name for m in ALL}) == len(ALL)
    assert len(ALL) >= 20
    assert {m.kernel for m in ALL} == set(KERNELS)
    assert all((ROOT / "kernels" / f"{m.kernel}.hip").is_file() for m in ALL)


@pytest.fixture(scope="module")
def shared_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutants")


@pytest.fixture(autouse=True)
def roots(shared_workspace: Path) -> Roots:
    """One workspace for all: the compiler is looked for once and its survey kept."""
    from kbserver.core.paths import use_roots

    with use_roots(Roots(ROOT, shared_workspace, "the tests' checkout")) as found:
        yield found
