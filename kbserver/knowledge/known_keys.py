"""The content key of files that have not changed since it was computed: stat decides instead of reading them all.

Hashing some hundred inputs takes a tenth of a search in a fresh process. What is kept is a hint for speed: only a file
state that was at rest when it was read is remembered, and a state that differs in any time, size or inode is read anew.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from kbserver.core.errors import WorkspaceError
from kbserver.core.store import write_atomic
from kbserver.knowledge.storage import FORMAT

FILE = "search-keys.json"
KEPT_STATES = 8
AT_REST_NS = 3_000_000_000
"""A file that changed less than this before it was read could change again and show the same times: some file systems
count in steps of two seconds."""

State = tuple[int, int, int, int]
"""Times of change, size and inode of a file; zeros when it is missing."""
Fingerprint = tuple[tuple[str, ...], tuple[State, ...]]
"""The files, and the state of each."""
# Programs can set st_mtime back, as unpacking does; st_ctime they cannot.
_state: Callable[[os.stat_result], State] = operator.attrgetter("st_mtime_ns", "st_ctime_ns", "st_size", "st_ino")


def fingerprint(files: Iterable[Path]) -> Fingerprint:
    """Return what stat says of each file; a missing one counts as such."""
    names = tuple(map(os.fspath, files))
    with suppress(OSError):
        return names, tuple(map(_state, map(os.stat, names)))  # every search does this: the loop runs in C
    return names, tuple(map(_state_if_there, names))


def _state_if_there(name: str) -> State:
    try:
        return _state(os.stat(name))
    except OSError:
        return 0, 0, 0, 0


class KnownKeys:
    """The keys of the last states, in one small file of the cache."""

    def __init__(self, cache: Path) -> None:
        self._path = cache / FILE

    def get(self, state: Fingerprint) -> str | None:
        """Return the key of this state of the files, if it is known."""
        key = self._read().get(_name(state))
        return key if isinstance(key, str) else None

    def remember(self, state: Fingerprint, key: str, now_ns: int | None = None) -> None:
        """Keep the key of a state, unless some file changed just before `now_ns` (default: the time)."""
        now_ns = time.time_ns() if now_ns is None else now_ns
        if any(max(modified, changed) > now_ns - AT_REST_NS for modified, changed, _, _ in state[1]):
            return
        known = {name: kept for name, kept in self._read().items() if name != _name(state)}
        kept = [*known.items()][-(KEPT_STATES - 1) :]
        with suppress(WorkspaceError, OSError):
            write_atomic(self._path, json.dumps({**dict(kept), _name(state): key}).encode())

    def _read(self) -> dict[str, object]:
        try:
            known = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}


def _name(state: Fingerprint) -> str:
    return hashlib.sha256(repr((FORMAT, state)).encode("utf-8", "surrogateescape")).hexdigest()[:32]
