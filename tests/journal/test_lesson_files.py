"""Two folders, one shelf: broken files are named once and left alone, nothing that can be read is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kbserver.core.errors import ContentError, UnknownName
from kbserver.core.paths import Roots, use_roots
from kbserver.journal.lessons import Draft, add_lesson, all_lessons, find_lesson, retract_lesson, shelf


def add(title: str, body: str = "body") -> str:
    stored, _ = add_lesson(Draft(title=title, body=body, arch=[], kernels=[], evidence=[]), "unverified", None)
    return stored.lesson.id


def faults() -> dict[str, str]:
    return {Path(problem.path).name: problem.message for problem in shelf().problems}


def test_shipped_lessons_are_there_without_a_workspace(small: Roots) -> None:
    assert [item.ref for item in all_lessons()] == ["lesson:0001", "lesson:0002"]
    assert not small.workspace.exists()


def test_users_ids_start_at_1001_whatever_ships(small: Roots) -> None:
    assert [add("one"), add("two")] == ["1001", "1002"]
    assert [item.ref for item in all_lessons()] == ["lesson:0001", "lesson:0002", "lesson:1001", "lesson:1002"]
    assert sorted(path.name for path in small.lessons.glob("*.md")) == ["1001-one.md", "1002-two.md"]
    assert sorted(path.name for path in (small.content / "lessons").iterdir()) == ["0001-waves.md", "0002-barrier.md"]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Урок", "1001.md"),
        ("../../etc/passwd", "1001-etc-passwd.md"),
        ("a/b\\c:d", "1001-a-b-c-d.md"),
        ("x" * 200, "1001.md"),
        ("Ünïcode LDS", "1001-unicode-lds.md"),
    ],
)
def test_file_names_are_plain_whatever_the_title(small: Roots, title: str, name: str) -> None:
    add(title)
    assert [path.name for path in small.lessons.glob("*.md")] == [name]


def test_broken_files_are_named_once_and_never_written_over(small: Roots) -> None:
    add("good")
    broken = {
        "1002-empty.md": (b"", "the file is empty"),
        "1003-cut.md": (b'---\nid: "1003"\ntitle: "cu', "the front matter is not closed: the file was cut"),
        "1004-bytes.md": (b"---\n\xff\xfe\n---\n", "not UTF-8 at byte 4"),
        "notes.md": (b"just notes", "no front matter (a first line `---`)"),
    }
    for name, (data, _) in broken.items():
        (small.lessons / name).write_bytes(data)
    assert faults() == {name: message for name, (_, message) in broken.items()}
    assert add("next") == "1005"
    for name, (data, _) in broken.items():
        assert (small.lessons / name).read_bytes() == data
    assert [item.ref for item in all_lessons()][2:] == ["lesson:1001", "lesson:1005"]


def test_a_broken_lesson_is_an_error_of_its_file_not_an_unknown_id(small: Roots) -> None:
    add("good")
    (small.lessons / "1002-empty.md").touch()
    with pytest.raises(ContentError) as caught:
        find_lesson("1002")
    assert caught.value.message == "the file is empty"


def test_a_leftover_temporary_file_is_reported_and_kept(small: Roots) -> None:
    add("good")
    left = small.lessons / ".1002-x.md.abc123.tmp"
    left.write_bytes(b"half")
    assert faults() == {left.name: "left by a write that was cut off; no lesson is missing"}
    assert add("next") == "1002"
    assert left.read_bytes() == b"half"


def test_links_that_lead_out_are_refused_and_others_followed(small: Roots, tmp_path: Path) -> None:
    add("good")
    outside = tmp_path / "outside.md"
    outside.write_text((small.lessons / "1001-good.md").read_text().replace('"1001"', '"1002"'))
    (small.lessons / "1002-out.md").symlink_to(outside)
    (small.lessons / "1003-loop.md").symlink_to(small.lessons / "1003-loop.md")
    assert faults() == {
        "1002-out.md": "a link that leads out of the lessons folder is not followed",
        "1003-loop.md": "a link that leads out of the lessons folder is not followed",
    }
    assert [item.ref for item in all_lessons()][2:] == ["lesson:1001"]


def test_folders_and_pipes_named_like_lessons_do_not_hang(small: Roots) -> None:
    add("good")
    (small.lessons / "1002-folder.md").mkdir()
    os.mkfifo(small.lessons / "1003-pipe.md")
    assert faults() == {"1002-folder.md": "not a regular file", "1003-pipe.md": "not a regular file"}


def test_a_huge_file_is_not_read(small: Roots) -> None:
    add("good")
    (small.lessons / "1002-huge.md").write_bytes(b"x" * 131_073)
    assert faults() == {"1002-huge.md": "larger than 131072 bytes"}


def test_ids_are_unique_and_stay_in_their_folder(small: Roots) -> None:
    add("good")
    text = (small.lessons / "1001-good.md").read_text()
    (small.lessons / "1001-zcopy.md").write_text(text)
    (small.lessons / "1002-named-wrong.md").write_text(text)
    (small.lessons / "0003-mine.md").write_text(text.replace('"1001"', '"0003"'))
    (small.content / "lessons" / "1003-shipped.md").write_text(text.replace('"1001"', '"1003"'))
    assert faults() == {
        "1003-shipped.md": "id 1003 is outside 0001-1000",
        "0003-mine.md": "id 0003 is outside 1001-999999999",
        "1001-zcopy.md": "id 1001 is taken by 1001-good.md",
        "1002-named-wrong.md": "the file name does not begin with its id 1001",
    }


def test_one_folder_may_serve_as_content_and_workspace(small: Roots) -> None:
    with use_roots(Roots(small.content, small.content, "both")):
        assert add("one") == "1001"
        assert [item.ref for item in all_lessons()] == ["lesson:0001", "lesson:0002", "lesson:1001"]


def test_retracting_a_shipped_lesson_leaves_its_file_alone(small: Roots) -> None:
    before = (small.content / "lessons" / "0001-waves.md").read_bytes()
    retract_lesson("0001", "no\nlonger: @true", day="2026-02-03")
    assert (small.content / "lessons" / "0001-waves.md").read_bytes() == before
    lesson = find_lesson("lesson:0001").lesson
    assert (lesson.status, lesson.retracted_reason, lesson.retracted_on) == (
        "retracted",
        "no\nlonger: @true",
        "2026-02-03",
    )
    assert all_lessons()[0].title == "[retracted] A wavefront has 32 lanes on gfx950"


def test_a_damaged_retraction_still_retracts(small: Roots) -> None:
    retract_lesson("0001", "wrong")
    (small.lessons / "0001.retracted.yaml").write_bytes(b"")
    assert find_lesson("1").lesson.status == "retracted"
    assert faults() == {"0001.retracted.yaml": "the retraction record is damaged; the lesson counts as retracted"}


def test_a_retraction_of_a_lesson_that_is_gone_is_reported(small: Roots) -> None:
    retract_lesson("0001", "wrong")
    (small.content / "lessons" / "0001-waves.md").unlink()
    assert faults() == {"0001.retracted.yaml": "it retracts a lesson that is not here"}


def test_retracting_ones_own_lesson_keeps_its_text_and_place(small: Roots) -> None:
    add("mine", "the body")
    stored, before = retract_lesson("1001", "measured again", day="2026-02-03")
    assert (before, stored.path.name) == (False, "1001-mine.md")
    again, before = retract_lesson("1001", "another reason")
    assert before and again.lesson.retracted_reason == "measured again"
    assert find_lesson("1001").lesson.body == "the body"


@pytest.mark.parametrize("text", ["", "x", "0003", "lesson:", "lesson:9999", "-1", "1e3", "9" * 30, "../0001"])
def test_an_unknown_lesson_is_refused_with_near_ids(small: Roots, text: str) -> None:
    with pytest.raises(UnknownName):
        find_lesson(text)


@pytest.mark.parametrize("text", ["1", "0001", "lesson:0001", " 0001 "])
def test_an_id_may_be_written_short_or_as_a_ref(small: Roots, text: str) -> None:
    assert find_lesson(text).lesson.id == "0001"


def test_an_edit_by_hand_is_seen_at_once(small: Roots) -> None:
    add("before")
    path = small.lessons / "1001-before.md"
    path.write_text(path.read_text().replace("before", "after it"))
    assert all_lessons()[-1].title == "[unverified] after it"
