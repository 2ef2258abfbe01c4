"""Reading the lesson folders: every good file is a lesson, every other one a problem that is named."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from kbserver.core.errors import ContentError, WorkspaceError
from kbserver.core.model import Record
from kbserver.core.paths import Roots
from kbserver.core.store import locked
from kbserver.core.yamlio import load_yaml
from kbserver.journal.lesson import MAX_FILE_BYTES, Lesson, parse_lesson

# Shipped lessons count from 0001, those of a workspace from 1001: a release that brings new lessons can never take an
# id that a user's lesson has, and refs written down by users stay valid.
FIRST_WORKSPACE_ID = 1001
MAX_ID = 10**9
LOCK_FILE = ".lessons.lock"
RETRACTION_SUFFIX = ".retracted.yaml"
_LEADING_ID = re.compile(r"^([0-9]{4,9})(?=[-.])")


class Problem(Record):
    """A file of the lesson folders that is not a lesson, and what to do about it."""

    path: str
    message: str
    hint: str


@dataclass(frozen=True)
class Stored:
    """A lesson with the file that holds it."""

    lesson: Lesson
    path: Path

    @property
    def shipped(self) -> bool:
        return int(self.lesson.id) < FIRST_WORKSPACE_ID


@dataclass
class Shelf:
    """Everything that the two lesson folders hold, by id."""

    stored: dict[str, Stored] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def lessons(self) -> list[Lesson]:
        return [item.lesson for item in self.stored.values()]

    def report(self, path: Path, message: str, hint: str) -> None:
        self.problems.append(Problem(path=str(path), message=message, hint=hint))


def folders(roots: Roots) -> list[tuple[Path, range]]:
    """Return the lesson folders with the ids that each may hold; one folder that serves as both is read once."""
    shipped, own = roots.content / "lessons", roots.lessons
    if shipped.resolve() == own.resolve():
        return [(own, range(1, MAX_ID))]
    return [(shipped, range(1, FIRST_WORKSPACE_ID)), (own, range(FIRST_WORKSPACE_ID, MAX_ID))]


def load_shelf(roots: Roots, *, report_unfinished: bool = True) -> Shelf:
    """Return the lessons of both folders in the order of their ids, retractions applied, and the problems found.

    A writer that holds the lock passes report_unfinished=False: looking for files that a killed writer left takes it.
    """
    shelf = Shelf()
    for folder, ids in folders(roots):
        for path in _files(folder, shelf, ".md"):
            if path.name.lower() != "readme.md":
                _shelve(path, ids, shelf)
    for path in _files(roots.lessons, shelf, RETRACTION_SUFFIX):
        _apply_retraction(path, shelf)
    if report_unfinished:
        _report_unfinished(roots.lessons, shelf)
    shelf.stored = dict(sorted(shelf.stored.items(), key=lambda item: int(item[0])))
    return shelf


def next_free_id(roots: Roots) -> str:
    """Return the id after the highest that any file name of the workspace holds, broken files included."""
    taken = (_LEADING_ID.match(name) for name in _names(roots.lessons))
    return str(max([FIRST_WORKSPACE_ID - 1, *(int(match[1]) for match in taken if match)]) + 1)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise WorkspaceError(f"cannot read the lessons: {error.strerror}", where=str(folder)) from None


def _files(folder: Path, shelf: Shelf, suffix: str) -> Iterator[Path]:
    """Yield the files of the folder with this suffix; a link that leads out of it is reported instead."""
    for name in _names(folder):
        path = folder / name
        if not name.endswith(suffix) or name.startswith("."):
            continue
        if path.is_symlink() and not _stays_inside(path, folder):
            shelf.report(path, "a link that leads out of the lessons folder is not followed", "copy the file here")
        else:
            yield path


def _stays_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a link that leads to itself
        return False


def _shelve(path: Path, ids: range, shelf: Shelf) -> None:
    found = _lesson_of(path)
    if isinstance(found, str):
        shelf.report(path, found, "restore or delete it; kb never writes over it")
        return
    leading = _LEADING_ID.match(path.name)
    if not leading or leading[1] != found.id:
        shelf.report(path, f"the file name does not begin with its id {found.id}", f"name it {found.id}-TITLE.md")
    elif int(found.id) not in ids:
        shelf.report(path, f"id {found.id} is outside {ids.start:04d}-{ids.stop - 1}", "give it an id of this folder")
    elif found.id in shelf.stored:
        shelf.report(path, f"id {found.id} is taken by {shelf.stored[found.id].path.name}", "give it a free id")
    else:
        shelf.stored[found.id] = Stored(found, path)


def _lesson_of(path: Path) -> Lesson | str:
    try:
        state = path.stat()
    except OSError as error:
        return f"cannot read: {error.strerror}"
    if not stat.S_ISREG(state.st_mode):
        return "not a regular file"
    if state.st_size > MAX_FILE_BYTES:
        return f"larger than {MAX_FILE_BYTES} bytes"
    return _parsed(path, state.st_mtime_ns, state.st_size, state.st_ino)


@lru_cache(maxsize=4096)
def _parsed(path: Path, mtime_ns: int, size: int, inode: int) -> Lesson | str:
    """Return the lesson in a file, or what is wrong with it; the other arguments tell versions of the file apart."""
    try:
        return parse_lesson(path.read_bytes().decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start}"
    except OSError as error:
        return f"cannot read: {error.strerror}"
    except ContentError as error:
        line = (error.where or "").removeprefix(str(path))
        return f"line {line[1:]}: {error.message}" if line.startswith(":") else error.message


def _apply_retraction(path: Path, shelf: Shelf) -> None:
    """Mark the lesson retracted. A record that cannot be read still retracts: doubt must not restore a statement."""
    lesson_id = path.name.removesuffix(RETRACTION_SUFFIX)
    if lesson_id not in shelf.stored:
        shelf.report(path, "it retracts a lesson that is not here", "delete it, or restore the lesson")
        return
    try:
        record = load_yaml(path)
        reason, day = str(record["retracted_reason"]), str(record["retracted_on"])
    except (ContentError, KeyError, TypeError):
        shelf.report(path, "the retraction record is damaged; the lesson counts as retracted", "retract it again")
        reason, day = "the record that retracts it is damaged", None
    stored = shelf.stored[lesson_id]
    changed = {"status": "retracted", "retracted_reason": reason, "retracted_on": day}
    shelf.stored[lesson_id] = Stored(stored.lesson.model_copy(update=changed), stored.path)


def _report_unfinished(folder: Path, shelf: Shelf) -> None:
    """Report temporary files that a killed writer left; under the lock no living writer has one."""
    if not any(name.endswith(".tmp") for name in _names(folder)):
        return
    try:
        with locked(folder / LOCK_FILE, timeout_s=1.0):
            left = [name for name in _names(folder) if name.endswith(".tmp")]
    except WorkspaceError:  # read-only, or a writer at work: then they are not known to be left over
        left = [] if os.access(folder, os.W_OK) else _names(folder)
    for name in left:
        if name.endswith(".tmp"):
            shelf.report(folder / name, "left by a write that was cut off; no lesson is missing", "delete it")
