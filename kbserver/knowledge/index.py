"""The search index: entries to postings with field weights, a query to ranked hits with the lines that answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kbserver.core.errors import UsageError
from kbserver.core.model import SourceRef
from kbserver.knowledge import bm25
from kbserver.knowledge.entries import Corpus, Entry
from kbserver.knowledge.query import Query, understand
from kbserver.knowledge.snippets import excerpt
from kbserver.knowledge.storage import Row, Stored, encode
from kbserver.knowledge.tokens import Tokenizer

TITLE_WEIGHT = 3
HEADINGS_WEIGHT = 1
TAGS_WEIGHT = 2
"""Fields weigh by repetition: a word of the title counts as three of the body, in the one length-normalised BM25
document. Separate indexes for each field would need a query-time sum of scores whose idf differ by field."""
WRONG_ARCH = 0.3
"""Factor on entries of another target than the query names: kept, because a comparison may be what helps."""
PER_GROUP = 2
MAX_SOURCES = 4


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
        self._norms = stored.statistics.norms() if stored.terms else []
        self._impacts: dict[str, tuple[Sequence[int], Sequence[float]] | None] = {}

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
        query = understand(text, self._tokenizer, self._stored.terms, self._archs)
        rows = self._stored.rows
        ranked = []
        for entry, score in self.scores(query.terms).items():
            row = rows[entry]
            if (kind and row.kind != kind) or (arch and row.arch and arch not in row.arch):
                continue
            if not arch and query.archs and row.arch and not set(row.arch) & set(query.archs):
                score *= WRONG_ARCH
            if score > 0:
                ranked.append((-score, entry))
        ranked.sort()
        hits = [self._hit(entry, -negative, query) for negative, entry in self._spread(ranked, limit)]
        return Found(hits, len(ranked), query)

    def text(self, entry: int) -> str:
        """Return the full text of an entry, with its title."""
        return f"{self._stored.rows[entry].title}\n{self._stored.body(entry)['text']}"

    def _lookup(self, term: str) -> tuple[Sequence[int], Sequence[float]] | None:
        if term not in self._impacts:
            posting = self._stored.posting(term)
            if posting is None:
                return None  # not remembered: unknown words have no end
            self._impacts[term] = (posting.entries, bm25.impacts(posting, self._norms))
        return self._impacts[term]

    def _spread(self, ranked: list[tuple[float, int]], limit: int) -> list[tuple[float, int]]:
        """Return `limit` entries, at most PER_GROUP of one document while other documents match."""
        taken: list[tuple[float, int]] = []
        passed: list[tuple[float, int]] = []
        count: dict[str, int] = {}
        for item in ranked:
            row = self._stored.rows[item[1]]
            group = row.group or row.ref
            if count.get(group, 0) < PER_GROUP:
                count[group] = count.get(group, 0) + 1
                taken.append(item)
                if len(taken) == limit:
                    return taken
            else:
                passed.append(item)
        return sorted(taken + passed[: limit - len(taken)])

    def _hit(self, entry: int, score: float, query: Query) -> Hit:
        body = self._stored.body(entry)
        weights = {}
        for term, weight in query.terms.items():
            posting = self._stored.posting(term)
            if posting is not None:
                weights[term] = weight * posting.idf
        snippet = excerpt(body["text"], weights, self._tokenizer)
        sources = [SourceRef(**source) for source in body["sources"]]
        # Sources cited inside the excerpt come first; the order is otherwise that of the text.
        sources.sort(key=lambda source: f"[{source.id}" not in snippet)
        return Hit(entry, self._stored.rows[entry], score, snippet, tuple(sources[:MAX_SOURCES]))
