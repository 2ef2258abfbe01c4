"""Hardware facts as text: one compact block a fact, with its sources and those who say otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from kbserver.core.model import SourceRef
from kbserver.ops.facts import FactAnswer, HardwareFacts
from kbserver.render.document import Document
from kbserver.render.registry import renders

MAX_SOURCES = 3


@renders(HardwareFacts)
def _(result: HardwareFacts) -> Document:
    document = Document()
    scope = result.product or result.arch or "all targets"
    document.say(f"{scope} ({result.decided_by}); {result.total} fact{'s' if result.total != 1 else ''}")
    for fact in result.facts:
        document.say(_block(fact))
    if result.truncated:
        document.say(f"{result.total - len(result.facts)} more not shown: name a target or ask more narrowly.")
    return document


def _block(fact: FactAnswer) -> str:
    holder = fact.product or ("any target" if fact.arch == "any" else fact.arch)
    evidence = "nobody says" if fact.evidence == "none" else fact.evidence
    lines = [f"{fact.name}, {holder}: {fact.shown} [{evidence}] fact:{fact.id}"]
    if fact.note:
        lines.append(f"  note: {fact.note}")
    if fact.formula:
        lines.append(f"  formula: {fact.formula}")
    if fact.sources:
        lines.append(f"  source: {_cited(fact.sources)}")
    lines += [f"  contested: {one.shown} says {_cited(one.sources)}. Not taken: {one.reason}" for one in fact.conflicts]
    return "\n".join(lines)


def _cited(sources: Sequence[SourceRef]) -> str:
    shown = [f"{one.title} ({one.locator})" if one.locator else one.title for one in sources[:MAX_SOURCES]]
    if len(sources) > MAX_SOURCES:
        shown.append(f"{len(sources) - MAX_SOURCES} more")
    return "; ".join(shown)
