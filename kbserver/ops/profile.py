"""`profile_kernel` (`kb profile`): what a kernel executes, counted as the hardware counters would."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from kbserver.core.errors import NoDevice, Unavailable, UsageError
from kbserver.ops.kernel_arguments import (
    AsVariant,
    HostThreads,
    KernelName,
    KernelPath,
    ShapeName,
    TargetName,
    TaskFile,
)
from kbserver.ops.other import looks_like_file, other_subject
from kbserver.ops.registry import Arg, operation
from kbserver.ops.verify import find_subject, find_threads
from kbserver.runs.profile_report import ProfileReport, ProfileTimes

if TYPE_CHECKING:
    from kbserver.runs.stage import Subject

KIND = "profile"
DEFAULT_SAMPLE, MAX_SAMPLE = 16, 4096
HOT_LINES, SITES = 10, 12


@operation(
    name="profile_kernel",
    command="profile",
    title="Count what a kernel executes",
    toolset="compile",
    read_only=False,
    cannot_tell=lambda result: result.profiler is not None and result.profiler.reason is not None,
)
def profile_kernel(
    name: KernelName = None,
    path: KernelPath = None,
    task: TaskFile = None,
    variant: AsVariant = None,
    shape: ShapeName = None,
    arch: TargetName = None,
    device: Annotated[
        str,
        Arg(
            "Where the machine code runs. hip: also on an AMD GPU under rocprofv3, or the command lines for it.",
            choices=("auto", "emulator", "hip"),
        ),
    ] = "auto",
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
    compare: Annotated[
        str | None,
        Arg("Another kernel to set this one against: a name, or a file with the same launch.", metavar="BEFORE"),
    ] = None,
    threads: HostThreads = None,
) -> ProfileReport:
    """Count what a kernel executes, without a GPU: its machine code runs on this CPU. Exact counts per wavefront under
    the names of the SQ_INSTS_* hardware counters, mix, active lanes, hot loop and source lines; bytes and cache lines
    of every memory instruction; LDS bank conflicts by a model with its sources. Use it to see where instructions go,
    whether accesses coalesce, and what a change did. It says nothing about time, caches or stalls: for those, from_path
    reads what rocprofv3 or rocprof-compute measured, per kernel and wavefront, and flags values that cannot be.
    """  # fmt: skip
    started = time.monotonic()
    from kbserver.runs.profiler_import.beside import find_kernel, put_beside
    from kbserver.runs.profiler_import.read import import_profile
    from kbserver.runs.records import write_run

    if from_path is not None and name is None and path is None:
        return ProfileReport(imported=import_profile(from_path))
    no_device, target, decided_by = _where(device, arch, path)
    wanted = read_sample(sample)
    if not 0 <= seed < 2**32:
        raise UsageError("a seed is a number from 0 to 4294967295", where="seed")
    subject = find_subject(name, path, task, variant, target)
    shape = shape or subject.task.smallest_shape
    counting = _Counting(decided_by, device, shape, wanted, seed, find_threads(threads))
    if compare is not None:
        if from_path is not None or device == "hip":
            raise UsageError("two kernels are compared as the emulator counts them", where="compare")
        return _compared(compare, subject, counting, named=path is None)
    imported, profiler = None, None
    if device == "hip":
        if from_path is not None:
            raise UsageError("--device hip measures, --from reads what was measured: give one", where="from_path")
        from kbserver.core.progress import say
        from kbserver.runs.rocprof.run import measure

        profiler = measure(subject, shape, seed, no_device, say)
        if profiler.reason is not None:
            return _uncounted(subject, counting, profiler=profiler)
        from_path = profiler.output
    entry = subject.variant.entry
    if from_path is not None:
        imported = import_profile(from_path, (entry, subject.variant.name))
        find_kernel(imported, entry, subject.variant.name)
    try:
        report, source_sha256 = _count(subject, counting, started, named=path is None)
    except Unavailable as error:
        if profiler is None:
            raise
        # What the hardware counted stands, with nothing beside it.
        notes = [f"not counted by the emulator: {error.one_line()}"]
        return _uncounted(subject, counting, profiler=profiler, imported=imported, notes=notes)
    beside = put_beside(imported, report, entry) if imported is not None else None
    report = report.model_copy(update={"profiler": profiler, "imported": beside})
    write_run(report.run_id, KIND, report.to_json(), source_sha256)
    return report


@dataclass(frozen=True)
class _Counting:
    """How kernels are counted: the same for both of a comparison."""

    decided_by: str
    device: str
    shape: str
    sample: int | None
    seed: int
    threads: int


def _compared(compare: str, subject: Subject, how: _Counting, *, named: bool) -> ProfileReport:
    """Return the profile of a kernel with another one's beside it; both runs are kept."""
    from kbserver.runs.compare_profiles import compare_profiles
    from kbserver.runs.records import write_run

    other = other_subject(compare, subject)
    for one in (other, subject):
        if len(one.variant.steps) > 1:
            raise UsageError(
                f"{one.variant.name} is {len(one.variant.steps)} launches, and one of them alone compares with nothing",
                where="compare",
                hint=f"the README of a reference kernel counts all: kb read kernel:{one.variant.name}",
            )
    before, before_sha256 = _count(other, how, time.monotonic(), named=not looks_like_file(compare))
    write_run(before.run_id, KIND, before.to_json(), before_sha256)
    report, source_sha256 = _count(subject, how, time.monotonic(), named=named)
    found = compare_profiles(before, report, (_outputs(other, how.shape), _outputs(subject, how.shape)))
    report = report.model_copy(update={"comparison": found})
    write_run(report.run_id, KIND, report.to_json(), source_sha256)
    return report


def _outputs(subject: Subject, shape: str) -> int:
    """Return the elements of all outputs."""
    from math import prod

    problem, sizes = subject.task.problem, subject.task.dimensions(shape)
    written = [name for name, tensor in problem.tensors.items() if tensor.role in ("output", "inout")]
    return sum(prod(problem.shape(name, sizes)) for name in written)


def _count(subject: Subject, how: _Counting, started: float, *, named: bool) -> tuple[ProfileReport, str]:
    """Return the profile of one kernel and the hash of its source. named: it is the task's own source of it."""
    from kbserver.devices import find_device
    from kbserver.ops.profile_figures import profile_notes, published_counters
    from kbserver.runs.profile import profile
    from kbserver.runs.profile_summary import Summary
    from kbserver.runs.records import new_run_id

    choice = find_device("emulator")
    if how.device != "emulator":
        choice = replace(choice, decided_by="auto: only the emulator counts instructions")
    done = profile(subject, how.shape, choice, sample=how.sample, seed=how.seed, threads=how.threads)
    summary = Summary(done.measured, done.function, subject.arch)
    measured = done.measured
    report = ProfileReport(
        run_id=new_run_id(),
        kernel=subject.variant.name,
        source=f"kernel:{subject.variant.name}" if named else done.built.source,
        task=subject.task.name,
        arch=subject.arch,
        decided_by=how.decided_by,
        device=f"{choice.device.name} on {done.info.host}",
        device_decided_by=choice.decided_by,
        build_id=done.built.build_id,
        compiler=f"{done.built.compiler_kind} {done.built.compiler_version}",
        shape=how.shape,
        sizes=dict(subject.task.shapes[how.shape]),
        grid=list(done.launch.grid),
        block=list(done.launch.block),
        seed=how.seed,
        workgroups=measured.workgroups,
        waves=measured.waves,
        sampled_workgroups=measured.sampled_workgroups,
        exact_addresses=measured.sampled_workgroups == measured.workgroups and not measured.lost_records,
        per_wave=summary.counters,
        mix=summary.mix(),
        active_lanes=summary.active_lanes(),
        lds=summary.lds(),
        global_=summary.global_memory(),
        scratch=summary.scratch(),
        hot_loop=summary.hot_loop(),
        hot_lines=summary.hot_lines(HOT_LINES),
        sites=summary.sites(SITES),
        total_sites=len({site.site for site in measured.sites}),
        published=published_counters(subject, how.shape, summary, explain=named),
        notes=[*_launches_left_out(subject), *profile_notes(done, summary)],
        times=ProfileTimes(
            build_s=round(done.build_s, 3),
            load_s=round(done.load_s, 3),
            count_s=round(measured.wall_s, 3),
            total_s=round(time.monotonic() - started, 3),
        ),
    )
    return report, done.built.source_sha256


def _launches_left_out(subject: Subject) -> list[str]:
    """Return a note when a variant has more launches than the one that is counted."""
    entries = [step.entry for step in subject.variant.steps]
    if len(entries) == 1:
        return []
    return [
        f"{subject.variant.name} is {len(entries)} launches ({', '.join(entries)}); this is {subject.variant.entry}"
    ]


def _where(device: str, arch: str | None, path: str | None) -> tuple[str | None, str, str]:
    """Return (why there is no GPU to measure on, target, how it was decided)."""
    from kbserver.ops.where import gpu_target, run_target, target_of

    if device != "hip":
        return None, *target_of(arch, path)
    from kbserver.devices import find_gpu

    try:
        gpu, _ = find_gpu("hip")
    except NoDevice as error:
        return f"no AMD GPU here: {error.message}", *run_target(arch)
    return None, *gpu_target(gpu, arch)


def _uncounted(subject: Subject, how: _Counting, **fields: Any) -> ProfileReport:
    """Return a report without the emulator's counts: the command lines that would measure, or what was measured."""
    return ProfileReport(
        kernel=subject.variant.name,
        task=subject.task.name,
        arch=subject.arch,
        decided_by=how.decided_by,
        device="hip",
        device_decided_by="--device",
        shape=how.shape,
        seed=how.seed,
        **fields,
    )


def read_sample(sample: str | int) -> int | None:
    """Return the number of workgroups, None for all. Raises UsageError."""
    text = str(sample).strip().lower()
    if text == "all":
        return None
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:6]) <= MAX_SAMPLE:
        raise UsageError(f"sample is `all` or a number from 1 to {MAX_SAMPLE}", where="sample")
    return int(text)
