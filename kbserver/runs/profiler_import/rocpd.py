"""rocpd databases (SQLite), the default output of rocprofv3 since ROCm 7: through the views that the tool itself makes.

The tables behind carry a run's id in their names and change between versions; the views `kernels` and
`counters_collection` are what the tool's own exports are made of.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

from kbserver.core.errors import UsageError
from kbserver.runs.profiler_import.gathered import Dispatch, Gathered

MAGIC = b"SQLite format 3\0"
MAX_BYTES = 2 << 30
MAX_STEPS, STEP = 50_000, 20_000
"""What a database may compute: 1,000 million instructions of SQLite's machine, some seconds. Views are code."""
MAX_VALUE, MAX_AGENTS = 1 << 20, 1024
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
# Functions of the tool's views, and others that only compute. json_extract is why the schema must be trusted: SQLite
# refuses it in a view otherwise.
_FUNCTIONS = (
    "json_extract", "min", "max", "sum", "total", "count", "avg", "coalesce", "ifnull", "nullif", "iif", "abs", "round",
    "lower", "upper", "length", "substr", "trim",
)  # fmt: skip
_HINT = "rocprofv3 --output-format csv writes files that can be read as well"
# Our field -> the columns of `kernels` that hold it.
_KERNEL_COLUMNS = {
    "start": "start", "end": "end", "vgprs": "vgpr_count", "agprs": "accum_vgpr_count", "sgprs": "sgpr_count",
    "lds_bytes": "lds_size", "scratch_bytes": "scratch_size",
}  # fmt: skip
_COUNTER_COLUMNS = {
    "start": "start", "end": "end", "grid": "grid_size", "workgroup": "workgroup_size", "vgprs": "vgpr_count",
    "agprs": "accum_vgpr_count", "sgprs": "sgpr_count", "lds_bytes": "lds_block_size", "scratch_bytes": "scratch_size",
}  # fmt: skip

_READ = {
    *_KERNEL_COLUMNS.values(), *_COUNTER_COLUMNS.values(), "name", "kernel_name", "guid", "dispatch_id", "counter_name",
    "value", "type", "product_name", *(f"{stem}_{axis}" for stem in ("grid", "workgroup") for axis in "xyz"),
}  # fmt: skip


def is_database(path: Path) -> bool:
    """Return whether a file is an SQLite database."""
    try:
        with path.open("rb") as handle:
            return handle.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_rocpd(path: Path, into: Gathered, *, room: int) -> int:
    """Read dispatches and counters; returns the rows used. Raises UsageError for a database that is no rocpd.

    room: rows that may still be read.
    """
    if path.stat().st_size > MAX_BYTES:
        raise UsageError(f"larger than {MAX_BYTES >> 30} GiB", where=str(path), hint="collect fewer kernels")
    if path.with_name(path.name + "-wal").exists():
        into.note(f"{path.name} was not closed by its writer (a -wal file lies beside it): its last rows are missing")
    try:
        # Read-only and immutable: a profile is evidence, and a second reader must not wait for a lock.
        with contextlib.closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        ) as database:
            _confine(database)
            names = {row["name"] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
            if "kernels" not in names:
                raise UsageError(
                    "the database has no view `kernels`: it is no rocpd output, or only the raw tables of one",
                    where=str(path),
                    hint=_HINT,
                )
            if "rocpd_info_agent" in names:
                _agents(database, into)
            rows = _kernels(database, into, room)
            if "counters_collection" in names:
                rows += _counters(database, into, room - rows)
    except sqlite3.OperationalError as error:
        if str(error) == "interrupted":
            raise UsageError("its views compute for too long: no profiler wrote it so", where=str(path)) from None
        raise UsageError(f"the database cannot be read: {error}", where=str(path), hint=_HINT) from None
    except (sqlite3.Error, IndexError) as error:
        raise UsageError(f"the database cannot be read: {error}", where=str(path), hint=_HINT) from None
    if not rows:
        raise UsageError("no dispatches: nothing was collected", where=str(path))
    return rows


def _confine(database: sqlite3.Connection) -> None:
    """Leave a database nothing but reading, for a bounded time: its views are a stranger's code."""
    database.row_factory = sqlite3.Row
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    database.execute("PRAGMA query_only = ON")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
    # The handler of progress stops a view that never ends; it is called from this thread.
    steps = iter(range(MAX_STEPS))
    database.set_progress_handler(lambda: next(steps, None) is None, STEP)
    database.set_authorizer(_authorize)


def _authorize(action: int, _: str | None, name: str | None, *__: object) -> int:
    """Allow reading, and functions that only compute; recursion, writing, attaching and everything else is denied."""
    computes = action == sqlite3.SQLITE_FUNCTION and (name or "").lower() in _FUNCTIONS
    return sqlite3.SQLITE_OK if computes or action in _ALLOWED else sqlite3.SQLITE_DENY


def _select(database: sqlite3.Connection, view: str, room: int) -> Iterator[sqlite3.Row]:
    # Only what is read: the views of the tool look up more, row by row.
    has = [column[0] for column in database.execute(f"SELECT * FROM {view} LIMIT 0").description]
    wanted = ", ".join(f'"{name}"' for name in has if name in _READ)
    for count, row in enumerate(database.execute(f"SELECT {wanted or '*'} FROM {view}")):
        if count >= room:
            raise UsageError("too many rows", hint="rocprofv3 --kernel-include-regex NAME collects less")
        yield row


def _kernels(database: sqlite3.Connection, into: Gathered, room: int) -> int:
    rows = 0
    for row in _select(database, "kernels", room):
        one = Dispatch(kernel=sys.intern(str(_get(row, "name"))), **_values(row, _KERNEL_COLUMNS))
        one.grid, one.workgroup = _product(row, "grid"), _product(row, "workgroup")
        into.dispatches.append(one)
        rows += 1
    return rows


def _agents(database: sqlite3.Connection, into: Gathered) -> None:
    """Read which GPUs there were: the same registers and bytes mean something else on another target."""
    for row in _select(database, "rocpd_info_agent", MAX_AGENTS):
        if str(_get(row, "type")).upper() != "GPU":
            continue
        arch = str(_get(row, "name") or "")
        into.agents.append(
            {
                "name": str(_get(row, "product_name") or arch),
                "arch": arch if arch.startswith("gfx") else None,
                "compute_units": None,
                "xccs": None,
                "lds_bytes": None,
                "max_clock_mhz": None,
            }
        )


def _counters(database: sqlite3.Connection, into: Gathered, room: int) -> int:
    merged: dict[tuple[object, ...], Dispatch] = {}
    rows = 0
    for row in _select(database, "counters_collection", room):
        kernel = sys.intern(str(_get(row, "kernel_name") or _get(row, "name")))
        key = (_get(row, "guid"), _get(row, "dispatch_id"), kernel)
        if key not in merged:
            merged[key] = Dispatch(kernel=kernel, timed=False, **_values(row, _COUNTER_COLUMNS))
        value = _get(row, "value")
        usable = isinstance(value, (int, float)) and math.isfinite(value)
        into.add(merged[key], str(_get(row, "counter_name")), float(value) if usable else None)  # type: ignore[arg-type]
        rows += 1
    into.dispatches += merged.values()
    return rows


def _get(row: sqlite3.Row, name: str) -> object:
    return row[name] if name in row.keys() else None  # noqa: SIM118 - a Row is no mapping


def _values(row: sqlite3.Row, columns: dict[str, str]) -> dict[str, int | None]:
    cells = {field: _get(row, column) for field, column in columns.items()}
    return {field: cell if isinstance(cell, int) else None for field, cell in cells.items()}


def _product(row: sqlite3.Row, stem: str) -> int | None:
    sizes = [_get(row, f"{stem}_{axis}") for axis in "xyz"]
    if not all(isinstance(size, int) for size in sizes):
        return None
    return int(sizes[0]) * int(sizes[1]) * int(sizes[2])  # type: ignore[call-overload]
