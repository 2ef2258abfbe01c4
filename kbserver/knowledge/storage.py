"""The search index as one file: JSON lines under a checksum, of which a search reads only the lines it needs.

Line 1 is the header (format, key, checksum of the rest), then the table of entries, the terms, one line a posting, one
line an entry's text. Nothing executable is stored, and a file that is cut, altered or of another format is no index.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kbserver.knowledge.bm25 import Posting, Statistics
from kbserver.knowledge.entries import Corpus

FORMAT = 1


@dataclass(frozen=True)
class Row:
    """What ranking must know of an entry without reading its text."""

    ref: str
    title: str
    kind: str
    arch: tuple[str, ...]
    group: str


class Stored:
    """An index in memory; postings and texts stay JSON until they are asked for."""

    def __init__(self, data: bytes, key: str) -> None:
        """Take the bytes of a file apart. Raises ValueError when they are not the index of `key`."""
        head, _, body = data.partition(b"\n")
        header = json.loads(head)
        if not isinstance(header, dict) or header.get("format") != FORMAT or header.get("key") != key:
            raise ValueError("another index")
        if header.get("digest") != _digest(body):
            raise ValueError("the index is damaged")
        lines = body.split(b"\n")
        table = json.loads(lines[0])
        terms = json.loads(lines[1])
        self.key = key
        self.rows = [Row(ref, title, kind, tuple(arch), group) for ref, title, kind, arch, group in table["rows"]]
        self.problems: list[str] = table["problems"]
        self.vocabulary: dict[str, Any] = table["vocabulary"]
        self.statistics = Statistics(table["lengths"], table["mean_length"])
        self.terms: dict[str, int] = {term: number for number, term in enumerate(terms, 2)}
        self._lines = lines
        self._texts_at = 2 + len(terms)

    def posting(self, term: str) -> Posting | None:
        """Return the posting of a term, or None for a term of no entry."""
        line = self.terms.get(term)
        return None if line is None else Posting(*json.loads(self._lines[line]))

    def body(self, entry: int) -> dict[str, Any]:
        """Return the stored `text`, `headings` and `sources` of an entry."""
        body: dict[str, Any] = json.loads(self._lines[self._texts_at + entry])
        return body


def encode(
    key: str,
    corpus: Corpus,
    statistics: Statistics,
    postings: dict[str, Posting],
    vocabulary: Mapping[str, Any],
) -> bytes:
    """Return the bytes of the index file. `vocabulary` is what the tokenizer was made of: queries need the same."""
    entries = corpus.entries
    table = {
        "rows": [[e.ref, e.title, e.kind, e.arch, e.group] for e in entries],
        "lengths": statistics.lengths,
        "mean_length": statistics.mean_length,
        "problems": list(corpus.problems),
        "vocabulary": vocabulary,
    }
    lines = [_line(table), _line(list(postings))]
    lines += [_line([p.idf, p.entries, p.counts]) for p in postings.values()]
    lines += [
        _line({"text": e.text, "headings": e.headings, "sources": [s.model_dump() for s in e.sources]}) for e in entries
    ]
    body = b"\n".join(lines)
    return _line({"format": FORMAT, "key": key, "digest": _digest(body)}) + b"\n" + body


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
