"""Checked claims as text: what is wrong first, with the right value and who says so; what is right in one line each."""

from __future__ import annotations

from collections.abc import Iterator

from kbserver.claims.model import CONTRADICTED, SUPPORTED, UNKNOWN, UNSOURCED, Claim
from kbserver.ops.claims import CheckedClaims
from kbserver.render.document import Document
from kbserver.render.registry import renders

MAX_TEXT = 160
MAX_SUPPORTED = 40
MAX_OPEN = 60


@renders(CheckedClaims)
def _(result: CheckedClaims) -> Document:
    document = Document().say(_headline(result))
    groups = {verdict: [c for c in result.claims if c.verdict == verdict] for verdict in
              (CONTRADICTED, UNSOURCED, UNKNOWN, SUPPORTED)}  # fmt: skip
    for claim in groups[CONTRADICTED]:
        document.say("\n".join(_wrong(claim)))
    for verdict in (UNSOURCED, UNKNOWN):
        for claim in groups[verdict][:MAX_OPEN]:
            document.say(f"{verdict}, line {claim.line}: {claim.finding}{_scope(claim)}{_refs(claim)}")
        _more(document, verdict, len(groups[verdict]) - MAX_OPEN)
    right = groups[SUPPORTED]
    if right:
        document.say("supported:")
        for claim in right[:MAX_SUPPORTED]:
            document.say(f"  line {claim.line}: {claim.finding}{_scope(claim)}{_refs(claim)}")
        _more(document, SUPPORTED, len(right) - MAX_SUPPORTED)
    if result.truncated:
        document.say(f"{result.total - len(result.claims)} more claims are not listed: check the text in parts.")
    return document


def _headline(result: CheckedClaims) -> str:
    counts = result.summary
    told = f"{counts.contradicted} contradicted, {counts.unsourced} unsourced, {counts.unknown} unknown, "
    told += f"{counts.supported} supported of {result.total} claims in {result.sentences} sentences"
    about = result.product or result.arch
    return f"{told}. Target: {about or 'none'} ({result.decided_by})."


def _wrong(claim: Claim) -> Iterator[str]:
    text = claim.text if len(claim.text) <= MAX_TEXT else f"{claim.text[: MAX_TEXT - 3]}..."
    yield f"CONTRADICTED, line {claim.line}: {text}"
    yield f"  {claim.finding}{_scope(claim)}"
    if claim.correction:
        yield f"  right: {claim.correction}"
    for one in claim.evidence[:2]:
        source = f" <{one.source}>" if one.source else ""
        yield f"  by {one.ref}: {one.text}{source}"


def _scope(claim: Claim) -> str:
    about = claim.scope.product or claim.scope.arch
    return f" [{about}: {claim.scope.decided_by}]" if about else ""


def _refs(claim: Claim) -> str:
    refs = [one.ref for one in claim.evidence if one.ref not in ("text", "arithmetic")][:2]
    if refs and not (len(refs) == 1 and refs[0] in claim.finding):
        return f" ({', '.join(refs)})"
    return f" ({claim.evidence[0].text})" if not refs and claim.evidence else ""


def _more(document: Document, verdict: str, count: int) -> None:
    if count > 0:
        document.say(f"  {count} more {verdict} (all with --json)")
