"""Text of `record_lesson`: the status stands before every title, and what it rests on beside every evidence ref."""

from __future__ import annotations

from kbserver.ops.lesson_results import LessonEvidence, LessonResult
from kbserver.render.document import Document
from kbserver.render.registry import renders


@renders(LessonResult)
def _(result: LessonResult) -> Document:
    document = Document()
    if result.action == "list":
        _say_list(result, document)
    elif result.text:
        document.say(result.text)
        if result.status_reason and result.status_reason not in result.text:
            document.say(f"Why this status: {result.status_reason}")
        # The text lists the evidence; only what cannot be found any more needs more words.
        _say_evidence([item for item in result.evidence if not item.resolves], document)
        document.say(f"File: {result.path}")
    else:
        _say_outcome(result, document)
    document.table(
        ("contradicted", "what is wrong", "right"),
        [
            (f"line {claim.line}" if claim.line else "title", claim.finding, claim.correction or "see --json")
            for claim in result.claims
        ],
    )
    document.table(
        ("file that is no lesson", "why", "what to do"),
        [(problem.path, problem.message, problem.hint) for problem in result.problems],
    )
    if result.hint:
        document.say(f"Note: {result.hint}")
    return document


def _say_list(result: LessonResult, document: Document) -> None:
    about = f" about {', '.join(result.arch)}" if result.arch else ""
    document.say(f"{result.total} lesson{'' if result.total == 1 else 's'}{about}{_decided(result)}")
    document.table(
        ("lesson", "status", "arch", "statement"),
        [
            (
                item.ref,
                item.status,
                ", ".join(item.arch) or "any",
                _one_line(item.title) + (f" (superseded by lesson:{item.superseded_by})" if item.superseded_by else ""),
            )
            for item in result.lessons
        ],
    )


def _say_outcome(result: LessonResult, document: Document) -> None:
    done = "retracted" if result.action == "retract" else "recorded"
    verb = f"already {done}" if result.duplicate else done if result.written else "not written (dry run)"
    arch = f"; arch {', '.join(result.arch)}{_decided(result)}" if result.arch else ""
    name = result.ref or "lesson"
    document.say(f"{name} {verb}: [{result.status}] {_one_line(result.title or '')}{arch}")
    document.say(f"Why this status: {result.status_reason}")
    _say_evidence(result.evidence, document)
    document.table(
        ("similar lesson", "status", "overlap", "statement"),
        [(item.ref, item.status, f"{item.score:.2f}", _one_line(item.title)) for item in result.similar],
    )
    if result.path:
        document.say(f"File: {result.path}")


def _say_evidence(evidence: list[LessonEvidence], document: Document) -> None:
    document.table(
        ("evidence", "kind", "proves", "what it is"),
        [
            (item.ref, item.kind, item.proves, _one_line(item.title) + (f" <{item.url}>" if item.url else ""))
            for item in evidence
        ],
    )


def _decided(result: LessonResult) -> str:
    """Name how product names became targets; a target that was given as such needs no words."""
    named = [how for how in result.arch_decided_by if how != "given"]
    return f" ({'; '.join(named)})" if named else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
