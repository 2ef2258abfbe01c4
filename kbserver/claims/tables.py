"""What the other rows of a table say about a cell: a property of a target, or one of several cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kbserver.claims.names import Name
from kbserver.claims.quantities import Quantity
from kbserver.claims.sentences import Sentence

Owner = tuple[tuple[str | None, str | None], ...]


def column_of(sentence: Sentence, token: int) -> int:
    """Return the column of a row in which a token stands."""
    place = sentence.tokens[token].start
    return next((n for n, (low, high) in enumerate(sentence.cells) if low <= place < high), 0)


class Tables:
    """The tables of one document. A target has one LDS size: a column that gives it several lists cases (tiles,
    workgroups, kernels), whatever its title says.
    """

    def __init__(self, units: Iterable[Sentence], names_in: Callable[[Sentence], Sequence[Name]]) -> None:
        self._names_in = names_in
        self._values: dict[tuple[int, int, Owner], set[tuple[float, float, str]]] = {}
        for sentence in units:
            if sentence.cells:
                owner = self._owner(sentence)
                for column, quantity in _leading(sentence):
                    value = (quantity.low, quantity.high, quantity.dim)
                    self._values.setdefault((_table(sentence), column, owner), set()).add(value)

    def lists_cases(self, sentence: Sentence, column: int) -> bool:
        """True when rows about the same targets give this column different numbers."""
        return len(self._values.get((_table(sentence), column, self._owner(sentence)), ())) > 1

    def _owner(self, sentence: Sentence) -> Owner:
        """Return the targets that the row's label names; nothing for "16 KB" or "128 x 128"."""
        label = sentence.cells[0][1]
        return tuple((n.arch, n.product) for n in self._names_in(sentence) if sentence.tokens[n.start].start < label)


def _table(sentence: Sentence) -> int:
    # All rows of a table share one header object; equal headers of two tables are two objects.
    return id(sentence.block.header)


def _leading(sentence: Sentence) -> Iterable[tuple[int, Quantity]]:
    """Yield the number that begins each cell, with its column."""
    seen: set[int] = set()
    for quantity in sentence.quantities:
        column = column_of(sentence, quantity.start)
        if column not in seen:
            seen.add(column)
            yield column, quantity
