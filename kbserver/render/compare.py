"""Text of a comparison: verdict and reason, then both columns."""

from __future__ import annotations

from kbserver.render.document import Document
from kbserver.runs.compare import Comparison


def say_comparison(document: Document, found: Comparison, *, all_rows: bool = False) -> Document:
    """Add a comparison to a document; rows that did not change are counted, not listed."""
    per = f" per {found.per}" if found.per else ""
    document.say(f"{found.verdict}: {found.after} against {found.before}, {found.of}{per}: {found.reason}")
    rows = [row for row in found.figures if all_rows or row.before != row.after]
    document.table(
        (found.of, found.before, found.after, "change"),
        [
            (row.figure, _text(row.before), _text(row.after),
             "" if row.change_percent is None else f"{row.change_percent:+.1f} %")
            for row in rows
        ],
    )  # fmt: skip
    if len(rows) < len(found.figures):
        equal = ", ".join(row.figure for row in found.figures if row.before == row.after)
        document.say(f"equal: {equal}")
    for note in found.notes:
        document.say(f"note: {note}")
    return document


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"
