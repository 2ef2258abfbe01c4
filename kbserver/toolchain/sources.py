"""What a build reads: one kernel source and the headers it includes from its own folder, taken as bytes.

The compiler never sees the caller's folder. The source and the quoted includes that stay inside that folder are copied
to a private one, so a build is exactly the bytes that its id hashes, and no other file of the folder can be read.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from kbserver.core.errors import KbError, UsageError
from kbserver.core.paths import inside

MAX_SOURCE_BYTES = 4 << 20
MAX_HEADERS = 200
SOURCE_SUFFIXES = (".hip", ".cpp", ".cc", ".cxx", ".cu", ".c", ".h", ".hpp", ".hxx", ".cuh", ".inc", ".ipp", ".inl")
TEXT_NAME = "source.hip"
ASSEMBLY_SUFFIXES = (".s", ".asm", ".amdgcn")
OBJECT_SUFFIXES = (".co", ".hsaco", ".o", ".elf", ".hipfb", ".fatbin")
MAX_OBJECT_BYTES = 32 << 20

_QUOTED_INCLUDE = re.compile(rb'(?m)^[ \t]*#[ \t]*include[ \t]*"([^"\n\r]{1,300})"')
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}")


@dataclass(frozen=True)
class Snapshot:
    """The files of one build: relative path -> bytes; `main` is the path of the one to compile."""

    main: str
    files: dict[str, bytes]

    @property
    def digest(self) -> str:
        """A hash of every path and every byte."""
        state = hashlib.sha256(self.main.encode())
        for name, data in sorted(self.files.items()):
            state.update(f"\n{name}\n{len(data)}\n".encode() + data)
        return state.hexdigest()


def from_text(text: str) -> Snapshot:
    """Return the snapshot of a source given as text. It can include nothing but kbserver's headers."""
    return _checked(Snapshot(TEXT_NAME, {TEXT_NAME: text.encode("utf-8")}), "source")


def read_ready(path: Path) -> Snapshot:
    """Return a file of assembly text or machine code as it is. Raises UsageError when it cannot be read."""
    where = str(path)
    data = _read(_resolved(path), where, MAX_OBJECT_BYTES)
    if not data:
        raise UsageError("the file is empty", where=where)
    main = path.name if _PLAIN_NAME.fullmatch(path.name) else f"given{path.suffix.lower()}"
    return Snapshot(main, {main: data})


def _resolved(path: Path) -> Path:
    """Return the real path of a file that exists. Raises UsageError."""
    try:
        real = path.resolve(strict=True)
    except FileNotFoundError:
        raise UsageError("no such file", where=str(path), hint=_near(path)) from None
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"cannot read the source: {error}", where=str(path)) from None
    if real.is_dir():
        raise UsageError("this is a folder, not a kernel source", where=str(path), hint="name a .hip file")
    return real


def from_file(path: Path) -> Snapshot:
    """Return the snapshot of a source file and of the quoted includes inside its folder.

    Raises UsageError when it is missing, not a regular file, too large, empty, binary, or not named like a source.
    """
    where = str(path)
    real = _resolved(path)
    for name in (path.name, real.name):
        if not name.lower().endswith(SOURCE_SUFFIXES):
            ready = name.lower().endswith((*ASSEMBLY_SUFFIXES, *OBJECT_SUFFIXES))
            raise UsageError(
                "the file is not named like a kernel source",
                where=where,
                hint="it is compiled already: kb asm, kb verify and kb profile read it"
                if ready
                else f"known: {' '.join(SOURCE_SUFFIXES)}",
            )
    main = path.name if _PLAIN_NAME.fullmatch(path.name) else TEXT_NAME
    files = {main: _read(real, where)}
    _add_headers(real.parent, main, files)
    return _checked(Snapshot(main, files), where)


def _near(path: Path) -> str:
    import difflib

    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.name.lower().endswith(SOURCE_SUFFIXES)]
    except OSError:
        return "the folder does not exist either"
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
    return f"near: {', '.join(near)}" if near else "check the path"


def _read(path: Path, where: str, limit: int = MAX_SOURCE_BYTES) -> bytes:
    """Read a regular file of bounded size; a pipe or device would block or never end."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as handle:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise UsageError("this is not a regular file", where=where)
            data = handle.read(limit + 1)
    except OSError as error:
        raise UsageError(f"cannot read the source: {error.strerror}", where=where) from None
    if len(data) > limit:
        raise UsageError(f"the source is larger than {limit >> 20} MiB", where=where)
    return data


def _checked(snapshot: Snapshot, where: str) -> Snapshot:
    data = snapshot.files[snapshot.main]
    if not data.strip(b" \t\r\n\xef\xbb\xbf"):
        raise UsageError("the source is empty", where=where)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UsageError("the source is UTF-16", where=where, hint="save it as UTF-8")
    if b"\0" in data:
        raise UsageError("the source holds NUL bytes: this is no text", where=where)
    if sum(map(len, snapshot.files.values())) > MAX_SOURCE_BYTES:
        raise UsageError(f"source and headers are larger than {MAX_SOURCE_BYTES >> 20} MiB", where=where)
    return snapshot


def _add_headers(folder: Path, main: str, files: dict[str, bytes]) -> None:
    """Copy what `#include "..."` names, as long as it stays in `folder` and is named like a header.

    An include that is spelt in another way is not found by the compiler, which is an error message, not a leak.
    """
    waiting = [main]
    while waiting:
        current = waiting.pop()
        for found in _QUOTED_INCLUDE.findall(files[current]):
            # As the compiler does: first beside the including file, then in the folder of the source.
            for base in dict.fromkeys((os.path.dirname(current), "")):
                relative = os.path.normpath(os.path.join(base, os.fsdecode(found)))
                if relative in files:
                    break
                if len(files) <= MAX_HEADERS and _add_header(folder, relative, files):
                    waiting.append(relative)
                    break


def _add_header(folder: Path, relative: str, files: dict[str, bytes]) -> bool:
    if not relative.lower().endswith(SOURCE_SUFFIXES) or any(part.startswith(".") for part in relative.split("/")):
        return False
    try:
        path = inside(folder, relative)
        if not path.is_file() or not path.name.lower().endswith(SOURCE_SUFFIXES):
            return False
        files[relative] = _read(path, relative)
    except (KbError, ValueError):
        return False
    return True
