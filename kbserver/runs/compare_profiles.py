"""Two profiles of one problem side by side: counted work per element of the output."""

from __future__ import annotations

from collections.abc import Iterator

from kbserver.runs.compare import NOT_TIMED, Comparison, Figure, compare
from kbserver.runs.profile_report import ProfileReport

DECIDES = ("SQ_INSTS", "SQ_INSTS_VALU", "SQ_INSTS_LDS", "SQ_INSTS_VMEM", "LDS passes", "global lines", "scratch bytes")
"""What a wavefront has to issue, and what memory has to serve; the others say why."""


def compare_profiles(before: ProfileReport, after: ProfileReport, outputs: tuple[int, int]) -> Comparison:
    """Return two profiles of one shape side by side, per element of the output. outputs: how many elements each has."""
    same = before.task == after.task and before.sizes == after.sizes
    cannot_tell = None if same else (
        f"{before.kernel} ({before.task}, {before.shape}) and {after.kernel} ({after.task}, {after.shape}) compute "
        "different problems"
    )  # fmt: skip
    found = [dict(_work(report, count)) for report, count in zip((before, after), outputs, strict=True)]
    names = list(dict.fromkeys([*found[0], *found[1]]))
    figures = [
        Figure(name, found[0].get(name, 0.0), found[1].get(name, 0.0), decides=name in DECIDES) for name in names
    ]
    figures.append(Figure("active lanes", before.active_lanes, after.active_lanes, "more"))
    figures.append(Figure("wavefronts of the launch", before.waves, after.waves, None))
    notes = [NOT_TIMED]
    if found[0].get("SQ_INSTS_MFMA") != found[1].get("SQ_INSTS_MFMA"):
        notes.append("a matrix instruction takes more cycles than others: instructions are no cycles here")
    if not (before.exact_addresses and after.exact_addresses):
        notes.append("lines and LDS passes are of sampled workgroups, scaled: --sample all makes them exact")
    return compare(
        (before.kernel if before.kernel != after.kernel else f"{before.kernel} ({before.source})",
         after.kernel if before.kernel != after.kernel else f"{after.kernel} ({after.source})"),
        (f"run:{before.run_id}", f"run:{after.run_id}"),
        "counted work", "element of the output", figures, cannot_tell=cannot_tell, notes=notes,
    )  # fmt: skip


def _work(report: ProfileReport, outputs: int) -> Iterator[tuple[str, float]]:
    """Yield (figure, per element of the output) of everything that was counted."""
    scale = report.waves / outputs
    for name, value in report.per_wave.items():
        yield name, value * scale
    if report.lds:
        yield "LDS passes", report.lds.active_passes * scale
        yield "LDS conflict passes", report.lds.conflict_passes * scale
    if report.global_:
        yield "global requests", report.global_.requests * scale
        yield "global lines", report.global_.lines * scale
        yield "global bytes", report.global_.bytes * scale
    if report.scratch:
        yield "scratch bytes", report.scratch.bytes * scale
