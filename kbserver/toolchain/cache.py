"""Builds on disk: `<workspace>/builds/<build_id>/` holds the assembly, the object and `build.json`.

An entry is made in a folder of its own and renamed into place, so readers see a whole entry or none. What a crash or a
full disk left behind is detected by its hash and built again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

from kbserver.core.errors import UnresolvedRef, WorkspaceError
from kbserver.core.paths import current_roots

FORMAT = 1
ASSEMBLY, RECORD, OBJECT = "kernel.s", "build.json", "kernel.o"
ABANDONED_S = 3600
BUILD_ID = re.compile(r"[0-9a-f]{12}")


def new_folder(build_id: str) -> Path:
    """Return a new private folder for a build in progress, and clear away what dead builds left."""
    builds = current_roots().builds
    try:
        builds.mkdir(parents=True, exist_ok=True)
        _clear_abandoned(builds)
        folder = builds / f".tmp-{build_id}-{uuid.uuid4().hex[:12]}"
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise WorkspaceError(
            f"cannot make a build folder: {error.strerror}", where=str(builds), hint="choose a writable --workspace"
        ) from None
    return folder


def _clear_abandoned(builds: Path) -> None:
    for folder in builds.glob(".tmp-*"):
        try:
            old = time.time() - folder.stat().st_mtime > ABANDONED_S
        except OSError:
            continue
        if old:
            shutil.rmtree(folder, ignore_errors=True)


def publish(folder: Path, build_id: str, record: dict[str, Any]) -> None:
    """Complete the entry in `folder` with its record and move it into place; another process's entry is kept."""
    record = {"format": FORMAT, "build_id": build_id, **record, "assembly_sha256": _sha256(folder / ASSEMBLY)}
    try:
        (folder / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        os.chmod(folder, 0o755)
        final = current_roots().builds / build_id
        for _ in range(3):
            try:
                os.rename(folder, final)
                return
            except OSError:
                if lookup(build_id) is not None:
                    shutil.rmtree(folder, ignore_errors=True)
                    return
                _set_aside(final)
    except OSError as error:
        raise WorkspaceError(f"cannot store the build: {error.strerror}", where=str(folder)) from None
    raise WorkspaceError("cannot store the build: its place stays occupied", where=str(final))


def _set_aside(final: Path) -> None:
    """Move a broken entry away under a name of its own before removing it: two processes may do so at once."""
    aside = final.with_name(f".tmp-broken-{uuid.uuid4().hex[:12]}")
    try:
        os.rename(final, aside)
    except FileNotFoundError:
        return
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink(missing_ok=True)


def lookup(build_id: str) -> dict[str, Any] | None:
    """Return the record of a build when its entry is whole, else None."""
    folder = current_roots().builds / build_id
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        whole = (
            isinstance(record, dict)
            and record.get("format") == FORMAT
            and record.get("build_id") == build_id
            and record.get("assembly_sha256") == _sha256(folder / ASSEMBLY)
        )
    except (OSError, ValueError):
        return None
    return record if whole else None


def load(build_id: str) -> tuple[dict[str, Any], str]:
    """Return (record, assembly text). Raises UnresolvedRef for an id that names no whole build."""
    plain = build_id.removeprefix("build:").strip()
    record = lookup(plain) if BUILD_ID.fullmatch(plain) else None
    if record is None:
        raise UnresolvedRef(
            "no such build",
            where=f"build:{plain[:40]}",
            hint="`kb compile NAME` prints the build id, 12 hex digits",
        )
    return record, (current_roots().builds / plain / ASSEMBLY).read_text(encoding="utf-8", errors="replace")


def load_object(build_id: str) -> bytes:
    """Return the object file of a build that is whole."""
    return (current_roots().builds / build_id / OBJECT).read_bytes()


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
