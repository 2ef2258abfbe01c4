"""Records of runs in the workspace: one JSON file a run, written whole, so that `run:ID` can be looked up later."""

from __future__ import annotations

import json
import re
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kbserver.core.errors import UnresolvedRef, WorkspaceError
from kbserver.core.paths import current_roots
from kbserver.core.store import write_atomic

FORMAT = 1
_RUN_ID = re.compile(r"[0-9a-f]{12}")
NEAR = 5


def new_run_id() -> str:
    """Return an id that no other run has."""
    return secrets.token_hex(6)


def write_run(run_id: str, kind: str, result: dict[str, Any], source_sha256: str) -> Path:
    """Keep the result of a run and the hash of the source that it was about; returns the file."""
    path = _path(run_id)
    record = {
        "format": FORMAT,
        "run_id": run_id,
        "kind": kind,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "source_sha256": source_sha256,
        "result": result,
    }
    write_atomic(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return path


def load_run(run_id: str) -> dict[str, Any]:
    """Return a run's record. Raises UnresolvedRef with the newest ids, WorkspaceError for a file that is no record."""
    ref = f"run:{run_id[:40]}"
    if not _RUN_ID.fullmatch(run_id) or not _path(run_id).is_file():
        newest = ", ".join(f"run:{name}" for name in newest_runs(NEAR))
        raise UnresolvedRef("no run of this id in this workspace", where=ref, hint=f"newest: {newest or 'none yet'}")
    try:
        record = json.loads(_path(run_id).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"cannot read the record: {error}", where=ref) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT or not isinstance(record.get("result"), dict):
        raise WorkspaceError("this is no record of a run that this version reads", where=ref)
    return record


def newest_runs(limit: int) -> list[str]:
    """Return the ids of the newest runs, newest first."""
    try:
        files = [(path.stat().st_mtime_ns, path.stem) for path in current_roots().runs.glob("*.json")]
    except OSError:
        return []
    return [name for _, name in sorted(files, reverse=True)[:limit] if _RUN_ID.fullmatch(name)]


def _path(run_id: str) -> Path:
    return current_roots().runs / f"{run_id}.json"
