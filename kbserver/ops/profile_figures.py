"""What a profile adds to its counts: the figures that others published, and what a reader must know to use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbserver.runs.profile_report import PublishedCounter

if TYPE_CHECKING:
    from kbserver.runs.profile import Profiled
    from kbserver.runs.profile_summary import Summary
    from kbserver.runs.stage import Subject

LDS_COUNTERS = {
    "lds_load_instructions": "reads",
    "lds_bank_conflict_cycles": "conflict_passes",
    "lds_active_cycles": "active_passes",
}
"""Published names of LDS figures -> ours."""


def published_counters(subject: Subject, shape: str, summary: Summary, *, explain: bool) -> list[PublishedCounter]:
    """Return published counters beside ours, when target and shape are those that they are about.

    explain: say why they differ; the task's explanations are about its own source, not about somebody's file.
    """
    from kbserver.core.sources import cite

    published = subject.variant.published
    if published is None or published.arch != subject.arch or shape != subject.task.published_shape:
        return []
    source = cite(str(published.per_wave.get("source", published.source)))
    lds = summary.lds()
    found = []
    for counter, value in published.per_wave.items():
        if isinstance(value, str):
            continue
        if counter in LDS_COUNTERS:
            ours = getattr(lds, LDS_COUNTERS[counter]) if lds else None
        else:
            ours = summary.counters.get(counter, 0.0)
        found.append(
            PublishedCounter(
                counter=counter,
                published=value,
                ours=ours,
                difference_percent=round(100 * (ours - value) / value, 2) if ours is not None and value else None,
                explanation=" ".join(published.explained.get(counter, "").split()) or None if explain else None,
                source=source,
            )
        )
    return found


def profile_notes(done: Profiled, summary: Summary) -> list[str]:
    """Return what a reader must know to use the figures: what is exact, what is estimated, what is assumed."""
    from kbserver.emulator.hardware_counters import ASSUMPTIONS, EVIDENCE
    from kbserver.emulator.lds_rules import MODEL

    measured = done.measured
    notes = ["instruction counts and active lanes are exact: every workgroup was executed"]
    if measured.sampled_workgroups == measured.workgroups:
        notes.append("addresses are exact: every workgroup was recorded")
    else:
        notes.append(
            f"addresses of {measured.sampled_workgroups} of {measured.workgroups} workgroups were recorded and scaled "
            "by the exact executions; --sample all records every one"
        )
    lds = summary.lds()
    if lds and lds.conflict_passes and any(rule.basis == MODEL for rule in lds.model):
        notes.append("LDS passes of the accesses marked model follow a neighbour's rule, not a measurement")
    if lds and lds.misaligned:
        notes.append("some LDS accesses are not aligned to their width; their passes are a model")
    if summary.unsampled():
        notes.append(
            f"{summary.unsampled()} memory instructions ran in no sampled workgroup: their addresses are missing"
        )
    if measured.lost_records:
        notes.append(f"{measured.lost_records} accesses were too many for one workgroup's table and are missing")
    if measured.findings:
        notes.append(
            f"{measured.findings} accesses were out of range and refused: run kb verify before using these figures"
        )
    notes.append(
        "cache lines are requests of the wavefronts, not misses; there is no cache, no time and no stall in here"
    )
    notes += [f"evidence: {text}" for text in EVIDENCE]
    notes += [f"assumed: {text}" for text in ASSUMPTIONS]
    return notes
