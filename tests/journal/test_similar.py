"""Similar lessons: a repeat in other words is found, an unrelated one is not, in any script."""

from __future__ import annotations

import pytest

from kbserver.journal.lesson import Lesson
from kbserver.journal.similar import similar_lessons


def lesson(number: int, title: str, body: str) -> Lesson:
    return Lesson(id=str(number), title=title, status="unverified", date="2026-01-02", body=body)


KNOWN = [
    lesson(1001, "LDS is 64 KB per CU on MI350X", "rocminfo shows a GROUP pool of 160 KB."),
    lesson(1002, "v_dot2_f32_bf16 corrupts weights", "The register allocator reuses weight registers."),
    lesson(1003, "Padding rows avoids LDS bank conflicts", "One dword of padding a row spreads the banks."),
    lesson(1004, "共有メモリの大きさは百六十", "一つのワークグループが全部を使える。"),
    lesson(1005, "Размер разделяемой памяти равен 160", "Одна группа может занять всю память."),
]


@pytest.mark.parametrize(
    ("title", "body", "first"),
    [
        ("MI350X has 160 KB of LDS per CU", "Seen in rocminfo.", "1001"),
        ("Wrong results with v_dot2_f32_bf16", "weights are corrupt", "1002"),
        ("Bank conflicts vanish when rows are padded", "LDS rows with padding", "1003"),
        ("共有メモリの大きさ", "ワークグループ", "1004"),
        ("Разделяемой памяти 160", "группа", "1005"),
    ],
)
def test_the_nearest_lesson_comes_first(title: str, body: str, first: str) -> None:
    found = similar_lessons(title, body, KNOWN)
    assert found[0][0].id == first
    assert all(0.2 <= score <= 1 for _, score in found)


@pytest.mark.parametrize("title", ["Compile flags for debugging", "!!!", "the of and", "\U0001f600"])
def test_nothing_alike_gives_nothing(title: str) -> None:
    assert similar_lessons(title, title, KNOWN) == []


def test_the_same_text_scores_one_and_the_list_is_short() -> None:
    many = [lesson(n, "LDS is 160 KB", "the same") for n in range(1001, 1011)]
    found = similar_lessons("LDS is 160 KB", "the same", many)
    assert [(item.id, score) for item, score in found] == [("1001", 1.0), ("1002", 1.0), ("1003", 1.0)]


def test_no_lessons_give_nothing() -> None:
    assert similar_lessons("a", "b", []) == []
