"""The lines of a text that answer a query: best sentences, or table rows under their header, in reading order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

ROOMS = (700, 600, 500)
ROOM = 300
"""Characters for the first hits, and for each later one. On the questions of tests/retrieval title and snippet then
answer 97 of 100 in the first three hits, as with 600 for each at a fifth fewer characters; 350 for each: 94."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*(0-9_])|(?<=[.!?][)\]])\s+(?=[A-Z`*(])")
_RULE = re.compile(r"^[\s|:-]+$")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?:#|https?:|[\w./-]+\.(?:md|hip|yaml)\b)[^()\s]*\)")
_SEPARATOR = " ... "


@dataclass(frozen=True)
class Unit:
    """A sentence, a code line or a table row; `header` is the table's header row."""

    text: str
    header: str = ""


T = TypeVar("T", str, int)
"""A term, or its number: excerpts compare them only."""


def excerpt(units: Sequence[Unit], terms: Sequence[Set[T]], weights: Mapping[T, float], limit: int = ROOM) -> str:
    """Return at most `limit` characters of a text that hold most of the weighted terms.

    `terms` holds the terms of each unit, its header's with them. Sentences are taken by the terms that they add; room
    that is left goes to what follows the best one, because an answer often stands behind the sentence that names the
    question's words, then to what precedes it.
    """
    if sum(len(unit.text) + len(unit.header) + 1 for unit in units) <= limit:
        return _joined(units, list(range(len(units))), limit)
    held = [weights.keys() & of_unit for of_unit in terms]
    chosen: list[int] = []
    covered: set[T] = set()
    room = limit
    while True:
        best = max(
            (i for i in range(len(units)) if i not in chosen and (not chosen or _cost(units, i, chosen) <= room)),
            key=lambda i: (_gain(held[i], covered, weights), -i),
            default=None,
        )
        if best is None or (chosen and not held[best] - covered):
            break
        room -= _cost(units, best, chosen)
        chosen.append(best)
        covered |= held[best]
    # Rows above a row of a table are no part of what it says.
    for direction in (1,) if units[chosen[0]].header else (1, -1):
        near = chosen[0] + direction
        while 0 <= near < len(units) and (near in chosen or _cost(units, near, chosen) <= room):
            if near not in chosen:
                room -= _cost(units, near, chosen)
                chosen.append(near)
            near += direction
    return _joined(units, sorted(chosen), limit)


def _gain(terms: Set[T], covered: Set[T], weights: Mapping[T, float]) -> float:
    return sum(weights[term] * (0.1 if term in covered else 1.0) for term in terms)


def _cost(units: Sequence[Unit], i: int, chosen: list[int]) -> int:
    header = units[i].header
    known = any(units[j].header == header for j in chosen)
    return len(units[i].text) + len(_SEPARATOR) + (0 if known else len(header))


def _joined(units: Sequence[Unit], chosen: list[int], limit: int) -> str:
    parts: list[str] = []
    previous = None
    for i in chosen:
        unit = units[i]
        if parts:
            parts.append(" " if previous == i - 1 else _SEPARATOR)
        if unit.header and (previous is None or units[previous].header != unit.header):
            parts.append(unit.header + " / ")
        parts.append(unit.text)
        previous = i
    text = "".join(parts)
    return text if len(text) <= limit else text[: limit - 4].rsplit(" ", 1)[0] + " ..."


def without_targets(text: str) -> str:
    """Return a Markdown text with the words of its links only: where they lead is said by titles of other sections."""
    return _LINK.sub(lambda link: f"[{link[1]}]" if link[1].startswith("derived") else link[1], text)


def units_of(text: str) -> list[Unit]:
    """Return the sentences, code lines and table rows of a Markdown text, in order."""
    return list(_units(text))


def _units(text: str) -> Iterator[Unit]:
    paragraph: list[str] = []
    header, fence = "", ""
    lines = without_targets(text).split("\n")
    for number, line in enumerate(lines):
        stripped = line.strip()
        mark = stripped[:3]
        if fence or mark in ("```", "~~~"):
            yield from _sentences(paragraph)
            if fence and stripped == fence:
                fence = ""
            elif not fence:
                fence = mark
            elif stripped:
                yield Unit(stripped)
        elif stripped.startswith("|"):
            yield from _sentences(paragraph)
            following = lines[number + 1].strip() if number + 1 < len(lines) else ""
            if following.startswith("|") and _RULE.match(following):
                header = _cells(stripped)
            elif not _RULE.match(stripped):
                yield Unit(_cells(stripped), header)
        elif not stripped or stripped[0] in "#":
            yield from _sentences(paragraph)
            header = ""
        else:
            if re.match(r"(?:[-*+]|\d+\.)\s", stripped):
                yield from _sentences(paragraph)
            paragraph.append(stripped)
    yield from _sentences(paragraph)


def _sentences(paragraph: list[str]) -> Iterator[Unit]:
    text = " ".join(paragraph)
    paragraph.clear()
    for sentence in _SENTENCE.split(text):
        if sentence.strip():
            yield Unit(sentence.strip())


def _cells(row: str) -> str:
    return " | ".join(cell.strip() for cell in row.strip("|").split("|"))
