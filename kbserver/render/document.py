"""What a renderer returns: paragraphs and tables, printed plainly for models and pipes, richly for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Table:
    """A table: header and rows of cells, all text."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    title: str | None = None


@dataclass
class Document:
    """An ordered list of paragraphs (text) and tables."""

    blocks: list[str | Table] = field(default_factory=list)

    def say(self, text: str) -> Document:
        """Add a paragraph; returns itself, so that calls chain."""
        self.blocks.append(text)
        return self

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> Document:
        """Add a table unless it has no rows."""
        if rows:
            self.blocks.append(Table(columns, rows, title))
        return self


def cell(value: Any) -> str:
    """Return a value as a table shows it: None is "unknown", never an empty cell that reads as zero."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {cell(one)}" for key, one in value.items())
    return str(value)


def render_plain(document: Document) -> str:
    """Return the document as text without control characters; columns are padded with blanks."""
    return "\n".join(_plain_block(block) for block in document.blocks)


def _plain_block(block: str | Table) -> str:
    if isinstance(block, str):
        return block
    grid = [[cell(value) for value in row] for row in (block.columns, *block.rows)]
    widths = [max(len(row[i]) for row in grid) for i in range(len(block.columns))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in grid]
    return "\n".join(([block.title] if block.title else []) + lines)


def print_rich(document: Document) -> None:
    """Print the document to a terminal with rich tables."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(highlight=False)
    for block in document.blocks:
        if isinstance(block, str):
            console.print(Text(block))
            continue
        table = RichTable(title=Text(block.title) if block.title else None, title_justify="left")
        for name in block.columns:
            table.add_column(Text(name))
        for row in block.rows:
            table.add_row(*(Text(cell(value)) for value in row))
        console.print(table)
