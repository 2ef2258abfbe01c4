"""Confine a child process with Landlock, so that a hostile source cannot read files through the compiler.

Landlock (Linux 5.13, `landlock(7)`) needs no root and no helper program. The parent builds the ruleset; the child only
enters it, between fork and exec. Where the kernel lacks it, `confinement` returns None and the build says so.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

# System call numbers are the same on every architecture (they were added after the tables were unified).
_SYS_CREATE_RULESET, _SYS_ADD_RULE, _SYS_RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

# LANDLOCK_ACCESS_FS_*: bit numbers of include/uapi/linux/landlock.h.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE = 1 << 14
_RIGHTS_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_RIGHTS_NEWEST = (1 << 16) - 1  # ABI 5 adds IOCTL_DEV
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_READ = _READ_FILE | _READ_DIR
_NET_TCP = 0b11  # bind and connect, ABI 4
_SCOPES = 0b11  # abstract sockets and signals, ABI 6


class _RulesetAttr(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


@lru_cache(maxsize=1)
def landlock_abi() -> int:
    """Return the Landlock version of this kernel, 0 when it has none (or it is switched off)."""
    try:
        return max(0, _syscall(_SYS_CREATE_RULESET, None, 0, _CREATE_RULESET_VERSION))
    except (OSError, AttributeError):
        return 0


def _syscall(number: int, *arguments: object) -> int:
    """Call syscall(2); integers go as C long, since it is variadic and the kernel reads whole registers."""
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return int(_libc().syscall(ctypes.c_long(number), *words))


@contextmanager
def confinement(*, read: Sequence[Path], write: Sequence[Path]) -> Iterator[Callable[[], None] | None]:
    """Yield a function for the child to call before exec, or None when this kernel has no Landlock.

    After that call the child and its children read and execute only beneath `read`, read and write only beneath
    `write`, and open no TCP connection. Paths that do not exist are left out.
    """
    abi = landlock_abi()
    if not abi:
        yield None
        return
    handled = _RIGHTS_OF_ABI.get(abi, _RIGHTS_NEWEST)
    ruleset = _create_ruleset(handled, abi)
    try:
        for path in read:
            _allow(ruleset, path, (_READ | _EXECUTE) & handled)
        for path in write:
            _allow(ruleset, path, handled & ~_EXECUTE)
        libc = _libc()

        def enter() -> None:
            one, zero = ctypes.c_long(1), ctypes.c_long(0)
            if libc.prctl(_PR_SET_NO_NEW_PRIVS, one, zero, zero, zero) or _syscall(_SYS_RESTRICT_SELF, ruleset, 0):
                # Running unconfined while saying "landlock" would be a lie: better not to run.
                raise OSError("cannot enter the Landlock ruleset")

        yield enter
    finally:
        os.close(ruleset)


def _create_ruleset(handled: int, abi: int) -> int:
    attr = _RulesetAttr(handled, _NET_TCP if abi >= 4 else 0, _SCOPES if abi >= 6 else 0)
    # Older kernels refuse a longer structure than they know, unless the rest is zero: pass what this ABI defines.
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    fd = _syscall(_SYS_CREATE_RULESET, ctypes.byref(attr), size, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "cannot create a Landlock ruleset")
    return fd


def _allow(ruleset: int, path: Path, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not path.is_dir():
            access &= _FILE_RIGHTS
        rule = _PathBeneathAttr(access, fd)
        if _syscall(_SYS_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0):
            raise OSError(ctypes.get_errno(), "cannot add a Landlock rule")
    finally:
        os.close(fd)
