"""Compiler messages as records: few, short, and free of host paths."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

MAX_DIAGNOSTICS = 50
MAX_MESSAGE = 400
WITHHELD = "(text withheld: the file is not part of this build)"

_LINE = re.compile(
    r"^(?:(?P<file>[^\s:][^:\n]*):(?:(?P<line>\d+):)?(?:(?P<column>\d+):)? )?"
    r"(?P<severity>fatal error|error|warning|note|remark): (?P<message>.*)$"
)
_FLAG = re.compile(r" \[(-[WR][^\]\s]*)\]$")
_HOST_PATH = re.compile(r"(?<![\w.<-])/(?:[\w.+@%-]+/)+[\w.+@%-]*")
_PROGRAM = re.compile(r"^(?:zig|clang(?:\+\+)?(?:-\d+)?|ld\.lld)(?=: (?:fatal error|error|warning|note|remark):)")


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler. `file` is relative to the source; None when the message has no place."""

    severity: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    flag: str | None = None


@dataclass(frozen=True)
class Diagnostics:
    """The first messages and how many there were, for each severity."""

    shown: tuple[Diagnostic, ...]
    total: int
    errors: int
    warnings: int

    @property
    def truncated(self) -> bool:
        return self.total > len(self.shown)


def parse_diagnostics(text: str, *, belongs: Callable[[str], bool], show_path: Callable[[str], str]) -> Diagnostics:
    """Return the messages in `text`.

    `belongs` tells whether a named file is part of the build: what is said about other files is withheld, for it may
    quote them. `show_path` gives the path as the caller knows it.
    """
    found: list[Diagnostic] = []
    counts = {"error": 0, "warning": 0}
    total = 0
    for raw in text.splitlines():
        match = _LINE.match(_PROGRAM.sub("<compiler>", raw[:4000]))
        if not match or match["message"].startswith("diagnostic msg:"):
            continue
        total += 1
        severity = "error" if match["severity"] == "fatal error" else match["severity"]
        counts[severity] = counts.get(severity, 0) + 1
        if len(found) < MAX_DIAGNOSTICS:
            found.append(_record(match, severity, belongs, show_path))
    return Diagnostics(tuple(found), total, counts["error"], counts["warning"])


def _record(
    match: re.Match[str], severity: str, belongs: Callable[[str], bool], show_path: Callable[[str], str]
) -> Diagnostic:
    file, message = match["file"], match["message"].strip()
    if file in ("<compiler>", "<unknown>", "<built-in>", "<command line>", "<inline asm>"):
        file = None
    flag = _FLAG.search(message)
    if flag:
        message = message[: flag.start()]
    if file is not None and not belongs(file):
        return Diagnostic(severity, WITHHELD, None, None, None, flag[1] if flag else None)
    message = _HOST_PATH.sub(lambda found: "<host path>" if not belongs(found[0]) else show_path(found[0]), message)
    return Diagnostic(
        severity=severity,
        message=message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 3] + "...",
        file=show_path(file) if file else None,
        line=int(match["line"]) if match["line"] and int(match["line"]) else None,
        column=int(match["column"]) if match["column"] and int(match["column"]) else None,
        flag=flag[1] if flag else None,
    )
