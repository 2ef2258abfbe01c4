"""Text of `time_kernel`: the verdict first, then the times, then what they rest on."""

from __future__ import annotations

from kbserver.render.document import Document
from kbserver.render.registry import renders
from kbserver.runs.timing.report import TimeReport, Timing

MAX_FINDINGS = 8


@renders(TimeReport)
def _(report: TimeReport) -> Document:
    document = Document().say(_headline(report))
    for finding in report.findings[:MAX_FINDINGS]:
        place = f" at {finding.where}" if finding.where else ""
        document.say(f"{finding.severity} [{finding.check}]{place}: {finding.message}")
    rows = [("kernel", state, timing) for state, timing in (("cold", report.cold), ("warm", report.warm))]
    if report.baseline:
        name = report.baseline.name
        rows += [
            (name, state, timing) for state, timing in (("cold", report.baseline.cold), ("warm", report.baseline.warm))
        ]
    document.table(
        ("what", "caches", "median ms", "95 % interval", "n", "least", "dropped"),
        [_row(what, state, one) for what, state, one in rows if one],
    )
    if report.ratio:
        for state, ratio in (("cold", report.ratio.cold), ("warm", report.ratio.warm)):
            if ratio:
                document.say(
                    f"{state}: time / {report.baseline.name if report.baseline else 'baseline'} = {ratio.median:.4f} "
                    f"({ratio.ci[0]:.4f} to {ratio.ci[1]:.4f}): {ratio.verdict}"
                )
    _say_basis(document, report)
    return document


def _headline(report: TimeReport) -> str:
    subject = report.source if report.source.startswith("kernel:") else f"{report.source} as {report.kernel}"
    against = f" against {report.baseline.name}" if report.baseline else ""
    return (
        f"{report.verdict}: {subject}{against}, shape {report.shape}, on {report.device.name}; run:{report.run_id}\n"
        f"{report.reason}"
    )


def _row(what: str, state: str, one: Timing) -> tuple[object, ...]:
    interval = f"{one.ci[0]:.4f} to {one.ci[1]:.4f}"
    return what, state, f"{one.median_ms:.4f}", interval, one.n, f"{one.min_ms:.4f}", _dropped(one)


def _dropped(one: Timing) -> str:
    return f"{one.dropped_outliers} slow, {one.dropped_throttled} throttled"


def _say_basis(document: Document, report: TimeReport) -> None:
    device, floor = report.device, report.floor
    document.say(
        f"device: {device.name} ({device.arch}, {device.driver}; {report.device_decided_by}): {device.figures}"
    )
    if report.floor_ms is not None:
        document.say(
            f"physics floor {report.floor_ms:.4g} ms of {floor.product}: memory {_known(floor.memory_ms)}, "
            f"{floor.unit} {_known(floor.compute_ms)} [{', '.join(floor.facts)}]"
        )
    else:
        document.say(f"physics floor unknown: {floor.reason}")
    figures = report.measured_device
    if figures:
        document.say(
            f"measured here: an empty window {figures.empty_window_ms:.4g} ms, a copy {figures.copy_gb_s:,.0f} GB/s: "
            f"the problem's {floor.bytes / 1e6:,.0f} MB in {figures.copy_of_problem_ms:.4g} ms"
        )
    if report.baseline:
        document.say(f"baseline: {report.baseline.about}")
    clocks = report.clocks
    if clocks.lowest_mhz is not None:
        document.say(f"clock {clocks.lowest_mhz:g} to {clocks.highest_mhz:g} MHz over all batches")
    checks = report.checks
    document.say(
        f"outputs checked: all {checks.launches} launches, {checks.elements:,} elements compared, {checks.complete} "
        f"launches completely; verified before on other shapes: {checks.gate_run}"
    )
    for note in report.notes:
        document.say(f"note: {note}")
    document.say(
        f"method {report.method_id}: one event pair a launch, {report.sets} buffer sets, warm-up "
        f"{report.warmup_batches} batches{'' if report.warmup_stable else ' (not stable)'}, stopped by "
        f"{report.stopped_by}; build:{report.build_id}"
    )
    t = report.times
    document.say(f"time: {t.total_s:.2f} s: build {t.build_s:.2f}, verify {t.gate_s:.2f}, measure {t.measure_s:.2f}")


def _known(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g} ms"
