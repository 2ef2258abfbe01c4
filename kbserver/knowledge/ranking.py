"""The order of hits: BM25 chooses candidates, what they say in one place and altogether orders them.

A sentence that holds most of the question answers it more often than a page over which the same words are strewn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kbserver.knowledge.storage import Row, Units

COVERAGE_POWER = 0.25
SENTENCE_WEIGHT = 1.0
"""A candidate's BM25 score is multiplied by coverage ** COVERAGE_POWER and by 1 + SENTENCE_WEIGHT * best sentence, both
shares of the query's weighted idf. Chosen on all questions of tests/retrieval but the held ones; the optimum is flat,
and of equal values these change BM25's order least."""
FEW_TERMS = 4
LED_WEIGHT = 0.3
"""A query of one or two words (FEW_TERMS with parts and concepts) names a subject: an entry whose title begins with it
explains it, one that mentions it on the way does not. On longer queries this changes nothing for the better."""
DEFINED_WEIGHT = 1.0
"""A query of one word asks what it means: a glossary's entry for it comes first."""
CANDIDATES = 40
PER_GROUP = 2


def reordered(
    candidates: Sequence[tuple[float, int]],
    weights: Mapping[int, float],
    units: Callable[[int], Units],
    rows: Sequence[Row],
    one_word: bool = False,
) -> list[tuple[float, int]]:
    """Return (score, entry) of the candidates, the best first. `weights`: weighted idf of each term by number.

    one_word: the query is a single word.
    """
    whole = sum(weights.values())
    asked = frozenset(weights)  # the intersection of two sets is computed in C
    ranked = []
    for score, entry in candidates:
        held = [asked & unit for unit in units(entry)]
        coverage = sum(weights[term] for term in set().union(*held)) / whole if whole else 0.0
        # The title counts as a sentence; what stands around (headings, tags, ref) is said by no one in one place.
        sentence = max((sum(weights[term] for term in unit) for unit in held[1:] if unit), default=0.0)
        share = sentence / whole if whole else 0.0
        led = len(asked) <= FEW_TERMS and not asked.isdisjoint(rows[entry].lead)
        weight = coverage**COVERAGE_POWER * (1 + SENTENCE_WEIGHT * share) * (1 + LED_WEIGHT * led)
        if one_word and led and rows[entry].defines:
            weight *= 1 + DEFINED_WEIGHT
        ranked.append((score * weight, entry))
    ranked.sort(key=lambda item: (-item[0], item[1]))
    return ranked


def spread(ranked: Sequence[tuple[float, int]], rows: Sequence[Row], limit: int) -> list[tuple[float, int]]:
    """Return `limit` entries in order, at most PER_GROUP of one group while other groups can fill the places."""
    taken: list[tuple[float, int]] = []
    left: list[tuple[float, int]] = []
    count: dict[str, int] = {}
    for item in ranked:
        row = rows[item[1]]
        group = row.group or row.ref
        count[group] = count.get(group, 0) + 1
        (taken if count[group] <= PER_GROUP else left).append(item)
        if len(taken) == limit:
            return taken
    filled = taken + left[: limit - len(taken)]
    filled.sort(key=lambda item: (-item[0], item[1]))
    return filled
