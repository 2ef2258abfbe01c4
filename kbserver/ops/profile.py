"""`profile_kernel` (`kb profile`): what a kernel executes, counted as the hardware counters would."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from kbserver.core.errors import UsageError
from kbserver.ops.compile import resolve_target
from kbserver.ops.registry import Arg, operation
from kbserver.ops.verify import find_subject, find_threads
from kbserver.runs.profile_report import ProfileReport, ProfileTimes, PublishedCounter

if TYPE_CHECKING:
    from kbserver.runs.profile import Profiled
    from kbserver.runs.profile_summary import Summary
    from kbserver.runs.stage import Subject

KIND = "profile"
DEFAULT_SAMPLE, MAX_SAMPLE = 16, 4096
HOT_LINES, SITES = 10, 12
LDS_COUNTERS = {
    "lds_load_instructions": "reads",
    "lds_bank_conflict_cycles": "conflict_passes",
    "lds_active_cycles": "active_passes",
}
"""Published names of LDS figures -> ours."""


@operation(
    name="profile_kernel",
    command="profile",
    title="Count what a kernel executes",
    toolset="compile",
    read_only=False,
)
def profile_kernel(
    name: Annotated[
        str | None,
        Arg(
            "A kernel of the case study (kernels/task.yaml), or your own .hip file.",
            positional=True,
            file_argument="path",
        ),
    ] = None,
    path: Annotated[str | None, Arg("Your own kernel source file.")] = None,
    task: Annotated[
        str | None, Arg("Task file that says what is launched; default: the one that has the variant.", metavar="FILE")
    ] = None,
    variant: Annotated[
        str | None,
        Arg(
            "The variant whose entry symbol, arguments, layout and launch your file has.",
            flags=("--as",),
            metavar="VARIANT",
        ),
    ] = None,
    shape: Annotated[str, Arg("A shape of the task: tiny, small or paper, the published problem.")] = "tiny",
    arch: Annotated[
        str | None, Arg("Target or product: gfx942, gfx950, MI300X, ...; default gfx950.", flags=("--arch", "-a"))
    ] = None,
    device: Annotated[str, Arg("Where the machine code runs.", choices=("auto", "emulator"))] = "auto",
    sample: Annotated[
        str | int, Arg("Workgroups whose addresses are recorded: a number, or all.", metavar="N|all")
    ] = DEFAULT_SAMPLE,
    seed: Annotated[int, Arg("Seed of the inputs.")] = 1,
    from_path: Annotated[
        str | None,
        Arg(
            "Read what AMD's profilers wrote (rocprofv3 CSV or rocpd, rocprof-compute): a file or folder. With a"
            " kernel, its counters stand beside the emulator's.",
            flags=("--from",),
            metavar="PATH",
        ),
    ] = None,
    threads: Annotated[int | None, Arg("Host threads; default: all that this process may use.")] = None,
) -> ProfileReport:
    """Count what a kernel executes, without a GPU: its machine code runs on this CPU. Exact counts per wavefront under
    the names of the SQ_INSTS_* hardware counters, mix, active lanes, hot loop and source lines; bytes and cache lines
    of every memory instruction; LDS bank conflicts by a model with its sources. Use it to see where instructions go,
    whether accesses coalesce, and what a change did. It says nothing about time, caches or stalls: for those, from_path
    reads what rocprofv3 or rocprof-compute measured, per kernel and wavefront, and flags values that cannot be.
    """  # fmt: skip
    started = time.monotonic()
    from kbserver.devices import find_device
    from kbserver.runs.profile import profile
    from kbserver.runs.profile_summary import Summary
    from kbserver.runs.profiler_import.beside import find_kernel, put_beside
    from kbserver.runs.profiler_import.read import import_profile
    from kbserver.runs.records import new_run_id, write_run

    if from_path is not None and name is None and path is None:
        return ProfileReport(imported=import_profile(from_path))
    target, decided_by = resolve_target(arch)
    wanted = read_sample(sample)
    if not 0 <= seed < 2**32:
        raise UsageError("a seed is a number from 0 to 4294967295", where="seed")
    subject = find_subject(name, path, task, variant, target)
    workers = find_threads(threads)
    entry, imported = subject.variant.entry, None
    if from_path is not None:
        imported = import_profile(from_path, (entry, subject.variant.name))
        find_kernel(imported, entry, subject.variant.name)
    choice = find_device("emulator")
    if device == "auto":
        choice = replace(choice, decided_by="auto: only the emulator counts instructions")
    done = profile(subject, shape, choice, sample=wanted, seed=seed, threads=workers)
    summary = Summary(done.measured, done.function, target)
    measured, lds = done.measured, summary.lds()
    report = ProfileReport(
        run_id=new_run_id(),
        kernel=subject.variant.name,
        source=f"kernel:{subject.variant.name}" if path is None else done.built.source,
        task=subject.task.name,
        arch=target,
        decided_by=decided_by,
        device=f"{choice.device.name} on {done.info.host}",
        device_decided_by=choice.decided_by,
        build_id=done.built.build_id,
        compiler=f"{done.built.compiler_kind} {done.built.compiler_version}",
        shape=shape,
        sizes=dict(subject.task.shapes[shape]),
        grid=list(done.launch.grid),
        block=list(done.launch.block),
        seed=seed,
        workgroups=measured.workgroups,
        waves=measured.waves,
        sampled_workgroups=measured.sampled_workgroups,
        exact_addresses=measured.sampled_workgroups == measured.workgroups and not measured.lost_records,
        per_wave=summary.counters,
        mix=summary.mix(),
        active_lanes=summary.active_lanes(),
        lds=lds,
        global_=summary.global_memory(),
        scratch=summary.scratch(),
        hot_loop=summary.hot_loop(),
        hot_lines=summary.hot_lines(HOT_LINES),
        sites=summary.sites(SITES),
        total_sites=len({site.site for site in measured.sites}),
        published=published_counters(subject, shape, summary, explain=path is None),
        notes=_notes(done, summary),
        times=ProfileTimes(
            build_s=round(done.build_s, 3),
            load_s=round(done.load_s, 3),
            count_s=round(measured.wall_s, 3),
            total_s=round(time.monotonic() - started, 3),
        ),
    )
    if imported is not None:
        report = report.model_copy(update={"imported": put_beside(imported, report, entry)})
    write_run(report.run_id, KIND, report.to_json(), done.built.source_sha256)
    return report


def read_sample(sample: str | int) -> int | None:
    """Return the number of workgroups, None for all. Raises UsageError."""
    text = str(sample).strip().lower()
    if text == "all":
        return None
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:6]) <= MAX_SAMPLE:
        raise UsageError(f"sample is `all` or a number from 1 to {MAX_SAMPLE}", where="sample")
    return int(text)


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


def _notes(done: Profiled, summary: Summary) -> list[str]:
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
