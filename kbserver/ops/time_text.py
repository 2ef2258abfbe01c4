"""A recorded timing run as text, for `read`: what was timed, how, and what came out."""

from __future__ import annotations

from typing import Any

from kbserver.core.errors import WorkspaceError
from kbserver.runs.timing.report import TimeReport, Timing


def time_title(record: dict[str, Any]) -> str:
    """Return the verdict and its subject."""
    report = _report(record)
    against = f" against {report.baseline.name}" if report.baseline else ""
    return f"{report.verdict}: {report.kernel}{against} on {report.device.name}, shape {report.shape}"


def time_text(record: dict[str, Any]) -> str:
    """Return the whole record in lines. Raises WorkspaceError for one that this version cannot read."""
    report = _report(record)
    lines = [
        f"kb time of {report.source} as {report.kernel}, task {report.task}, recorded {record['created']}",
        f"source sha256 {record['source_sha256']}; build:{report.build_id}; {report.compiler}",
        f"device: {report.device.name}, {report.device.arch}, {report.device.driver}: {report.device.figures}",
        f"{report.verdict}: {report.reason}",
        *(f"kernel {state}: {_times(one)}" for state, one in (("cold", report.cold), ("warm", report.warm)) if one),
    ]
    if report.baseline:
        both = (("cold", report.baseline.cold), ("warm", report.baseline.warm))
        lines += [f"{report.baseline.name} {state}: {_times(one)}" for state, one in both if one]
        lines.append(f"baseline: {report.baseline.about}")
    lines += [f"{f.severity} [{f.check}] {f.where or ''}: {f.message} ({f.count} times)" for f in report.findings]
    lines.append(f"outputs: {report.checks.launches} launches checked, {report.checks.elements} elements compared")
    lines.append(f"method {report.method_id}: " + "; ".join(f"{key} {value}" for key, value in report.method.items()))
    return "\n".join([*lines, *(f"note: {note}" for note in report.notes)])


def _times(one: Timing) -> str:
    return f"{one.median_ms} ms, {one.ci[0]} to {one.ci[1]}, n {one.n}, dropped {one.dropped_outliers} slow"


def _report(record: dict[str, Any]) -> TimeReport:
    try:
        return TimeReport(**record["result"])
    except (TypeError, ValueError) as error:
        raise WorkspaceError(f"the record does not read as a timing run: {error}"[:300]) from None
