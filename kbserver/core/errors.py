"""The one error tree of kbserver; only `cli` and `server` translate it for their users.

KbError
├── UsageError           the caller asked for something that cannot be asked        exit 2
│   ├── UnknownName      a name that nothing has, with near names in the hint
│   └── UnresolvedRef    a ref (document, fact, lesson, build) that does not resolve
├── ContentError         a content file is malformed: file and line are in `where`  exit 2
├── WorkspaceError       the workspace cannot be read or written                    exit 3
├── Unavailable          this machine lacks what the operation needs                exit 3
│   ├── NoCompiler       no compiler that can build for the target was found
│   ├── NoDevice         no usable GPU
│   └── UnsupportedInstruction   the emulator lacks an instruction of the kernel: never skipped
├── EngineCrashed        the process that executes a kernel died: no verdict         exit 3
├── InternalError        a fault of kbserver itself                                 exit 3
└── ToolFailure          an external program failed                                 exit 1
    ├── CompileFailed    the compiler rejected the source: diagnostics in details
    ├── CompilerCrashed  the compiler died on a signal or an internal error
    ├── LaunchFailed     a launch failed on the GPU, or took the process that drives it down
    ├── TimedOut         the wall-clock limit was reached and the process group killed
    └── OutputTooLarge   the program wrote more than the limit

Exit codes: 0 yes, 1 no, 2 usage, 3 cannot tell here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

MAX_TEXT = 1000


def _shortened(text: str) -> str:
    """Errors quote what their caller sent; a caller who sent 100 KB must not get it back."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


class KbError(Exception):
    """An answer that is an error: what happened, where, and what to try.

    message: one sentence, what is wrong. where: the file:line, ref or argument it concerns.
    hint: what the caller can do next. details: JSON-serialisable extras.
    """

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 2

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = _shortened(message)
        self.where = where if where is None else _shortened(where)
        self.hint = hint if hint is None else _shortened(hint)
        self.details = dict(details or {})

    def payload(self) -> dict[str, Any]:
        """Return the JSON form that `--json` and MCP share: `{"error": {...}}`."""
        return {
            "error": {
                "code": self.code,
                "message": self.message,
                "where": self.where,
                "hint": self.hint,
                "details": self.details,
            }
        }

    def one_line(self) -> str:
        """Return the error as one line of text for a terminal or a model."""
        text = f"{self.code}: {self.message}"
        if self.where:
            text += f" [{self.where}]"
        if self.hint:
            text += f" Try: {self.hint}"
        return " ".join(text.split())


class UsageError(KbError):
    code = "usage"


class UnknownName(UsageError):
    """A name that nothing has; `near` are the closest names that exist."""

    code = "unknown_name"

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str | None = None) -> None:
        known = sorted(set(known))
        near = difflib.get_close_matches(name, known, n=5, cutoff=0.5)
        hint = f"one of: {', '.join(near)}" if near else f"known: {', '.join(known[:20])}"
        shown = name if len(name) <= 80 else name[:77] + "..."
        super().__init__(f"unknown {kind} {shown!r}", where=where, hint=hint, details={"kind": kind, "near": near})


class UnresolvedRef(UsageError):
    code = "unresolved_ref"


class ContentError(KbError):
    code = "content"


class WorkspaceError(KbError):
    code = "workspace"
    exit_status = 3


class Unavailable(KbError):
    code = "unavailable"
    exit_status = 3


class NoCompiler(Unavailable):
    code = "no_compiler"


class NoDevice(Unavailable):
    code = "no_device"


class UnsupportedInstruction(Unavailable):
    code = "unsupported_instruction"


class EngineCrashed(KbError):
    code = "engine_crashed"
    exit_status = 3


class InternalError(KbError):
    """A fault of ours: the surfaces turn any other exception into it, so that no caller meets a traceback."""

    code = "internal"
    exit_status = 3

    @classmethod
    def of(cls, error: BaseException, hint: str) -> InternalError:
        """Return the error for an exception that nobody expected, naming its type and where it was raised."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else None
        return cls(f"{type(error).__name__}: {str(error)[:200]}", where=where, hint=hint)


class ToolFailure(KbError):
    code = "tool_failure"
    exit_status = 1


class CompileFailed(ToolFailure):
    code = "compile_failed"


class CompilerCrashed(ToolFailure):
    code = "compiler_crashed"


class LaunchFailed(ToolFailure):
    code = "launch_failed"


class TimedOut(ToolFailure):
    code = "timed_out"


class OutputTooLarge(ToolFailure):
    code = "output_too_large"


def error_from_payload(payload: Mapping[str, Any]) -> KbError:
    """Return the error that another process sent as `payload()`; a code that nothing here has is an InternalError."""
    entry = payload["error"]
    kind = next((one for one in _tree(KbError) if one.code == entry["code"]), InternalError)
    error = kind.__new__(kind)
    # Some classes make their message from other arguments; here it is made already.
    KbError.__init__(
        error, entry["message"], where=entry.get("where"), hint=entry.get("hint"), details=entry.get("details")
    )
    return error


def _tree(kind: type[KbError]) -> list[type[KbError]]:
    return [kind, *(one for child in kind.__subclasses__() for one in _tree(child))]
