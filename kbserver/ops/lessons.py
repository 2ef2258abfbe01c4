"""The operation `record_lesson`: add, list, show and retract what was learned, with the evidence that it rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from kbserver.core.errors import UsageError
from kbserver.core.targets import targets
from kbserver.journal import lessons as journal
from kbserver.journal.files import Stored
from kbserver.journal.lesson import STATUSES, Lesson
from kbserver.journal.similar import similar_lessons
from kbserver.journal.status import NEEDS_PROOF, Evidence, Grant, grant
from kbserver.ops.lesson_claims import contradicted_claims, without_contradictions
from kbserver.ops.lesson_evidence import FORMS, evidence_now, resolve_evidence
from kbserver.ops.lesson_results import LessonResult, judged, similarity, summary
from kbserver.ops.registry import Arg, operation

MAX_LISTED = 100
MAX_PROBLEMS = 20


@dataclass(frozen=True)
class _Request:
    """The arguments of one call."""

    lesson_id: str | None
    title: str | None
    body: str | None
    arch: list[str]
    arch_decided_by: list[str]
    kernels: list[str]
    toolchain: str | None
    evidence: list[str]
    status: str | None
    supersedes: str | None
    reason: str | None
    dry_run: bool


@operation(
    name="record_lesson",
    command="lesson",
    title="Record, list, show or retract a lesson",
    toolset="journal",
    read_only=False,
)
def record_lesson(
    action: Annotated[
        str, Arg("What to do: add, list, show or retract.", positional=True, choices=("add", "list", "show", "retract"))
    ],
    lesson_id: Annotated[str | None, Arg("Lesson to show or retract, as 0007.", positional=True)] = None,
    title: Annotated[str | None, Arg("The statement, as one sentence (add).")] = None,
    body: Annotated[
        str | None,
        Arg(
            "Markdown: what was believed, what was found, how we know, when it applies, what to do (add).",
            stdin_argument="body",
        ),
    ] = None,
    arch: Annotated[list[str] | None, Arg("Target it is about, as gfx950 or MI355X; repeat for more.")] = None,
    kernels: Annotated[
        list[str] | None, Arg("Kernel it is about; repeat for more.", flags=("--kernel", "--kernels"))
    ] = None,
    toolchain: Annotated[str | None, Arg("Compiler and version it was seen with (add).")] = None,
    evidence: Annotated[
        list[str] | None, Arg("Ref that shows it: build:ID, fact:ID, 'cite:SOURCE, where in it'; repeat for more.")
    ] = None,
    status: Annotated[
        str | None, Arg("Status asked for (add: verified, refuted, unverified) or to list.", choices=STATUSES)
    ] = None,
    supersedes: Annotated[str | None, Arg("Lesson that this one replaces, as 0007 (add).")] = None,
    reason: Annotated[str | None, Arg("Why the lesson is withdrawn (retract).")] = None,
    dry_run: Annotated[bool, Arg("Show the status and similar lessons that adding would give; write nothing.")] = False,
) -> LessonResult:
    """Record what was learned about a kernel or chip so that search finds it again. action=add takes title, body, arch
    and evidence refs (build:ID, fact:ID, "cite:SOURCE_ID, LOCATOR"); status verified or refuted is granted only when
    the evidence resolves, proves it and matches the arch, and verified only when no statement is contradicted; else the
    lesson is kept as unverified and the answer says why. Similar lessons come back: look at them, or add with dry_run
    first. action=list filters by arch, kernels and status; show and retract take lesson_id (retract also reason).

    Adding the same title and body again returns the existing id and writes nothing.
    """
    names, decided_by = _targets(arch)
    request = _Request(
        lesson_id=lesson_id,
        title=title,
        body=body,
        arch=names,
        arch_decided_by=decided_by,
        kernels=_split(kernels),
        toolchain=toolchain,
        evidence=list(evidence or ()),
        status=status,
        supersedes=supersedes,
        reason=reason,
        dry_run=dry_run,
    )
    _check_arguments(action, request)
    return _ACTIONS[action].run(request)


def _split(values: list[str] | None) -> list[str]:
    """Return names given singly or separated by commas, as one list."""
    return [name.strip() for value in values or () for name in value.split(",") if name.strip()]


def _targets(arch: list[str] | None) -> tuple[list[str], list[str]]:
    resolved = [targets().resolve(name) for name in _split(arch)]
    return list(dict.fromkeys(name for name, _ in resolved)), [how for _, how in resolved]


def _check_arguments(action: str, request: _Request) -> None:
    """Refuse what the action needs and lacks, and what it would silently ignore."""
    spec = _ACTIONS[action]
    given = {name for name in vars(request) if getattr(request, name) and name != "arch_decided_by"}
    missing = [name for name in spec.needs if name not in given]
    if missing:
        raise UsageError(f"{action} needs {' and '.join(missing)}", where=missing[0], hint=spec.example)
    extra = sorted(given - {*spec.needs, *spec.takes})
    if extra:
        raise UsageError(f"{action} does not take {', '.join(extra)}", where=extra[0], hint=spec.example)


def _add(request: _Request) -> LessonResult:
    requested = _requested_status(request)
    draft = journal.Draft(
        title=request.title,
        body=request.body,
        arch=request.arch,
        kernels=request.kernels,
        evidence=request.evidence,
        toolchain=request.toolchain,
        supersedes=request.supersedes,
    )
    evidence = resolve_evidence(draft.evidence)
    if draft.supersedes:
        journal.find_lesson(draft.supersedes)  # an id that nothing has is refused before anything is written
    claims = contradicted_claims(draft, requested)
    granted = without_contradictions(grant(requested, evidence, draft.arch), claims)
    on = journal.shelf()
    similar = similar_lessons(draft.title, draft.body, on.lessons)
    common = {"action": "add", "arch": draft.arch, "arch_decided_by": request.arch_decided_by, "claims": claims}
    if request.dry_run:
        return LessonResult(
            **common,
            title=draft.title,
            status=granted.status,
            status_reason=granted.reason,
            evidence=judged(evidence, granted),
            similar=[similarity(*pair) for pair in similar],
            hint="nothing was written; leave dry_run out to keep it",
        )
    # A status that was asked for carries its reason into the file; a plain unverified lesson has nothing to explain.
    stored, duplicate = journal.add_lesson(draft, granted.status, granted.reason if NEEDS_PROOF[requested] else None)
    return _described(
        stored,
        evidence=evidence,
        **common,
        similar=[similarity(*pair) for pair in similar if pair[0].id != stored.lesson.id],
        written=not duplicate,
        duplicate=duplicate,
        hint=_after_adding(stored.lesson, evidence, duplicate, bool(claims)),
    )


def _requested_status(request: _Request) -> str:
    requested = request.status or "unverified"
    if requested not in NEEDS_PROOF:
        raise UsageError(f"a lesson cannot be added as {requested}", where="status", hint="add it, then retract it")
    if NEEDS_PROOF[requested] and not request.evidence:
        raise UsageError(
            f"status {requested} needs evidence", where="evidence", hint=f"give refs: {FORMS}; or add it as unverified"
        )
    return requested


def _after_adding(lesson: Lesson, evidence: list[Evidence], duplicate: bool, contradicted: bool) -> str | None:
    """Say what the author could do next for the lesson."""
    if duplicate:
        return f"{lesson.ref} says the same; nothing was written"
    if contradicted:
        return "it states what is contradicted: correct it and add it again, or add it as refuted if that is the point"
    if lesson.status != "unverified":
        return None
    if not evidence:
        return "no evidence yet: a build, a fact or a citation with its place would let it be verified or refuted"
    if grant("verified", evidence, lesson.arch).status == "verified":
        return "its evidence would allow status verified or refuted: ask for it when adding"
    return None


def _list(request: _Request) -> LessonResult:
    on = journal.shelf()
    matching = [stored for stored in on.stored.values() if _matches(stored.lesson, request)]
    shown = matching[-MAX_LISTED:]
    return LessonResult(
        action="list",
        arch=request.arch,
        arch_decided_by=request.arch_decided_by,
        lessons=[summary(stored, on) for stored in shown],
        total=len(matching),
        truncated=len(shown) < len(matching),
        problems=on.problems[:MAX_PROBLEMS],
        hint=_list_hint(len(matching), len(shown), len(on.problems)),
    )


def _list_hint(total: int, shown: int, problems: int) -> str | None:
    hints = []
    if shown < total:
        hints.append(f"the newest {shown} of {total} are shown: narrow by arch, kernel or status, or search")
    if problems > MAX_PROBLEMS:
        hints.append(f"{MAX_PROBLEMS} of {problems} problem files are named")
    if not total:
        hints.append("no lesson matches")
    return "; ".join(hints) or None


def _matches(lesson: Lesson, request: _Request) -> bool:
    """True when the lesson meets every filter; one that names no arch is about all of them."""
    return (
        (not request.arch or not lesson.arch or bool(set(request.arch) & set(lesson.arch)))
        and (not request.kernels or bool(set(request.kernels) & set(lesson.kernels)))
        and (request.status is None or lesson.status == request.status)
    )


def _show(request: _Request) -> LessonResult:
    on = journal.shelf()
    stored = journal.find_lesson(request.lesson_id, on)
    lesson = stored.lesson
    return _described(
        stored,
        evidence=evidence_now(lesson.evidence),
        action="show",
        arch=lesson.arch,
        text=journal.entry(lesson, on).text,
        problems=[problem for problem in on.problems if problem.path.startswith(str(stored.path.parent / lesson.id))],
    )


def _retract(request: _Request) -> LessonResult:
    stored, before = journal.retract_lesson(request.lesson_id, request.reason)
    hint = None
    if before:
        hint = f"it was retracted on {stored.lesson.retracted_on}: {stored.lesson.retracted_reason}"
    elif stored.shipped:
        hint = "the shipped file is unchanged; the workspace holds the retraction"
    return _described(
        stored,
        evidence=evidence_now(stored.lesson.evidence),
        action="retract",
        arch=stored.lesson.arch,
        written=not before,
        duplicate=before,
        hint=hint,
    )


def _described(stored: Stored, *, evidence: list[Evidence], **rest: Any) -> LessonResult:
    lesson = stored.lesson
    granted = _standing(lesson, evidence)
    return LessonResult(
        lesson_id=lesson.id,
        ref=lesson.ref,
        title=lesson.title,
        status=lesson.status,
        status_reason=granted.reason,
        evidence=judged(evidence, granted),
        path=str(stored.path),
        **rest,
    )


def _standing(lesson: Lesson, evidence: list[Evidence]) -> Grant:
    """Return what the lesson's status rests on today: evidence can vanish, and files can be edited by hand."""
    if lesson.status == "retracted":
        return Grant(status="retracted", reason=f"retracted: {lesson.retracted_reason}", proofs=[])
    granted = grant(lesson.status, evidence, lesson.arch)
    if granted.status != lesson.status:
        return granted.model_copy(update={"reason": f"the file says {lesson.status}; {granted.reason}"})
    if lesson.status == "unverified" and lesson.note:
        return granted.model_copy(update={"reason": lesson.note})
    return granted


@dataclass(frozen=True)
class _Action:
    """One action: what runs, which arguments it needs and takes, and an example for who got it wrong."""

    run: Callable[[_Request], LessonResult]
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    example: str


_ACTIONS: dict[str, _Action] = {
    "add": _Action(
        _add,
        ("title", "body"),
        ("arch", "kernels", "toolchain", "evidence", "status", "supersedes", "dry_run"),
        "kb lesson add --title TEXT --body TEXT --arch gfx950 --evidence fact:gfx950.lds.bytes_per_cu",
    ),
    "list": _Action(_list, (), ("arch", "kernels", "status"), "kb lesson list --arch gfx950"),
    "show": _Action(_show, ("lesson_id",), (), "kb lesson show 0001"),
    "retract": _Action(_retract, ("lesson_id", "reason"), (), "kb lesson retract 1001 --reason TEXT"),
}
