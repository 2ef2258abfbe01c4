"""A query in terms of the index: weighted tokens, targets that it names, repaired misspellings."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass

from kbserver.knowledge.tokens import Tokenizer

MAX_QUERY = 4000
MAX_TERMS = 64
PART_WEIGHT = 0.5
CONCEPT_WEIGHT = 0.5
FUZZY_WEIGHT = 0.7
MIN_FUZZY = 4
MAX_CANDIDATES = 400
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


@dataclass(frozen=True)
class Query:
    """terms: token to weight. archs: targets named by the query. repaired: misspelt word to the one taken for it."""

    terms: Mapping[str, float]
    archs: tuple[str, ...]
    repaired: Mapping[str, str]
    truncated: bool


def understand(text: str, tokenizer: Tokenizer, vocabulary: Collection[str], archs: Mapping[str, str]) -> Query:
    """Read a query. `archs` maps concept tokens (`=gfx950`) to gfx targets."""
    terms: dict[str, float] = {}
    named: dict[str, None] = {}
    repaired: dict[str, str] = {}
    for group in tokenizer.groups(text[:MAX_QUERY]):
        if len(terms) >= MAX_TERMS:
            break
        if group[0] in archs:
            named[archs[group[0]]] = None
        for token, weight in _weighted(group, vocabulary):
            terms[token] = max(weight, terms.get(token, 0.0))
        if not any(token in vocabulary for token in group) and not group[0].startswith("="):
            near = nearest(group[0], vocabulary)
            if near:
                repaired[group[0]] = near
                terms[near] = max(FUZZY_WEIGHT, terms.get(near, 0.0))
    return Query(terms, tuple(named), repaired, len(text) > MAX_QUERY or len(terms) >= MAX_TERMS)


def _weighted(group: tuple[str, ...], vocabulary: Container[str]) -> Iterator[tuple[str, float]]:
    whole, *parts = group
    if whole.startswith("="):
        yield whole, CONCEPT_WEIGHT
        return
    yield whole, 1.0
    # Parts count in full when nothing holds the word as a whole: they are all that is left of it.
    weight = PART_WEIGHT if whole in vocabulary else 1.0
    for part in parts:
        yield part, weight


def nearest(word: str, vocabulary: Collection[str]) -> str | None:
    """Return the word of the vocabulary that `word` most likely misspells, or None. Bounded work."""
    if len(word) < MIN_FUZZY or len(word) > 40 or word.isdigit():
        return None
    for variant in _one_edit(word):
        if variant in vocabulary:
            return variant
    if len(word) < 7:
        return None
    candidates = []
    for known in vocabulary:
        if known[:2] == word[:2] and abs(len(known) - len(word)) <= 2:
            candidates.append(known)
            if len(candidates) == MAX_CANDIDATES:
                break
    near = difflib.get_close_matches(word, candidates, n=1, cutoff=0.8)
    return near[0] if near else None


def _one_edit(word: str) -> Iterator[str]:
    """Yield what one swap, missing, extra or wrong letter makes of `word`; the first letter is seldom the wrong one."""
    for i in range(len(word) - 1, 0, -1):
        yield word[: i - 1] + word[i] + word[i - 1] + word[i + 1 :]
        yield word[:i] + word[i + 1 :]
    for i in range(len(word), 0, -1):
        for letter in _LETTERS:
            yield word[:i] + letter + word[i:]
    for i in range(len(word) - 1, 0, -1):
        for letter in _LETTERS:
            yield word[:i] + letter + word[i + 1 :]
