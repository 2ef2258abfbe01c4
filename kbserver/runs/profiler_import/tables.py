"""A profiler's CSV as a table: read row by row by a real CSV reader, bounded, told apart by its columns."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path

from kbserver.core.errors import UsageError

MAX_BYTES = 256 << 20
MAX_ROWS = 500_000
"""Of all files of an import together: each dispatch is kept until the end."""
MAX_FIELD = 1 << 20
"""C++ kernel names of real runs reach kilobytes; csv's own limit is 128 KB."""
_TOO_MANY = "rocprofv3 --kernel-include-regex NAME and --kernel-iteration-range collect less"


class Table:
    """Header and rows of one file. Columns are looked up without regard to case, `-`, `_` and blanks."""

    def __init__(self, path: Path, columns: list[str], rows: Iterator[list[str]]) -> None:
        self.path, self.columns, self.count = path, tuple(columns), 0
        self.cut: str | None = None
        """What is wrong with the file, once all rows were read: a run that was killed leaves half a file."""
        self._rows = rows
        self._places: dict[str, int] = {}
        for place, column in enumerate(columns):
            self._places.setdefault(plain(column), place)

    def has(self, *names: str) -> bool:
        return all(plain(name) in self._places for name in names)

    def place(self, *names: str) -> int | None:
        """Return the index of the first of these columns that exists."""
        return next((self._places[plain(name)] for name in names if plain(name) in self._places), None)

    def rows(self) -> Iterator[list[str]]:
        """Yield the rows that have a cell for every column. Rows that were cut are counted in `cut`."""
        short, width = 0, len(self.columns)
        try:
            for row in self._rows:
                # A trailing comma is harmless; a row with too few cells, or with one quote too many, is not.
                if len(row) < width or any(row[width:]):
                    short += bool(row)
                    continue
                self.count += 1
                yield row
        except csv.Error as error:
            self.say(f"broken after row {self.count} ({error}): the rows before it are used")
        except UnicodeDecodeError:
            self.say(f"not UTF-8 text after row {self.count}: the rows before it are used")
        if short:
            self.say(f"{short} rows have another number of cells than the {width} columns and were left out")

    def say(self, text: str) -> None:
        """Add to what is wrong with the file."""
        self.cut = f"{self.cut}; {text}" if self.cut else text


def plain(name: str) -> str:
    """Return a column name without what versions of the tools change."""
    return name.strip().lower().replace("-", "").replace("_", "").replace(" ", "")


def read_table(path: Path, use: Callable[[Table], None], *, room: int) -> Table:
    """Open a CSV file and give its table to `use`, row by row; returns the table, read.

    room: rows that may still be read. Raises UsageError with the reason for a file that is none.
    """
    csv.field_size_limit(MAX_FIELD)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UsageError(f"{size >> 20} MiB, more than {MAX_BYTES >> 20}", where=str(path), hint=_TOO_MANY)
        with path.open("r", encoding=_encoding(path), newline="") as handle:
            start = handle.read(4096)
            if not start.strip():
                raise UsageError("the file is empty: nothing was collected", where=str(path))
            if "\0" in start:
                raise UsageError("this is no text", where=str(path))
            handle.seek(0)
            rows = csv.reader(handle, strict=True)
            header = next((row for row in rows if row), None)
            if header is None:
                raise UsageError("no CSV: it has no header", where=str(path))
            table = Table(path, header, _limited(rows, room, path))
            use(table)
    except OSError as error:
        raise UsageError(f"cannot read: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"not UTF-8 text (byte {error.start}): no profiler wrote it so", where=str(path)) from None
    except csv.Error as error:
        raise UsageError(f"no CSV: {error}", where=str(path)) from None
    if not _ends_with_a_line(path):
        table.say("the last line has no end: its last value may be cut")
    if table.count == 0:
        raise UsageError(f"no rows: {table.cut or 'only a header, nothing was collected'}", where=str(path))
    return table


def _encoding(path: Path) -> str:
    """Return how the text is stored: UTF-8 with or without a mark, or UTF-16, which a Windows shell's `>` writes."""
    with path.open("rb") as handle:
        return "utf-16" if handle.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _ends_with_a_line(path: Path) -> bool:
    with path.open("rb") as handle:
        handle.seek(-1, 2)
        return handle.read(1) in b"\r\n\0"


def _limited(rows: Iterator[list[str]], room: int, path: Path) -> Iterator[list[str]]:
    for count, row in enumerate(rows):
        if count >= room:
            raise UsageError(f"more than {MAX_ROWS:,} rows in all", where=str(path), hint=_TOO_MANY)
        yield row


def number(text: str | None) -> float | None:
    """Return a cell as a number; None for a blank, NaN, infinity or text."""
    try:
        value = float(text) if text and text.strip() else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def whole(text: str | None) -> int | None:
    """Return a cell as a whole number, None when it is none. Timestamps are beyond what a float holds."""
    cleaned = (text or "").strip()
    if cleaned.lstrip("-").isascii() and cleaned.lstrip("-").isdecimal() and len(cleaned) < 25:
        return int(cleaned)
    value = number(cleaned)
    return int(value) if value is not None and abs(value) < 1e18 and value == int(value) else None


def moment(text: str | None) -> int | None:
    """Return a time stamp in nanoseconds: rocprof-compute writes the mean of merged passes, which may end in a half."""
    exact = whole(text)
    value = number(text) if exact is None else None
    return exact if value is None or abs(value) >= 1e18 else int(value)
