"""Remembered keys: files at rest are not read again, and no change is missed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kbserver.knowledge import freshness, known_keys
from kbserver.knowledge.freshness import FreshIndex, Recipe, Vocabulary, content_key
from kbserver.knowledge.known_keys import AT_REST_NS, FILE, KEPT_STATES, KnownKeys, fingerprint
from tests.knowledge.entries_fake import GROUPS, NAMES, entry

LATER = 10**20
"""A time at which every file of a test is at rest."""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "content" / "a.txt"
    path.parent.mkdir()
    path.write_text("barrier", "utf-8")
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let every file be at rest, and count how often the content is hashed."""
    counted: list[int] = []
    monkeypatch.setattr(known_keys, "AT_REST_NS", -LATER)
    monkeypatch.setattr(freshness, "content_key", lambda files: counted.append(1) or content_key(files))
    return counted


def search(page: Path, cache: Path, query: str) -> list[str]:
    corpus = lambda: freshness.Corpus([entry(page.name, page.stem, page.read_text("utf-8"))])  # noqa: E731
    index = FreshIndex(Recipe(lambda: [page], list, lambda: Vocabulary(GROUPS, NAMES), corpus), cache)
    return [hit.row.ref for hit in index.current().search(query).hits]


def changed(page: Path, change: Callable[[], object]) -> None:
    """Change a file until the clock of the file system shows it."""
    before = page.stat().st_ctime_ns
    while page.stat().st_ctime_ns == before:
        change()


def test_files_at_rest_are_read_once_for_all_processes(page: Path, tmp_path: Path, reads: list[int]) -> None:
    for _ in range(3):
        assert search(page, tmp_path / "cache", "barrier") == ["a.txt"]
    assert len(reads) == 1


def test_a_change_that_hides_behind_the_old_time_and_size_is_seen(page: Path, tmp_path: Path, reads: list[int]) -> None:
    search(page, tmp_path / "cache", "barrier")
    old = page.stat()

    def change() -> None:
        page.write_text("swizzle", "utf-8")
        os.utime(page, ns=(old.st_atime_ns, old.st_mtime_ns))

    changed(page, change)
    assert (page.stat().st_mtime_ns, page.stat().st_size) == (old.st_mtime_ns, old.st_size)
    assert search(page, tmp_path / "cache", "swizzle") == ["a.txt"]
    assert len(reads) == 2


def test_a_file_that_just_changed_is_not_remembered(page: Path, tmp_path: Path) -> None:
    state, known = fingerprint([page]), KnownKeys(tmp_path)
    last = page.stat().st_ctime_ns
    known.remember(state, "key", last + AT_REST_NS - 1)
    assert known.get(state) is None
    known.remember(state, "key", last + AT_REST_NS)
    assert known.get(state) == "key"
    assert KnownKeys(tmp_path).get(fingerprint([page, tmp_path / "missing"])) is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b"[" * 100_000, b"\xff"])
def test_a_damaged_file_of_keys_only_costs_time(page: Path, tmp_path: Path, reads: list[int], damage: bytes) -> None:
    cache = tmp_path / "cache"
    search(page, cache, "barrier")
    (cache / FILE).write_bytes(damage)
    assert search(page, cache, "barrier") == ["a.txt"]
    assert search(page, cache, "barrier") == ["a.txt"]
    assert len(reads) == 2


def test_a_key_that_is_no_text_is_unknown(page: Path, tmp_path: Path) -> None:
    known, state = KnownKeys(tmp_path), fingerprint([page])
    known.remember(state, "key", LATER)
    (tmp_path / FILE).write_text((tmp_path / FILE).read_text("utf-8").replace('"key"', "7"), "utf-8")
    assert known.get(state) is None


def test_only_the_last_states_are_kept(page: Path, tmp_path: Path) -> None:
    known = KnownKeys(tmp_path)
    states = [fingerprint([page, tmp_path / str(number)]) for number in range(KEPT_STATES + 2)]
    for number, state in enumerate(states):
        known.remember(state, str(number), LATER)
    assert [known.get(state) for state in states] == [None, None, *(str(n) for n in range(2, KEPT_STATES + 2))]
