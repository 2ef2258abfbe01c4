"""Lessons and the checker of claims: a lesson that states what is contradicted is kept, but never as verified."""

from __future__ import annotations

from kbserver.claims.model import CONTRADICTED, Claim
from kbserver.journal.lessons import Draft
from kbserver.journal.status import Grant

MAX_NAMED = 3


def contradicted_claims(draft: Draft, requested: str) -> list[Claim]:
    """Return the contradicted statements of a lesson, the title's with line 0.

    The title of a lesson that is to be refuted states the wrong claim on purpose: it is left out.
    """
    from kbserver.ops.claims import check  # imported here: listing and showing lessons need none of it

    given = (draft.arch[0], None, "the lesson's arch") if len(draft.arch) == 1 else None
    found = [claim for claim in check(draft.body, given).claims if claim.verdict == CONTRADICTED]
    if requested != "refuted":
        title = [claim for claim in check(draft.title, given).claims if claim.verdict == CONTRADICTED]
        found = [*(claim.model_copy(update={"line": 0}) for claim in title), *found]
    return found


def without_contradictions(granted: Grant, claims: list[Claim]) -> Grant:
    """Return the status that is left when a lesson states what is contradicted: anything but verified."""
    if granted.status != "verified" or not claims:
        return granted
    named = "; ".join(f"{_where(claim)}: {claim.finding}" for claim in claims[:MAX_NAMED])
    more = f"; {len(claims) - MAX_NAMED} more" if len(claims) > MAX_NAMED else ""
    return Grant(
        status="unverified",
        reason=f"verified was asked for and not granted: contradicted statements: {named}{more}"[:900],
        proofs=granted.proofs,
    )


def _where(claim: Claim) -> str:
    return f"line {claim.line}" if claim.line else "title"
