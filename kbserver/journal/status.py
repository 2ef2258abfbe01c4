"""Which status a lesson may have: granted from a table of evidence kinds, never asserted by its author.

docs/lessons.md prints this table. To let a new kind of evidence prove something, add a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kbserver.core.model import Record

ANY_ARCH = "any"


class Evidence(Record):
    """One evidence ref after it was looked up."""

    ref: str
    kind: str
    """A key of RULES."""
    title: str
    arch: list[str] | None = None
    """Targets that it speaks about; `any` for all of them, None when only its text says so."""
    locator: str | None = None
    url: str | None = None
    resolves: bool = True


@dataclass(frozen=True)
class Rule:
    """What one kind of evidence can do for a lesson's status."""

    what: str
    proves: bool
    """May grant `verified` and `refuted`."""
    needs_locator: bool = False
    """It proves only with a place in the document: without it nobody can look the statement up."""
    needs_arch: bool = False
    """It proves only when it says which target it is about."""
    statuses: tuple[str, ...] = ("verified", "refuted")
    """Which of them it may grant."""
    scope: str = ""
    """What the status then means, in words that follow "granted by"."""


RULES: dict[str, Rule] = {
    "build": Rule(
        "a build made here",
        proves=True,
        needs_arch=True,
        scope="a build shows registers, LDS, scratch and instructions, not speed",
    ),
    "run": Rule(
        "a run that passed here",
        proves=True,
        needs_arch=True,
        scope="a verification run shows that results are right on the shapes and seeds that it names, not speed",
    ),
    "failed_run": Rule(
        "a run that failed here",
        proves=True,
        needs_arch=True,
        statuses=("refuted",),
        scope="a failed run shows that the kernel's results are wrong on a shape and seed that it names",
    ),
    "profile_run": Rule(
        "a profile made here",
        proves=True,
        needs_arch=True,
        scope="a profile counts instructions and accesses, it measures no time",
    ),
    "undecided_run": Rule("a run without a verdict", proves=False),
    "vendor": Rule(
        "a vendor document, or a fact from one",
        proves=True,
        needs_locator=True,
        scope="as AMD documents it, not measured here",
    ),
    "measured": Rule(
        "a published measurement, or a fact from one",
        proves=True,
        needs_locator=True,
        scope="as its authors measured it, not measured here",
    ),
    "compiler": Rule(
        "a compiler's source or documentation, or a fact from it",
        proves=True,
        needs_locator=True,
        needs_arch=True,
        scope="as the compiler treats the target, not measured here",
    ),
    "derived": Rule("arithmetic on other facts", proves=False),
    "secondary": Rule("a document that repeats others", proves=False),
    "claimed": Rule("a claim without a source", proves=False),
    "document": Rule("a page of this knowledge base", proves=False),
    "none": Rule("a fact that was looked for and that nobody states", proves=False),
    "lesson": Rule("another lesson", proves=False),
    "kernel": Rule("a kernel, named for context", proves=False),
    "unresolved": Rule("a ref that does not resolve any more", proves=False),
}
# Statuses that an author may ask for, and whether each needs proof.
NEEDS_PROOF = {"verified": True, "refuted": True, "unverified": False}


class Grant(Record):
    """The status that the evidence allows, and why."""

    status: str
    reason: str
    proofs: list[str]
    """Refs of the evidence that proves."""


def grant(requested: str, evidence: Sequence[Evidence], arch: Sequence[str]) -> Grant:
    """Return the status that `evidence` allows for a lesson about `arch` (empty: about every target)."""
    if not NEEDS_PROOF[requested]:
        return Grant(status=requested, reason="no proof was asked for: the statement is kept as unverified", proofs=[])
    refusals, proofs = [], []
    for item in evidence:
        refusal = _why_not(item, requested)
        if refusal is None:
            proofs.append(item)
        else:
            refusals.append(f"{item.ref} {refusal}")
    open_archs = _not_covered(proofs, arch)
    if proofs and not open_archs:
        refs_of: dict[str, list[str]] = {}
        for item in proofs:
            refs_of.setdefault(RULES[item.kind].scope, []).append(item.ref)
        said = "; ".join(f"{' and '.join(refs)} ({scope})" for scope, refs in refs_of.items())
        return Grant(status=requested, reason=f"{requested}, granted by {said}", proofs=[item.ref for item in proofs])
    if open_archs and proofs:
        said = "; ".join(f"{item.ref} is about {', '.join(item.arch or ())}" for item in proofs)
        refusals.append(f"nothing that proves speaks about {', '.join(open_archs)} ({said})")
    return Grant(
        status="unverified",
        reason=f"{requested} was asked for and not granted: {'; '.join(refusals) or 'there is no evidence'}",
        proofs=[],
    )


def _why_not(item: Evidence, requested: str) -> str | None:
    """Return why this evidence proves nothing, or None when it may prove."""
    rule = RULES[item.kind]
    if not rule.proves:
        return f"is {rule.what}, which proves nothing by itself"
    if requested not in rule.statuses:
        return f"is {rule.what}, which can show a statement {' or '.join(rule.statuses)} only"
    if rule.needs_locator and not item.locator:
        return "names a whole document: add where in it, as `cite:ID, LOCATOR`"
    if rule.needs_arch and not item.arch:
        return "does not say which target it is about: name a build or a fact of the target"
    return None


def _not_covered(proofs: Sequence[Evidence], arch: Sequence[str]) -> list[str]:
    """Return the targets of the lesson that no proof speaks about."""
    covered: set[str] = set()
    for item in proofs:
        if item.arch is None or ANY_ARCH in item.arch:
            return []
        covered.update(item.arch)
    wanted = list(arch) or ["every target (the lesson names no arch)"]
    return [name for name in wanted if name not in covered]
