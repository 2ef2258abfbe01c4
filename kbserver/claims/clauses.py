"""Clauses of a sentence: what a word says counts for the clause that it stands in, not for the whole sentence.

A clause ends where a consequence, a reason or a contrast begins ("..., so only two fit", "..., which caused it"), and
at a comma or "and" between two parts that each have a verb. Nothing here understands grammar: it errs towards one
clause, so that a cue counts once too often rather than once too seldom.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

CONSEQUENCE = frozenset(("so", "hence", "therefore", "thus", "meaning", "which", "leaving", "giving", "thereby"))
REASON = frozenset(("because", "since"))
CONTRAST = frozenset(("whereas", "while", "but", "although", "though", "yet"))
_ALWAYS = frozenset((";", "--"))
_VERBS = frozenset((
    "is", "are", "was", "were", "has", "have", "had", "holds", "hold", "provides", "offers", "delivers", "takes",
    "needs", "uses", "gives", "allows", "fits", "fit", "stays", "stay", "runs", "reads", "moves", "can", "cannot",
    "exposes", "supports", "reduced", "chose", "keeps", "covers", "becomes", "does", "do", "get",
    "gets", "carries", "give", "went", "goes", "sees", "contains", "exists", "took", "ran", "need", "use",
    "make", "makes", "will",
))  # fmt: skip
_PRONOUNS = frozenset(("we", "it", "they", "you", "i"))
_PREPOSITIONS = frozenset(("of", "with", "in", "on", "for", "at", "among"))
_LIST_REACH = 9


def clause(words: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """Return [low, high) of the clause around the tokens [start, end)."""
    bounds = _bounds(tuple(words))
    low = max((place for place in bounds if place <= start), default=0)
    high = min((place for place in bounds if place >= max(end, start + 1)), default=len(words))
    return low, high


def opens_with(words: Sequence[str], low: int) -> str:
    """Return the connective with which a clause that begins at `low` opens, "" when there is none."""
    word = words[low] if low < len(words) else ""
    return word if word in CONSEQUENCE or word in REASON or word in CONTRAST else ""


@lru_cache(maxsize=64)
def _bounds(words: tuple[str, ...]) -> tuple[int, ...]:
    found: list[int] = [0]
    verb = words[0] in _VERBS if words else False
    for place in range(1, len(words)):
        word = words[place]
        if word in _ALWAYS:
            found.append(place + 1)
            verb = False
        elif _connects(words, place) or (word in (",", "and") and verb and _begins(words, place + 1)):
            found.append(place if word not in (",", "and") else place + 1)
            verb = False
        verb = verb or word in _VERBS
    return tuple(found)


def _connects(words: tuple[str, ...], place: int) -> bool:
    word = words[place]
    if word in REASON or word in CONTRAST:
        return True
    # "in which", "so far", "giving 3": the plain uses of these words join nothing.
    if word == "which":
        return words[place - 1] not in ("of", "in", "on", "for", "at", "with", "by", "to")
    if word == "so":
        return words[place + 1 : place + 2] not in (("far",), ("much",), ("many",), ("called",), ("-",))
    return word in CONSEQUENCE and words[place - 1] in (",", "and", "(", "--")


def _begins(words: tuple[str, ...], place: int) -> bool:
    """True when a part with a verb of its own begins here; "of which 32 are active" belongs to what is before it."""
    if words[place : place + 1] and words[place] in _PREPOSITIONS:
        return False
    if words[place : place + 1] and words[place] in _PRONOUNS:
        return True
    for word in words[place : place + _LIST_REACH]:
        if word in (",", ";", "and", "--", ")"):
            return False
        if word in _VERBS:
            return True
    return False
