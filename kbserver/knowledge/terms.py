"""The terms of a loaded index: looked up once, then remembered with the score that each gives its entries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kbserver.knowledge import bm25
from kbserver.knowledge.storage import Stored


@dataclass(frozen=True)
class Term:
    """A term in use. idf: of the first collection that holds it, which is that of prose where prose does."""

    number: int
    idf: float
    topic: bool
    entries: Sequence[int]
    impacts: Sequence[float]


class Terms:
    """Terms by name. Thread-safe: what is remembered is only ever replaced by an equal value."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._known: dict[str, Term] = {}
        size = next((size for size in stored.statistics.sizes if size), 0)
        self.idf_of_unknown = max(math.log((size + 1) / 2), 0.0)
        """What a word counts that no entry holds: as much as one that two entries hold."""

    def get(self, name: str) -> Term | None:
        """Return the term, or None for a word of no entry."""
        known = self._known.get(name)
        if known is None:
            stored = self._stored.term(name)
            if stored is None:
                return None  # not remembered: unknown words have no end
            entries, impacts = bm25.impacts(stored.postings, self._stored.statistics.norms)
            known = Term(stored.number, stored.postings[0].idf, stored.topic, entries, impacts)
            self._known[name] = known
        return known

    def scores(self, weights: Mapping[str, float]) -> list[float]:
        """Return the BM25 score of each entry for the weighted terms, 0 where it holds none."""
        return bm25.score(weights, self._lookup, len(self._stored.rows))

    def by_number(self, weights: Mapping[str, float]) -> dict[int, float]:
        """Return weight times idf of each known term, by its number."""
        found = ((self.get(name), weight) for name, weight in weights.items())
        return {term.number: weight * term.idf for term, weight in found if term is not None}

    def _lookup(self, name: str) -> tuple[Sequence[int], Sequence[float]] | None:
        term = self.get(name)
        return None if term is None else (term.entries, term.impacts)
