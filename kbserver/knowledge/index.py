"""The search index: entries to postings with field weights, a query to ranked hits with the lines that answer it."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat

from kbserver.core.errors import UsageError
from kbserver.core.model import SourceRef
from kbserver.knowledge import bm25
from kbserver.knowledge.entries import Corpus, Entry
from kbserver.knowledge.fields import Read, read
from kbserver.knowledge.query import Names, Query, Vocabulary, understand
from kbserver.knowledge.ranking import CANDIDATES, reordered, spread
from kbserver.knowledge.relevance import LEADING, Answer, is_answerable, names_other_vendor
from kbserver.knowledge.snippets import ROOM, ROOMS, Unit, excerpt, units_of
from kbserver.knowledge.storage import TEXT_UNITS, Row, Stored, Units, encode
from kbserver.knowledge.terms import Terms
from kbserver.knowledge.tokens import Tokenizer, spelling

REFERENCE_KINDS = frozenset(("instruction",))
"""Kinds that are tables of names: a collection of their own, so that they do not change how rare a prose word is."""
KIND_WEIGHTS = {"fact": 0.8, "kernel": 0.8, "lesson": 0.8, "instruction": 0.5}
"""A fact is one figure with siblings of near equal words, a kernel or lesson is one case, an instruction is its name
and encodings: where a section answers too, it explains more."""
OVERVIEW = 0.6
"""Weight of what only says where to read on. Chosen, as that of facts, on questions for which nothing had been written:
six files of tests/retrieval against the content of the time before they were opened."""
NAMED = 0.7
"""Weight of an instruction that the query names beside other words; one that is all the query counts in full."""
WRONG_ARCH = 0.2
"""Factor on entries of another target than the query names: kept, because a comparison may be what helps."""
NAMED_WRONG_ARCH = 0.4
"""The same for an instruction that the query names: which targets have it is then likely the question."""
MIN_TOPIC = 0.05
"""A term is a topic when this share of the entries that hold it have it in title or tags."""
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
    """The hits of a query, how many entries matched at all, how the query was understood, and why there are no hits.

    repaired: misspelt words of the query to the words taken for them.
    """

    hits: Sequence[Hit]
    total: int
    query: Query
    answer: Answer
    repaired: Mapping[str, str]


def collections_of(entries: Sequence[Entry]) -> list[list[int]]:
    """Return the entry numbers of prose, then those of reference tables."""
    prose = [number for number, entry in enumerate(entries) if entry.kind not in REFERENCE_KINDS]
    tables = [number for number, entry in enumerate(entries) if entry.kind in REFERENCE_KINDS]
    return [prose, tables]


def build_index(corpus: Corpus, groups: Sequence[Sequence[str]], names: Names, key: str) -> bytes:
    """Return the file form of the index over a corpus. `groups` are the synonyms; `names` says what some stand for."""
    tokenizer = Tokenizer(groups)
    entries = corpus.entries
    texts = [read(entry, tokenizer) for entry in entries]
    statistics, postings = bm25.build([text.fields() for text in texts], collections_of(entries))
    units = [text.units() for text in texts]
    leads = [_lead(entry, tokenizer) for entry in entries]
    topics = _topics(texts, groups, postings, tokenizer)
    vocabulary = {"groups": groups, "archs": dict(names.archs), "elsewhere": dict(names.elsewhere)}
    return encode(key, corpus, statistics, postings, topics, units, leads, vocabulary)


def _lead(entry: Entry, tokenizer: Tokenizer) -> frozenset[str]:
    """Return the terms of the title's first word; none when that is "how", "what" or another word that says nothing."""
    first = next(tokenizer.words(entry.title), None)
    if first is None or not entry.title.startswith(first.text):
        return frozenset()
    return frozenset((*first.tokens, *([first.concept] if first.concept else ())))


def _topics(
    texts: Sequence[Read],
    groups: Sequence[Sequence[str]],
    postings: Mapping[str, Sequence[bm25.Posting]],
    tokenizer: Tokenizer,
) -> frozenset[str]:
    """Return the terms that entries are about: of their titles and tags, of synonyms, and identifiers."""
    named = Counter(term for text in texts for term in frozenset((*text.title, *text.tags)))
    synonyms = {term for group in groups for name in group for term in tokenizer.tokens(name)}
    return frozenset(
        term
        for term, parts in postings.items()
        if term in synonyms or _is_identifier(term) or named[term] >= MIN_TOPIC * sum(len(p.entries) for p in parts)
    )


def _is_identifier(term: str) -> bool:
    return term[0] == "=" or "_" in term or (len(term) > 2 and not term.isalpha() and not term.isdigit())


class SearchIndex:
    """A loaded index. Thread-safe: what it remembers between queries is only ever replaced by an equal value."""

    def __init__(self, stored: Stored) -> None:
        self.version = stored.key[:12]
        self.problems = stored.problems
        self._stored = stored
        self._tokenizer = Tokenizer(stored.vocabulary["groups"])
        self._names = Names(stored.vocabulary["archs"], stored.vocabulary["elsewhere"])
        self._vocabulary = Vocabulary(stored.terms)
        self._terms = Terms(stored)
        self._factor_lists: dict[tuple[str | None, str | None, tuple[str, ...]], Sequence[float]] = {}
        self._units: dict[int, Units] = {}
        self._contents: dict[int, tuple[Sequence[Unit], Sequence[SourceRef]]] = {}

    def __len__(self) -> int:
        return len(self._stored.rows)

    @property
    def rows(self) -> Sequence[Row]:
        """What ranking knows of each entry, by entry number."""
        return self._stored.rows

    def scores(self, terms: Mapping[str, float]) -> list[float]:
        """Return the BM25 score of each entry for the weighted terms, 0 where it holds none."""
        return self._terms.scores(terms)

    def search(self, text: str, *, arch: str | None = None, kind: str | None = None, limit: int = 5) -> Found:
        """Return the best hits. `arch` (a gfx target) leaves out entries of other targets. Raises UsageError.

        A query that is not about what is indexed has no hits.
        """
        if limit <= 0:
            raise UsageError(f"limit must be at least 1, not {limit}", where="limit", hint="ask for 1 to 50 hits")
        query = understand(text, self._tokenizer, self._vocabulary, self._names)
        if names_other_vendor(query):
            return Found([], 0, query, Answer.OTHER_VENDOR, {})
        scores = self._weighted(query, arch, kind)
        matching = sum(map((0.0).__lt__, scores))
        if not matching:
            return Found([], 0, query, Answer.OTHER_TARGET if query.foreign else Answer.NO_MATCH, {})
        weights = self._terms.by_number(query.terms)
        best = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[: max(CANDIDATES, 4 * limit)]
        candidates = [(scores[entry], entry) for entry in best if scores[entry]]
        ranked = reordered(candidates, weights, self._units_of, self.rows, len(query.words) == 1)
        if not is_answerable(query, self._terms, [entry for _, entry in ranked[:LEADING]], self._units_of):
            return Found([], 0, query, Answer.UNRELATED, {})
        taken = zip(spread(ranked, self.rows, limit), chain(ROOMS, repeat(ROOM)), strict=False)
        hits = [self._hit(entry, score, weights, room) for (score, entry), room in taken]
        return Found(hits, matching, query, Answer.FOUND, self._repaired(query, hits))

    def _weighted(self, query: Query, arch: str | None, kind: str | None) -> list[float]:
        """Return for each entry its BM25 score times its factor: 0 where it holds no word of the query or is left out.

        A query about a target that is none of ours is answered only by entries that name it.
        """
        targets = () if arch else query.archs
        factors = self._factors(arch, kind, targets)
        named = self._named({word.text for word in query.words if not word.target}, targets)
        scores = self.scores(query.terms)
        if query.foreign and not query.archs:
            told = self.scores(dict.fromkeys(query.foreign, 1.0))
            scores = [score if names else 0.0 for score, names in zip(scores, told, strict=True)]
        if named:
            factors = list(factors)
            for entry, factor in named.items():
                factors[entry] = factors[entry] and factor  # 0 is what a filter leaves out
        return [*map(operator.mul, scores, factors)]

    def _repaired(self, query: Query, hits: Sequence[Hit]) -> dict[str, str]:
        """Return repaired words with the words taken for them as the hits spell them: terms have lost their endings."""
        texts = [self.text(hit.entry) for hit in hits] if query.repaired else []
        return {word: spelling(term, texts) for word, term in query.repaired.items()}

    def text(self, entry: int) -> str:
        """Return the full text of an entry, with its title."""
        return f"{self._stored.rows[entry].title}\n{self._stored.body(entry)['text']}"

    def _named(self, words: set[str], targets: tuple[str, ...]) -> dict[int, float]:
        """Return the factor of each entry of a table whose title is a word of the query."""
        entries = [entry for word in words for entry in self._by_title.get(word, ())]
        fits = {entry: not targets or bool(set(self.rows[entry].arch) & set(targets)) for entry in entries}
        weight = 1.0 if len(words) == 1 else NAMED
        return {entry: weight if fit else NAMED_WRONG_ARCH for entry, fit in fits.items()}

    @cached_property
    def _by_title(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for entry, row in enumerate(self.rows):
            if row.kind in REFERENCE_KINDS:
                found.setdefault(row.title.lower(), []).append(entry)
        return found

    def _units_of(self, entry: int) -> Units:
        units = self._units.get(entry)
        if units is None:
            if len(self._units) >= MAX_REMEMBERED:
                self._units.clear()
            units = self._units[entry] = self._stored.units(entry)
        return units

    def _content(self, entry: int) -> tuple[Sequence[Unit], Sequence[SourceRef]]:
        """Return the units of an entry's text and its sources."""
        content = self._contents.get(entry)
        if content is None:
            if len(self._contents) >= MAX_REMEMBERED:
                self._contents.clear()
            body = self._stored.body(entry)
            content = units_of(body["text"]), [SourceRef(**source) for source in body["sources"]]
            self._contents[entry] = content
        return content

    def _factors(self, arch: str | None, kind: str | None, named: tuple[str, ...]) -> Sequence[float]:
        """Return for each entry what its score counts: 0 when filtered out, less than 1 for another target."""
        key = (arch, kind, named)
        if key not in self._factor_lists:
            if len(self._factor_lists) >= MAX_REMEMBERED:
                self._factor_lists.clear()
            self._factor_lists[key] = [_factor(row, arch, kind, named) for row in self.rows]
        return self._factor_lists[key]

    def _hit(self, entry: int, score: float, weights: Mapping[int, float], room: int) -> Hit:
        units, sources = self._content(entry)
        snippet = excerpt(units, self._units_of(entry)[TEXT_UNITS:], weights, room)
        # Sources cited inside the excerpt come first; the order is otherwise that of the text.
        sources = sorted(sources, key=lambda source: f"[{source.id}" not in snippet)
        return Hit(entry, self.rows[entry], score, snippet, tuple(sources[:MAX_SOURCES]))


def _factor(row: Row, arch: str | None, kind: str | None, named: tuple[str, ...]) -> float:
    if (kind and row.kind != kind) or (arch and row.arch and arch not in row.arch):
        return 0.0
    weight = KIND_WEIGHTS.get(row.kind, 1.0) * (OVERVIEW if row.overview else 1.0)
    return weight * WRONG_ARCH if named and row.arch and not set(row.arch) & set(named) else weight
