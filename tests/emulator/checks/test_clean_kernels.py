"""Compilers leave halves and lanes undefined on purpose: a correct kernel gives no finding, at any level."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.emulator.checks.run import Checker
from kbserver.emulator.kernel import load_kernel
from kbserver.toolchain.assembly import parse_assembly
from tests.emulator import conv
from tests.emulator.checks.launch import checked
from tests.toolchain.clang import needs_clang

pytest.importorskip("llvmlite")
pytestmark = needs_clang

BODIES = {
    name: body.strip()
    for name, body in (
        part.split("\n", 1)
        for part in (Path(__file__).parent / "clean_bodies.txt").read_text("utf-8").split("#### ")[1:]
    )
}


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", conv.NAMES)
def test_the_case_study_is_clean(name: str, arch: str) -> None:
    memory, arguments, grid, block, _ = conv.prepare(name)
    checker = Checker(load_kernel(parse_assembly(conv.compiled_text(name, arch))))
    report = checker.check(memory, arguments, grid=grid, block=block)
    assert report.findings == ()
    assert report.checked == report.workgroups == grid[0] * grid[1] * grid[2]
    assert report.accesses > 1000 and report.lost == 0


@pytest.mark.parametrize("level", ["-O0", "-O3"])
@pytest.mark.parametrize("name", BODIES)
def test_a_correct_kernel_is_clean_at_every_level(name: str, level: str) -> None:
    report = checked(BODIES[name], "gfx942" if level == "-O0" else "gfx950", level)
    assert report.findings == ()
    assert report.accesses > 0
