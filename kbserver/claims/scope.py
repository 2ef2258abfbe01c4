"""Which target a statement is about: the names beside it, in its sentence, before it, above it, in the document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from kbserver.claims.model import ClaimScope
from kbserver.claims.names import Name, names
from kbserver.claims.sentences import Sentence
from kbserver.claims.tokens import tokenize
from kbserver.core.targets import Targets

_CLAUSE = frozenset(
    (";", ",", "--", "but", "while", "whereas", "versus", "vs", "against", "unlike", "than", "as", "and")
)


@dataclass(frozen=True)
class Scope:
    """The (target, product) pairs that a statement is about; empty when nothing says. `foreign`: about another maker's
    or an unknown machine. `near`: the sentence itself says so.
    """

    pairs: tuple[tuple[str, str | None], ...]
    decided_by: str
    foreign: bool = False
    near: bool = False
    earlier: bool = False
    """Only a sentence before names it: a statement about something with a target of its own is not about this one."""

    @property
    def archs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(arch for arch, _ in self.pairs))

    @property
    def shown(self) -> ClaimScope:
        """The scope as results carry it: arch and product when they are one."""
        products = {product for _, product in self.pairs}
        return ClaimScope(
            arch=", ".join(self.archs) or None,
            product=", ".join(sorted(p for p in products if p)) or None,
            decided_by=self.decided_by,
        )


NOWHERE = Scope((), "no target is named")


class Scopes:
    """Finds scopes in one document. `given` is the caller's target, `front` what the document says of itself."""

    def __init__(self, targets: Targets, given: Scope | None, front: Scope | None) -> None:
        self.targets = targets
        self.given = given
        self.front = front
        self.document: Scope | None = None
        self._of_text: dict[str, list[Name]] = {}

    def names_in(self, sentence: Sentence) -> list[Name]:
        return self._names(sentence.plain, sentence)

    def _names(self, text: str, sentence: Sentence | None = None) -> list[Name]:
        if text not in self._of_text:
            if len(self._of_text) > 5000:
                self._of_text.clear()
            self._of_text[text] = names(sentence.tokens if sentence else tokenize(text), self.targets)
        return self._of_text[text]

    def of(self, sentence: Sentence, start: int, end: int) -> Scope:
        """Return the scope of the statement at tokens [start, end)."""
        found = self.names_in(sentence)
        if sentence.cells:
            scope = self._of_cell(sentence, found, start)
        else:
            low, high = _clause(sentence, start, end, found)
            # "unlike MI300X" names the other one, unless the statement is about it: "vs MI300X's 8 XCDs".
            about = sentence.words[low - 1 : low] in (["vs"], ["versus"])
            found = [n for n in found if (about and n.start == low) or not _only_compared(sentence, n, start)]
            clause = _within(found, low, high) or _introduced(sentence, found, low)
            scope = _scope(clause, "its clause names it", True) if clause else None
            scope = scope or (_scope(found, "its sentence names it", True) if found else None)
        return scope or self.around(sentence)

    def _of_cell(self, sentence: Sentence, found: list[Name], start: int) -> Scope | None:
        """The cell, then the column's header, then the row's first cell: the first that names a target."""
        place = sentence.tokens[start].start
        column = next((n for n, (a, b) in enumerate(sentence.cells) if a <= place <= b), 0)
        for number, how in ((column, "its cell names it"), (0, "its row names it")):
            if (number == 0 and column != 0) or number == column:
                low, high = sentence.cells[number]
                inside = [name for name in found if low <= sentence.tokens[name.start].start <= high]
                if inside:
                    return _scope(inside, how, True)
            if number == column and column < len(sentence.block.header):
                named = self._names(sentence.block.header[column])
                if named:
                    return _scope(named, "its column names it", True)
        return None

    def around(self, sentence: Sentence) -> Scope:
        """Return the scope that the text before and above a sentence gives."""
        for one in reversed(sentence.before):
            found = self.names_in(one)
            if found:
                return replace(_scope(found, "an earlier sentence names it", False), earlier=True)
        return self.above(sentence)

    def above(self, sentence: Sentence) -> Scope:
        """Return the scope of the section and the document that a sentence stands in."""
        for title in reversed(sentence.block.headings):
            found = self._names(title)
            if found:
                return _scope(found, "its heading names it", False)
        if sentence.block.lead:
            found = self._names(sentence.block.lead)
            if found:
                return _scope(found, "the paragraph before names it", False)
        return self.given or self.front or self.document or NOWHERE


def _only_compared(sentence: Sentence, name: Name, start: int) -> bool:
    """True for the other one of a comparison, as the statement at `start` sees it: "unlike MI300X", "2x gfx942"."""
    before = sentence.words[max(0, name.start - 3) : name.start]
    if name.start < start and sentence.words[name.end : name.end + 1] == ["'"]:
        return False  # "unlike NVIDIA's warp size of 32": the number is the other one's
    if before[-1:] and before[-1] in ("unlike", "than", "vs", "versus", "x", "×", "times"):
        return True
    two = " ".join(before[-2:])
    return two in (
        "compared with",
        "compared to",
        "difference from",
        "differs from",
        "different from",
        "as on",
        "as in",
    )


def _within(found: Iterable[Name], start: int, end: int) -> list[Name]:
    return [name for name in found if start <= name.start < end]


def _introduced(sentence: Sentence, found: Sequence[Name], low: int) -> list[Name]:
    """Return the names of "On gfx942, ..." before a clause that begins at `low` and names none itself."""
    words = sentence.words
    if low < 2 or words[low - 1] != ",":
        return []
    before = [name for name in found if name.end == low - 1]
    if before and words[before[0].start - 1 : before[0].start] in (["on"], ["for"], ["in"], ["with"]):
        return before
    return []


def _clause(sentence: Sentence, start: int, end: int, found: Sequence[Name]) -> tuple[int, int]:
    """Return the clause around [start, end); a list of names ("on gfx90a, gfx942 and gfx950") is not cut."""
    words = sentence.words
    listed = {n for one, two in pairwise(found) for n in range(one.end, two.start) if two.start - one.end <= 2}

    def cuts(place: int) -> bool:
        return words[place] in _CLAUSE and place not in listed

    low, high = start, end
    while low > 0 and not cuts(low - 1):
        low -= 1
    while high < len(words) and not cuts(high):
        high += 1
    return low, high


def _scope(found: Sequence[Name], how: str, near: bool) -> Scope:
    foreign = any(name.arch is None for name in found)
    pairs: dict[tuple[str, str | None], None] = {}
    for name in found:
        if name.arch is not None:
            pairs[(name.arch, name.product)] = None
    # A target named beside one of its products says nothing more: "MI350X (gfx950)".
    with_product = {arch for arch, product in pairs if product}
    kept = tuple(pair for pair in pairs if pair[1] or pair[0] not in with_product)
    return Scope(kept, how, foreign, near)


def scope_of_names(texts: Iterable[str], targets: Targets, how: str) -> Scope | None:
    """Return the scope that some names give together, or None when they name nothing of ours."""
    found = [name for text in texts for name in names(tokenize(text), targets) if name.arch]
    return _scope(found, how, False) if found else None


_FRONT_ARCH = re.compile(r"^arch:\s*(.{1,200})$", re.M)


def front_scope(front: str, targets: Targets) -> Scope | None:
    """Return the scope that front matter gives by its `arch:` line."""
    match = _FRONT_ARCH.search(front)
    return scope_of_names([match[1]], targets, "the front matter names it") if match else None


def document_scope(mentions: Iterable[Name], targets: Targets) -> Scope | None:
    """Return the scope of a document that names one target only."""
    pairs = {(name.arch, name.product) for name in mentions if name.arch}
    archs = {arch for arch, _ in pairs}
    if len(archs) != 1:
        return None
    products = {product for _, product in pairs if product}
    arch = next(iter(archs))
    return Scope(((arch, next(iter(products)) if len(products) == 1 else None),), "the only target of the text")
