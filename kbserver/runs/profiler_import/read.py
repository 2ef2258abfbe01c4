"""Read a profiler's file or folder. What cannot be read is refused with the reason; the rest counts."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from kbserver.core.errors import UsageError
from kbserver.runs.profiler_import.formats import format_of
from kbserver.runs.profiler_import.gathered import Gathered
from kbserver.runs.profiler_import.report import ImportedFile, ImportedProfile
from kbserver.runs.profiler_import.rocpd import is_database, read_rocpd
from kbserver.runs.profiler_import.summary import summarise
from kbserver.runs.profiler_import.tables import MAX_ROWS, Table, read_table

MAX_FILES = 200
MAX_DEPTH = 4
SUFFIXES = (".csv", ".db", ".sqlite", ".rocpd")
_OTHERS = {
    ".s": "assembly: it holds no counters; `kb compile` reads what a kernel costs",
    ".txt": "no table: compiler remarks and program output hold no counters",
    ".json": "JSON of rocprofv3 is not read: --output-format csv or rocpd is",
    ".pftrace": "a Perfetto trace: rocprofv3 --output-format csv writes the same dispatches",
    ".otf2": "an OTF2 trace: rocprofv3 --output-format csv writes the same dispatches",
    ".att": "raw thread trace: its decoder writes a stats_*.csv, which is read",
    ".md": "no table",
}


def import_profile(text: str, wanted: Sequence[str] = ()) -> ImportedProfile:
    """Return what a file, or the files of a folder, hold; of many kernels, those with a wanted name first.

    Raises UsageError when nothing in it can be read.
    """
    path, files = _files(text)
    gathered, read = Gathered(), []
    for one in files:
        read.append(_read(one, path, gathered, MAX_ROWS - sum(entry.rows for entry in read)))
    if not any(entry.refused is None for entry in read):
        reason = read[0].refused if len(read) == 1 else f"none of {len(read)} files: {_reasons(read)}"
        raise UsageError(
            f"nothing to import: {reason if read else 'the folder holds no files'}",
            where=text,
            hint="rocprofv3 --kernel-trace --pmc SQ_WAVES SQ_INSTS_VALU --output-format csv -d out -- ./app",
        )
    return summarise(str(path), read, gathered, wanted)


def _files(text: str) -> tuple[Path, list[Path]]:
    """Return (path, the files to read): the file itself, or those of a folder. Links out of a folder are not followed.

    Raises UsageError for what is missing, cannot be looked into, or is neither: a device or a pipe may never end.
    """
    try:
        path = Path(text).expanduser()
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            return path, [path]
        if not stat.S_ISDIR(mode):
            raise UsageError("neither a file nor a folder", where=text)
        found = []
        for folder, folders, names in os.walk(path):
            if len(Path(folder).relative_to(path).parts) >= MAX_DEPTH - 1:
                folders.clear()
            folders.sort()
            found += [Path(folder, name) for name in sorted(names)]
            if len(found) > 50 * MAX_FILES:
                raise UsageError("a folder of so many files is no profiler's", where=text, hint="name a deeper folder")
    except FileNotFoundError:
        hint = "the folder given to rocprofv3 -d, or a file in it"
        raise UsageError("no such file or folder", where=text, hint=hint) from None
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"cannot read: {getattr(error, 'strerror', None) or error}", where=text) from None
    inside = path.resolve()
    files = [one for one in found if one.is_file() and one.resolve().is_relative_to(inside)]
    usable = [one for one in files if one.suffix.lower() in SUFFIXES]
    return path, (usable or files)[:MAX_FILES]


def _read(path: Path, base: Path, into: Gathered, room: int) -> ImportedFile:
    shown = path.name if path == base else str(path.relative_to(base))
    kind: list[str] = []

    def use(table: Table) -> None:
        known = format_of(table)
        if known is None:
            raise UsageError(f"no file of AMD's profilers has these columns: {_shown(table.columns)}")
        kind.append(known.name)
        known.read(table, into)

    try:
        if is_database(path):
            kind.append("rocpd")
            return ImportedFile(path=shown, format="rocpd", rows=read_rocpd(path, into, room=room))
        if path.suffix.lower() in _OTHERS:
            raise UsageError(_OTHERS[path.suffix.lower()])
        table = read_table(path, use, room=room)
    except UsageError as error:
        return ImportedFile(path=shown, format=kind[0] if kind else None, rows=0, refused=error.message)
    if table.cut:
        into.note(f"{shown}: {table.cut}")
    return ImportedFile(path=shown, format=kind[0], rows=table.count)


def _shown(columns: tuple[str, ...]) -> str:
    """Return column names; of a file that is no table, its text is not repeated."""
    if all(re.fullmatch(r"[A-Za-z][\w \[\].:-]{0,60}", column) for column in columns):
        return ", ".join(columns)[:120]
    return f"{len(columns)} of them, not all names"


def _reasons(read: list[ImportedFile]) -> str:
    rest = f"; {len(read) - 3} more" if len(read) > 3 else ""
    return "; ".join(f"{entry.path}: {entry.refused}" for entry in read[:3]) + rest
