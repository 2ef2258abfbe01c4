"""Entries to the tokens of their fields: what counts how often, and which words one sentence or table row holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from kbserver.knowledge.entries import Entry
from kbserver.knowledge.snippets import units_of
from kbserver.knowledge.tokens import Tokenizer

TITLE_WEIGHT = 3
HEADINGS_WEIGHT = 1
TAGS_WEIGHT = 1
"""Fields weigh by repetition: a word of the title counts as three of the body, in the one length-normalised BM25
document. Separate indexes for each field would need a query-time sum of scores whose idf differ by field."""


@dataclass(frozen=True)
class Read:
    """The tokens of an entry by field; those of its text by unit, each with the tokens of its table's header."""

    title: Sequence[str]
    headings: Sequence[str]
    tags: Sequence[str]
    ref: Sequence[str]
    text: Sequence[tuple[Sequence[str], Sequence[str]]]

    def fields(self) -> list[str]:
        """Return all tokens, fields repeated by weight; a header counts once for its table."""
        headers = {id(header): header for header, _ in self.text}
        return [
            *self.title * TITLE_WEIGHT,
            *self.headings * HEADINGS_WEIGHT,
            *self.tags * TAGS_WEIGHT,
            *self.ref,
            *chain.from_iterable(headers.values()),
            *chain.from_iterable(body for _, body in self.text),
        ]

    def units(self) -> list[frozenset[str]]:
        """Return the terms of what stands around, of the title, and of each unit."""
        around = frozenset((*self.headings, *self.tags, *self.ref))
        return [around, frozenset(self.title), *(frozenset((*header, *body)) for header, body in self.text)]


def read(entry: Entry, tokenizer: Tokenizer) -> Read:
    """Take an entry apart. Every word is tokenized once: that is most of the time of a build."""
    headers: dict[str, list[str]] = {}
    text = []
    for unit in units_of(entry.text):
        if unit.header not in headers:
            headers[unit.header] = tokenizer.tokens(unit.header)
        text.append((headers[unit.header], tokenizer.tokens(unit.text)))
    return Read(
        title=tokenizer.tokens(entry.title),
        headings=tokenizer.tokens(entry.headings),
        tags=tokenizer.tokens(" ".join(entry.tags)),
        ref=tokenizer.tokens(entry.ref),
        text=text,
    )
