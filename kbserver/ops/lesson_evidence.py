"""Evidence refs of lessons: each scheme of ref has one function that looks it up; what does not resolve is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kbserver.core.errors import KbError, UnresolvedRef
from kbserver.core.sources import cite
from kbserver.journal.lessons import CITE_REF, find_lesson
from kbserver.journal.status import Evidence

FORMS = (
    "run:ID, build:ID, fact:ID, cite:SOURCE_ID, LOCATOR (a place in a document of gpu_arch/facts/sources.yaml), "
    "gpu_arch/FILE.md#SECTION, lesson:ID, kernel:NAME"
)


def resolve_evidence(refs: Iterable[str]) -> list[Evidence]:
    """Return the evidence behind the refs. Raises UnresolvedRef that names every ref that does not resolve, and why."""
    found, missing = [], []
    for ref in refs:
        try:
            found.append(look_up(ref))
        except KbError as error:
            missing.append({"ref": ref, "reason": error.message, "hint": error.hint})
    if missing:
        raise UnresolvedRef(
            f"{len(missing)} of {len(missing) + len(found)} evidence refs do not resolve: "
            + "; ".join(f"{item['ref'][:80]} ({item['reason']})" for item in missing),
            where="evidence",
            hint=next((item["hint"] for item in missing if item["hint"]), None) or f"refs look like {FORMS}",
            details={"unresolved": missing},
        )
    return found


def evidence_now(refs: Iterable[str]) -> list[Evidence]:
    """Return the evidence behind stored refs; one that no longer resolves is kept and says so."""
    found = []
    for ref in refs:
        try:
            found.append(look_up(ref))
        except KbError as error:
            found.append(Evidence(ref=ref, kind="unresolved", title=error.message, resolves=False))
    return found


def look_up(ref: str) -> Evidence:
    """Return what one ref names. Raises UnresolvedRef or UnknownName."""
    scheme = ref.partition(":")[0]
    if scheme in SCHEMES:
        return SCHEMES[scheme](ref)
    if ref.partition("#")[0].endswith(".md") and "://" not in ref:
        return _page(ref)
    raise UnresolvedRef("not an evidence ref", where=ref, hint=f"refs look like {FORMS}")


def _citation(ref: str) -> Evidence:
    match = CITE_REF.match(ref)
    if not match:
        raise UnresolvedRef("expected cite:SOURCE_ID, LOCATOR", where=ref)
    source = cite(match["id"], match["locator"], where=ref)
    return Evidence(ref=ref, kind=source.kind or "claimed", title=source.title, locator=source.locator, url=source.url)


def _fact(ref: str) -> Evidence:
    from kbserver.hardware.facts import load_facts  # imported here: it reads the whole fact table

    facts = load_facts()
    fact = facts.get(ref.removeprefix("fact:"))
    title = f"{fact.name}: {facts.rendered(fact.id)}"
    return Evidence(ref=ref, kind=fact.evidence, title=title, arch=[fact.arch], locator=fact.id)


def _build(ref: str) -> Evidence:
    from kbserver.toolchain.build import load_build

    build = load_build(ref.removeprefix("build:"))
    title = f"{build.source} for {build.arch}, {build.compiler_version} ({build.compiler_kind})"
    return Evidence(ref=ref, kind="build", title=title, arch=[build.arch], locator=build.build_id)


def _run(ref: str) -> Evidence:
    from kbserver.ops.run_text import run_title
    from kbserver.runs.records import load_run

    record = load_run(ref.removeprefix("run:"))
    result = record["result"]
    kind = "profile_run" if record["kind"] == "profile" else RUN_KINDS.get(result.get("verdict"), "undecided_run")
    title = f"{run_title(record)}, {result['device']}"
    return Evidence(ref=ref, kind=kind, title=title, arch=[result["arch"]], locator=record["created"])


def _lesson(ref: str) -> Evidence:
    lesson = find_lesson(ref).lesson
    return Evidence(ref=ref, kind="lesson", title=lesson.marked_title, arch=lesson.arch)


def _page(ref: str) -> Evidence:
    from kbserver.ops.passages import open_ref  # imported here: it loads the documents

    return Evidence(ref=ref, kind="document", title=open_ref(ref).title)


def _kernel(ref: str) -> Evidence:
    from kbserver.runs.task import find_kernel  # imported here: it reads every task

    task, variant = find_kernel(ref.removeprefix("kernel:"))
    return Evidence(ref=ref, kind="kernel", title=f"{variant.name} of the task {task.name}")


RUN_KINDS = {"PASS": "run", "FAIL": "failed_run"}
SCHEMES: dict[str, Callable[[str], Evidence]] = {
    "build": _build,
    "cite": _citation,
    "fact": _fact,
    "kernel": _kernel,
    "lesson": _lesson,
    "run": _run,
}
