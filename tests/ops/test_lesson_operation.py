"""`record_lesson`: add, list, show, retract, as a user calls it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kbserver.core.errors import UnknownName, UnresolvedRef, UsageError
from kbserver.core.paths import Roots
from kbserver.journal.status import Evidence
from kbserver.ops import operations
from kbserver.ops.lesson_evidence import SCHEMES
from kbserver.ops.lesson_results import LessonResult
from kbserver.render import render, render_plain

TITLE = "ds_write_b64 takes four phases on MI355X"
BODY = "Believed: two.\n\nFound: four phases of 16 lanes."
CITATION = "cite:hipkittens-phases, ds_write_b64"


def call(action: str, **arguments: Any) -> LessonResult:
    result = operations()["record_lesson"].call({"action": action, **arguments})
    assert isinstance(result, LessonResult)
    return result


def text(result: LessonResult) -> str:
    return render_plain(render(result))


def test_a_lesson_with_a_measurement_is_verified_and_says_why(roots: Roots) -> None:
    result = call("add", title=TITLE, body=BODY, arch=["MI355X"], evidence=[CITATION], status="verified")
    assert (result.lesson_id, result.ref, result.status) == ("1001", "lesson:1001", "verified")
    assert result.status_reason == f"verified, granted by {CITATION} (as its authors measured it, not measured here)"
    assert (result.arch, result.arch_decided_by) == (["gfx950"], ["MI355X is gfx950"])
    assert (result.written, result.duplicate) == (True, False)
    assert [(item.ref, item.kind, item.proves) for item in result.evidence] == [(CITATION, "measured", True)]
    assert result.path and Path(result.path).parent == roots.lessons
    assert "MI355X is gfx950" in text(result)


def test_a_lesson_without_evidence_is_kept_as_unverified() -> None:
    result = call("add", title=TITLE, body=BODY)
    assert (result.status, result.evidence) == ("unverified", [])
    assert (
        result.hint
        == "no evidence yet: a build, a fact or a citation with its place would let it be verified or refuted"
    )


@pytest.mark.parametrize("status", ["verified", "refuted"])
def test_verified_and_refuted_need_evidence(status: str, roots: Roots) -> None:
    with pytest.raises(UsageError) as caught:
        call("add", title=TITLE, body=BODY, status=status)
    assert caught.value.message == f"status {status} needs evidence"
    assert not roots.lessons.exists()


def test_evidence_that_cannot_prove_leaves_it_unverified() -> None:
    result = call("add", title=TITLE, body=BODY, evidence=["lesson:0001"], status="verified", arch=["gfx950"])
    assert result.status == "unverified"
    assert "lesson:0001 is another lesson, which proves nothing by itself" in (result.status_reason or "")


def test_a_build_of_another_target_does_not_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(ref: str) -> Evidence:
        return Evidence(ref=ref, kind="build", title="k.hip", arch=["gfx942"])

    monkeypatch.setitem(SCHEMES, "build", build)
    wrong = call("add", title="a", body=BODY, arch=["gfx950"], evidence=["build:abc"], status="verified")
    right = call("add", title="b", body=BODY, arch=["gfx942"], evidence=["build:abc"], status="verified")
    assert (wrong.status, right.status) == ("unverified", "verified")
    assert "speaks about gfx950" in (wrong.status_reason or "")


def test_a_real_build_verifies_on_its_own_target_only(tmp_path: Path) -> None:
    from kbserver.core.errors import NoCompiler
    from kbserver.ops import compile_kernel

    source = 'extern "C" __attribute__((global)) void k(int* p) { p[0] = 1; }\n'
    try:
        build_id = compile_kernel(source=source, arch="gfx942").build_id
    except NoCompiler:
        pytest.skip("SKIPPED LOUDLY: no compiler for AMD targets here, so no build can be evidence")
    ref = f"build:{build_id}"
    wrong = call("add", title="a", body=BODY, arch=["gfx950"], evidence=[ref], status="verified")
    right = call("add", title="b", body=BODY, arch=["gfx942"], evidence=[ref], status="verified")
    assert (wrong.status, right.status) == ("unverified", "verified")
    assert "gfx942" in right.evidence[0].title


def test_unresolved_evidence_is_named_and_nothing_is_written(roots: Roots) -> None:
    with pytest.raises(UnresolvedRef) as caught:
        call("add", title=TITLE, body=BODY, evidence=["cite:nobody", "nonsense", CITATION])
    assert "2 of 3 evidence refs do not resolve: cite:nobody" in caught.value.message
    assert not roots.lessons.exists()


def test_the_same_lesson_again_returns_the_first() -> None:
    first = call("add", title=TITLE, body=BODY)
    again = call("add", title=TITLE, body=BODY)
    assert (again.lesson_id, again.duplicate, again.written) == (first.lesson_id, True, False)
    assert again.hint == "lesson:1001 says the same; nothing was written"
    assert "lesson:1001 already recorded" in text(again)


def test_similar_lessons_are_shown_before_and_after_writing(roots: Roots) -> None:
    title = "LDS of MI350X is 160 KB per CU and not 64 KB"
    before = call("add", title=title, body="rocminfo says so", dry_run=True)
    assert (before.lesson_id, before.written, before.similar[0].lesson_id) == (None, False, "0001")
    assert not roots.lessons.exists()
    assert text(before).startswith("lesson not written (dry run): [unverified] LDS of MI350X")
    after = call("add", title=title, body="rocminfo says so")
    assert after.similar[0].lesson_id == "0001"
    assert "1001" not in [item.lesson_id for item in after.similar]


@pytest.mark.parametrize("title", ["@x", "NO", "---", "a: b", "\"q\" 'r'", "two\nlines", "Урок 検索 ✓", "[red]x[/red]"])
def test_hostile_titles_are_shown_as_they_are(title: str) -> None:
    added = call("add", title=title, body="a\n---\nb")
    shown = call("show", lesson_id=added.lesson_id)
    assert shown.title == title
    assert "\na\n---\nb\n" in (shown.text or "")
    assert " ".join(title.split()) in text(shown)


def test_the_list_holds_shipped_and_own_lessons_and_can_be_narrowed() -> None:
    call("add", title=TITLE, body=BODY, arch=["gfx942"], kernels=["mine"])
    everything = call("list")
    assert [item.lesson_id for item in everything.lessons][:3] == ["0001", "0002", "0003"]
    assert everything.lessons[-1].lesson_id == "1001"
    assert (everything.lessons[0].shipped, everything.lessons[-1].shipped) == (True, False)
    assert [item.lesson_id for item in call("list", kernels=["mine"]).lessons] == ["1001"]
    assert [item.lesson_id for item in call("list", arch=["gfx90a"]).lessons] == ["0010"]
    assert {item.status for item in call("list", status="refuted").lessons} == {"refuted"}
    assert everything.total == len(everything.lessons)


def test_a_long_list_is_cut_and_says_so() -> None:
    shipped = call("list").total
    for number in range(101):
        call("add", title=f"lesson {number}", body=BODY)
    result = call("list")
    assert (result.total, len(result.lessons), result.truncated) == (101 + shipped, 100, True)
    assert result.lessons[-1].lesson_id == "1101"
    assert (result.hint or "").startswith(f"the newest 100 of {101 + shipped} are shown")


def test_a_list_that_matches_nothing_says_so() -> None:
    assert text(call("list", kernels=["nobody"])) == "0 lessons\nNote: no lesson matches"


def test_broken_files_are_reported_in_the_list(roots: Roots) -> None:
    call("add", title=TITLE, body=BODY)
    (roots.lessons / "1002-cut.md").write_text("---\nid: ")
    result = call("list")
    assert [(Path(item.path).name, item.message) for item in result.problems] == [
        ("1002-cut.md", "the front matter is not closed: the file was cut")
    ]
    assert "1002-cut.md" in text(result)


def test_a_retracted_lesson_stays_and_is_marked_everywhere() -> None:
    call("add", title=TITLE, body=BODY, arch=["gfx950"], evidence=[CITATION], status="verified")
    gone = call("retract", lesson_id="lesson:1001", reason="the harness was wrong")
    assert (gone.status, gone.status_reason) == ("retracted", "retracted: the harness was wrong")
    shown = text(call("show", lesson_id="1001"))
    assert shown.startswith(f"# [retracted] {TITLE}\n\nStatus: retracted.\nRETRACTED on ")
    assert call("list", status="retracted").lessons[0].lesson_id == "1001"
    again = call("retract", lesson_id="1001", reason="another")
    assert (again.duplicate, again.written) == (True, False)
    assert "the harness was wrong" in (again.hint or "")


def test_retracting_a_shipped_lesson_writes_to_the_workspace_only(roots: Roots) -> None:
    result = call("retract", lesson_id="0002", reason="measured: no such queue")
    assert result.hint == "the shipped file is unchanged; the workspace holds the retraction"
    assert [path.name for path in roots.lessons.iterdir() if path.suffix == ".yaml"] == ["0002.retracted.yaml"]
    assert call("show", lesson_id="0002").status == "retracted"


def test_a_new_lesson_can_supersede_an_old_one() -> None:
    call("add", title=TITLE, body=BODY, supersedes="2")
    listed = {item.lesson_id: item.superseded_by for item in call("list").lessons}
    assert (listed["0002"], listed["0008"], listed["0001"]) == ("1001", "0012", None)
    with pytest.raises(UnknownName):
        call("add", title="x", body=BODY, supersedes="9999")


def test_a_status_written_by_hand_is_not_believed(roots: Roots) -> None:
    call("add", title=TITLE, body=BODY)
    path = next(roots.lessons.glob("*.md"))
    path.write_text(path.read_text().replace('status: "unverified"', 'status: "verified"'))
    shown = call("show", lesson_id="1001")
    assert shown.status_reason == "the file says verified; verified was asked for and not granted: there is no evidence"


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"action": "add", "title": "t"}, "body"),
        ({"action": "add", "body": "b"}, "title"),
        ({"action": "add", "title": "t", "body": "b", "lesson_id": "1"}, "lesson_id"),
        ({"action": "add", "title": "t", "body": "b", "reason": "r"}, "reason"),
        ({"action": "add", "title": "t", "body": "b", "status": "retracted"}, "status"),
        ({"action": "add", "title": "t", "body": "b", "evidence": ["a\x00b"]}, "evidence"),
        ({"action": "add", "title": "t\x1b[2J", "body": "b"}, "title"),
        ({"action": "list", "title": "t"}, "title"),
        ({"action": "show"}, "lesson_id"),
        ({"action": "show", "lesson_id": "1", "reason": "r"}, "reason"),
        ({"action": "retract", "lesson_id": "1"}, "reason"),
        ({"action": "retract", "lesson_id": "1", "reason": "  "}, "reason"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], where: str, roots: Roots) -> None:
    with pytest.raises(UsageError) as caught:
        operations()["record_lesson"].call(arguments)
    assert caught.value.where == where
    assert not list(roots.lessons.glob("*.md"))


@pytest.mark.parametrize("arch", ["gfx1100", "MI999", "\x00", "\ud800"])
def test_an_unknown_target_is_refused(arch: str, roots: Roots) -> None:
    with pytest.raises(UsageError):
        call("add", title="t", body="b", arch=[arch])
    assert not roots.lessons.exists()


def test_targets_may_be_separated_by_commas() -> None:
    assert call("add", title="t", body="b", arch=["MI300X, gfx950", "gfx942"]).arch == ["gfx942", "gfx950"]


def test_a_recorded_lesson_is_found_by_search_at_once() -> None:
    from kbserver.ops import search

    call("add", title="Quokka stripes halve the tile transpose time", body=BODY, arch=["gfx950"])
    hits = search("quokka stripes", kind="lesson").hits
    assert (hits[0].ref, hits[0].title) == ("lesson:1001", "[unverified] Quokka stripes halve the tile transpose time")
    call("retract", lesson_id="1001", reason="not repeatable")
    assert search("quokka stripes", kind="lesson").hits[0].title.startswith("[retracted]")
