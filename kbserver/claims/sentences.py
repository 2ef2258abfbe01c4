"""Blocks to sentences: visible text without markup, the line of every character, the sources that stand beside it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from kbserver.claims import markdown
from kbserver.claims.quantities import Quantity, quantities
from kbserver.claims.tokens import Token, tokenize

MAX_SENTENCE = 1500
MAX_CELLS = 40

_STRIKE = re.compile(r"~~[^~\n]{1,500}~~")
_URL = re.compile(r"https?://[^\s)>\]]{1,2000}")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,500}\)")
_FACT = re.compile(r"\{(fact:[a-z0-9._]{1,120})\}")
_EMPHASIS = re.compile(r"\*\*|`|<br ?/?>|(?<![\w*])\*(?=\w)|(?<=[\w.)])\*(?![\w*])")
_CITE = re.compile(r"(?<![\w!\]])\[([a-z0-9][a-z0-9._-]{1,60}(?:[,;][^\[\]]{1,300})?)\]")
_END = re.compile(r"(?:[.!?]{1,3}[\"'”)]{0,3})(?=\s+[\"'“(\[]?(?:[A-Z0-9_`]|[a-z0-9]+_|gfx|wave|lgkm|vmcnt))")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|vs|etc|cf|approx|resp|Fig|No|p|pp|Sec|ca|al)\.|(?<!\d )\b(?<!/)[AC-RT-VX-Z]\.|^\s*\d{1,3}\.)$"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence, list item, heading, table row or line of code. `text` is shown, `plain` is `text` without citations.

    `before` holds the sentences of the same block that come before it, nearest last; `block` where it stands.
    `cells` are the spans of a table row's cells in `text`.
    """

    text: str
    plain: str
    line: int
    block: markdown.Block
    before: tuple[Sentence, ...] = field(default=(), repr=False)
    cites: tuple[str, ...] = ()
    cells: tuple[tuple[int, int], ...] = ()

    @cached_property
    def tokens(self) -> list[Token]:
        return tokenize(self.plain)

    @cached_property
    def quantities(self) -> list[Quantity]:
        return quantities(self.tokens)

    @cached_property
    def words(self) -> list[str]:
        """The tokens as patterns compare them."""
        return [token.low for token in self.tokens]

    @cached_property
    def low(self) -> str:
        return " ".join(self.words)


def sentences(text: str, render_fact: Callable[[str], str | None] = lambda ref: None) -> Iterator[Sentence]:
    """Return the sentences of a text. `render_fact` gives the value that `{fact:ID}` stands for."""
    for block in markdown.blocks(text):
        if block.kind == markdown.ROW:
            yield _row(block, render_fact)
        elif block.kind == markdown.CODE:
            number, line = block.lines[0]
            yield Sentence(line[:MAX_SENTENCE], line[:MAX_SENTENCE], number, block)
        else:
            yield from _prose(block, render_fact)


def _visible(line: str, render_fact: Callable[[str], str | None]) -> str:
    line = _STRIKE.sub(" ", line)
    line = _LINK.sub(lambda match: match[1], line)
    line = _URL.sub(" ", line)
    line = _FACT.sub(lambda match: render_fact(match[1]) or match[1], line)
    return _EMPHASIS.sub("", line.replace("\t", " "))


def _prose(block: markdown.Block, render_fact: Callable[[str], str | None]) -> Iterator[Sentence]:
    parts, starts, length = [], [], 0
    for number, line in block.lines:
        shown = _visible(line, render_fact)
        starts.append((length, number))
        parts.append(shown)
        length += len(shown) + 1
    text = " ".join(parts)
    offsets = [start for start, _ in starts]
    earlier: list[Sentence] = []
    for start, end in _spans(text):
        piece = text[start:end]
        lead = len(piece) - len(piece.lstrip())
        line = starts[bisect_right(offsets, start + lead) - 1][1]
        sentence = _sentence(" ".join(piece.split()), line, block, tuple(earlier[-6:]))
        earlier.append(sentence)
        yield sentence


def _sentence(text: str, line: int, block: markdown.Block, before: tuple[Sentence, ...] = ()) -> Sentence:
    cites = tuple(match[1] for match in _CITE.finditer(text))
    plain = _CITE.sub(lambda match: " " * len(match.group()), text) if cites else text
    return Sentence(text, plain, line, block, before, cites)


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _END.finditer(text):
        if match.group().startswith(".") and _ABBREVIATION.search(text[max(start, match.end() - 8) : match.end()]):
            continue
        yield from _cut(text, start, match.end())
        start = match.end()
    yield from _cut(text, start, len(text))


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut what is too long for one sentence at a blank."""
    while end - start > MAX_SENTENCE:
        place = text.rfind(" ", start + MAX_SENTENCE // 2, start + MAX_SENTENCE)
        place = place if place > start else start + MAX_SENTENCE
        yield start, place
        start = place
    if text[start:end].strip():
        yield start, end


def _row(block: markdown.Block, render_fact: Callable[[str], str | None]) -> Sentence:
    number, line = block.lines[0]
    text, cells = "", []
    for cell in markdown.split_row(_visible(line[: MAX_SENTENCE * 2], render_fact))[:MAX_CELLS]:
        text += " | " if text or cells else ""
        cells.append((len(text), len(text) + len(cell)))
        text += cell
    sentence = _sentence(text, number, block)
    return Sentence(text, sentence.plain, number, block, (), sentence.cites, tuple(cells))
