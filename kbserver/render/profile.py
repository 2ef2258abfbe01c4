"""Text of `profile_kernel`: counters first, then where the instructions are, then memory, then what it rests on."""

from __future__ import annotations

from kbserver.render.compare import say_comparison
from kbserver.render.document import Document
from kbserver.render.profiler_import import say_import, say_runs
from kbserver.render.registry import renders
from kbserver.runs.profile_report import LdsSummary, ProfileReport

MAX_SITES, MAX_LINES = 6, 6
NOTES_SHOWN = ("evidence:", "assumed:")


@renders(ProfileReport)
def _(report: ProfileReport) -> Document:
    if report.imported is not None and not report.run_id:
        document = Document() if report.profiler is None else say_runs(Document(), report, report.profiler)
        for note in report.notes:
            document.say(f"note: {note}")
        return say_import(document, report.imported)
    if report.profiler is not None and report.profiler.reason is not None:
        return say_runs(Document(), report, report.profiler)
    if report.comparison is not None:
        document = say_comparison(Document(), report.comparison)
        return document.say(f"{_headline(report)}; before: {report.comparison.before_ref}")
    document = Document().say(_headline(report))
    document.say("per wavefront: " + ", ".join(f"{name} {value:g}" for name, value in report.per_wave.items()))
    lanes = "" if report.active_lanes is None else f"; mean active lanes of VALU {report.active_lanes:.1f} of 64"
    document.say("mix: " + _counts(report.mix) + lanes)
    _say_hot(document, report)
    _say_memory(document, report)
    document.table(
        ("counter", "published", "ours", "difference", "why"),
        [(one.counter, f"{one.published:g}", "not counted" if one.ours is None else f"{one.ours:g}",
          "-" if one.difference_percent is None else f"{one.difference_percent:+.2f} %", one.explanation or "-")
         for one in report.published],
        title=f"Published by {report.published[0].source.title}:" if report.published else None,
    )  # fmt: skip
    for note in report.notes:
        if not note.startswith(NOTES_SHOWN):
            document.say(f"note: {note}")
    document.say("what each counter takes in, with evidence and assumptions: notes of --json, docs/profile.md")
    document.say(f"device: {report.device} ({report.device_decided_by}); build:{report.build_id}, {report.compiler}")
    if report.profiler is not None:
        say_runs(document, report, report.profiler)
    if report.imported is not None:
        say_import(document, report.imported)
    t = report.times
    document.say(f"time: {t.total_s:.2f} s: build {t.build_s:.2f}, load {t.load_s:.2f}, counting run {t.count_s:.2f}")
    return document


def _headline(report: ProfileReport) -> str:
    subject = report.source if report.source.startswith("kernel:") else f"{report.source} as {report.kernel}"
    return (
        f"{subject} for {report.arch} ({report.decided_by}), shape {report.shape}: {report.workgroups} workgroups, "
        f"{report.waves} wavefronts; run:{report.run_id}"
    )


def _counts(counts: dict[str, float] | dict[str, int]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in counts.items())


def _say_hot(document: Document, report: ProfileReport) -> None:
    loop = report.hot_loop
    if loop:
        at = f" at {loop.source}" if loop.source else ""
        document.say(
            f"hot loop {loop.label}{at}: {loop.share_percent:g} % of all instructions, {loop.iterations:g} iterations "
            f"a wavefront of {loop.instructions} instructions: {_counts(loop.mnemonics)}"
        )
    document.table(
        ("source line", "instr/wave", "%", "mix"),
        [(line.source, f"{line.instructions:g}", f"{line.share_percent:g}", _counts(line.mix))
         for line in report.hot_lines[:MAX_LINES]],
    )  # fmt: skip


def _say_memory(document: Document, report: ProfileReport) -> None:
    if report.lds:
        document.say(_lds(report.lds))
    memory = report.global_
    if memory:
        document.say(
            f"global memory: {memory.requests:g} requests, {memory.lines:g} lines of {memory.line_bytes} bytes "
            f"({memory.lines_per_request:g} a request), {memory.bytes_read:g} bytes read, "
            f"{memory.bytes_written:g} written"
        )
    if report.scratch:
        document.say(f"scratch: {report.scratch.requests:g} requests, {report.scratch.bytes:g} bytes")
    shown = report.sites[:MAX_SITES]
    document.table(
        ("memory instruction", "source", "runs/wave", "lanes", "LDS passes", "conflicts", "lines"),
        [(site.instruction, site.source or f"assembly line {site.line}", f"{site.executions:g}",
          f"{site.active_lanes:g}", _or_dash(site.passes_per_access), _or_dash(site.conflicts_per_access),
          _or_dash(site.lines_per_request)) for site in shown],
        title=f"Costliest {len(shown)} of {report.total_sites} memory instructions:" if shown else None,
    )  # fmt: skip


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _lds(lds: LdsSummary) -> str:
    rules = "; ".join(
        f"{rule.access} of {rule.bytes} B: {rule.banks} banks, {rule.phases} phases, {rule.basis} [{rule.source.id}]"
        for rule in lds.model
    )
    return (
        f"LDS: {lds.accesses:g} accesses ({lds.reads:g} reads, {lds.writes:g} writes), {lds.active_passes:g} passes: "
        f"{lds.ideal_passes:g} without conflicts, {lds.conflict_passes:g} conflict passes (model: {rules})"
    )
