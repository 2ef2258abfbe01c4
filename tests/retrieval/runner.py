"""Measures retrieval: for each question, at which place stands the first entry that answers it?

An entry answers when every `must_contain` pattern matches its own full text (title and body, not a neighbour's) and it
holds for a target of the question. Questions are asked in full and as the short query that one would type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbserver.core.yamlio import load_yaml
from kbserver.knowledge.index import SearchIndex

DEPTH = 10
FORMS = ("question", "short_query")


@dataclass(frozen=True)
class Question:
    """A question in both forms, the patterns of a right answer, and the targets it is about (empty: any)."""

    id: str
    question: str
    short_query: str
    must_contain: tuple[re.Pattern[str], ...]
    arch: frozenset[str]

    def answered_by(self, text: str, arch: Iterable[str]) -> bool:
        arch = set(arch)
        fits = not arch or not self.arch or bool(arch & self.arch)
        return fits and all(pattern.search(text) for pattern in self.must_contain)


@dataclass(frozen=True)
class Candidate:
    """A ranked entry: its ref, full text and targets."""

    ref: str
    text: str
    arch: Sequence[str]


Ranker = Callable[[str], Sequence[Candidate]]


@dataclass(frozen=True)
class Score:
    """Shares of questions answered in the first 1, 3 and 5 places, and the mean reciprocal rank (0 beyond 10)."""

    count: int
    hit_at_1: float
    hit_at_3: float
    hit_at_5: float
    mrr: float


def load_questions(path: Path) -> list[Question]:
    """Read a questions file. `general` as a target means any."""
    return [
        Question(
            id=entry["id"],
            question=entry["question"],
            short_query=entry["short_query"],
            must_contain=tuple(re.compile(pattern) for pattern in entry["must_contain"]),
            arch=frozenset(entry.get("arch", ())) - {"general"},
        )
        for entry in load_yaml(path)
    ]


def rank_of(question: Question, form: str, ranker: Ranker) -> int | None:
    """Return the place (from 1) of the first answering entry among the first ten, or None."""
    for place, candidate in enumerate(ranker(getattr(question, form))[:DEPTH], 1):
        if question.answered_by(candidate.text, candidate.arch):
            return place
    return None


def score(questions: Sequence[Question], form: str, ranker: Ranker) -> Score:
    """Return the shares over all questions in one form."""
    ranks = [rank_of(question, form, ranker) for question in questions]

    def share(depth: int) -> float:
        return sum(rank is not None and rank <= depth for rank in ranks) / len(ranks)

    return Score(len(ranks), share(1), share(3), share(5), sum(1 / rank for rank in ranks if rank) / len(ranks))


def snippet_share(questions: Sequence[Question], form: str, index: SearchIndex) -> float:
    """Return the share of questions that title and snippet of one of the first three hits answer by themselves."""
    answered = 0
    for question in questions:
        hits = index.search(getattr(question, form), limit=3).hits
        answered += any(question.answered_by(f"{hit.row.title}\n{hit.snippet}", hit.row.arch) for hit in hits)
    return answered / len(questions)


def answerable(questions: Sequence[Question], candidates: Sequence[Candidate]) -> set[str]:
    """Return the ids of the questions that some entry answers: what no ranking can exceed."""
    return {one.id for one in questions if any(one.answered_by(entry.text, entry.arch) for entry in candidates)}


def our_ranker(index: SearchIndex) -> Ranker:
    """Rank as `kb search` does."""

    def rank(text: str) -> list[Candidate]:
        hits = index.search(text, limit=DEPTH).hits
        return [Candidate(hit.row.ref, index.text(hit.entry), hit.row.arch) for hit in hits]

    return rank


def all_candidates(index: SearchIndex) -> list[Candidate]:
    """Return every entry of the index."""
    return [Candidate(row.ref, index.text(number), row.arch) for number, row in enumerate(index.rows)]


def plain_ranker(candidates: Sequence[Candidate]) -> Ranker:
    """Rank with rank-bm25 as it comes: words between blanks, lower case, one field, no synonyms, no targets."""
    from rank_bm25 import BM25Okapi

    model = BM25Okapi([candidate.text.lower().split() for candidate in candidates])

    def rank(text: str) -> list[Candidate]:
        scores = model.get_scores(text.lower().split())
        order = sorted(range(len(candidates)), key=lambda number: (-scores[number], number))
        return [candidates[number] for number in order[:DEPTH] if scores[number] > 0]

    return rank
