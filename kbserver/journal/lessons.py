"""The lessons of both folders: all of them, one of them, a new one, a retraction.

Shipped lessons stand in `lessons/` of the content root and are changed by editing the repository only. What users add
goes to `lessons/` of the workspace. Any number of threads and processes may write: each takes the same file lock.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from kbserver.core.errors import ContentError, UnknownName, WorkspaceError
from kbserver.core.model import Record, SourceRef
from kbserver.core.paths import Roots, current_roots
from kbserver.core.sources import cite
from kbserver.core.store import locked, write_atomic
from kbserver.journal.files import LOCK_FILE, RETRACTION_SUFFIX, Shelf, Stored, load_shelf, next_free_id
from kbserver.journal.lesson import (
    MAX_BODY_BYTES,
    MAX_REASON_CHARS,
    MAX_TITLE_CHARS,
    Lesson,
    checked_items,
    checked_text,
    format_lesson,
    lesson_text,
    yaml_scalar,
)

MAX_SLUG_CHARS = 50
_REF_PREFIX = "lesson:"
CITE_REF = re.compile(r"^cite:(?P<id>[^,\s]+)(?:\s*,\s*(?P<locator>.+))?$", re.DOTALL)


class LessonEntry(Record):
    """A lesson as search and `read` show it; its title carries the status, which no snippet can then lose."""

    ref: str
    title: str
    text: str
    arch: list[str]
    tags: list[str]
    sources: list[SourceRef]


def all_lessons() -> list[LessonEntry]:
    """Return every readable lesson, shipped and the workspace's, by id, retractions applied."""
    on = shelf()
    return [entry(lesson, on) for lesson in on.lessons]


def entry(lesson: Lesson, on: Shelf) -> LessonEntry:
    """Return the readable form of a lesson; `on` is the shelf that newer lessons stand on."""
    return LessonEntry(
        ref=lesson.ref,
        title=lesson.marked_title,
        text=lesson_text(lesson, superseded_by(lesson.id, on)),
        arch=lesson.arch,
        tags=[lesson.status, *lesson.kernels],
        sources=[source for source in map(_cited, lesson.evidence) if source],
    )


def _cited(ref: str) -> SourceRef | None:
    """Return the source of a `cite:` ref; other evidence is named in the text."""
    found = CITE_REF.match(ref)
    if not found:
        return None
    try:
        return cite(found["id"], found["locator"])
    except UnknownName:
        return SourceRef(id=found["id"], title="a source that is not listed here", locator=found["locator"])


def shelf() -> Shelf:
    """Return the lessons with their files and the problems of the folders."""
    return load_shelf(current_roots())


def normalised_id(text: str) -> str:
    """Return `7`, `0007` or `lesson:0007` as `0007`. Raises UnknownName for anything else."""
    digits = text.strip().removeprefix(_REF_PREFIX)
    if not re.fullmatch(r"[0-9]{1,9}", digits):
        raise UnknownName("lesson", text, shelf().stored)
    return f"{int(digits):04d}"


def find_lesson(text: str, on: Shelf | None = None) -> Stored:
    """Return the lesson of an id or ref. Raises UnknownName with near ids, ContentError when its file is broken."""
    on = on or shelf()
    lesson_id = normalised_id(text)
    if lesson_id in on.stored:
        return on.stored[lesson_id]
    for problem in on.problems:
        if Path(problem.path).name.startswith((f"{lesson_id}-", f"{lesson_id}.md")):
            raise ContentError(problem.message, where=problem.path, hint=problem.hint)
    raise UnknownName("lesson", text, on.stored)


def superseded_by(lesson_id: str, on: Shelf) -> str | None:
    """Return the id of the newest lesson that supersedes this one and is not retracted."""
    newer = [item.id for item in on.lessons if item.supersedes == lesson_id and item.status != "retracted"]
    return newer[-1] if newer else None


@dataclass(frozen=True)
class Draft:
    """A lesson before it has an id and a status. Building it checks every limit and raises UsageError."""

    title: str
    body: str
    arch: list[str]
    kernels: list[str]
    evidence: list[str]
    toolchain: str | None = None
    supersedes: str | None = None

    def __post_init__(self) -> None:
        clean = {
            "title": checked_text("title", self.title, max_chars=MAX_TITLE_CHARS),
            "body": checked_text("body", self.body, max_bytes=MAX_BODY_BYTES).strip("\n"),
            "toolchain": checked_text("toolchain", self.toolchain, max_chars=MAX_TITLE_CHARS)
            if self.toolchain
            else None,
            **{name: checked_items(name, getattr(self, name)) for name in ("arch", "kernels", "evidence")},
        }
        for name, value in clean.items():
            object.__setattr__(self, name, value)


def add_lesson(draft: Draft, status: str, note: str | None, *, day: str | None = None) -> tuple[Stored, bool]:
    """Keep the lesson under the next free id and return (stored, False), or the one that says the same and True."""
    roots = current_roots()

    def write(on: Shelf) -> tuple[Stored, bool]:
        same = next((s for s in on.stored.values() if _says_the_same(s.lesson, draft)), None)
        if same:
            return same, True
        lesson = Lesson(
            id=next_free_id(roots),
            title=draft.title,
            status=status,
            arch=draft.arch,
            toolchain=draft.toolchain,
            kernels=draft.kernels,
            evidence=draft.evidence,
            supersedes=draft.supersedes and find_lesson(draft.supersedes, on).lesson.id,
            note=note,
            date=day or _today(),
            body=draft.body,
        )
        path = roots.lessons / f"{lesson.id}{_slug(lesson.title)}.md"
        write_atomic(path, format_lesson(lesson))
        return Stored(lesson, path), False

    return _under_lock(roots, write)


def retract_lesson(lesson_id: str, reason: str, *, day: str | None = None) -> tuple[Stored, bool]:
    """Mark a lesson retracted, keeping its text; returns (stored, whether it was retracted before).

    A shipped lesson gets a record in the workspace, since the content root may be read-only and is not ours to edit.
    """
    reason = checked_text("reason", reason, max_chars=MAX_REASON_CHARS)
    roots = current_roots()

    def write(on: Shelf) -> tuple[Stored, bool]:
        stored = find_lesson(lesson_id, on)
        if stored.lesson.status == "retracted":
            return stored, True
        changed = {"status": "retracted", "retracted_reason": reason, "retracted_on": day or _today()}
        lesson = stored.lesson.model_copy(update=changed)
        if stored.shipped:
            record = {"id": lesson.id, **{key: changed[key] for key in ("retracted_reason", "retracted_on")}}
            text = "".join(f"{key}: {yaml_scalar(value)}\n" for key, value in record.items())
            write_atomic(roots.lessons / f"{lesson.id}{RETRACTION_SUFFIX}", text)
        else:
            write_atomic(stored.path, format_lesson(lesson))
        return Stored(lesson, stored.path), False

    return _under_lock(roots, write)


def _under_lock(roots: Roots, write: Callable[[Shelf], tuple[Stored, bool]]) -> tuple[Stored, bool]:
    """Run `write` on the folders as they are under the lock, so that ids and repeats are decided once."""
    try:
        roots.lessons.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(
            f"cannot write lessons: {error.strerror}", where=str(roots.lessons), hint="choose a writable --workspace"
        ) from None
    with locked(roots.lessons / LOCK_FILE):
        # Unfinished files are looked for under the same lock elsewhere; here they do not matter.
        return write(load_shelf(roots, report_unfinished=False))


def _says_the_same(lesson: Lesson, draft: Draft) -> bool:
    """True for the same title and body about the same targets; a retracted lesson may be stated anew."""
    return (
        lesson.status != "retracted"
        and lesson.title == draft.title
        and lesson.body == draft.body
        and set(lesson.arch) == set(draft.arch)
    )


def _slug(title: str) -> str:
    """Return `-` and the ASCII words of a title for its file name, or nothing when it has none."""
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = ""
    for word in re.findall(r"[a-z0-9]+", ascii_title):
        if len(slug) + len(word) >= MAX_SLUG_CHARS:
            break
        slug += f"-{word}"
    return slug


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
