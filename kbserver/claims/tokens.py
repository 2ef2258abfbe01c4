"""Sentences to tokens: words, numbers and signs, found in one pass by a pattern that cannot backtrack far."""

from __future__ import annotations

import re
from dataclasses import dataclass

WORD, NUMBER, SIGN, REF = "word", "number", "sign", "ref"

_TOKEN = re.compile(
    r"(?P<ref>\b(?:fact|lesson|build|run|kernel|isa|cite):[A-Za-z0-9][A-Za-z0-9._/#-]*"
    r"|\bgpu_arch/[A-Za-z0-9._/-]+\.md(?:#[A-Za-z0-9_-]+)?)"
    r"|(?P<hex>\b0[xX][0-9A-Fa-f]+)"
    r"|(?P<times>(?<=\d)[xX](?=\d))"
    r"|(?P<number>(?:(?<![A-Za-z0-9_.])|(?<=\d[xX]))(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<word>(?:__)?[^\W\d][\w]*)"
    r"|(?P<sign>->|=>|<=|>=|\S)"
)
_SIGNS = {
    "→": "->", "⇒": "->", "=>": "->", "≤": "<=", "≥": ">=", "−": "-", "–": "-", "—": "--", "×": "*", "·": "*",
    "≈": "~", "’": "'", "“": '"', "”": '"',
}  # fmt: skip
_MANY_DIGITS = 25


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text: `low` is what patterns compare; `glued` is true when nothing stands before it."""

    kind: str
    text: str
    low: str
    start: int
    end: int
    glued: bool

    @property
    def value(self) -> float:
        return float(self.text.replace(",", ""))


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text in order. Numbers written into words (`gfx942`, `v0`) belong to the word."""
    found: list[Token] = []
    last = 0
    for match in _TOKEN.finditer(text):
        kind, raw = match.lastgroup or SIGN, match.group()
        start, end = match.span()
        if kind == "ref":
            raw = raw.rstrip(".-/#")
            end = start + len(raw)
        kind = WORD if kind == "hex" or (kind == NUMBER and len(raw) > _MANY_DIGITS) else kind
        if kind == "times":
            kind, raw = SIGN, "×"
        low = _SIGNS.get(raw, raw) if kind == SIGN else raw.lower()
        found.append(Token(kind, raw, low, start, end, start == last and start > 0))
        last = end
    return found
