"""The cached index: reused while nothing changed, rebuilt when something did, never trusted when damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kbserver.knowledge.entries import Corpus, Entry
from kbserver.knowledge.freshness import KEPT_FILES, FreshIndex, Recipe, Vocabulary, files_under
from tests.knowledge.entries_fake import GROUPS, NAMES, entry

ROOT = Path(__file__).resolve().parent.parent.parent


class Shelf:
    """A folder of text files, each an entry; counts how often they are read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.builds = 0

    def write(self, name: str, text: str) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_text(text, "utf-8")

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("*.txt"))

    def corpus(self) -> Corpus:
        self.builds += 1
        entries: list[Entry] = [entry(path.name, path.stem, path.read_text("utf-8")) for path in self.files()]
        return Corpus(entries)

    def index(self, cache: Path, code: Callable[[], list[Path]] = list) -> FreshIndex:
        return FreshIndex(Recipe(self.files, code, lambda: Vocabulary(GROUPS, NAMES), self.corpus), cache)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    made = Shelf(tmp_path / "content")
    made.write("a.txt", "barrier and fence")
    made.write("b.txt", "banks and conflicts")
    return made


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def found(index: FreshIndex, query: str) -> list[str]:
    return [hit.row.ref for hit in index.current().search(query).hits]


def cached(cache: Path) -> list[Path]:
    return sorted(cache.glob("search-*.jsonl"))


def test_an_unchanged_corpus_is_built_once_for_all_processes(shelf: Shelf, cache: Path) -> None:
    first = shelf.index(cache)
    assert first.current() is first.current()
    assert found(shelf.index(cache), "barrier") == ["a.txt"]
    assert shelf.builds == 1


def test_a_changed_added_or_removed_file_is_seen_at_once(shelf: Shelf, cache: Path) -> None:
    index = shelf.index(cache)
    assert found(index, "swizzle") == []
    shelf.write("c.txt", "swizzle")
    assert found(index, "swizzle") == ["c.txt"]
    shelf.write("c.txt", "padding instead")
    assert found(index, "swizzle") == []
    (shelf.folder / "a.txt").unlink()
    assert found(index, "barrier") == []


def test_content_decides_and_not_the_time_of_a_file(shelf: Shelf, cache: Path) -> None:
    shelf.index(cache).current()
    os.utime(shelf.folder / "a.txt", ns=(1, 1))
    shelf.index(cache).current()
    assert shelf.builds == 1


def test_other_code_makes_another_index(shelf: Shelf, cache: Path, tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    for text in ("one", "two"):
        code.write_text(text, "utf-8")
        shelf.index(cache, lambda: [code]).current()
    assert shelf.builds == 2


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def altered(data: bytes) -> bytes:
    return data.replace(b"barrier", b"barrjer")


def of_another_format(data: bytes) -> bytes:
    head, _, body = data.partition(b"\n")
    return json.dumps(json.loads(head) | {"format": -1}).encode() + b"\n" + body


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        altered,
        of_another_format,
        lambda data: b"",
        lambda data: b"\n",
        lambda data: b"null\n",
        lambda data: b"[" * 100_000,
        lambda data: b"\xff\xfe\x00",
        lambda data: data.partition(b"\n")[0],
        lambda data: data + b"\n{}",
    ],
    ids=["cut", "altered", "format", "empty", "newline", "null", "deep", "binary", "header only", "longer"],
)
def test_a_damaged_cache_file_is_replaced_by_a_right_one(
    shelf: Shelf, cache: Path, damage: Callable[[bytes], bytes]
) -> None:
    shelf.index(cache).current()
    (path,) = cached(cache)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert found(shelf.index(cache), "barrier") == ["a.txt"]
    assert shelf.builds == 2
    assert path.read_bytes() == whole


def test_the_cache_of_other_content_is_not_used_under_a_false_name(shelf: Shelf, cache: Path) -> None:
    shelf.index(cache).current()
    (old,) = cached(cache)
    kept = old.read_bytes()
    shelf.write("a.txt", "swizzle")
    shelf.index(cache).current()
    (new,) = [path for path in cached(cache) if path != old]
    new.write_bytes(kept)
    assert found(shelf.index(cache), "swizzle") == ["a.txt"]


def test_a_cache_that_cannot_be_written_only_costs_time(shelf: Shelf, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way", "utf-8")
    assert found(shelf.index(blocked / "cache"), "barrier") == ["a.txt"]


def test_old_indexes_and_leftovers_of_killed_writers_are_removed(shelf: Shelf, cache: Path) -> None:
    cache.mkdir()
    stale, fresh = cache / ".search-x.jsonl.1.tmp", cache / ".search-x.jsonl.2.tmp"
    stale.write_text("half", "utf-8")
    fresh.write_text("half", "utf-8")
    os.utime(stale, ns=(1, 1))
    for number in range(KEPT_FILES + 3):
        shelf.write("a.txt", f"version {number}")
        shelf.index(cache).current()
    assert len(cached(cache)) == KEPT_FILES
    assert not stale.exists()
    assert fresh.exists()


def test_threads_share_one_index(shelf: Shelf, cache: Path) -> None:
    index = shelf.index(cache)
    seen: list[list[str]] = []
    threads = [threading.Thread(target=lambda: seen.append(found(index, "barrier"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [["a.txt"]] * 8
    assert shelf.builds == 1


BUILDER = """
import sys
from pathlib import Path
from tests.knowledge.test_freshness import Shelf, found
shelf = Shelf(Path(sys.argv[1]))
for round in range(20):
    assert found(shelf.index(Path(sys.argv[2])), "barrier") == ["a.txt"], round
    for path in Path(sys.argv[2]).glob("search-*.jsonl"):
        path.unlink(missing_ok=True)
"""


def test_processes_that_build_and_remove_the_cache_at_once_all_answer_right(shelf: Shelf, cache: Path) -> None:
    command = [sys.executable, "-c", BUILDER, str(shelf.folder), str(cache)]
    children = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) for _ in range(2)]
    for child in children:
        _, errors = child.communicate(timeout=60)
        assert (child.returncode, errors) == (0, b"")
    assert list(cache.glob(".search-*.tmp")) == []


def test_files_are_listed_anew_when_a_folder_of_the_tree_changes(tmp_path: Path) -> None:
    """Time stamps of long ago are those that a listing is remembered by."""
    inner = tmp_path / "inner"
    assert list(files_under(inner, ".md")) == []
    inner.mkdir()
    first, second = inner / "a.md", inner / "b.md"
    first.write_text("a", "utf-8")
    os.utime(inner, (1e9, 1e9))
    os.utime(tmp_path, (1e9, 1e9))
    assert list(files_under(tmp_path, ".md")) == [first]
    second.write_text("b", "utf-8")
    (inner / "c.yaml").write_text("c", "utf-8")
    assert list(files_under(tmp_path, ".md")) == [first, second]
    assert len(files_under(tmp_path, ".md", ".yaml")) == 3
    os.utime(inner, (1e9, 1e9))
    assert list(files_under(tmp_path, ".md")) == [first, second]
    first.unlink()
    assert list(files_under(tmp_path, ".md")) == [second]
    second.rename(tmp_path / "b.md")
    inner.joinpath("c.yaml").unlink()
    inner.rmdir()
    assert list(files_under(tmp_path, ".md")) == [tmp_path / "b.md"]
