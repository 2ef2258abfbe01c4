"""Find an llvm-objdump that knows AMD GPUs, and disassemble a code object with it, confined and limited.

Order: KB_LLVM (a folder of LLVM tools, or the program), ROCm's, then a system one. None of the pip packages that
kbserver uses has a disassembler for AMD GPUs.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kbserver.core.errors import KbError, ToolFailure, Unavailable
from kbserver.core.process import Limits, run_limited
from kbserver.toolchain import sandbox
from kbserver.toolchain.compilers import clean_environment, program_roots, rocm_clangs

OLDEST = 19
"""gfx950 came with LLVM 19."""
INSTALL_HINT = (
    "install llvm (Debian and Ubuntu: apt install llvm-22; ROCm brings its own), or set KB_LLVM to a folder with "
    "llvm-objdump; assembly text (.s) needs none"
)
_NAMES = ("llvm-objdump", *(f"llvm-objdump-{version}" for version in range(30, OLDEST - 1, -1)))
_LIMITS = Limits(wall_s=60, memory_bytes=4 << 30, output_bytes=192 << 20, file_bytes=1 << 20)
_PROBE_LIMITS = Limits(wall_s=20, output_bytes=1 << 20)


@dataclass(frozen=True)
class Disassembler:
    """A usable llvm-objdump."""

    path: Path
    version: str


def find_disassembler() -> Disassembler:
    """Return the disassembler to use. Raises Unavailable with what to install; one named by KB_LLVM must work."""
    named = os.environ.get("KB_LLVM", "").strip()
    rejected = []
    for path in _named(named) if named else _candidates():
        found = _probe(path)
        if isinstance(found, Disassembler):
            return found
        rejected.append(f"{path}: {found}")
    if named:
        raise Unavailable("KB_LLVM names no llvm-objdump that knows AMD GPUs", where=named, hint=INSTALL_HINT,
                          details={"looked_at": rejected})  # fmt: skip
    raise Unavailable("no disassembler for AMD GPUs found: a code object cannot be read without one",
                      hint=INSTALL_HINT, details={"looked_at": rejected})  # fmt: skip


def disassemble(data: bytes) -> tuple[str, str]:
    """Return (what `llvm-objdump -d -l` prints of a code object, the disassembler's version).

    Raises Unavailable without a disassembler, ToolFailure when it refuses the file, TimedOut and OutputTooLarge.
    """
    tool = find_disassembler()
    with tempfile.TemporaryDirectory(prefix="kb-objdump-") as name:
        folder = Path(name)
        (folder / "kernel.co").write_bytes(data)
        with sandbox.confinement(read=(*program_roots(tool.path), folder), write=(Path("/dev/null"),)) as enter:
            done = run_limited(
                [str(tool.path), "-d", "-l", "kernel.co"], limits=_LIMITS, cwd=folder, env=clean_environment(folder),
                what="the disassembler", preexec=enter,
            )  # fmt: skip
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if line.strip()), f"status {done.returncode}")
        raise ToolFailure(f"the disassembler refused the code object: {first[:300]}", where=str(tool.path))
    return done.stdout, tool.version


def _named(text: str) -> Iterator[Path]:
    path = Path(text).expanduser()
    for place in (path, path / "bin") if path.is_dir() else ():
        yield from (place / name for name in _NAMES if (place / name).is_file())
    if path.is_file():
        yield path


def _candidates() -> Iterator[Path]:
    for clang in rocm_clangs():
        yield clang.parent / "llvm-objdump"
    yield from (Path(found) for name in _NAMES if (found := shutil.which(name)))


def _probe(path: Path) -> Disassembler | str:
    try:
        stat = path.stat()
    except OSError as error:
        return f"cannot read it: {error.strerror}"
    return _probe_cached(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=32)
def _probe_cached(path: Path, size: int, mtime_ns: int) -> Disassembler | str:
    """Ask the program for its version and targets, once a process for each state of the file."""
    try:
        done = run_limited([str(path), "--version"], limits=_PROBE_LIMITS, env=clean_environment(Path("/")),
                           what="the disassembler")  # fmt: skip
    except KbError as error:
        return error.message
    number = re.search(r"LLVM version (\d+)(\S*)", done.stdout)
    if number is None:
        return "it is not llvm-objdump: `--version` names no LLVM version"
    if int(number[1]) < OLDEST:
        return f"LLVM {number[1]} is too old: {OLDEST} or newer is needed"
    if not re.search(r"(?m)^\s*amdgcn\b", done.stdout):
        return "it was built without the AMDGPU target"
    return Disassembler(path, f"llvm-objdump {number[1]}{number[2]}")
