"""Symbol names as C++ writes them, where a demangler is installed."""

from __future__ import annotations

import shutil
from functools import lru_cache

from kbserver.core.errors import KbError
from kbserver.core.process import Limits, run_limited

MAX_NAME = 2000


@lru_cache(maxsize=512)
def demangle(symbol: str) -> str | None:
    """Return the C++ name of a mangled symbol; None when it is not mangled or no demangler is installed."""
    if not symbol.startswith("_Z") or len(symbol) > MAX_NAME:
        return None
    tool = shutil.which("llvm-cxxfilt") or shutil.which("c++filt")
    if tool is None:
        return None
    try:
        done = run_limited([tool, symbol], limits=Limits(wall_s=5, output_bytes=1 << 16), what="the demangler")
    except KbError:
        return None
    name = done.stdout.strip()
    return name if done.returncode == 0 and name and name != symbol and "\n" not in name else None
