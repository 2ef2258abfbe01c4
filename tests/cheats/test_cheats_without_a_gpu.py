"""Cheats on the emulator: none passes. What remembers earlier launches is tried on the stand-in GPU below."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import CompileFailed
from kbserver.core.paths import Roots, use_roots
from kbserver.ops import verify_kernel
from tests.cheats.cheat_table import Fixture, fixtures

pytest.importorskip("llvmlite")
ROOT = Path(__file__).resolve().parents[2]
CHEATS, HONEST = fixtures("cheats"), fixtures("honest")
MODES_OF_A_SOURCE = {1, 2, 7, 8, 9, 10, 13, 14, 15, 16, 17, 22, 23, 24}
"""Those that a kernel source can still do when it runs in no process of ours. 12 and 26 are the harness's own."""


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda one: one.name)
def test_a_cheat_does_not_pass(cheat: Fixture, tmp_path: Path) -> None:
    try:
        report = verify_kernel(
            path=str(cheat.write(tmp_path)), variant=cheat.kernel, device="emulator", threads=1, check_workgroups=0
        )
    except CompileFailed:
        assert cheat.emulator == ("compile_failed",)
        return
    assert report.verdict != "PASS"
    if report.verdict == "NOT_VERIFIED":
        assert cheat.emulator == ("not_verified",) and cheat.state
    else:
        assert {finding.check for finding in report.findings} & set(cheat.emulator), report.findings


@pytest.mark.parametrize("kernel", HONEST, ids=lambda one: one.name)
def test_an_honest_kernel_passes(kernel: Fixture, tmp_path: Path) -> None:
    report = verify_kernel(path=str(kernel.write(tmp_path)), variant=kernel.kernel, device="emulator", threads=1)
    assert (report.verdict, report.findings) == ("PASS", [])


def test_every_mode_has_a_cheat() -> None:
    assert {cheat.mode for cheat in CHEATS} == MODES_OF_A_SOURCE
    assert len({cheat.name for cheat in CHEATS}) == len(CHEATS)


@pytest.fixture(scope="module")
def shared_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cheats")


@pytest.fixture(autouse=True)
def roots(shared_workspace: Path) -> Roots:
    """One workspace for all: the compiler is looked for once."""
    with use_roots(Roots(ROOT, shared_workspace, "the tests' checkout")) as found:
        yield found
