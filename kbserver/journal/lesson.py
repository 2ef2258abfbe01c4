"""One lesson: a Markdown file with YAML front matter, read strictly and written so that any text survives."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, ValidationError

from kbserver.core.errors import ContentError, UsageError
from kbserver.core.model import Record
from kbserver.core.yamlio import parse_yaml

STATUSES = ("verified", "refuted", "unverified", "retracted")

MAX_TITLE_CHARS = 200
MAX_BODY_BYTES = 20 * 1024
MAX_ITEMS = 20
MAX_ITEM_CHARS = 200
MAX_REASON_CHARS = 1000
# Title, body, four lists and the escapes of YAML fit well below this; a larger file is not one of ours.
MAX_FILE_BYTES = 128 * 1024

# C0 (tab and line feed stay), DEL and C1 control characters, lone surrogates: none can be shown safely.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# Legal in JSON strings, but a line break or unprintable to a YAML reader.
_YAML_ESCAPES = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_DAY = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
_ID = re.compile(r"^[0-9]{4,9}$")


class Lesson(Record):
    """A lesson as stored. `status` judges the statement in `title`; `note` keeps the nuance that one word loses."""

    id: str
    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE_CHARS)]
    status: str
    arch: list[str] = Field(default_factory=list)
    toolchain: str | None = None
    kernels: list[str] = Field(default_factory=list)
    evidence: list[str] = Field(default_factory=list)
    supersedes: str | None = None
    note: str | None = None
    retracted_reason: str | None = None
    retracted_on: str | None = None
    date: str
    author: str | None = None
    body: Annotated[str, Field(min_length=1)]

    @property
    def ref(self) -> str:
        return f"lesson:{self.id}"

    @property
    def marked_title(self) -> str:
        """The title with its status in front, so that a refuted statement is never read as a true one."""
        return f"[{self.status}] {' '.join(self.title.split())}"


def parse_lesson(text: str, where: str) -> Lesson:
    """Return the lesson in the text of a file. Raises ContentError saying what is wrong and where."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    opening = _FENCE.match(text)
    closing = _FENCE.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        what = "the front matter is not closed: the file was cut" if opening else "no front matter (a first line `---`)"
        raise ContentError(what if text.strip() else "the file is empty", where=where)
    # The opening line stays in front, so that lines of a YAML fault are lines of the file.
    front = parse_yaml("\n" + text[opening.end() + 1 : closing.start()], where)
    if not isinstance(front, dict):
        raise ContentError("the front matter is not a mapping", where=where)
    try:
        lesson = Lesson(**front, body=text[closing.end() + 1 :].strip("\n"))
    except (ValidationError, TypeError) as error:
        raise ContentError(_first_fault(error), where=where) from None
    _check_front(lesson, where)
    return lesson


def _check_front(lesson: Lesson, where: str) -> None:
    if not _ID.match(lesson.id):
        raise ContentError(f"id {lesson.id[:20]!r} is not four or more digits in quotes", where=where)
    if lesson.status not in STATUSES:
        raise ContentError(f"status {lesson.status[:20]!r} is none of {', '.join(STATUSES)}", where=where)
    if not _DAY.match(lesson.date):
        raise ContentError(f"date {lesson.date[:20]!r} is not YYYY-MM-DD", where=where)
    if lesson.status == "retracted" and not lesson.retracted_reason:
        raise ContentError("a retracted lesson needs retracted_reason", where=where)


def _first_fault(error: ValidationError | TypeError) -> str:
    if isinstance(error, TypeError):
        return f"the front matter is malformed: {error}"
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg'].lower()}"


def format_lesson(lesson: Lesson) -> str:
    """Return the text of the lesson's file; `parse_lesson` gives the same lesson back."""
    front = lesson.model_dump(exclude={"body"}, exclude_none=True)
    lines = [f"{key}: {yaml_scalar(value)}" for key, value in front.items()]
    return "\n".join(["---", *lines, "---", "", lesson.body, ""])


def yaml_scalar(value: str | Sequence[str]) -> str:
    """Return text as a double-quoted scalar: no word, sign or line of a user means anything to YAML in there."""
    if not isinstance(value, str):
        return "[" + ", ".join(yaml_scalar(item) for item in value) + "]"
    return _YAML_ESCAPES.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def lesson_text(lesson: Lesson, superseded_by: str | None = None) -> str:
    """Return the lesson as Markdown to read: the status and what it rests on stand before the body."""
    lines = [f"# {lesson.marked_title}", "", f"Status: {lesson.status}."]
    retracted = lesson.status == "retracted"
    if retracted:
        lines.append(f"RETRACTED on {lesson.retracted_on or 'an unknown day'}: {lesson.retracted_reason}")
    if lesson.note:
        lines.append(f"Note{' from before the retraction' if retracted else ''}: {lesson.note}")
    if superseded_by:
        lines.append(f"Superseded by lesson:{superseded_by}: read that one instead.")
    if lesson.supersedes:
        lines.append(f"Supersedes lesson:{lesson.supersedes}.")
    about = [f"Arch: {', '.join(lesson.arch) or 'not limited to one'}."]
    if lesson.toolchain:
        about.append(f"Toolchain: {lesson.toolchain}.")
    if lesson.kernels:
        about.append(f"Kernels: {', '.join(lesson.kernels)}.")
    by = f" by {lesson.author}" if lesson.author else ""
    lines += [" ".join([*about, f"Recorded {lesson.date}{by}."]), "", lesson.body, ""]
    lines += ["Evidence:", *(f"- {ref}" for ref in lesson.evidence)] if lesson.evidence else ["Evidence: none."]
    return "\n".join(lines)


def checked_text(name: str, value: Any, *, max_chars: int | None = None, max_bytes: int | None = None) -> str:
    """Return user text with CRLF as LF and no blank ends. Raises UsageError naming the argument."""
    if not isinstance(value, str):
        raise UsageError(f"{name} must be text", where=name)
    text = value.replace("\r\n", "\n")
    found = _FORBIDDEN.search(text)
    if found:
        raise UsageError(f"{name} holds the control character or surrogate U+{ord(found[0]):04X}", where=name)
    if not text.strip():
        raise UsageError(f"{name} is empty", where=name)
    if max_chars is not None and len(text) > max_chars:
        raise UsageError(f"{name} has {len(text)} characters, at most {max_chars} are kept", where=name)
    if max_bytes is not None and len(text.encode()) > max_bytes:
        raise UsageError(f"{name} has {len(text.encode())} bytes, at most {max_bytes} are kept", where=name)
    return text


def checked_items(name: str, values: Sequence[str] | None) -> list[str]:
    """Return a list of short texts without repeats, in order. Raises UsageError naming the argument."""
    items = [checked_text(name, value, max_chars=MAX_ITEM_CHARS).strip() for value in values or ()]
    if len(items) > MAX_ITEMS:
        raise UsageError(f"{name} has {len(items)} entries, at most {MAX_ITEMS} are kept", where=name)
    return list(dict.fromkeys(items))
