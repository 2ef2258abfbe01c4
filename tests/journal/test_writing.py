"""Many writers, no lesson lost: threads of one process and two processes add at the same time."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from kbserver.core.errors import UnknownName, WorkspaceError
from kbserver.core.paths import Roots, use_roots
from kbserver.core.store import locked
from kbserver.journal.lessons import Draft, add_lesson, all_lessons, retract_lesson, shelf

WRITER = """
import sys
from pathlib import Path
from kbserver.core.paths import Roots, use_roots
from kbserver.journal.lessons import Draft, add_lesson
content, workspace, who = sys.argv[1:]
with use_roots(Roots(Path(content), Path(workspace), "test")):
    for n in range(7):
        add_lesson(Draft(title=f"{who} {n}", body="b", arch=[], kernels=[], evidence=[]), "unverified", None)
        add_lesson(Draft(title=f"both {n}", body="b", arch=[], kernels=[], evidence=[]), "unverified", None)
"""


def draft(title: str, body: str = "body", **changes: object) -> Draft:
    return Draft(**{"title": title, "body": body, "arch": [], "kernels": [], "evidence": [], **changes})


def add(title: str, **changes: object) -> tuple[str, bool]:
    stored, duplicate = add_lesson(draft(title, **changes), "unverified", None)
    return stored.lesson.id, duplicate


def test_seven_threads_keep_seven_lessons(small: Roots) -> None:
    contexts = [copy_context() for _ in range(7)]
    with ThreadPoolExecutor(7) as pool:
        ids = list(pool.map(lambda n: contexts[n].run(add, f"lesson {n}")[0], range(7)))
    assert sorted(ids) == ["1001", "1002", "1003", "1004", "1005", "1006", "1007"]
    assert len(all_lessons()) == 2 + 7
    assert shelf().problems == []


def test_two_processes_keep_every_lesson_and_one_of_each_repeat(small: Roots) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(small.content), str(small.workspace), who])
        for who in ("first", "second")
    ]
    assert [child.wait(timeout=120) for child in children] == [0, 0]
    titles = sorted(item.title for item in all_lessons()[2:])
    assert titles == sorted(f"[unverified] {who} {n}" for who in ("first", "second", "both") for n in range(7))
    assert shelf().problems == []


def test_the_same_lesson_again_returns_the_first_and_writes_nothing(small: Roots) -> None:
    assert add("one") == ("1001", False)
    assert add("one") == ("1001", True)
    assert add("one", body="other") == ("1002", False)
    assert add("one", arch=["gfx950"]) == ("1003", False)
    assert len(list(small.lessons.glob("*.md"))) == 3


def test_a_retracted_lesson_may_be_stated_anew(small: Roots) -> None:
    add("one")
    retract_lesson("1001", "too early")
    assert add("one") == ("1002", False)


def test_only_known_lessons_can_be_superseded(small: Roots) -> None:
    with pytest.raises(UnknownName):
        add("one", supersedes="0099")
    assert not list(small.lessons.glob("*.md"))
    add("one", supersedes="lesson:2")
    marked = [item.title for item in all_lessons() if "Superseded by lesson:1001" in item.text]
    assert marked == ["[unverified] s_barrier waits for memory"]


def test_a_retracted_successor_supersedes_nothing(small: Roots) -> None:
    add("one", supersedes="0002")
    retract_lesson("1001", "wrong")
    assert not any("Superseded" in item.text for item in all_lessons())


def test_a_workspace_that_cannot_be_made_is_said(small: Roots) -> None:
    small.workspace.write_text("a file stands where the folder should be")
    with pytest.raises(WorkspaceError) as caught:
        add("one")
    assert caught.value.hint == "choose a writable --workspace"
    assert len(all_lessons()) == 2


def test_listing_does_not_wait_for_a_writer(small: Roots) -> None:
    add("one")
    with locked(small.lessons / ".lessons.lock"), use_roots(small):
        assert len(all_lessons()) == 3
