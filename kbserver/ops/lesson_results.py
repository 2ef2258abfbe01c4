"""What `record_lesson` returns, and how lessons and evidence become it."""

from __future__ import annotations

from pydantic import Field

from kbserver.claims.model import Claim
from kbserver.core.model import Record, Result
from kbserver.journal.files import Problem, Shelf, Stored
from kbserver.journal.lesson import Lesson
from kbserver.journal.lessons import superseded_by
from kbserver.journal.status import Evidence, Grant


class LessonEvidence(Record):
    """One evidence ref: what it is, whether it resolves, and whether the status rests on it."""

    ref: str
    kind: str
    title: str
    arch: list[str] | None = None
    url: str | None = None
    resolves: bool
    proves: bool


class LessonSummary(Record):
    """A lesson in a list."""

    lesson_id: str
    ref: str
    title: str
    status: str
    arch: list[str]
    kernels: list[str]
    date: str
    superseded_by: str | None = None
    shipped: bool


class SimilarLesson(Record):
    """A lesson whose words overlap with another; `score` is 0 to 1."""

    lesson_id: str
    ref: str
    title: str
    status: str
    score: float


class LessonResult(Result):
    """What `record_lesson` did or found; fields of other actions stay empty."""

    action: str
    lesson_id: str | None = None
    ref: str | None = None
    title: str | None = None
    status: str | None = None
    status_reason: str | None = None
    arch: list[str] = Field(default_factory=list)
    arch_decided_by: list[str] = Field(default_factory=list)
    text: str | None = None
    """The whole lesson as Markdown (show)."""
    evidence: list[LessonEvidence] = Field(default_factory=list)
    similar: list[SimilarLesson] = Field(default_factory=list)
    path: str | None = None
    written: bool = False
    duplicate: bool = False
    """True when the same lesson, or the same retraction, was there already and nothing was written."""
    lessons: list[LessonSummary] = Field(default_factory=list)
    total: int = 0
    """Lessons that matched (list); `lessons` holds at most 100 of them."""
    truncated: bool = False
    problems: list[Problem] = Field(default_factory=list)
    """Files of the lesson folders that could not be read as lessons."""
    claims: list[Claim] = Field(default_factory=list)
    """Statements of title and body that facts, tables or arithmetic contradict (add); line 0 is the title."""
    hint: str | None = None


def judged(evidence: list[Evidence], granted: Grant) -> list[LessonEvidence]:
    """Return the evidence with what it proved."""
    return [
        LessonEvidence(
            ref=item.ref,
            kind=item.kind,
            title=item.title,
            arch=item.arch,
            url=item.url,
            resolves=item.resolves,
            proves=item.ref in granted.proofs,
        )
        for item in evidence
    ]


def similarity(lesson: Lesson, score: float) -> SimilarLesson:
    """Return a lesson that was found to be close to another."""
    return SimilarLesson(lesson_id=lesson.id, ref=lesson.ref, title=lesson.title, status=lesson.status, score=score)


def summary(stored: Stored, on: Shelf) -> LessonSummary:
    """Return one line of the list of lessons."""
    lesson = stored.lesson
    return LessonSummary(
        lesson_id=lesson.id,
        ref=lesson.ref,
        title=lesson.title,
        status=lesson.status,
        arch=lesson.arch,
        kernels=lesson.kernels,
        date=lesson.date,
        superseded_by=superseded_by(lesson.id, on),
        shipped=stored.shipped,
    )
