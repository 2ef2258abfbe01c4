"""A recorded profile as text, for `read`."""

from __future__ import annotations

from typing import Any

from kbserver.core.errors import WorkspaceError
from kbserver.runs.profile_report import ProfileReport


def profile_title(record: dict[str, Any]) -> str:
    """Return what was profiled."""
    report = _report(record)
    return f"profile: {report.kernel} for {report.arch}, shape {report.shape}"


def profile_text(record: dict[str, Any]) -> str:
    """Return the counters and notes in lines. Raises WorkspaceError for a record that this version cannot read."""
    report = _report(record)
    lines = [
        f"kb profile of {report.source} as {report.kernel}, task {report.task}, recorded {record['created']}",
        f"source sha256 {record['source_sha256']}; build:{report.build_id}; {report.compiler}",
        f"device: {report.device} ({report.device_decided_by}); seed {report.seed}; {report.workgroups} workgroups, "
        f"{report.waves} wavefronts, addresses of {report.sampled_workgroups} workgroups",
        "per wavefront:",
        *(f"  {name} {value:g}" for name, value in report.per_wave.items()),
    ]
    if report.lds:
        lines.append(f"LDS: {report.lds.active_passes:g} passes, {report.lds.conflict_passes:g} of them conflicts")
    memory = report.global_
    if memory:
        lines.append(f"global memory: {memory.requests:g} requests, {memory.lines:g} lines, {memory.bytes:g} bytes")
    lines += [
        f"published {one.counter}: {one.published:g}, ours {'not counted' if one.ours is None else f'{one.ours:g}'}"
        for one in report.published
    ]
    return "\n".join([*lines, *report.notes])


def _report(record: dict[str, Any]) -> ProfileReport:
    try:
        return ProfileReport(**record["result"])
    except (TypeError, ValueError) as error:
        raise WorkspaceError(f"the record does not read as a profile: {error}"[:300]) from None
