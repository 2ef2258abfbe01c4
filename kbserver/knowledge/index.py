"""The search index: entries to postings with field weights, a query to ranked hits with the lines that answer it."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kbserver.core.errors import UsageError
from kbserver.core.model import SourceRef
from kbserver.knowledge import bm25
from kbserver.knowledge.entries import Corpus, Entry
from kbserver.knowledge.query import Query, Vocabulary, understand
from kbserver.knowledge.snippets import Parts, excerpt, parts_of
from kbserver.knowledge.storage import Row, Stored, encode
from kbserver.knowledge.tokens import Tokenizer

TITLE_WEIGHT = 3
HEADINGS_WEIGHT = 1
TAGS_WEIGHT = 1
"""Fields weigh by repetition: a word of the title counts as three of the body, in the one length-normalised BM25
document. Separate indexes for each field would need a query-time sum of scores whose idf differ by field."""
KIND_WEIGHTS = {"fact": 0.9}
"""A fact is one figure with siblings of near equal words; where a section answers too, it explains more."""
WRONG_ARCH = 0.3
"""Factor on entries of another target than the query names: kept, because a comparison may be what helps."""
PER_GROUP = 2
MAX_SOURCES = 4
MAX_REMEMBERED = 1024


@dataclass(frozen=True)
class Hit:
    """One answer: the entry's number and row, its score, the answering lines and their sources."""

    entry: int
    row: Row
    score: float
    snippet: str
    sources: tuple[SourceRef, ...]


@dataclass(frozen=True)
class Found:
    """The hits of a query, how many entries matched at all, and how the query was understood."""

    hits: Sequence[Hit]
    total: int
    query: Query


@dataclass(frozen=True)
class _Term:
    """A term in use: its idf, the entries that hold it and the score that it gives each."""

    idf: float
    entries: Sequence[int]
    impacts: Sequence[float]


def field_tokens(entry: Entry, tokenizer: Tokenizer) -> list[str]:
    """Return the tokens of an entry, fields repeated by weight."""
    return [
        *tokenizer.tokens(entry.title) * TITLE_WEIGHT,
        *tokenizer.tokens(entry.headings) * HEADINGS_WEIGHT,
        *tokenizer.tokens(" ".join(entry.tags)) * TAGS_WEIGHT,
        *tokenizer.tokens(entry.ref),
        *tokenizer.tokens(entry.text),
    ]


def build_index(corpus: Corpus, groups: Sequence[Sequence[str]], archs: Mapping[str, str], key: str) -> bytes:
    """Return the file form of the index over a corpus.

    `groups` are the synonyms; `archs` maps the concept tokens among them that name a gfx target to it.
    """
    tokenizer = Tokenizer(groups)
    statistics, postings = bm25.build([field_tokens(entry, tokenizer) for entry in corpus.entries])
    return encode(key, corpus, statistics, postings, {"groups": groups, "archs": archs})


class SearchIndex:
    """A loaded index. Thread-safe: what it remembers between queries is only ever replaced by an equal value."""

    def __init__(self, stored: Stored) -> None:
        self.version = stored.key[:12]
        self.problems = stored.problems
        self._stored = stored
        self._tokenizer = Tokenizer(stored.vocabulary["groups"])
        self._archs: Mapping[str, str] = stored.vocabulary["archs"]
        self._vocabulary = Vocabulary(stored.terms)
        self._norms = stored.statistics.norms() if stored.terms else []
        self._terms: dict[str, _Term] = {}
        self._factor_lists: dict[tuple[str | None, str | None, tuple[str, ...]], Sequence[float]] = {}
        self._parts: dict[int, Parts] = {}

    def __len__(self) -> int:
        return len(self._stored.rows)

    @property
    def rows(self) -> Sequence[Row]:
        """What ranking knows of each entry, by entry number."""
        return self._stored.rows

    def scores(self, terms: Mapping[str, float]) -> dict[int, float]:
        """Return the BM25 score of each entry that holds one of the weighted terms."""
        return bm25.score(terms, self._lookup)

    def search(self, text: str, *, arch: str | None = None, kind: str | None = None, limit: int = 5) -> Found:
        """Return the best hits. `arch` (a gfx target) leaves out entries of other targets. Raises UsageError."""
        if limit <= 0:
            raise UsageError(f"limit must be at least 1, not {limit}", where="limit", hint="ask for 1 to 50 hits")
        query = understand(text, self._tokenizer, self._vocabulary, self._archs)
        factors = self._factors(arch, kind, () if arch else query.archs)
        scores = self.scores(query.terms)
        ranked = [(-score * factors[entry], entry) for entry, score in scores.items() if factors[entry] and score > 0]
        weights = {
            term: weight * known.idf for term, weight in query.terms.items() if (known := self._term(term)) is not None
        }
        hits = [self._hit(entry, -negative, weights) for negative, entry in self._best(ranked, limit)]
        return Found(hits, len(ranked), query)

    def text(self, entry: int) -> str:
        """Return the full text of an entry, with its title."""
        return f"{self._stored.rows[entry].title}\n{self._stored.body(entry)['text']}"

    def _term(self, term: str) -> _Term | None:
        known = self._terms.get(term)
        if known is None:
            posting = self._stored.posting(term)
            if posting is None:
                return None  # not remembered: unknown words have no end
            known = _Term(posting.idf, posting.entries, bm25.impacts(posting, self._norms))
            self._terms[term] = known
        return known

    def _lookup(self, term: str) -> tuple[Sequence[int], Sequence[float]] | None:
        known = self._term(term)
        return None if known is None else (known.entries, known.impacts)

    def _factors(self, arch: str | None, kind: str | None, named: tuple[str, ...]) -> Sequence[float]:
        """Return for each entry what its score counts: 0 when filtered out, less than 1 for another target."""
        key = (arch, kind, named)
        if key not in self._factor_lists:
            if len(self._factor_lists) >= MAX_REMEMBERED:
                self._factor_lists.clear()
            self._factor_lists[key] = [_factor(row, arch, kind, named) for row in self.rows]
        return self._factor_lists[key]

    def _best(self, ranked: list[tuple[float, int]], limit: int) -> list[tuple[float, int]]:
        """Return the hits in order. Sorting all matches is rarely needed: a prefix mostly holds enough documents."""
        prefix = heapq.nsmallest(limit * 8, ranked)
        taken = self._spread(prefix, limit)
        if len(taken) == limit or len(prefix) == len(ranked):
            return self._filled(taken, prefix, limit)
        ranked.sort()
        return self._filled(self._spread(ranked, limit), ranked, limit)

    def _spread(self, ranked: list[tuple[float, int]], limit: int) -> list[tuple[float, int]]:
        """Return up to `limit` entries in order, at most PER_GROUP of one document."""
        taken: list[tuple[float, int]] = []
        count: dict[str, int] = {}
        for item in ranked:
            row = self.rows[item[1]]
            group = row.group or row.ref
            count[group] = count.get(group, 0) + 1
            if count[group] <= PER_GROUP:
                taken.append(item)
                if len(taken) == limit:
                    break
        return taken

    def _filled(
        self, taken: list[tuple[float, int]], ranked: list[tuple[float, int]], limit: int
    ) -> list[tuple[float, int]]:
        """Return `taken` with the best of the others behind it when other documents do not fill the places."""
        others = [item for item in ranked if item not in taken] if len(taken) < limit else []
        return sorted(taken + others[: limit - len(taken)])

    def _hit(self, entry: int, score: float, weights: Mapping[str, float]) -> Hit:
        body = self._stored.body(entry)
        parts = self._parts.get(entry)
        if parts is None:
            if len(self._parts) >= MAX_REMEMBERED:
                self._parts.clear()
            parts = self._parts[entry] = parts_of(body["text"], self._tokenizer)
        snippet = excerpt(parts, weights)
        sources = [SourceRef(**source) for source in body["sources"]]
        # Sources cited inside the excerpt come first; the order is otherwise that of the text.
        sources.sort(key=lambda source: f"[{source.id}" not in snippet)
        return Hit(entry, self.rows[entry], score, snippet, tuple(sources[:MAX_SOURCES]))


def _factor(row: Row, arch: str | None, kind: str | None, named: tuple[str, ...]) -> float:
    if (kind and row.kind != kind) or (arch and row.arch and arch not in row.arch):
        return 0.0
    weight = KIND_WEIGHTS.get(row.kind, 1.0)
    return weight * WRONG_ARCH if named and row.arch and not set(row.arch) & set(named) else weight
