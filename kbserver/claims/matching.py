"""Which number belongs to which subject: only glue words may stand between them, so prose in between makes no claim."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from kbserver.claims.names import Name
from kbserver.claims.quantities import Quantity
from kbserver.claims.sentences import Sentence
from kbserver.claims.subjects import MAY_NOT_TAKE, MAY_TAKE, PARTS, SUBJECTS, Subject
from kbserver.claims.tables import column_of
from kbserver.claims.tokens import tokenize

LONGEST = 6
"""Tokens of a phrase at most."""
REACH = 12
"""Tokens between a subject and its number at most."""

GLUE = frozenset((
    "of", "a", "an", "the", "is", "are", "was", "has", "have", "had", "=", ":", "with", "at", "about", "~", "roughly",
    "approximately", "around", "only", "exactly", "just", "most", "up", "to", "per", "each", "every", "on", "in", "for",
    "(", ")", "size", "sized", "capacity", "total", "limit", "limited", "cache", "memory", "max", "maximum", "peak",
    "equals", "stays", "remains", "it", "its", "still", "also", "now", "which", "cu", "compute", "unit", "xcd", "gcd",
    "simd", "workgroup", "block", "device", "gpu", "provides", "offers", "contains", "holds", "shared", "private",
    "fast", "on-chip", "chip", "dedicated", "full", "whole", "'", "s", "/", "-", "->", "--", "wide", "long", "lines",
    "all", "target", "targets", "product", "products", "by", "not", "vector", "data", "engine", "clock", "clocks",
    "runs", "reaches", "goes", "can", "have", "be", "bandwidth", "theoretical", "same", "large", "big", "hardware",
    "counter", "field", "bank", "banks", "supports", "consists", "comes", "grew", "grows", "local", "physical",
    "this", "that", "these", "part", "parts", "here", "there", "any", "one", "merely", "got", "physically", "card",
    "tops", "out", "peaks",
))  # fmt: skip
_LISTED = frozenset(("hbm", "hbm3", "hbm3e", "memory", "lds", "l2", "cache", "bandwidth", "infinity"))
_AFTER_BARE = (
    [],
    *([sign] for sign in (".", ",", ";", ")", ":", "--", "on", "in", "for", "and", "but", "so", "|", "here")),
)
"""What may follow a number without a unit: a noun would say that it counts something else."""
_PROPERTY = frozenset((
    "is", "are", "has", "have", "=", ":", "size", "capacity", "limit", "maximum", "max", "total", "provides", "offers",
    "contains", "holds", "equals", "peak", "supports", "stays", "remains",
))  # fmt: skip


@dataclass(frozen=True)
class Match:
    """A number with its subject and the part it is said to be of ("" when none is named).

    `column` is the column of a table whose header names the subject, None when the row or the sentence does.
    """

    quantity: Quantity
    subject: Subject
    part: str
    start: int
    end: int
    column: int | None = None


_BY_FIRST: dict[str, list[tuple[tuple[str, ...], Subject]]] = {}
for _subject in SUBJECTS:
    for _phrase in _subject.phrases:
        _words = tuple(token.low for token in tokenize(_phrase))
        _BY_FIRST.setdefault(_words[0], []).append((_words, _subject))
for _entries in _BY_FIRST.values():
    _entries.sort(key=lambda entry: -len(entry[0]))

_OF_DIM: dict[str, list[Subject]] = {}
for _subject in SUBJECTS:
    _OF_DIM.setdefault(_subject.dim, []).append(_subject)


def find_matches(sentence: Sentence, named: Sequence[Name]) -> list[Match]:
    """Return the numbers of a sentence that have a subject."""
    mentions = _mentions(sentence.words)
    if sentence.cells:
        return [match for match in (_of_cell(sentence, q, mentions) for q in sentence.quantities) if match]
    inside = {place for name in named for place in range(name.start, name.end)}
    found = []
    for quantity in sentence.quantities:
        match = _of_number(sentence, quantity, mentions, inside)
        if match is not None:
            found.append(match)
    return found


def _mentions(words: Sequence[str]) -> list[tuple[int, int, Subject]]:
    """Return (start, end, subject) of every phrase; at one place only those of the longest phrase."""
    found: list[tuple[int, int, Subject]] = []
    place = 0
    while place < len(words):
        longest = 0
        for phrase, subject in _BY_FIRST.get(words[place], ()):
            if len(phrase) < longest:
                break
            if tuple(words[place : place + len(phrase)]) == phrase:
                longest = len(phrase)
                found.append((place, place + longest, subject))
        place += max(longest, 1)
    return found


def _of_number(
    sentence: Sentence, quantity: Quantity, mentions: list[tuple[int, int, Subject]], inside: set[int]
) -> Match | None:
    best: tuple[int, Match] | None = None
    first = bisect_left(mentions, quantity.start - REACH - LONGEST, key=lambda mention: mention[0])
    for start, end, subject in islice(mentions, first, None):
        if start > quantity.end + REACH:
            break
        bare = subject.bare and quantity.dim == "" and end - start > 1 and end <= quantity.start
        bare = bare and sentence.words[quantity.end : quantity.end + 1] in _AFTER_BARE
        if not _fits(subject, limit_of(sentence.words, quantity), bare):
            continue
        gap = _gap(sentence.words, start, end, quantity, inside)
        if gap is None or (best and gap >= best[0]):
            continue
        low, high = min(start, quantity.start), max(end, quantity.end)
        limit = limit_of(sentence.words, quantity) is not quantity
        if subject.vague and not (limit or _states_property(sentence, low, high, inside)):
            continue
        part = part_of(sentence.words, quantity, low, high)
        best = gap, Match(quantity, subject, part, low, high)
    if best:
        return best[1]
    return _own_name(sentence, quantity, inside)


def limit_of(words: Sequence[str], quantity: Quantity) -> Quantity:
    """Return the number of "cannot use more than 48 KB" as the limit that it states, any other as it is."""
    if quantity.dim != "B" or quantity.bound == "<":
        return quantity
    before = " ".join(words[max(0, quantity.start - 8) : quantity.start])
    return replace(quantity, bound="") if MAY_NOT_TAKE.search(before) else quantity


def _own_name(sentence: Sentence, quantity: Quantity, inside: set[int]) -> Match | None:
    for subject in _OF_DIM.get(quantity.dim, ()):
        if not subject.unit_names_it or not _fits(subject, quantity):
            continue
        part = part_of(sentence.words, quantity, quantity.start, quantity.end)
        if part not in subject.per:
            continue
        if subject.vague and not part and not _states_property(sentence, quantity.start, quantity.end, inside):
            continue
        if subject.cue and not subject.cue.search(_cue_text(sentence, quantity)):
            continue
        return Match(quantity, subject, part, quantity.start, quantity.end)
    return None


def _cue_text(sentence: Sentence, quantity: Quantity) -> str:
    """Return the words in which a cue counts: near the number for "at most 8 waves", anywhere for "LDS"."""
    if quantity.dim in ("wave", "thread", "workgroup"):
        return " ".join(sentence.words[max(0, quantity.start - 7) : quantity.end + 7])
    return sentence.low


def _fits(subject: Subject, quantity: Quantity, bare: bool = False) -> bool:
    if (
        not (bare or subject.dim in quantity.dims)
        or quantity.bound
        or not subject.low <= quantity.value <= subject.high
    ):
        return False
    return _is_capacity(subject, quantity)


def _is_capacity(subject: Subject, quantity: Quantity) -> bool:
    """A capacity is a whole number of KB; 32,576 B or 44.6 KB are what a kernel takes."""
    return (
        not (subject.dim == "B" and subject.vague) or quantity.high % (1024 if quantity.factors == (1.0,) else 1) == 0
    )


def _gap(words: Sequence[str], start: int, end: int, quantity: Quantity, inside: set[int]) -> int | None:
    """Return how many tokens stand between, or None when one of them is no glue or too many do."""
    low, high = (end, quantity.start) if end <= quantity.start else (quantity.end, start)
    if high < low:
        return 0 if start <= quantity.start and quantity.end <= end else None
    if high - low > REACH:
        return None
    between = range(low, high)
    # After the number the subject follows at once ("64 KB of LDS"): a longer way leads to another statement.
    if low == quantity.end and high - low > 4:
        return None
    return high - low if all(words[n] in GLUE or n in inside for n in between) else None


def _states_property(sentence: Sentence, low: int, high: int, inside: set[int]) -> bool:
    """True when the number is said to be a property of something: a verb, a part or a target stands with it."""
    words = sentence.words
    near = range(max(0, low - 3), min(len(words), high + 4))
    if MAY_TAKE.search(" ".join(words[max(0, low - 6) : low])):
        return True
    if any(n in inside for n in near):
        return True
    if any(words[n] in _PROPERTY for n in range(max(0, low - 2), min(len(words), high + 1))):
        return True
    if any(words[n] in ("per", "each", "every") and _part_at(words, n + 1) for n in near):
        return True
    return low > 0 and words[low - 1] in ("and", ",") and _in_list_of(sentence, low - 1, inside)


def _in_list_of(sentence: Sentence, place: int, inside: set[int]) -> bool:
    """True in the list of "MI300X has 304 CUs and 5.3 TB/s": only quantities stand between the verb and here."""
    words = sentence.words
    counted = {n for quantity in sentence.quantities for n in range(quantity.start, quantity.end)}
    while place > 0 and (place in counted or words[place] in ("and", ",", "of") or words[place] in _LISTED):
        place -= 1
    return place - 1 in inside and words[place] in ("has", "have", "offers", "provides", "with")


def _part_at(words: Sequence[str], place: int) -> str:
    return PARTS.get(words[place], "") if place < len(words) else ""


def part_of(words: Sequence[str], quantity: Quantity, low: int, high: int) -> str:
    """Return the part that a number is of: "per CU" right after it, else within the statement, else "each CU has"."""
    in_brackets = words[quantity.end : quantity.end + 3]
    if len(in_brackets) == 3 and in_brackets[0] == "(" and in_brackets[2] == ")" and in_brackets[1] in PARTS:
        return PARTS[in_brackets[1]]
    start = low
    low, high = _between_commas(words, low, high)
    for place in range(quantity.end, min(quantity.end + 2, high)):
        if words[place] in ("per", "/", "a", "each", "every") and _part_at(words, place + 1):
            return _part_at(words, place + 1)
        if words[place] == "-" and _part_at(words, place + 2) and words[place + 1] == "per":
            return _part_at(words, place + 2)
        if words[place] in ("total", "overall", "in"):
            return "device" if words[place] != "in" or words[place + 1 : place + 2] == ["total"] else ""
    for place in range(start, high):
        if words[place] in ("per", "each", "every") and _part_at(words, place + 1):
            return _part_at(words, place + 1)
    for place in range(low, start):
        if words[place] in ("per", "each", "every", "a", "one", "an", "single") and _part_at(words, place + 1):
            return _part_at(words, place + 1)
    if quantity.end < len(words) and words[quantity.end] == "each":
        return next((PARTS[words[n]] for n in range(low, start)[::-1] if words[n] in PARTS), "")
    if any(words[place] in ("total", "aggregate") for place in range(max(low, start - 1), high)):
        return "device"
    return ""


def _between_commas(words: Sequence[str], low: int, high: int) -> tuple[int, int]:
    """Widen [low, high) by a few words, but over no comma: what stands after it is about something else."""
    start, end = low, high
    while start > max(0, low - 24) and words[start - 1] not in _ENDS:
        start -= 1
    while end < min(len(words), high + 4) and words[end] not in _ENDS:
        end += 1
    return start, end


_ENDS = frozenset((",", ";", "|", "(", ")", ".", "--", "and"))


def _of_cell(sentence: Sentence, quantity: Quantity, mentions: list[tuple[int, int, Subject]]) -> Match | None:
    """A cell that begins with a number takes its subject from the cell, the row's first cell or the column's header."""
    tokens = sentence.tokens
    column = column_of(sentence, quantity.start)
    first = next((n for n, token in enumerate(tokens) if token.start >= sentence.cells[column][0]), 0)
    if quantity.start - first > 1 or quantity.bound:
        return None
    words = sentence.words
    own_end = next((n for n, token in enumerate(tokens) if token.start >= sentence.cells[column][1]), len(tokens))
    part = part_of(words[:own_end], quantity, quantity.start, quantity.end)
    row = [token.low for token in tokens if token.start < sentence.cells[0][1]]
    labels: list[tuple[list[str], int | None]] = [(row, None)] if column else []
    if column < len(sentence.block.header):
        labels.append(([token.low for token in tokenize(sentence.block.header[column])], column))
    inside = [(a, b, s) for a, b, s in mentions if quantity.end <= a < own_end and a - quantity.end <= 2]
    for _, _, subject in inside:
        if _fits(subject, quantity):
            return Match(quantity, subject, part, quantity.start, own_end)
    for label, of_column in labels:
        for start, end, subject in _mentions(label):
            rest = " ".join(label)
            if quantity.dim == "" and subject.bare and end - start == 1 and "size" not in label:
                continue  # "Wavefronts | 32" counts them
            beside = f"{rest} | {' '.join(labels[0][0])}"
            if not _fits_cell(subject, quantity) or (subject.anti and subject.anti.search(beside)):
                continue
            if subject.cue and not subject.cue.search(f"{rest} {sentence.low}"):
                continue
            if not _alone(label, start, end):
                continue
            return Match(quantity, subject, part or _label_part(label), quantity.start, quantity.end, of_column)
    return None


def _fits_cell(subject: Subject, quantity: Quantity) -> bool:
    if subject.dim in quantity.dims:
        return subject.low <= quantity.value <= subject.high and _is_capacity(subject, quantity)
    return (
        quantity.dim == "" and (subject.unit_names_it or subject.bare) and subject.low <= quantity.high <= subject.high
    )


def _label_part(label: Sequence[str]) -> str:
    for place, word in enumerate(label):
        if word in ("per", "/") and _part_at(label, place + 1):
            return _part_at(label, place + 1)
    return ""


def _alone(label: Sequence[str], start: int, end: int) -> bool:
    """True when a label names its subject and little else: "LDS per CU, gfx950", not "LDS loads of the kernel"."""
    rest = [*label[:start], *label[end:]]
    return all(
        word in GLUE or word in PARTS or not word[0].isalpha() or word.startswith(("gfx", "mi", "cdna", "x", "byte"))
        or word in ("kb", "kib", "mb", "mib", "gb", "max", "cap", "mall", "lds", "count", "number", "active")
        for word in rest
    )  # fmt: skip
