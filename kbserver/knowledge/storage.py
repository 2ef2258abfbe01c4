"""The search index as one file: JSON lines under a checksum, of which a search reads only the lines it needs.

Line 1 is the header (format, key, CRC of the rest), then the table of entries, the terms, one line a term with its
postings, one line an entry with the terms of each of its units (sentences, table rows), one line an entry with its
text. Nothing executable is stored, and a file that is cut, altered or of another format is no index.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kbserver.knowledge.bm25 import Posting, Statistics
from kbserver.knowledge.entries import Corpus

FORMAT = 6


class Row(NamedTuple):  # thousands are made at each start: a frozen dataclass takes four times as long
    """What ranking must know of an entry without reading its text.

    lead: numbers of the terms of the title's first word, which is what the entry is about. overview, defines: see
    `Entry`.
    """

    ref: str
    title: str
    kind: str
    arch: tuple[str, ...]
    group: str
    lead: frozenset[int]
    overview: bool
    defines: bool


@dataclass(frozen=True)
class StoredTerm:
    """A term: its postings, a collection each, and whether it is a topic: something that entries are about."""

    number: int
    topic: bool
    postings: Sequence[Posting]


Units = Sequence[frozenset[int]]
"""The numbers of the terms of each unit of an entry: headings, tags and ref, then the title, then its text."""
TEXT_UNITS = 2
"""Where the units of the text begin."""


class Stored:
    """An index in memory; postings, units and texts stay JSON until they are asked for."""

    def __init__(self, data: bytes, key: str) -> None:
        """Take the bytes of a file apart. Raises ValueError when they are not the index of `key`."""
        lines = data.split(b"\n")
        header = json.loads(lines[0])
        if not isinstance(header, dict) or header.get("format") != FORMAT or header.get("key") != key:
            raise ValueError("another index")
        if header.get("crc") != zlib.crc32(memoryview(data)[len(lines[0]) + 1 :]):
            raise ValueError("the index is damaged")
        table = json.loads(lines[1])
        terms = json.loads(lines[2])
        self.key = key
        self.rows = [
            Row(ref, title, kind, tuple(arch), group, frozenset(lead), overview, defines)
            for ref, title, kind, arch, group, lead, overview, defines in table["rows"]
        ]
        self.problems: list[str] = table["problems"]
        self.vocabulary: dict[str, Any] = table["vocabulary"]
        self.statistics = Statistics(table["norms"], table["sizes"])
        self.terms: dict[str, int] = {term: number for number, term in enumerate(terms)}
        self._lines = lines
        self._terms_at = 3
        self._units_at = self._terms_at + len(terms)
        self._texts_at = self._units_at + len(self.rows)

    def term(self, term: str) -> StoredTerm | None:
        """Return what is stored of a term, or None for a term of no entry."""
        number = self.terms.get(term)
        if number is None:
            return None
        topic, postings = json.loads(self._lines[self._terms_at + number])
        return StoredTerm(number, bool(topic), [Posting(*posting) for posting in postings])

    def units(self, entry: int) -> Units:
        """Return the terms of each unit of an entry."""
        return [frozenset(unit) for unit in json.loads(self._lines[self._units_at + entry])]

    def body(self, entry: int) -> dict[str, Any]:
        """Return the stored `text`, `headings` and `sources` of an entry."""
        body: dict[str, Any] = json.loads(self._lines[self._texts_at + entry])
        return body


def encode(
    key: str,
    corpus: Corpus,
    statistics: Statistics,
    postings: Mapping[str, Sequence[Posting]],
    topics: frozenset[str],
    units: Sequence[Sequence[frozenset[str]]],
    leads: Sequence[frozenset[str]],
    vocabulary: Mapping[str, Any],
) -> bytes:
    """Return the bytes of the index file. `vocabulary` is what the tokenizer was made of: queries need the same."""
    entries = corpus.entries
    numbers = {term: number for number, term in enumerate(postings)}
    table = {
        "rows": [
            [
                e.ref,
                e.title,
                e.kind,
                e.arch,
                e.group,
                sorted(map(numbers.__getitem__, lead & numbers.keys())),
                e.overview,
                e.defines,
            ]
            for e, lead in zip(entries, leads, strict=True)
        ],
        "norms": statistics.norms,
        "sizes": statistics.sizes,
        "problems": list(corpus.problems),
        "vocabulary": vocabulary,
    }
    lines = [_line(table), _line(list(postings))]
    lines += [
        _line([term in topics, [[p.idf, p.entries, p.counts] for p in parts]]) for term, parts in postings.items()
    ]
    lines += [
        _line([sorted(numbers[term] for term in unit if term in numbers) for unit in of_entry]) for of_entry in units
    ]
    lines += [
        _line({"text": e.text, "headings": e.headings, "sources": [s.model_dump() for s in e.sources]}) for e in entries
    ]
    body = b"\n".join(lines)
    return _line({"format": FORMAT, "key": key, "crc": zlib.crc32(body)}) + b"\n" + body


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")
