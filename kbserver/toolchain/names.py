"""Names of functions as people write them, and the symbols that they mean.

A symbol is found by its C++ name on every machine (`itanium.py`). What that name leaves out, template arguments and
parameters, takes a demangler: LLVM's comes with ROCm, binutils' with most systems.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from functools import lru_cache

from kbserver.core.errors import KbError, UnknownName, UsageError
from kbserver.core.process import Limits, run_limited
from kbserver.toolchain.itanium import ANONYMOUS, name_parts

MAX_NAME, MAX_SHOWN = 2000, 12
NO_DEMANGLER = "template arguments and parameters are compared with llvm-cxxfilt or c++filt, and neither is installed"
_SUFFIX = re.compile(r"\.kd$")


@lru_cache(maxsize=512)
def demangle(symbol: str) -> str | None:
    """Return the C++ name of a mangled symbol; None when it is not mangled or no demangler is installed."""
    tool = demangler() if symbol.startswith("_Z") and len(symbol) <= MAX_NAME else None
    if tool is None:
        return None
    try:
        done = run_limited([tool, symbol], limits=Limits(wall_s=5, output_bytes=1 << 16), what="the demangler")
    except KbError:
        return None
    name = done.stdout.strip()
    return name if done.returncode == 0 and name and name != symbol and "\n" not in name else None


def demangler() -> str | None:
    """Return the path of a demangler: of this machine, or of a ROCm that is not in PATH."""
    from kbserver.toolchain.compilers import rocm_clangs

    beside = (str(clang.parent / "llvm-cxxfilt") for clang in rocm_clangs())
    return shutil.which("llvm-cxxfilt") or shutil.which("c++filt") or next(filter(shutil.which, beside), None)


def plain_name(name: str) -> str:
    """Return a function's own name, of a symbol or a C++ name, without scopes and arguments; else what was given."""
    parts = name_parts(name)
    if parts:
        return parts[-1]
    head = re.split(r"[<(]", name.replace(ANONYMOUS, ""), maxsplit=1)[0]
    return re.split(r"::|\s", head.strip())[-1] or name


def find_symbol(wanted: str, symbols: Iterable[str], *, kind: str = "function", where: str | None = None) -> str:
    """Return the symbol that `wanted` means: itself, or a C++ name such as `scale`, `ns::scale` or `scale<float>`.

    Raises UsageError when several have that name, UnknownName when none has.
    """
    known = list(dict.fromkeys(symbols))
    symbol = _SUFFIX.sub("", wanted.strip())
    if symbol in known:
        return symbol
    fitting = [one for one in known if _fits(symbol, one)] if len(symbol) <= MAX_NAME else []
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UsageError(
            f"{len(fitting)} {kind}s are called {symbol[:80]!r}",
            where=where,
            hint=f"name one: {', '.join(_shown(one) for one in fitting[:MAX_SHOWN])}",
            details={"kind": kind, "near": fitting[:MAX_SHOWN]},
        )
    if _has_arguments(symbol) and demangler() is None:
        raise UsageError(f"unknown {kind} {symbol[:80]!r}: {NO_DEMANGLER}", where=where,
                         hint=f"known: {', '.join(known[:MAX_SHOWN])}")  # fmt: skip
    raise UnknownName(kind, symbol, {*known, *map(plain_name, known)}, where=where)


def symbol_in(text: str, entry: str) -> str:
    """Return the symbol of an entry in assembly text or PTX; the entry itself where nothing has such a name.

    Raises UsageError when several kernels have it.
    """
    if any(mark in text for mark in (f"\n{entry}:", f"<{entry}>:", f".entry {entry}(")):
        return entry
    from kbserver.toolchain.assembly import parse_assembly

    kernels = re.findall(r"\.entry\s+([\w$]+)\s*\(", text) or [one.name for one in parse_assembly(text).kernels]
    try:
        return find_symbol(entry, kernels, kind="kernel", where="entry")
    except UnknownName:
        return entry  # who looks for it says so, with what it was looking in


def _has_arguments(name: str) -> bool:
    return "<" in name or "(" in name.replace(ANONYMOUS, "")


def _fits(wanted: str, symbol: str) -> bool:
    parts = name_parts(symbol)
    if not _has_arguments(wanted):
        asked = tuple(wanted.removeprefix("::").split("::"))
        return parts is not None and parts[-len(asked) :] == asked
    # Its own name first: a demangler is another process.
    if parts is None or parts[-1] != plain_name(wanted):
        return False
    spelled = demangle(symbol)
    if spelled is None:
        return False
    asked_text, whole = _tight(wanted), _tight(spelled)
    return any(one == asked_text or one.endswith("::" + asked_text) for one in (whole, *map(_tight, _cut(spelled))))


def _tight(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _cut(spelled: str) -> tuple[str, str]:
    """Return a demangled function without its return type, and without its parameters too."""
    depth, start, end = 0, 0, len(spelled)
    hidden = spelled.replace(ANONYMOUS, "*" * len(ANONYMOUS))
    for place, character in enumerate(hidden):
        if character == "(" and depth == 0:
            end = place
            break
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(character, 0)
        if character == " " and depth == 0:
            start = place + 1
    return spelled[start:], spelled[start:end]


def _shown(symbol: str) -> str:
    spelled = demangle(symbol)
    return f"{symbol} ({spelled})" if spelled else symbol
