"""Passes and cycles of named matrix instructions: "v_mfma_f32_32x32x16_bf16 takes 8 passes, which is 32 cycles"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kbserver.claims.context import Context
from kbserver.claims.instructions import names_of
from kbserver.claims.model import CONTRADICTED, SUPPORTED, Finding
from kbserver.claims.quantities import Quantity
from kbserver.claims.scope import Scope
from kbserver.claims.sentences import Sentence
from kbserver.claims.stance import ASSERTED, stance
from kbserver.claims.world import World, fact_evidence
from kbserver.hardware.fact_model import Fact

KIND = "instruction"
Span = tuple[int, int, str]
_FIELDS = {"clk": "cycles", "pass": "passes"}
_VERBS = frozenset(("takes", "take", "needs", "need", "has", "costs", "is", "requires", "occupies", "executes", "runs"))
# What may stand between a name and its cost; anything else may make the number one of a loop, a wait or a measurement.
_GLUE = frozenset((
    *_VERBS, "in", "for", "exactly", "only", "about", "just", "a", "of", "=", ":", ",", "(", "which", "that", "so",
    "or", "i", "e", ".", "and", "on", "issue", "instruction", "the", "each", "ie", "still", "also", "alone",
    "therefore",
))  # fmt: skip
_OTHER = re.compile(
    r"\b(?:latency|wait\w*|nops?|apart|after|between|stall\w*|measured|observed|total|loop|iteration|back|every|idle|"
    r"dependen\w*|ahead|hazard\w*|per|until|before)\b"
)
_OPENERS = frozenset((
    ",", ";", ":", "(", "and", "so", "because", "since", "that", "while", "whereas", "but", "although", "here", "--",
    "-",
))  # fmt: skip
REACH = 12


def check(sentence: Sentence, world: World, scopes: Context) -> Iterator[Finding]:
    """Yield a finding for every number of passes or cycles that the sentence gives a matrix instruction."""
    if sentence.cells or not any(q.dim in _FIELDS for q in sentence.quantities):
        return
    spans = [(start, end, name) for start, end, name in names_of(sentence, world) if name.startswith("v_")]
    named = {place for one in scopes.names_in(sentence) for place in range(one.start, one.end)}
    costs = [q for q in sentence.quantities if q.dim in _FIELDS and not q.bound and q.low == q.high]
    for quantity in costs:
        own = _of_instruction(sentence, quantity, spans, costs, named)
        if own is None:
            continue
        if stance(sentence, own[0], quantity.end) == ASSERTED:
            scope = scopes.of(sentence, own[0], own[1])
            finding = _verdict(quantity, own[2], scope, world, own[0])
            if finding is not None:
                yield finding


def _of_instruction(
    sentence: Sentence, quantity: Quantity, spans: list[Span], costs: list[Quantity], named: set[int]
) -> Span | None:
    """Return the instruction that a number of cycles is said to be the cost of."""
    words = sentence.words
    before = next((span for span in spans if span[0] == quantity.end), None)
    if before is not None and "-" in quantity.text:
        return before  # "the 8-pass NAME"
    own = next((span for span in reversed(spans) if span[1] <= quantity.start), None)
    if own is None or quantity.start - own[1] > REACH:
        return None
    if words[own[1] : quantity.start] == ["("] and words[quantity.end : quantity.end + 1] in ([")"], [","]):
        return own  # "NAME (8 passes)"
    inside = {n for one in costs for n in range(one.start, one.end)} | named
    between = [words[n] for n in range(own[1], quantity.start) if n not in inside]
    after = " ".join(words[quantity.end : quantity.end + 3])
    if not _is_subject(words, own[0], named) or not _VERBS.intersection(between):
        return None
    return own if set(between) <= _GLUE and not _OTHER.search(after) else None


def _is_subject(words: Sequence[str], start: int, named: set[int]) -> bool:
    """True when the name is what takes the cycles, and not the loop with it, the wait behind it or two of them."""
    place = start - 1
    while place >= 0 and words[place] in ("the", "a", "an", "one", "each", "single", "dense", "every"):
        place -= 1
    return place < 0 or place in named or words[place] in _OPENERS


def _verdict(quantity: Quantity, name: str, scope: Scope, world: World, start: int) -> Finding | None:
    field = _FIELDS[quantity.dim]
    costs: list[tuple[float, Fact]] = []
    for arch in scope.archs or world.archs:
        for fact in world.facts_of_arch(f"mfma.{world.canonical(name, arch)}", arch):
            if isinstance(fact.value, Mapping) and isinstance(fact.value.get(field), int | float):
                costs.append((float(fact.value[field]), fact))  # type: ignore[arg-type]
    if scope.foreign or not costs or len({value for value, _ in costs}) > 1:
        return None
    value, fact = costs[0]
    right = quantity.high == value
    return Finding(
        KIND,
        SUPPORTED if right else CONTRADICTED,
        f"{name} takes {'' if right else 'not '}{quantity.text}",
        (fact_evidence(fact),),
        scope.shown,
        start,
        None if right else f"{value:g} {field}",
        (KIND, name, field, quantity.high, scope.archs),
    )
