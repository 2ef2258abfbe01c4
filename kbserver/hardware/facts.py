"""The fact table of the content root in force: `gpu_arch/facts/*.yaml`, checked whole, parsed once per content.

Parsing and checking the YAML takes some 80 ms of a fresh process, so the checked table is kept in the cache as JSON
(12 ms) under the hash of the files and of the code that reads them.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable
from pathlib import Path

from kbserver.core import sources as core_sources
from kbserver.core.errors import ContentError, WorkspaceError
from kbserver.core.paths import current_roots
from kbserver.core.store import write_atomic
from kbserver.hardware.fact_model import Conflict, Fact, FactTable

__all__ = ["Conflict", "Fact", "FactTable", "fact_files", "load_facts"]

FACTS_FOLDER = "gpu_arch/facts"
CACHE_NAME = "facts-{digest}.json"
KEPT = 4

_lock = threading.Lock()
_tables: dict[tuple[tuple[str, int, int], ...], FactTable] = {}


def fact_files(content: Path) -> list[Path]:
    """Return the files that the table depends on, in reading order. Raises ContentError when there are none."""
    files = sorted((content / FACTS_FOLDER).glob("*.yaml"))
    if not files:
        raise ContentError(f"no fact files in {FACTS_FOLDER}", where=str(content))
    return files


def load_facts() -> FactTable:
    """Return the fact table. Raises ContentError with file and line for a fault in any file. Thread-safe."""
    roots = current_roots()
    files = fact_files(roots.content)
    key = tuple((str(path), *_stamp(path)) for path in files)
    with _lock:
        if key not in _tables:
            while len(_tables) >= KEPT:
                _tables.pop(next(iter(_tables)))
            _tables[key] = _read(files, roots.content, roots.cache)
        return _tables[key]


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise ContentError(f"cannot read: {error.strerror}", where=str(path)) from None
    return status.st_mtime_ns, status.st_size


def _read(files: Iterable[Path], content: Path, cache: Path) -> FactTable:
    from kbserver.hardware.fact_files import read_text

    texts = {path.name: read_text(path) for path in files}
    cached = cache / CACHE_NAME.format(digest=_digest(texts))
    table = _from_cache(cached)
    if table is None:
        table = _parse(texts)
        _to_cache(cached, table)
    return table


def _digest(texts: dict[str, str]) -> str:
    here = Path(__file__).parent
    code = [here / name for name in ("facts.py", "fact_files.py", "fact_model.py")]
    state = hashlib.sha256()
    for name, text in (*texts.items(), *((path.name, path.read_text(encoding="utf-8")) for path in code)):
        state.update(f"{name}\0{len(text)}\0{text}".encode())
    return state.hexdigest()[:32]


def _parse(texts: dict[str, str]) -> FactTable:
    from kbserver.core.targets import targets
    from kbserver.hardware.fact_files import NOT_FACTS, FactFile, read_aliases

    aliases_file = f"{FACTS_FOLDER}/aliases.yaml"
    aliases = read_aliases(aliases_file, texts["aliases.yaml"]) if "aliases.yaml" in texts else {}
    facts: dict[str, Fact] = {}
    origin: dict[str, str] = {}
    for name, text in texts.items():
        if name in NOT_FACTS:
            continue
        for fact in FactFile(f"{FACTS_FOLDER}/{name}", text, core_sources.sources(), targets()).facts(aliases):
            if fact.id in facts:
                raise ContentError(
                    f"fact {fact.id} stands in {origin[fact.id]} already", where=f"{FACTS_FOLDER}/{name}"
                )
            facts[fact.id] = fact
            origin[fact.id] = name
    _check_links(facts, origin, aliases, aliases_file)
    return FactTable(facts)


def _check_links(
    facts: dict[str, Fact], origin: dict[str, str], aliases: dict[str, tuple[str, ...]], aliases_file: str
) -> None:
    for fact in facts.values():
        for one in fact.inputs:
            if one not in facts:
                raise ContentError(
                    f"fact {fact.id}: no fact {one!r} for its formula", where=f"{FACTS_FOLDER}/{origin[fact.id]}"
                )
    keys = {fact.key for fact in facts.values()}
    for key in aliases:
        if key not in keys:
            raise ContentError(f"aliases for {key!r}, which no fact has", where=aliases_file)


def _from_cache(path: Path) -> FactTable | None:
    """Return the cached table, or None when it is absent or unusable: then the files are read again."""
    try:
        entries = json.loads(path.read_bytes())
        return FactTable({entry["id"]: Fact.model_validate(entry) for entry in entries})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _to_cache(path: Path, table: FactTable) -> None:
    try:
        write_atomic(path, json.dumps([fact.model_dump(mode="json") for fact in table]))
    except WorkspaceError:
        return  # A read-only workspace only costs time.
