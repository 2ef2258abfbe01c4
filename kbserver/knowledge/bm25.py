"""BM25 scores by rank-bm25, kept as one posting list a term so that a query touches only the entries that match.

`rank_bm25.BM25Plus.get_scores` walks every document for every term. Its fields hold all that its formula needs: this
module stores them by term and evaluates the same formula, and a test proves that the scores are equal. The library
(and numpy behind it) is imported only to build, never to search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """The entries of one collection that hold a term (numbers, ascending), how often each does, and the term's idf."""

    idf: float
    entries: Sequence[int]
    counts: Sequence[int]


@dataclass(frozen=True)
class Statistics:
    """The length part of the formula for each entry, and how many entries each collection has."""

    norms: Sequence[float]
    sizes: Sequence[int]


def build(
    documents: Sequence[Sequence[str]], collections: Sequence[Sequence[int]] | None = None
) -> tuple[Statistics, dict[str, list[Posting]]]:
    """Return statistics and, by term, one posting for each collection that holds it, computed by rank-bm25.

    `collections` are disjoint lists of document numbers, by default one of all: each is scored as if it stood alone, so
    that a table of three thousand mnemonics does not decide how rare an English word is.
    """
    parts = [range(len(documents))] if collections is None else collections
    norms = [0.0] * len(documents)
    postings: dict[str, list[Posting]] = {}
    for numbers in parts:
        for number, norm in zip(numbers, _add(documents, numbers, postings), strict=True):
            norms[number] = norm
    return Statistics(norms, [len(numbers) for numbers in parts]), postings


def _add(
    documents: Sequence[Sequence[str]], numbers: Sequence[int], postings: dict[str, list[Posting]]
) -> Iterable[float]:
    """Add the postings of one collection; return the length norms of its documents."""
    texts = [documents[number] for number in numbers]
    if not any(texts):  # rank-bm25 divides by the number of documents and by their mean length
        return [0.0] * len(texts)
    from rank_bm25 import BM25Plus

    model = BM25Plus(texts, k1=K1, b=B, delta=DELTA)
    entries: dict[str, list[int]] = {}
    counts: dict[str, list[int]] = {}
    for number, frequencies in zip(numbers, model.doc_freqs, strict=True):
        for term, count in frequencies.items():
            entries.setdefault(term, []).append(number)
            counts.setdefault(term, []).append(count)
    for term in entries:
        postings.setdefault(term, []).append(Posting(float(model.idf[term]), entries[term], counts[term]))
    return [K1 * (1 - B + B * length / model.avgdl) for length in model.doc_len]


def impacts(postings: Iterable[Posting], norms: Sequence[float]) -> tuple[list[int], list[float]]:
    """Return the entries that hold a term and the score that it gives each."""
    entries: list[int] = []
    scores: list[float] = []
    for posting in postings:
        idf = posting.idf
        entries += posting.entries
        scores += [
            idf * (DELTA + (count * (K1 + 1)) / (norms[entry] + count))
            for entry, count in zip(posting.entries, posting.counts, strict=True)
        ]
    return entries, scores


def score(
    terms: Mapping[str, float], lookup: Callable[[str], tuple[Sequence[int], Sequence[float]] | None], size: int
) -> list[float]:
    """Return the weighted sum of the terms' impacts for each of `size` entries; 0 for one that holds none of them."""
    scores = [0.0] * size
    for term, weight in terms.items():
        for entry, impact in zip(*(lookup(term) or ((), ())), strict=True):
            scores[entry] += weight * impact
    return scores
