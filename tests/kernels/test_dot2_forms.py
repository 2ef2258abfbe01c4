"""Dot products in inline assembly: what the compiler does not do, and how verification says so (lesson:0013)."""

from __future__ import annotations

import pytest

from kbserver.emulator.hazard_check import hazards
from kbserver.emulator.kernel import load_kernel
from kbserver.ops import verify_kernel
from kbserver.runs.report import VerifyReport
from kbserver.toolchain.assembly import parse_assembly
from tests.toolchain.clang import ROOT, compile_hip, needs_clang

pytest.importorskip("llvmlite")
pytestmark = needs_clang

FOLDER = ROOT / "tests" / "fixtures" / "dot2"
FORMS = ("builtin", "inline", "inline_waits", "inline_no_early_clobber", "inline_early_clobber")


def verified(form: str) -> VerifyReport:
    return verify_kernel(
        path=str(FOLDER / "dot2.hip"), task=str(FOLDER / "task.yaml"), variant=f"dot2_{form}", seeds=[1], threads=1
    )


def missing(form: str) -> list[tuple[int, int]]:
    """Return (wait states that are there, wait states that gfx950 needs) of every pair that comes too soon."""
    built = compile_hip(FOLDER / "dot2.hip", "gfx950", (f"-DKB_FORM={FORMS.index(form)}",))
    assert built.status == 0, built.diagnostics
    return [(one.have, one.need) for one in hazards(load_kernel(parse_assembly(built.text), "dot2_form"))]


def test_behind_the_builtin_the_compiler_puts_three_wait_states_behind_an_asm_statement_one() -> None:
    assert missing("builtin") == []
    assert missing("inline") == [(1, 3)]
    assert missing("inline_waits") == []


@pytest.mark.parametrize("form", ["builtin", "inline_waits", "inline_early_clobber"])
def test_a_dot_product_with_its_wait_states_passes(form: str) -> None:
    report = verified(form)
    assert (report.verdict, report.findings) == ("PASS", [])


def test_without_wait_states_results_are_right_here_and_the_kernel_is_rejected() -> None:
    report = verified("inline")
    assert report.verdict == "FAIL" and report.mismatches == 0
    assert {finding.check for finding in report.findings} == {"missing_wait_states"}


def test_without_an_early_clobber_the_output_overwrites_an_input() -> None:
    report = verified("inline_no_early_clobber")
    assert report.verdict == "FAIL"
    assert {finding.check for finding in report.findings} == {"wrong_result"}
