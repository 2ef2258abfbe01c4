"""The lessons that ship: nine claims of the conv3d study with their status, and figures that can be recomputed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from kbserver.core.paths import Roots
from kbserver.core.yamlio import load_yaml
from kbserver.journal.files import Stored
from kbserver.journal.lesson import format_lesson
from kbserver.journal.lessons import shelf
from kbserver.journal.status import grant
from kbserver.ops.lesson_evidence import resolve_evidence

# The study's words for a status, and ours: each nuance that is lost must stand in the note.
OURS = {"refuted": "refuted", "corrected": "refuted", "supported": "verified", "unverified": "unverified"}
OURS["doubtful"] = "unverified"
NUANCE = {"corrected": "Corrected", "supported": "Supported", "doubtful": "Doubtful"}
# In the order of published.yaml.
CLAIMS = ["0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009"]


def shipped() -> dict[str, Stored]:
    return {key: stored for key, stored in shelf().stored.items() if stored.shipped}


def test_every_shipped_file_is_a_lesson_in_canonical_form() -> None:
    on = shelf()
    assert on.problems == []
    assert list(on.stored) == [f"{n:04d}" for n in range(1, len(on.stored) + 1)]
    for stored in on.stored.values():
        assert stored.path.read_text("utf-8") == format_lesson(stored.lesson), stored.path.name


@pytest.mark.parametrize("lesson_id", [*CLAIMS, "0010", "0011", "0012", "0013", "0014", "0015"])
def test_evidence_resolves_and_allows_the_status(lesson_id: str) -> None:
    lesson = shipped()[lesson_id].lesson
    granted = grant(lesson.status, resolve_evidence(lesson.evidence), lesson.arch)
    assert granted.status == lesson.status, granted.reason
    assert lesson.note and lesson.evidence


@pytest.mark.parametrize("lesson_id", [*CLAIMS, "0010", "0011", "0012", "0013", "0014", "0015"])
def test_a_lesson_says_what_was_believed_found_and_what_to_do(lesson_id: str) -> None:
    lesson = shipped()[lesson_id].lesson
    assert "**Believed" in lesson.body and "**Do.**" in lesson.body
    if lesson.status == "unverified" and lesson_id != "0010":
        assert "**Would settle it.**" in lesson.body


def test_the_nine_claims_have_the_status_that_was_published(shared_data: Path) -> None:
    claims = load_yaml(shared_data / "published.yaml")["claims_of_the_study"]
    assert len(claims) == len(CLAIMS)
    for lesson_id, claim in zip(CLAIMS, claims, strict=True):
        lesson = shipped()[lesson_id].lesson
        assert lesson.status == OURS[claim["status"]], claim["claim"]
        assert NUANCE.get(claim["status"], "") in (lesson.note or ""), claim["claim"]


def test_the_contradicted_claim_points_to_what_replaces_it() -> None:
    lessons = shipped()
    assert lessons["0012"].lesson.supersedes == "0008"
    assert "lesson:0012" in (lessons["0008"].lesson.note or "")


def test_the_claim_of_a_compiler_bug_points_to_the_wait_states() -> None:
    lessons = shipped()
    assert lessons["0013"].lesson.supersedes == "0007"
    assert "lesson:0013" in (lessons["0007"].lesson.note or "")
    assert "not proven" in (lessons["0013"].lesson.note or "")


def test_refs_between_lessons_lead_somewhere(roots: Roots) -> None:
    import re

    for stored in shipped().values():
        for number in re.findall(r"lesson:([0-9]+)", stored.lesson.body + (stored.lesson.note or "")):
            assert number in shipped(), f"{stored.lesson.ref} names lesson:{number}"


def test_roofline_figures_follow_from_the_problem() -> None:
    body = shipped()["0009"].lesson.body
    elements_in, elements_out = 512 * 61 * 45 * 80, 512 * 59 * 45 * 80
    assert f"{elements_in:,}" in body and f"{elements_out:,}" in body
    traffic, flop = 2 * (elements_in + elements_out), 2 * 75 * elements_out
    assert f"{traffic / 1e6:.1f} MB" == "442.4 MB" and "442.4 MB" in body
    assert round(traffic / 8e12 * 1e6) == 55 and "55 us" in body
    assert f"{flop / 1e9:.2f} GFLOP" == "16.31 GFLOP" and "16.31 GFLOP" in body
    assert round(flop / 144.2e12 * 1e6) == 113 and "113 us" in body
    assert round(flop / traffic, 1) == 36.9 and "36.9 FLOP per byte" in body
    assert round(144.2 / 8, 1) == 18.0 and "ridge of 18.0" in body
    waves = 512 * 59 * 4
    assert f"{waves:,}" == "120,832" and "120,832" in body
    issue_cycles = waves * 2165 * 4 / (256 * 4)
    assert round(issue_cycles / 1e6, 2) == 1.02 and "1.02 million" in body
    assert round(issue_cycles / 1_273_248, 1) == 0.8 and "about 80 %" in body


def calc_diff(pairs: list[tuple[Fraction, Fraction]]) -> float:
    """1 - 2<x,y> / (<x,x> + <y,y>), exactly."""
    inner = sum(x * y for x, y in pairs)
    return float(1 - 2 * inner / sum(x * x + y * y for x, y in pairs))


@pytest.mark.parametrize(
    ("pairs", "shown"),
    [
        ([(Fraction(1), Fraction(n > 0)) for n in range(512)], "0.00098"),
        ([(Fraction(1), Fraction(1044, 1000))], "0.00093"),
        ([(Fraction(1), 1 + Fraction(sign * 4, 100)) for sign in (-1, 1)], "0.00080"),
        ([(Fraction(1), Fraction(n > 0)) for n in range(520)], "0.00096"),
    ],
    ids=["skipped channel", "scaled", "noise", "every 520th zero"],
)
def test_faults_pass_the_global_gate_by_the_figures_shown(pairs: list[tuple[Fraction, Fraction]], shown: str) -> None:
    found = calc_diff(pairs)
    assert found <= 0.001
    assert f"{found:.5f}" == shown
    assert f"| {shown} | pass |" in shipped()["0010"].lesson.body


def test_stride_figures_follow_from_the_fact(roots: Roots) -> None:
    measured = {8: 583.353, 16: 819.207, 32: 1490.275, 64: 2758.733, 128: 5089.5}
    body = shipped()["0012"].lesson.body
    for stride, cycles in measured.items():
        assert f"| {stride} B | {round(cycles):,} | {cycles / 583.353:.1f} |" in body
