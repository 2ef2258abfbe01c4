"""Text to search tokens: what an engineer types (`v_mfma_f32_16x16x32_bf16`, `--offload-arch`, `160KB`) stays findable.

A word gives its whole form and its parts; a quantity gives number and number-with-unit; names of one thing (synonyms,
products of a target) add one shared concept token, written `=name`, so that either name finds the other. English words
lose their endings: a question says "spilled" where the answer says "spills".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

MAX_WORD = 80
"""Longer runs without a blank are data, not words: they are dropped, in documents and in queries."""

_FUNCTION_WORDS = """
a about after all also am an and any are as at be because been before being between both but by can cannot come
comes coming could did do does doing done during each either else every few for from get gets getting give given gives
go goes going got had happen happens has have having he her here his how i if in into is it its itself just know let
like look looks lot made make makes many may me mean means might more most much must my need needs no not of off on
once one only or other our out over own per really same say says seem seems she should so some still such take takes
tell than that the their them then there these they thing this those through to too tries try under until up upon us
use used uses using very via want wants was way we were what when where whether which while who whom whose why will
with within would yes yet you your
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())

_WORD = re.compile(r"(?:\w+|(?=[-./:+'][^\W_]))(?:[-./:+'][^\W_]\w*)*")
_QUANTITY = re.compile(
    r"(?<![\w.])(\d{1,3}(?:[, ]\d{3})+|\d+(?:\.\d+)?)[ -]?"
    r"(TB/s|GB/s|KiB|KB|kB|K|MiB|MB|GiB|GB|TiB|TB|B|bytes?|T?FLOPS?|GHz|MHz|banks?|bits?|lanes|cycles?|dwords?)(?!\w)"
)
_UNITS = {
    "kib": "kb", "k": "kb", "mib": "mb", "gib": "gb", "tib": "tb", "bytes": "b", "byte": "b", "flop": "flops",
    "tflop": "tflops", "bank": "banks", "bit": "bits", "cycle": "cycles", "dword": "dwords",
}  # fmt: skip
_WIDTHS = {
    "b8": "8bits", "b16": "16bits", "b32": "32bits", "b64": "64bits", "b96": "96bits", "b128": "128bits",
    "dwordx2": "64bits", "dwordx3": "96bits", "dwordx4": "128bits",
}  # fmt: skip
"""How mnemonics spell the width of an access: `ds_read_b128` is a 16-byte read, as is `global_load_dwordx4`."""
_SEPARATORS = re.compile(r"[-_./:+']+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+\w*|[A-Z]")
_SHAPE = re.compile(r"(\d+x\d+)(?:x\d+)+(\w*)")
_NUMBERED = re.compile(r"([a-z]{4,}?)x?\d+\w*")
_VOWELS = frozenset("aeiouy")
_FORMS = """
broke:break broken:break built:build chose:choose chosen:choose hidden:hide held:hold kept:keep lost:lose ran:run
sent:send spent:spend taken:take took:take written:write wrote:write
bigger:big costly:cost faster:fast fastest:fast higher:high larger:large largest:large longer:long slower:slow
slowest:slow smaller:small wider:wide
"""
_NAMES = frozenset(("valu",))
"""Names of the field that a shortened English word must not become."""
_BASE = dict(pair.split(":") for pair in _FORMS.split())
_NOUNS = (
    ("ization", "iz"), ("ation", "at"), ("ition", "it"), ("ersion", "ert"), ("ction", "ct"), ("ssion", "ss"),
    ("ement", "e"), ("ment", ""), ("ly", ""),
)  # fmt: skip
"""Endings of what verbs and adjectives become: a question says "converting" where the answer says "conversion"."""


def stem(word: str) -> str:
    """Return the base of an English word: caches, cached and caching are one, as are convert and conversion."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _verb(_BASE.get(word, word))
    for ending, base in _NOUNS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word.removesuffix(ending) + base
    return word


def _verb(word: str) -> str:
    """Return a word without plural, -ing, -ed and a last e."""
    word = _singular(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        # `string`, `need` and `speed` are no forms of a verb.
        if rest != word and len(rest) > 2 and _VOWELS & set(rest) and not word.endswith("eed"):
            doubled = len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "lsz"
            word = rest[:-1] if doubled else rest
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") and word[:-1] not in _NAMES else word


def spelling(term: str, texts: Iterable[str]) -> str:
    """Return the shortest word of the texts that has `term` as its stem, or `term`."""
    words = {word.lower() for text in texts for word in re.findall(r"[A-Za-z]+", text)}
    return min((word for word in words if stem(word) == term), key=lambda word: (len(word), word), default=term)


def _singular(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")) and word != "caches":
        return word[:-2]
    return word[:-1]


def _plain(word: str) -> str:
    return word.lower().strip("-./:+'").removesuffix("'s")


def word_tokens(word: str) -> tuple[str, ...]:
    """Return the tokens of one word: its whole form first, then parts that differ from it."""
    # Underscores stay: `__shared__` names LDS, `shared` does not.
    whole = _plain(word)
    tokens = [stem(whole)]
    for piece in _SEPARATORS.split(word):
        tokens += _piece_tokens(piece)
    # A lone letter says something as a word (matrix A), nothing as the `v` of `v_add_f32`.
    kept = (token for token in tokens if len(token) > 1 or token.isdigit() or token == tokens[0])
    return tuple(dict.fromkeys(token for token in kept if token))


def _piece_tokens(piece: str) -> Iterator[str]:
    lower = piece.lower()
    yield stem(lower)
    if lower in _WIDTHS:
        yield _WIDTHS[lower]
    shape = _SHAPE.fullmatch(lower)
    if shape:
        yield shape[1]  # 16x16x32 is also a 16x16 shape
        if shape[2]:
            yield lower.removesuffix(shape[2])
            yield shape[2]
        return
    numbered = _NUMBERED.fullmatch(lower)
    if numbered:
        yield stem(numbered[1])  # permlane32 is also a permlane
    if piece != lower and piece[1:] != lower[1:] and piece != piece.upper():
        for part in _CAMEL.findall(piece):
            yield stem(part.lower())


def quantity_tokens(number: str, unit: str) -> tuple[str, ...]:
    """Return the tokens of a quantity: `160KB`, `160 KiB` and `163,840 bytes` share `160kb`, 16 bytes are 128 bits."""
    digits = number.replace(",", "").replace(" ", "")
    short = _UNITS.get(unit.lower(), unit.lower())
    tokens = [digits, digits + short]
    if short == "b" and digits.isdigit() and int(digits) and int(digits) % 1024 == 0:
        tokens.append(f"{int(digits) // 1024}kb")
    elif short == "b" and digits.isdigit():
        tokens.append(f"{int(digits) * 8}bits")
    return tuple(tokens)


class Named(NamedTuple):  # one a word of all that is indexed: cheaper to make than a frozen dataclass
    """A word as written, its tokens (the whole first), the concept that it helps to name, and if that begins here."""

    text: str
    tokens: tuple[str, ...]
    concept: str | None
    begins: bool


class Tokenizer:
    """Tokens of documents and queries under one set of synonyms."""

    def __init__(self, groups: Iterable[Sequence[str]] = ()) -> None:
        self._phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for group in groups:
            concept = "=" + group[0].lower()
            for name in group:
                words = tuple(word.tokens[0] for word in _words(name))
                if words:
                    self._phrases.setdefault(words[0], []).append((words, concept))
        for phrases in self._phrases.values():
            phrases.sort(key=lambda phrase: -len(phrase[0]))

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text, in order, stop words left out, concepts added."""
        found: list[str] = []
        for word in self.words(text):
            found += word.tokens
            if word.begins and word.concept:
                found.append(word.concept)
        return found

    def words(self, text: str) -> Iterator[Named]:
        """Yield each word of a text that is no stop word."""
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        words = list(_words(text))
        concept, end = None, 0
        for position, word in enumerate(words):
            if word.stop:
                continue
            # A name inside a longer one is not meant: an 8-bit float is no fp32.
            phrase = self._phrase(words, position) if position >= end and word.tokens[0] in self._phrases else None
            if phrase:
                concept, end = phrase[1], position + len(phrase[0])
            covered = concept if position < end else None
            if word.kept or covered:
                yield Named(word.text, word.kept, covered, bool(phrase))

    def _phrase(self, words: Sequence[_Word], position: int) -> tuple[tuple[str, ...], str] | None:
        """Return the longest name that begins at a word, with its concept."""
        for phrase, concept in self._phrases[words[position].tokens[0]]:
            if tuple(word.tokens[0] for word in words[position : position + len(phrase)]) == phrase:
                return phrase, concept
        return None


class _Word(NamedTuple):
    """A word as written, its tokens, those that are no stop words, and whether it is one itself."""

    text: str
    tokens: tuple[str, ...]
    kept: tuple[str, ...]
    stop: bool


def _of_tokens(text: str, tokens: tuple[str, ...]) -> _Word:
    return _Word(text, tokens, tuple(token for token in tokens if token not in STOP_WORDS), _plain(text) in STOP_WORDS)


@lru_cache(maxsize=65536)
def _of_text(text: str) -> _Word:
    return _of_tokens(text, word_tokens(text))


def _words(text: str) -> Iterator[_Word]:
    position = 0
    for match in _QUANTITY.finditer(text):
        yield from _plain_words(text, position, match.start())
        yield _of_tokens(match[1], quantity_tokens(match[1], match[2]))
        if len(match[2]) > 3 and match[2].isalpha():
            yield _of_tokens(match[2], (stem(match[2].lower()),))
        position = match.end()
    yield from _plain_words(text, position, len(text))


def _plain_words(text: str, start: int, end: int) -> Iterator[_Word]:
    for word in _WORD.findall(text, start, end):
        if len(word) <= MAX_WORD and word.strip("_"):
            yield _of_text(word)
