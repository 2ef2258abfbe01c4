"""A query in terms of the index: weighted tokens, targets that it names, repaired misspellings."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from kbserver.knowledge.tokens import Tokenizer

MAX_QUERY = 4000
MAX_TERMS = 64
PART_WEIGHT = 0.75
CONCEPT_WEIGHT = 0.75
FUZZY_WEIGHT = 0.7
MIN_FUZZY = 4
MAX_CANDIDATES = 400
_LETTERS = "abcdefghijklmnopqrstuvwxyz_"
_TARGET = re.compile(r"gfx[0-9a-f]{3,5}")


class Vocabulary:
    """The terms of an index, also by their first two letters."""

    def __init__(self, terms: Collection[str]) -> None:
        self._terms = terms

    def __contains__(self, term: object) -> bool:
        return term in self._terms

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for term in self._terms:
            if len(term) >= MIN_FUZZY:
                found.setdefault(term[:2], []).append(term)
        return found

    def starting_like(self, word: str) -> list[str]:
        """Return the terms that begin with the same two letters and are about as long, at most MAX_CANDIDATES."""
        known = self._by_start.get(word[:2], ())
        return [term for term in known if abs(len(term) - len(word)) <= 2][:MAX_CANDIDATES]


@dataclass(frozen=True)
class Query:
    """terms: token to weight. archs: targets named by the query. foreign: gfx names that are no target of ours.
    repaired: misspelt word to the one taken for it."""

    terms: Mapping[str, float]
    archs: tuple[str, ...]
    foreign: tuple[str, ...]
    repaired: Mapping[str, str]
    truncated: bool


def understand(text: str, tokenizer: Tokenizer, vocabulary: Vocabulary, archs: Mapping[str, str]) -> Query:
    """Read a query. `archs` maps concept tokens (`=gfx950`) to gfx targets."""
    terms: dict[str, float] = {}
    named: dict[str, None] = {}
    repaired: dict[str, str] = {}
    foreign: dict[str, None] = {}
    for group in tokenizer.groups(text[:MAX_QUERY]):
        if len(terms) >= MAX_TERMS:
            break
        if group[0] in archs:
            named[archs[group[0]]] = None
        if _TARGET.fullmatch(group[0]) and group[0] not in archs.values():
            foreign[group[0]] = None
        for token, weight in _weighted(group, vocabulary):
            terms[token] = max(weight, terms.get(token, 0.0))
        if not any(token in vocabulary for token in group) and not group[0].startswith("="):
            near = nearest(group[0], vocabulary)
            if near:
                repaired[group[0]] = near
                terms[near] = max(FUZZY_WEIGHT, terms.get(near, 0.0))
    return Query(terms, tuple(named), tuple(foreign), repaired, len(text) > MAX_QUERY or len(terms) >= MAX_TERMS)


def _weighted(group: tuple[str, ...], vocabulary: Vocabulary) -> Iterator[tuple[str, float]]:
    whole, *parts = group
    if whole.startswith("="):
        yield whole, CONCEPT_WEIGHT
        return
    yield whole, 1.0
    # Parts count in full when nothing holds the word as a whole: they are all that is left of it.
    weight = PART_WEIGHT if whole in vocabulary else 1.0
    for part in parts:
        yield part, weight


def nearest(word: str, vocabulary: Vocabulary) -> str | None:
    """Return the word of the vocabulary that `word` most likely misspells, or None. Bounded work.

    A word with a digit is a name (gfx951, v_dot4): another name is another thing, never a repair.
    """
    if not MIN_FUZZY <= len(word) <= 40 or any(ch.isdigit() for ch in word):
        return None
    for variant in _one_edit(word):
        if variant in vocabulary:
            return variant
    if len(word) < 7:
        return None
    near = difflib.get_close_matches(word, vocabulary.starting_like(word), n=1, cutoff=0.8)
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
