"""A query in terms of the index: weighted words, targets that it names, other vendors' products, repaired spellings."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kbserver.knowledge.tokens import Named, Tokenizer

MAX_QUERY = 4000
MAX_TERMS = 64
PART_WEIGHT = 0.75
CONCEPT_WEIGHT = 1.0
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
class Names:
    """What names stand for: concept tokens of gfx targets, and of other vendors (`=nvidia`) to the vendor's name."""

    archs: Mapping[str, str]
    elsewhere: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Word:
    """One word of a query. text: its first term. terms: whole, parts, the concept that it names, what it was repaired
    to. target: it names a gfx target of ours."""

    written: str
    text: str
    terms: tuple[str, ...]
    repaired: str | None
    target: bool


@dataclass(frozen=True)
class Query:
    """terms: token to weight. words: the same, word by word. archs: targets named by the query. foreign: gfx names that
    are no target of ours. elsewhere: names of other vendors' products, to the vendor. compared: whether those stand in
    a comparison only ("like on Hopper"). repaired: misspelt word to the term taken for it."""

    terms: Mapping[str, float]
    words: tuple[Word, ...]
    archs: tuple[str, ...]
    foreign: tuple[str, ...]
    elsewhere: Mapping[str, str]
    compared: bool
    repaired: Mapping[str, str]
    truncated: bool


def understand(text: str, tokenizer: Tokenizer, vocabulary: Vocabulary, names: Names) -> Query:
    """Read a query."""
    terms: dict[str, float] = {}
    words: list[Word] = []
    for named in tokenizer.words(text[:MAX_QUERY]):
        if len(terms) >= MAX_TERMS:
            break
        word = _word(named, vocabulary, names)
        words.append(word)
        for term, weight in _weighted(word, named, vocabulary):
            terms[term] = max(weight, terms.get(term, 0.0))
    concepts = [(term, word) for word in words for term in word.terms if term.startswith("=")]
    elsewhere = {word.text: names.elsewhere[term] for term, word in concepts if term in names.elsewhere}
    return Query(
        terms=terms,
        words=tuple(words),
        archs=tuple(dict.fromkeys(names.archs[term] for term, _ in concepts if term in names.archs)),
        foreign=tuple(dict.fromkeys(word.text for word in words if _TARGET.fullmatch(word.text) and not word.target)),
        elsewhere=elsewhere,
        compared=all(_in_comparison(word.written, text) for _, word in concepts if word.text in elsewhere),
        repaired={word.written: word.repaired for word in words if word.repaired},
        truncated=len(text) > MAX_QUERY or len(terms) >= MAX_TERMS,
    )


def _in_comparison(name: str, text: str) -> bool:
    """True for "as fast as on an H100" and "like __syncwarp does on Volta": at most four words stand between."""
    return bool(
        re.search(rf"\b(?:like(?! to\b)|unlike|than|as)(?:\W+\w+){{0,4}}\W+{re.escape(name)}\b", text, re.IGNORECASE)
    )


def _word(named: Named, vocabulary: Vocabulary, names: Names) -> Word:
    terms = [*named.tokens, *([named.concept] if named.concept else ())]
    repaired = None
    if named.tokens and not any(term in vocabulary for term in terms):
        repaired = nearest(named.tokens[0], vocabulary)
    return Word(
        written=named.text.lower(),
        text=terms[0],
        terms=(*terms, *([repaired] if repaired else ())),
        repaired=repaired,
        target=named.concept in names.archs,
    )


def _weighted(word: Word, named: Named, vocabulary: Vocabulary) -> Iterator[tuple[str, float]]:
    if named.tokens:
        whole, *parts = named.tokens
        yield whole, 1.0
        # Parts count in full when nothing holds the word as a whole: they are all that is left of it.
        weight = PART_WEIGHT if whole in vocabulary else 1.0
        for part in parts:
            yield part, weight
    if named.concept:
        yield named.concept, CONCEPT_WEIGHT
    if word.repaired:
        yield word.repaired, FUZZY_WEIGHT


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
