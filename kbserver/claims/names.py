"""Targets, products and kernels that a sentence names, and names of machines that we know nothing about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kbserver.claims.tokens import WORD, Token
from kbserver.core.targets import Targets

_OURS = re.compile(r"gfx|mi\d|cdna|aldebaran")
_FOREIGN = re.compile(
    r"gfx\w+|mi\d{2,3}\w?|cdna\d?|rdna\d?|nvidia|cuda|hopper|blackwell|ampere|radeon|navi\w*|vega\w*|gcn\d?|tpu|intel"
    r"|[abhv][12]00|b300|gb200|rtx|sm_\d+|ptx|xe|gaudi\d?"
)
_SERIES = ("series", "class", "family")


@dataclass(frozen=True)
class Name:
    """A target or product at tokens [start, end); `arch` is None for machines outside our tables."""

    start: int
    end: int
    arch: str | None
    product: str | None
    text: str


def names(tokens: Sequence[Token], targets: Targets) -> list[Name]:
    """Return the machines that a sentence names, in order."""
    found: list[Name] = []
    place = 0
    while place < len(tokens):
        name = _name(tokens, place, targets) if tokens[place].kind == WORD else None
        if name is None:
            place += 1
        else:
            found.append(name)
            place = name.end
    return found


def _name(tokens: Sequence[Token], start: int, targets: Targets) -> Name | None:
    low = tokens[start].low
    if _OURS.match(low):
        for width in (3, 2, 1):
            piece = tokens[start : start + width]
            key = "".join(token.low for token in piece)
            if len(piece) == width and key in targets.aliases:
                product = next((one for one in targets.products if one.lower().replace(" ", "") == key), None)
                return Name(start, start + width, targets.aliases[key], product, tokens[start].text)
    if _FOREIGN.fullmatch(low):
        following = "".join(token.low for token in tokens[start : start + 2])
        return Name(start, start + (2 if following in ("cdna1", "mi400") else 1), None, None, tokens[start].text)
    return None
