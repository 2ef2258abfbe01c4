"""A recorded run as text, for `read`: what was run, on what, and every launch with its seed, so it can be repeated."""

from __future__ import annotations

from typing import Any

from kbserver.core.errors import WorkspaceError
from kbserver.ops.profile_text import profile_text, profile_title
from kbserver.ops.time_text import time_text, time_title
from kbserver.runs.report import VerifyReport


def run_title(record: dict[str, Any]) -> str:
    """Return the verdict and its subject."""
    if record.get("kind") == "profile":
        return profile_title(record)
    if record.get("kind") == "time":
        return time_title(record)
    report = _report(record)
    return f"{report.verdict}: {report.kernel} for {report.arch}, shape {report.shape}"


def run_text(record: dict[str, Any]) -> str:
    """Return the whole record in lines. Raises WorkspaceError for one that this version cannot read."""
    if record.get("kind") == "profile":
        return profile_text(record)
    if record.get("kind") == "time":
        return time_text(record)
    report = _report(record)
    lines = [
        f"kb {record['kind']} of {report.source} as {report.kernel}, task {report.task}, recorded {record['created']}",
        f"source sha256 {record['source_sha256']}; build:{report.build_id}; {report.compiler}",
        f"device: {report.device} ({report.device_decided_by})",
        f"reference: {report.reference}; accepted: {report.tolerance}",
        f"{report.elements} elements compared, {report.mismatches} wrong, {report.unwritten} unwritten; "
        f"largest error {report.max_abs:.3g}, {report.max_ulp} ulp",
    ]
    if report.reason:
        lines.append(f"no verdict, because: {report.reason}")
    lines += [f"{f.severity} [{f.check}] {f.where or ''}: {f.message} ({f.count} times)" for f in report.findings]
    lines += [
        f"launch: {one.shape} {one.sizes}, seed {one.seed}, {one.inputs} inputs, order {one.order}"
        f"{'' if one.poison else ', registers and LDS unfilled'}: {one.mismatches} of {one.elements} wrong"
        for one in report.launches
    ]
    return "\n".join(lines)


def _report(record: dict[str, Any]) -> VerifyReport:
    try:
        return VerifyReport(**record["result"])
    except (TypeError, ValueError) as error:
        raise WorkspaceError(f"the record does not read as a verification: {error}"[:300]) from None
