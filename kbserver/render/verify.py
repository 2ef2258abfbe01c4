"""Text of `verify_kernel`: the verdict first, then what is wrong and where, then what it rests on."""

from __future__ import annotations

from kbserver.render.compare import say_comparison
from kbserver.render.document import Document
from kbserver.render.registry import renders
from kbserver.runs.report import LaunchLine, VerifyReport

MAX_FINDINGS = 10


@renders(VerifyReport)
def _(report: VerifyReport) -> Document:
    document = Document().say(_headline(report))
    if report.comparison is not None:
        say_comparison(document, report.comparison, all_rows=True).say(f"before: {report.comparison.before_ref}")
    for finding in report.findings[:MAX_FINDINGS]:
        place = f" at {finding.where}" if finding.where else ""
        times = f" ({finding.count:,} times)" if finding.count > 1 else ""
        document.say(f"{finding.severity} [{finding.check}]{place}: {finding.message}{times}")
    rest = report.total_findings - min(len(report.findings), MAX_FINDINGS)
    if rest > 0:
        document.say(f"{rest} more findings.")
    _say_wrong(document, report)
    _say_basis(document, report)
    return document


def _headline(report: VerifyReport) -> str:
    subject = report.source if report.source.startswith("kernel:") else f"{report.source} as {report.kernel}"
    target = f"{report.arch} ({report.decided_by})"
    text = f"{report.verdict}: {subject} for {target}, shape {report.shape}; run:{report.run_id}"
    return text + (f"\nNo verdict, because: {report.reason}" if report.reason else "")


def _say_wrong(document: Document, report: VerifyReport) -> None:
    document.table(
        (f"index {report.axes or 'NCDHW'}", "got", "want", "ulp"),
        [(",".join(map(str, one.index)), "NaN" if one.got is None else one.got, one.want,
          "-" if one.ulp is None else one.ulp) for one in report.worst],
        title=f"Worst of {report.output or 'the output'}, shape {report.worst[0].shape}:" if report.worst else None,
    )  # fmt: skip
    channels = report.per_channel
    if channels and channels.failing:
        shown = ", ".join(f"{one.channel}: {one.mismatches:,}/{one.elements:,}" for one in channels.worst)
        what = "channels" if channels.axis in (None, "C") else f"slices along {channels.axis}"
        document.say(f"{what} with wrong elements: {channels.failing} of {channels.channels} ({shown})")


def _say_basis(document: Document, report: VerifyReport) -> None:
    if report.launches:
        document.say(
            f"{len(report.launches)} launches, {report.elements:,} elements compared, {report.mismatches:,} wrong; "
            f"largest error {report.max_abs:.3g}, largest distance {report.max_ulp} ulp of the output's format"
        )
        document.say("launches: " + "; ".join(_launch_groups(report.launches)))
    document.say(f"reference: {report.reference}; accepted: {report.tolerance}{_second(report)}")
    checks = _checks(report)
    if checks:
        document.say(checks)
    support = report.support
    if support:
        text = f"{support.supported} of {support.instructions} instructions of the kernel can be executed"
        for one in support.missing:
            text += f"; not {one.mnemonic} ({one.count}x, first `{one.text}` at {one.source or f'line {one.line}'})"
        document.say(text)
    for note in report.notes:
        document.say(f"note: {note}")
    built = f"build:{report.build_id}, {report.compiler}" + (f", {' '.join(report.flags)}" if report.flags else "")
    document.say(f"device: {report.device} ({report.device_decided_by}); {built}")
    t = report.times
    document.say(
        f"time: {t.total_s:.2f} s: build {t.build_s:.2f}{' cached' if t.build_cached else ''}, "
        f"load {t.load_s:.2f}{' cached' if t.code_cached else ''}, inputs {t.inputs_s:.2f}, run {t.launch_s:.2f}, "
        f"reference and comparison {t.compare_s:.2f}, checks {t.check_s:.2f}"
    )


def _checks(report: VerifyReport) -> str | None:
    checks = report.checks
    if checks is None:
        return None
    if not checks.checks:
        return f"races and unwritten memory were not looked for: {checks.reason}"
    lost = f", {checks.lost:,} more not looked at" if checks.lost else ""
    text = (
        f"checked apart from results: {', '.join(checks.checks)}: {checks.checked} of {checks.workgroups} workgroups "
        f"of {checks.shape}, {checks.accesses:,} accesses{lost}"
    )
    return text + (f"; not ended: {checks.reason}" if checks.reason else "")


def _launch_groups(launches: list[LaunchLine]) -> list[str]:
    """Return one text for all launches of a shape."""
    groups: dict[str, list[LaunchLine]] = {}
    for line in launches:
        groups.setdefault(line.shape, []).append(line)
    texts = []
    for shape, lines in groups.items():
        sizes = ",".join(f"{key}{value}" for key, value in lines[0].sizes.items())
        seeds = ", ".join(dict.fromkeys(f"{line.seed} ({line.inputs})" for line in lines))
        turns = ", ".join(dict.fromkeys(line.order if line.poison else "stale registers" for line in lines))
        texts.append(f"{shape} {sizes}, seeds {seeds}, orders {turns}")
    return texts


def _second(report: VerifyReport) -> str:
    second = report.second_reference
    if second is None:
        return "; no second reference (torch is not installed, or has no such function)"
    agrees = "agrees" if second.agrees else "DISAGREES"
    return f"; {second.name} {agrees} on {second.elements:,} elements (at most {second.max_abs_difference:.2g} apart)"
