"""BM25 scores by rank-bm25, kept as one posting list a term so that a query touches only the entries that match.

`rank_bm25.BM25Plus.get_scores` walks every document for every term. Its fields hold all that its formula needs: this
module stores them by term and evaluates the same formula, and a test proves that the scores are equal. The library
(and numpy behind it) is imported only to build, never to search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

K1 = 1.2
B = 0.3
"""Sections are cut to be answers, so length says little: B is well below the usual 0.75. Chosen on one half of the
questions, checked on the other (benchmarks/retrieval.py)."""
DELTA = 0.0
"""BM25Plus adds `idf * delta` to every document, matching or not: a constant that changes no order. At 0 a document
without a query term scores 0, and the idf is log((N + 1) / n), which is never negative: BM25Okapi instead lifts the
terms of more than half the documents to a quarter of the mean idf, far above their worth. On the questions of
benchmarks/retrieval.py BM25Okapi and delta 1 lose a few first hits against this, BM25L many."""


@dataclass(frozen=True)
class Posting:
    """The entries that hold one term (numbers, ascending), how often each does, and the term's idf."""

    idf: float
    entries: Sequence[int]
    counts: Sequence[int]


@dataclass(frozen=True)
class Statistics:
    """What BM25 knows of the corpus beside postings: lengths in tokens and their mean."""

    lengths: Sequence[int]
    mean_length: float

    def norms(self) -> list[float]:
        """Return the length part of the formula for each entry."""
        return [K1 * (1 - B + B * length / self.mean_length) for length in self.lengths]


def build(documents: Sequence[Sequence[str]]) -> tuple[Statistics, dict[str, Posting]]:
    """Return statistics and postings of tokenised documents, computed by rank-bm25."""
    if not any(documents):  # rank-bm25 divides by the number of documents and by their mean length
        return Statistics([0] * len(documents), 0.0), {}
    from rank_bm25 import BM25Plus

    model = BM25Plus(documents, k1=K1, b=B, delta=DELTA)
    entries: dict[str, list[int]] = {}
    counts: dict[str, list[int]] = {}
    for number, frequencies in enumerate(model.doc_freqs):
        for term, count in frequencies.items():
            entries.setdefault(term, []).append(number)
            counts.setdefault(term, []).append(count)
    postings = {term: Posting(float(model.idf[term]), entries[term], counts[term]) for term in entries}
    return Statistics(list(model.doc_len), float(model.avgdl)), postings


def impacts(posting: Posting, norms: Sequence[float]) -> list[float]:
    """Return the score that the term gives each of its entries."""
    idf = posting.idf
    return [
        idf * (DELTA + (count * (K1 + 1)) / (norms[entry] + count))
        for entry, count in zip(posting.entries, posting.counts, strict=True)
    ]


def score(
    terms: Mapping[str, float], lookup: Callable[[str], tuple[Sequence[int], Sequence[float]] | None]
) -> dict[int, float]:
    """Return the weighted sum of the terms' impacts for each entry that holds one of them."""
    scores: dict[int, float] = {}
    get = scores.get
    for term, weight in terms.items():
        found = lookup(term)
        if found is None:
            continue
        for entry, impact in zip(*found, strict=True):
            scores[entry] = get(entry, 0.0) + weight * impact
    return scores
