"""Markdown or plain text to blocks: paragraphs, list items, table rows, headings, code, each with its lines.

One pass over lines, no recursion: nested or broken Markdown costs nothing and is read as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

PARAGRAPH, ITEM, ROW, HEADING, CODE = "paragraph", "item", "row", "heading", "code"
MAX_LINE = 2_000_000


@dataclass(frozen=True)
class Block:
    """A run of lines that belong together. `lines` holds (number, text); `header` the header cells of a table row.

    `headings` are the titles above, outermost first; `lead` numbers the paragraph or list introduction that a list or
    table follows; `quoted` is true in a block quotation.
    """

    kind: str
    lines: tuple[tuple[int, str], ...]
    headings: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    quoted: bool = False
    lead: str = ""


@dataclass
class _State:
    headings: list[tuple[int, str]] = field(default_factory=list)
    lines: list[tuple[int, str]] = field(default_factory=list)
    kind: str = PARAGRAPH
    quoted: bool = False
    lead: str = ""
    header: tuple[str, ...] = ()
    before: str = ""
    """The line before, when it could be the header of a table."""


_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(?=\S)")
_ITEM = re.compile(r"^\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+")
_QUOTE = re.compile(r"^(?: {0,3}>)+ ?")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)


def front_matter(text: str) -> tuple[str, int]:
    """Return the front matter of a text (empty without one) and the index of the first line after it."""
    lines = text.split("\n", 400)
    if lines[0].rstrip() != "---":
        return "", 0
    for number in range(1, len(lines)):
        if lines[number].rstrip() in ("---", "..."):
            return "\n".join(lines[1:number]), number + 1
    return "", 0


def blocks(text: str) -> Iterator[Block]:
    """Return the blocks of a text in order; comments are blanked, line numbers are those of the text from 1."""
    text = _COMMENT.sub(_blank, text) if "<!--" in text else text
    _, first = front_matter(text)
    state, fence = _State(), ""
    lines = text.split("\n")
    for number, line in enumerate(lines[first:], first + 1):
        line = line.rstrip()[:MAX_LINE]
        opening = _FENCE.match(line)
        if fence or opening:
            if not fence:
                yield from _flush(state)
                fence = opening[1] if opening else ""
            elif opening and opening[1] == fence:
                fence = ""
            else:
                yield Block(CODE, ((number, line),), _titles(state))
            continue
        yield from _line(state, number, line)
    yield from _flush(state)


def _line(state: _State, number: int, line: str) -> Iterator[Block]:
    quote = _QUOTE.match(line)
    quoted = bool(quote)
    if quote:
        line = line[quote.end() :]
    if quoted != state.quoted:
        yield from _flush(state)
        state.quoted = quoted
    heading = _HEADING.match(line)
    if not line.strip() or _is_rule(line):
        yield from _flush(state)
        state.header = ()
    elif heading:
        yield from _flush(state)
        level, title = len(heading[1]), line[heading.end() :].rstrip().rstrip("#").rstrip()
        state.headings = [(one, title) for one, title in state.headings if one < level]
        yield Block(HEADING, ((number, title),), _titles(state))
        state.headings.append((level, title))
        state.lead, state.header = "", ()
    elif "|" in line and (state.header or _is_delimiter(line) or line.lstrip().startswith("|")):
        yield from _table_line(state, number, line)
    else:
        state.header = ()
        item = _ITEM.match(line)
        if item:
            yield from _flush(state)
            state.kind = ITEM
            line = " " * item.end() + line[item.end() :]
        state.lines.append((number, line))


def _table_line(state: _State, number: int, line: str) -> Iterator[Block]:
    if _is_delimiter(line):
        # The line before is the header: it came as a row or, without a leading |, as text.
        before = state.before or (state.lines.pop()[1] if state.lines and "|" in state.lines[-1][1] else "")
        yield from _flush(state)
        state.header, state.before = tuple(split_row(before)) or ("",), ""
        return
    yield from _flush(state)
    state.before = line
    yield Block(ROW, ((number, line),), _titles(state), state.header, state.quoted, state.lead)


def _is_delimiter(line: str) -> bool:
    """True for the line under a table's header: |---|:--:|."""
    return "-" in line and not line.strip(" \t|:-")


def _is_rule(line: str) -> bool:
    """True for a line that only draws: ---, ***, ===."""
    drawn = line.replace(" ", "")
    return len(drawn) >= 3 and drawn[0] in "-*_=" and not drawn.strip(drawn[0])


def split_row(line: str) -> list[str]:
    """Return the cells of a table row."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.strip() else []


def _flush(state: _State) -> Iterator[Block]:
    if state.lines:
        block = Block(state.kind, tuple(state.lines), _titles(state), (), state.quoted, state.lead)
        if state.kind == PARAGRAPH:
            state.lead = " ".join(line for _, line in state.lines[-3:])[-400:]
        yield block
    state.lines, state.kind, state.before = [], PARAGRAPH, ""


def _titles(state: _State) -> tuple[str, ...]:
    return tuple(title for _, title in state.headings)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())
