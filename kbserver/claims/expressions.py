"""Arithmetic written out in a sentence: "8 x 38 = 304", "442 MB / 8 TB/s = 55 us", "floor(512 / 86) = 5".

Numbers keep their units beside them; an expression is read only when nothing but numbers, units and signs stands in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kbserver.claims.quantities import Quantity
from kbserver.claims.sentences import Sentence
from kbserver.claims.tokens import NUMBER

MAX_TERMS = 24
MOST_SLACK = 0.35
"""Numbers of one digit may be off by half, but not so far that anything agrees."""
MAX_DEPTH = 8
_OPERATORS = frozenset("+-*/")
_FUNCTIONS = {"floor": math.floor, "ceil": math.ceil, "round": round}
_STOPS = frozenset((
    "of", "times", "per", "over", "by", "plus", "minus", "^", "**", "%", "mod", "each", "<", ">", "<=", ">=", "=", ".",
    "divided", "to", "#", "$", "_", "[", "]", "|", "&",
))  # fmt: skip
_JOINS = frozenset(("in", "at", "for", "with", "on", "from", "every", "a", "x"))
_NO_NOUNS = frozenset((
    "and", "or", "so", "but", "the", "a", "an", "is", "are", "with", "for", "in", "on", "at", "from", "then", "gives",
    "as", "which", "that", "while", "not", "also", "where", "when", "takes", "take", "has", "have", "plus", "minus",
))  # fmt: skip
_BOUNDS_BEFORE = frozenset('(,;:"|')
_BOUNDS_AFTER = frozenset('),;:"|.!?')
_EXACT = frozenset(("", "CU", "XCD", "GCD", "wave", "bank", "SIMD", "workgroup", "thread", "bit", "VGPR", "register"))


@dataclass(frozen=True)
class Value:
    """A number of an expression: as written, in base units (each meaning of KB), and its rounding as a share.

    `whole` is the value with every quotient cut to a whole number, as index arithmetic in C means it.
    """

    raw: float
    whole: float
    bases: tuple[float, ...]
    error: float
    units: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """One side of an equation: its value, whether it computes anything, and the tokens that it spans."""

    value: Value
    computed: bool
    start: int
    end: int
    text: str


class _Unreadable(Exception):
    """The tokens are no arithmetic."""


def equations(sentence: Sentence) -> list[tuple[Side, Side]]:
    """Return the (left, right) sides of every equation of the sentence of which at least one side computes."""
    found = []
    words = sentence.words
    for place, word in enumerate(words):
        if word not in ("=", "~") or place == 0 or (word == "~" and words[place - 1] in _OPERATORS | _STOPS):
            continue
        left, right = _left(sentence, place), _right(sentence, place + 1)
        if left and right and (left.computed or right.computed) and _stands_free(sentence, left.start, right.end):
            found.append((left, right))
    return found


def _stands_free(sentence: Sentence, start: int, end: int) -> bool:
    """True when blanks or punctuation bound an equation: a piece of code or of a path is none."""
    tokens, words = sentence.tokens, sentence.words
    before = not tokens[start].glued or words[start - 1] in _BOUNDS_BEFORE
    return before and (end >= len(tokens) or not tokens[end].glued or words[end] in _BOUNDS_AFTER)


def _by_start(sentence: Sentence) -> dict[int, Quantity]:
    return {quantity.start: quantity for quantity in sentence.quantities}


def _by_end(sentence: Sentence) -> dict[int, Quantity]:
    return {quantity.end: quantity for quantity in sentence.quantities}


def _left(sentence: Sentence, end: int) -> Side | None:
    """Return the expression that ends at `end`, the longest that reads as one."""
    words, ends = sentence.words, _by_end(sentence)
    place, terms = end, 0
    while place > 0 and terms < MAX_TERMS * 2:
        quantity = ends.get(place)
        if quantity:
            place, terms = quantity.start, terms + 1
        elif (
            words[place - 1] in _OPERATORS
            or words[place - 1] in ("(", ")")
            or words[place - 1] in _FUNCTIONS
            or (words[place - 1] == "x" and place in _by_start(sentence))
        ):
            place, terms = place - 1, terms + 1
        elif (
            sentence.tokens[place - 1].kind == "word"
            and ends.get(place - 1)
            and _is_noun(words[place - 1])
            and not sentence.tokens[place - 1].glued
        ):
            place -= 1  # a noun after a number: "38 active CUs"
        else:
            break
    if place > 0 and (words[place - 1] in _STOPS or sentence.tokens[place - 1].kind == NUMBER):
        return None
    if place > 1 and words[place - 1] in _JOINS and (place - 1 in ends or words[place - 2] == ")"):
        return None  # "8192 FLOP in 16 clocks x 4 SIMDs = ...": a quotient in words comes before
    return _read_longest(sentence, place, end)


def _read_longest(sentence: Sentence, start: int, end: int) -> Side | None:
    for first in range(start, end):
        if first > start and sentence.words[first - 1] != "(":
            continue  # only an opening bracket may stand before what is read
        try:
            return _read(sentence, first, end)
        except _Unreadable:
            continue
    return None


def _right(sentence: Sentence, start: int) -> Side | None:
    """Return the expression that begins at `start`: up to the first token that cannot belong to one."""
    words, starts = sentence.words, _by_start(sentence)
    if start < len(words) and words[start] in ("~", "about"):
        start += 1
    place, depth = start, 0
    while place < len(words):
        quantity = starts.get(place)
        if quantity:
            place = quantity.end
        elif words[place] == "(" and (
            place == start or words[place - 1] in _OPERATORS or words[place - 1] in _FUNCTIONS
        ):
            place, depth = place + 1, depth + 1
        elif words[place] == ")" and depth > 0:
            place, depth = place + 1, depth - 1
        elif (
            words[place] in _FUNCTIONS
            or (words[place] in _OPERATORS and place > start and _continues(sentence, place))
            or (words[place] == "x" and place + 1 in starts and place > start)
            or (sentence.tokens[place].kind == "word" and _noun_before_operator(sentence, place, starts))
        ):
            place += 1
        else:
            break
    if place < len(words) and words[place] in ("^", "**", "%", "!"):
        return None
    try:
        return _read(sentence, start, place)
    except _Unreadable:
        return None


def _is_noun(word: str) -> bool:
    return word not in _STOPS and word not in _NO_NOUNS


def _continues(sentence: Sentence, place: int) -> bool:
    following = sentence.tokens[place + 1 : place + 2]
    return bool(following) and (
        following[0].kind == NUMBER or following[0].low == "(" or following[0].low in _FUNCTIONS
    )


def _noun_before_operator(sentence: Sentence, place: int, starts: dict[int, Quantity]) -> bool:
    """True for a noun between a number and an operator: "8 XCDs x 32 active CUs"."""
    ended = any(quantity.end == place for quantity in sentence.quantities) and _is_noun(sentence.words[place])
    after = sentence.words[place + 1 : place + 2]
    return ended and bool(after) and (after[0] in _OPERATORS or after[0] == "x") and place + 2 in starts


def _read(sentence: Sentence, start: int, end: int) -> Side:
    if start >= end:
        raise _Unreadable
    reader = _Reader(sentence, start, end)
    value = reader.sum(0)
    if reader.place != end:
        raise _Unreadable
    text = sentence.plain[sentence.tokens[start].start : sentence.tokens[end - 1].end]
    return Side(value, reader.operations > 0, start, end, text)


class _Reader:
    """A recursive-descent reader of sums, products, brackets and floor(), over quantities."""

    def __init__(self, sentence: Sentence, start: int, end: int) -> None:
        self.words = sentence.words
        self.tokens = sentence.tokens
        self.starts = _by_start(sentence)
        self.place, self.end = start, end
        self.operations = 0

    def sum(self, depth: int) -> Value:
        value = self.product(depth)
        while self.place < self.end and self.words[self.place] in ("+", "-"):
            if self.words[self.place] == "-" and self.tokens[self.place].glued:
                raise _Unreadable  # "4-6" is a range
            sign = 1 if self.words[self.place] == "+" else -1
            self.place += 1
            self.operations += 1
            other = self.product(depth)
            value = _add(value, other, sign)
        return value

    def product(self, depth: int) -> Value:
        value = self.atom(depth)
        while self.place < self.end and self.words[self.place] in ("*", "/", "x", "×"):
            divides = self.words[self.place] == "/"
            self.place += 1
            self.operations += 1
            value = _multiply(value, self.atom(depth), divides)
        return value

    def _noun(self) -> bool:
        """True when the next word is a noun that belongs to the number before it."""
        word = self.words[self.place]
        token = self.tokens[self.place]
        return token.kind == "word" and not token.glued and word != "x" and word not in _FUNCTIONS and _is_noun(word)

    def atom(self, depth: int) -> Value:
        if self.place >= self.end or depth > MAX_DEPTH or self.operations > MAX_TERMS:
            raise _Unreadable
        word = self.words[self.place]
        quantity = self.starts.get(self.place)
        if quantity is not None:
            self.place = quantity.end
            if self.place < self.end and self._noun():
                self.place += 1
            if quantity.low != quantity.high or quantity.bound:
                raise _Unreadable
            return _value(quantity)
        if word in _FUNCTIONS and self.place + 1 < self.end and self.words[self.place + 1] == "(":
            self.place += 1
            inner = self.atom(depth + 1)
            self.operations += 1
            made = float(_FUNCTIONS[word](inner.raw)) if math.isfinite(inner.raw) else inner.raw
            return Value(made, made, (made,), 0.0, ())
        if word == "(":
            self.place += 1
            value = self.sum(depth + 1)
            if self.place >= self.end or self.words[self.place] != ")":
                raise _Unreadable
            self.place += 1
            return value
        raise _Unreadable


def _value(quantity: Quantity) -> Value:
    exact = quantity.dim in _EXACT and quantity.high == int(min(quantity.high, 1e15)) and quantity.text[:1].isdigit()
    error = 0.0 if exact or not quantity.high else min(quantity.half, 0.5) / quantity.high
    bases = tuple(quantity.high * factor for factor in quantity.factors)
    return Value(quantity.high, quantity.high, bases, error, (quantity.dim,) if quantity.dim else ())


def _add(one: Value, other: Value, sign: int) -> Value:
    raw = one.raw + sign * other.raw
    bases = tuple(a + sign * b for a in one.bases for b in other.bases)[:4]
    whole = one.whole + sign * other.whole
    return Value(raw, whole, bases, max(one.error, other.error), one.units + other.units)


def _multiply(one: Value, other: Value, divides: bool) -> Value:
    if divides and (not other.raw or not all(other.bases)):
        raise _Unreadable
    if not (abs(one.raw) < 1e60 and abs(other.raw) < 1e60):
        raise _Unreadable
    raw = one.raw / other.raw if divides else one.raw * other.raw
    bases = tuple(a / b if divides else a * b for a in one.bases for b in other.bases)[:4]
    whole = (one.whole // other.whole if other.whole else raw) if divides else one.whole * other.whole
    return Value(raw, whole, bases, one.error + other.error, one.units + other.units)


def agrees(left: Value, right: Value, result: Quantity | None) -> bool:
    """True when both sides are the same number, as rounded; where units stand, also up to a power of 1000 or 1024.

    `result` is the number written as the outcome: its last digit says how far it may be rounded.
    """
    if left.whole == right.whole:
        return True
    slack = min(left.error + right.error + _rounding(left, right, result), MOST_SLACK)
    pairs = [(left.raw, right.raw), *((a, b) for a in left.bases for b in right.bases)]
    scales = [1.0]
    if any(unit not in _EXACT for unit in left.units + right.units):
        scales += [base**k for base in (1000.0, 1024.0) for k in (-4, -3, -2, -1, 1, 2, 3, 4)] + [100.0, 0.01]
    return any(_close(a * scale, b, slack) for a, b in pairs for scale in scales)


def _rounding(left: Value, right: Value, result: Quantity | None) -> float:
    """Return the share by which a written result may differ from the exact one."""
    if result is None or not result.high:
        return 0.004
    whole = all(side.raw == int(side.raw) for side in (left, right) if abs(side.raw) < 1e15)
    exact = whole and left.error == right.error == 0 and result.half == 0.5
    return 0.0 if exact else 0.004 + min(result.half / result.high, 0.06 if result.half > 0.5 else 0.5)


def _close(a: float, b: float, slack: float) -> bool:
    return abs(a - b) <= slack * max(abs(a), abs(b)) + 1e-12
