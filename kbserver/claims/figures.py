"""Figures of a kernel in a sentence: registers, waves, LDS, scratch, spills, written before or after their label."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kbserver.claims.quantities import Quantity
from kbserver.claims.sentences import Sentence
from kbserver.claims.tokens import NUMBER, Token, tokenize

VGPRS, AGPRS, SGPRS, WAVES, LDS, SCRATCH, SPILLS, GROUPS, THREADS, TIME = (
    "vgprs", "agprs", "sgprs", "waves_per_simd", "lds_bytes", "scratch_bytes", "vgpr_spills", "workgroups", "threads",
    "time_ms",
)  # fmt: skip
_BY_DIM = {"VGPR": VGPRS, "AGPR": AGPRS, "SGPR": SGPRS, "wave": WAVES, "workgroup": GROUPS, "thread": THREADS}
_LABELS = {
    "vgpr": VGPRS, "vgprs": VGPRS, "numvgprs": VGPRS, "agpr": AGPRS, "agprs": AGPRS, "sgpr": SGPRS, "sgprs": SGPRS,
    "occupancy": WAVES, "waves/simd": WAVES, "scratch": SCRATCH, "scratchsize": SCRATCH, "spills": SPILLS,
}  # fmt: skip
_LINKS = frozenset((":", "=", "of", "is", "at", "dropped", "drop", "from", "reported", "was", "fell", "rose"))
_LDS_WORDS = frozenset(("lds", "smem"))
_HEADERS = (
    (re.compile(r"\bagprs?\b"), AGPRS),
    (re.compile(r"\bsgprs?\b(?! spill)"), SGPRS),
    (re.compile(r"\bspill"), SPILLS),
    (re.compile(r"\bvgprs?\b"), VGPRS),
    # "waves" alone counts those of a workgroup or a launch.
    (re.compile(r"\boccupancy\b|\bwaves? (?:/|per) (?:simd|eu)\b"), WAVES),
    (re.compile(r"\bscratch\b"), SCRATCH),
    (re.compile(r"\blds\b(?!.*\b(?:instructions?|slots?|conflicts?|reads?|writes?|loads?|cycles?|accesses)\b)"), LDS),
    (re.compile(r"\btime\b|\bms\b"), TIME),
)


@dataclass(frozen=True)
class Figure:
    """One figure, or a chain of them ("103 -> 93"); `per` is what it is said to be of ("simd", "cu" or "")."""

    kind: str
    quantity: Quantity
    chain: tuple[float, ...]
    per: str = ""

    @property
    def value(self) -> float:
        return self.chain[-1]

    @property
    def start(self) -> int:
        return self.quantity.start


def figures(sentence: Sentence) -> list[Figure]:
    """Return the figures of a sentence in order (tables have their own reader, `row_figures`)."""
    found = []
    taken: set[int] = set()
    tokens, words = sentence.tokens, sentence.words
    for quantity in sentence.quantities:
        if quantity.start in taken:
            continue
        kind = _BY_DIM.get(quantity.dim) or _register(quantity, words) or _bytes(quantity, words)
        if kind is None and quantity.dim in ("", "B"):
            kind = _labelled(quantity, words)
        if kind is None:
            continue
        chain, last = _chain(tokens, quantity)
        taken.update(range(quantity.start, last + 1))
        found.append(Figure(kind, quantity, chain, _per(words, last)))
    return found


def _register(quantity: Quantity, words: Sequence[str]) -> str | None:
    return VGPRS if quantity.dim == "register" and any(w in ("vgpr", "vgprs", "vector") for w in words) else None


def _bytes(quantity: Quantity, words: Sequence[str]) -> str | None:
    """Tell LDS from scratch by the word next to the number of bytes."""
    if quantity.dim != "B":
        return None
    after = words[quantity.end : quantity.end + 3]
    for word in after:
        if word in _LDS_WORDS or word in ("shared",):
            return LDS
        if word == "scratch":
            return SCRATCH
        if word not in ("of", "the", "static", "dynamic", "in", "/"):
            break
    for word in reversed(words[max(0, quantity.start - 5) : quantity.start]):
        if word in _LDS_WORDS:
            return LDS
        if word == "scratch":
            return SCRATCH
        if word not in (
            "at",
            "of",
            "~",
            ":",
            "=",
            "takes",
            "uses",
            "is",
            "(",
            "with",
            "about",
            "s",
            "'",
            "bytes",
            "size",
        ):
            break
    return None


def _labelled(quantity: Quantity, words: Sequence[str]) -> str | None:
    place = quantity.start - 1
    while place > 0 and words[place] in _LINKS and quantity.start - place < 4:
        place -= 1
    return _LABELS.get(words[place]) if place >= 0 else None


def _chain(tokens: Sequence[Token], quantity: Quantity) -> tuple[tuple[float, ...], int]:
    """Return the numbers of "103 -> 93" or "from 117 to 103", and the last token of them."""
    values, place = [quantity.high * quantity.factors[-1]], quantity.end
    while place + 1 < len(tokens) and tokens[place].low in ("->", "to") and tokens[place + 1].kind == NUMBER:
        values.append(tokens[place + 1].value * quantity.factors[-1])
        place += 2
    return tuple(values), place - 1


def _per(words: Sequence[str], last: int) -> str:
    for place in range(last, min(last + 4, len(words) - 1)):
        if words[place] in ("per", "/", "a", "each", "on", "for") and words[place + 1] in ("simd", "cu", "each", "eu"):
            return {"eu": "simd", "each": "simd"}.get(words[place + 1], words[place + 1])
        if words[place] in (",", ";", "|"):
            break
    return ""


def row_figures(sentence: Sentence) -> Iterator[tuple[int, str, float, Quantity]]:
    """Yield (column, kind, value, quantity) for the cells of a row that begin with a number under or beside a label."""
    tokens = sentence.tokens
    kinds = [label_kind(title) for title in sentence.block.header]
    own = label_kind(sentence.text[: sentence.cells[0][1]]) if sentence.cells else None
    for column, (low, high) in enumerate(sentence.cells):
        inside = [q for q in sentence.quantities if low <= tokens[q.start].start < high]
        if not inside or tokens[inside[0].start].start != low:
            continue
        kind = own if column and own else kinds[column] if column < len(kinds) else None
        if kind is not None:
            quantity = inside[0]
            yield (
                column,
                kind,
                quantity.high * (quantity.factors[-1] if quantity.dim != "s" else 1e3 * quantity.factors[0]),
                quantity,
            )


def label_kind(label: str) -> str | None:
    """Return what a header or row label says its numbers are."""
    low = " ".join(token.low for token in tokenize(label))
    found = [kind for pattern, kind in _HEADERS if pattern.search(low)]
    return found[0] if len(found) == 1 else None
