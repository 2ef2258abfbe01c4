"""Writing that survives crashes and company: unique temporary file, fsync, atomic rename, file locks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kbserver.core.errors import WorkspaceError


def write_atomic(path: Path, data: bytes | str) -> None:
    """Replace `path` by `data`: readers see the old or the new file, never part of one."""
    raw = data.encode("utf-8") if isinstance(data, str) else data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd, temporary = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(fd, "wb") as handle:
                handle.write(raw)
                handle.flush()
                os.fsync(handle.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise WorkspaceError(
            f"cannot write: {error.strerror}", where=str(path), hint="choose a writable --workspace"
        ) from None


@contextmanager
def locked(path: Path, timeout_s: float = 30.0) -> Iterator[None]:
    """Hold the inter-process lock `path`. Raises WorkspaceError when it is not free in `timeout_s` seconds."""
    import filelock  # imported here: reading never locks

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(path, timeout=timeout_s):
            yield
    except filelock.Timeout:
        raise WorkspaceError(
            f"another process held the lock for more than {timeout_s:.0f} s", where=str(path)
        ) from None
    except OSError as error:
        raise WorkspaceError(f"cannot lock: {error.strerror}", where=str(path)) from None


def version_of(path: Path) -> tuple[int, int, int]:
    """Return what changes when a file is edited or replaced, at the price of one stat; zeros when there is none."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0, 0
    return status.st_mtime_ns, status.st_size, status.st_ino
