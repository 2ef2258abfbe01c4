"""What a measurement with rocprofv3 is made of: the captured launch, the command lines, and how each went."""

from __future__ import annotations

from kbserver.core.model import Record, SourceRef


class ProfilerPass(Record):
    """One run of rocprofv3. counters is empty for the trace of times; failure: its last words, null when it went well.

    command: one line for a POSIX shell.
    """

    counters: list[str]
    command: str
    failure: str | None = None


class ProfilerRuns(Record):
    """The measurement. reason: why nothing was run, null when it was; then the command lines are for you to run.

    folder: the captured launch, code object and inputs; output: where rocprofv3 writes, for `kb profile --from`;
    script: the same lines for a copy of the folder on another machine.
    """

    folder: str
    output: str
    script: str
    launches: int
    passes: list[ProfilerPass]
    reason: str | None
    sources: list[SourceRef]
