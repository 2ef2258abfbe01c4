"""Run rocminfo on this machine, or say exactly why that is not possible here."""

from __future__ import annotations

import grp
import os
import shutil
import stat
from pathlib import Path

from kbserver.core.errors import NoDevice
from kbserver.core.process import Limits, run_limited

KFD = Path("/dev/kfd")
ROCM_ROOTS = Path("/opt")
_LIMITS = Limits(wall_s=30.0, memory_bytes=None, output_bytes=4 << 20)  # the runtime reserves terabytes of addresses


def find_rocminfo() -> str | None:
    """Return the path of rocminfo: on PATH, else in the newest /opt/rocm*/bin."""
    found = shutil.which("rocminfo")
    if found:
        return found
    for path in sorted(ROCM_ROOTS.glob("rocm*/bin/rocminfo"), reverse=True):
        if os.access(path, os.X_OK):
            return str(path)
    return None


def run_rocminfo() -> str:
    """Return what rocminfo prints here, errors included. Raises NoDevice when it is not installed, TimedOut, ..."""
    program = find_rocminfo()
    if program is None:
        raise _no_device("no rocminfo on this machine, so its GPUs cannot be listed", "PATH and /opt/rocm*/bin")
    finished = run_limited([program], limits=_LIMITS, what="rocminfo")
    text = "\n".join(part for part in (finished.stdout, finished.stderr) if part.strip())
    if not text:
        raise _no_device(f"rocminfo printed nothing and ended with status {finished.returncode}", program)
    return text


def unreadable(text: str) -> NoDevice:
    """Return the error for a rocminfo that ran here and printed neither agents nor an error that we know."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return _no_device(f"rocminfo ran, but lists nothing: {first[:200]}", find_rocminfo() or "rocminfo")


def _no_device(message: str, where: str) -> NoDevice:
    checks = kfd_checks()
    return NoDevice(
        message,
        where=where,
        hint=f"`kb device --from FILE` reads a saved output of rocminfo. Here: {'; '.join(checks)}",
        details={"checks": checks},
    )


def kfd_checks(kfd: Path | None = None) -> list[str]:
    """Return what can be seen of the device that the runtime opens: there, openable, and whose groups it needs."""
    kfd = kfd or KFD
    try:
        info = kfd.stat()
    except FileNotFoundError:
        return [f"{kfd} does not exist (no amdgpu driver, or a container without --device={kfd})"]
    except OSError as error:
        return [f"{kfd} cannot be looked at: {error.strerror}"]
    if not stat.S_ISCHR(info.st_mode):
        return [f"{kfd} is not a device"]
    checks = [f"{kfd} exists"]
    if os.access(kfd, os.R_OK | os.W_OK):
        return [*checks, "this user may open it"]
    owner = _group_name(info.st_gid)
    mine = ", ".join(sorted(_group_name(gid) for gid in os.getgroups())) or "none"
    return [*checks, f"this user may not open it: it needs group {owner}, the user's groups are {mine}"]


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
