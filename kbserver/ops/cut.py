"""Cutting what was opened to the size asked for: between pieces, else between lines, with code fences closed."""

from __future__ import annotations

from dataclasses import dataclass

from kbserver.core.model import SourceRef
from kbserver.ops.passages import Opened, Piece

CHARS_PER_TOKEN = 4
"""A rule of thumb for English and code; stated wherever tokens are counted."""


@dataclass(frozen=True)
class Shown:
    """The part that fits. `next_ref` names the first piece that is missing or cut, else what follows the whole."""

    text: str
    sources: tuple[SourceRef, ...]
    next_ref: str | None
    truncated: bool
    total_chars: int


def cut(opened: Opened, room: int) -> Shown:
    """Return as many pieces as fit into `room` characters; a first piece that alone is too long is cut by lines."""
    pieces = opened.pieces
    total = len("\n\n".join(piece.text for piece in pieces))
    texts: list[str] = []
    used: list[Piece] = []
    next_ref = opened.next_ref
    left = room
    for place, piece in enumerate(pieces):
        if len(piece.text) <= left:
            texts.append(piece.text)
            used.append(piece)
            left -= len(piece.text) + 2
            continue
        if not used:
            texts.append(cut_lines(piece.text, left))
            used.append(piece)
            place += 1
        next_ref = pieces[place].ref if place < len(pieces) else opened.next_ref
        break
    text = "\n\n".join(texts)
    sources = {(s.id, s.locator): s for piece in used for s in piece.sources}
    return Shown(text, tuple(sources.values()), next_ref, len(text) < total, total)


def cut_lines(text: str, room: int) -> str:
    """Return the first lines of `text` within `room` characters; an open code fence is closed."""
    if len(text) <= room:
        return text
    kept = text[:room]
    if "\n" in kept:
        kept = kept[: kept.rindex("\n")]
    fence = ""
    for line in kept.split("\n"):
        mark = line.lstrip()[:3]
        if fence and line.strip() == fence:
            fence = ""
        elif not fence and mark in ("```", "~~~"):
            fence = mark
    return kept.rstrip() + ("\n" + fence if fence else "")
