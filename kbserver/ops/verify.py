"""`verify_kernel` (`kb verify`): are a kernel's results right? Its machine code is run and every element compared."""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kbserver.core.errors import UsageError
from kbserver.ops.kernel_arguments import (
    AsVariant,
    HostThreads,
    KernelName,
    KernelPath,
    ShapeName,
    TargetName,
    TaskFile,
)
from kbserver.ops.registry import Arg, operation
from kbserver.ops.where import choose
from kbserver.runs.report import (
    FAIL,
    NOT_VERIFIED,
    ChannelSummary,
    Finding,
    MissingInstruction,
    PerChannel,
    SupportSummary,
    Times,
    VerifyReport,
    WorstElement,
)

if TYPE_CHECKING:
    from kbserver.devices import Choice
    from kbserver.runs.cases import Case
    from kbserver.runs.findings import Found
    from kbserver.runs.slices import Slicing
    from kbserver.runs.stage import Subject
    from kbserver.runs.tally import Tally
    from kbserver.runs.task import Task, Variant
    from kbserver.runs.verify import Outcome

KIND = "verify"
MAX_FINDINGS, MAX_WORST, MAX_CHANNELS = 20, 5, 8
MAX_THREADS = 64


@operation(
    name="verify_kernel",
    command="verify",
    title="Verify a kernel's results",
    toolset="compile",
    read_only=False,
    idempotent=False,
    says_no=lambda result: result.verdict == FAIL,
    cannot_tell=lambda result: result.verdict == NOT_VERIFIED,
)
def verify_kernel(
    name: KernelName = None,
    path: KernelPath = None,
    task: TaskFile = None,
    variant: AsVariant = None,
    shape: ShapeName = None,
    arch: TargetName = None,
    device: Annotated[
        str,
        Arg(
            "Where the code runs. auto: an AMD GPU of the target, else the emulator; cuda: portable kernels only.",
            choices=("auto", "emulator", "hip", "cuda"),
        ),
    ] = "auto",
    flags: Annotated[
        list[str] | None, Arg("Compiler flag from the allowed list, such as -O0; repeat for more.", flags=("--flag",))
    ] = None,
    seeds: Annotated[
        list[int] | None, Arg("Seed of the inputs; repeat for more. Default: drawn anew.", flags=("--seed",))
    ] = None,
    orders: Annotated[
        list[str] | None,
        Arg(
            "Order in which wavefronts take turns: forward, reversed, seeded; repeat for more. Default: all, but one"
            " on large shapes.",
            flags=("--order",),
        ),
    ] = None,
    threads: HostThreads = None,
    check_workgroups: Annotated[
        int | None,
        Arg(
            "Workgroups in which races and uses of unwritten memory are looked for, besides comparing results; default:"
            " all of a small launch, a sample of a large one; 0: none.",
            flags=("--check",),
            metavar="N",
        ),
    ] = None,
    compare: Annotated[
        str | None,
        Arg("Another kernel to verify on the same inputs: a name, or a file with the same launch.", metavar="BEFORE"),
    ] = None,
) -> VerifyReport:
    """Check that a kernel computes the right results, without a GPU: its gfx machine code is executed on this CPU on
    fresh random inputs, and every element is compared with a float64 reference, per channel, in several wave orders
    and on a shape that the kernel has not seen. Also finds out-of-range accesses, races, uninitialised reads, endless
    loops, unwritten output. Give name, or path with variant for your own file. PASS, FAIL with findings, or
    NOT_VERIFIED with the reason. Use it after every change, before you time anything. It says nothing about speed.
    """  # fmt: skip
    started = time.monotonic()
    from kbserver.runs.cases import on_hardware, plan, with_checks
    from kbserver.runs.given import cases_of_subject
    from kbserver.runs.records import new_run_id, write_run
    from kbserver.runs.verify import verify

    target, decided_by, choice = choose(device, arch, path)
    subject = _with_flags(find_subject(name, path, task, variant, target), flags)
    workers = find_threads(threads)
    cases = plan(subject.task, subject.variant, shape or subject.task.smallest_shape, seeds, orders)
    cases = cases_of_subject(subject, cases)
    if choice.device.name != "emulator":
        cases = on_hardware(cases)
    else:
        cases = with_checks(cases, _workgroups(check_workgroups))
    outcome = verify(subject, cases, choice, workers)
    report = _report(new_run_id(), subject, decided_by, choice, cases, outcome, path, time.monotonic() - started)
    if compare is not None:
        from kbserver.ops.verify_compare import compare_verified, verify_other

        how = dict(shape=shape, arch=target, device=device, flags=flags, seeds=report.seeds, orders=orders,
                   threads=threads, check_workgroups=check_workgroups)  # fmt: skip
        report = report.model_copy(update={"comparison": compare_verified(verify_other(compare, subject, how), report)})
    write_run(report.run_id, KIND, report.to_json(), outcome.builds[0].source_sha256)
    return report


def find_subject(name: str | None, path: str | None, task: str | None, variant: str | None, target: str) -> Subject:
    """Return what is meant. Raises UsageError unless it is a named kernel, or a file with the variant that it is."""
    from kbserver.runs.stage import Subject
    from kbserver.runs.task import find_kernel, load_task
    from kbserver.toolchain.ready import is_ready, open_ready
    from kbserver.toolchain.sources import from_file

    if (name is None) == (path is None):
        raise UsageError(
            "give a kernel's name or a file, not both" if name else "give a kernel's name or a file",
            hint="kb verify step3_nchw_lds, kb verify my.hip --as step3_nchw_lds",
        )
    chosen = load_task(Path(task).expanduser()) if task is not None else None
    wanted = (name or variant or "").strip().removeprefix("kernel:")
    if name is not None and variant is not None:
        raise UsageError("--as is for a file; a named kernel is its own variant", where="variant")
    if wanted:
        found, of = (chosen, chosen.variant(wanted)) if chosen is not None else find_kernel(wanted)
    else:
        found, of = _variant_of_file(chosen, path)
    from kbserver.runs.stage import PORTABLE

    if target not in of.arches and not target.startswith(PORTABLE):
        raise UsageError(f"{of.name} is written for {', '.join(of.arches)}, not for {target}", where="arch")
    place = Path(path).expanduser() if path is not None else found.source(of)
    snapshot = open_ready(place, target)[0] if is_ready(place) else from_file(place)
    return Subject(found, of, snapshot, target)


def _variant_of_file(task: Task | None, path: str | None) -> tuple[Task, Variant]:
    """Return the variant that a file is: the one with this source, or the task's main one. Raises UsageError."""
    if task is None:
        hint = "kb verify my.hip --as step3_nchw_lds; a problem of your own: --task FILE, see docs/your_own_kernel.md"
        raise UsageError("say which variant the file is", where="variant", hint=hint)
    same = [one for one in task.variants if path is not None and Path(one.source).name == Path(path).name]
    found = same[0] if len(same) == 1 else task.main_variant
    if found is None:
        names = ", ".join(one.name for one in task.variants)
        raise UsageError("say which variant the file is", where="variant", hint=f"--as, one of: {names}")
    return task, found


def _workgroups(wanted: int | None) -> int | None:
    """Return how many workgroups to check. Raises UsageError for a number below 0."""
    if wanted is not None and wanted < 0:
        raise UsageError("workgroups to check are 0 or more", where="check_workgroups")
    return wanted


def _with_flags(subject: Subject, flags: list[str] | None) -> Subject:
    """Return the subject to be built with these flags. Raises UsageError for one that is not allowed, or of no use."""
    if not flags:
        return subject
    from kbserver.runs.stage import PORTABLE
    from kbserver.toolchain.flags import checked_flags
    from kbserver.toolchain.ready import is_ready

    if is_ready(subject.snapshot.main) or subject.arch.startswith(PORTABLE):
        raise UsageError("flags are for sources that are built for an AMD target", where="flags")
    return replace(subject, flags=checked_flags(flags))


def find_threads(threads: int | None) -> int:
    """Return the host threads to use. Raises UsageError for a number out of range."""
    if threads is None:
        return min(MAX_THREADS, len(os.sched_getaffinity(0)))
    if not 1 <= threads <= MAX_THREADS:
        raise UsageError(f"threads are 1 to {MAX_THREADS}", where="threads")
    return threads


def _report(
    run_id: str, subject: Subject, decided_by: str, choice: Choice, cases: tuple[Case, ...], outcome: Outcome,
    path: str | None, total_s: float,
) -> VerifyReport:  # fmt: skip
    from kbserver.runs.given import notes_on

    task, variant, tally = subject.task, subject.variant, outcome.tally
    built = outcome.builds[0]
    host = f" on {outcome.loads[0].host}" if outcome.loads else ""
    found = list(outcome.findings.found.values())
    return VerifyReport(
        run_id=run_id,
        verdict=outcome.verdict,
        reason=outcome.reason,
        kernel=variant.name,
        source=f"kernel:{variant.name}" if path is None else built.source,
        task=task.name,
        arch=subject.arch,
        decided_by=decided_by,
        device=f"{choice.device.name}{host}",
        device_decided_by=choice.decided_by,
        reference=f"{task.reference}, {task.tolerance.against} NumPy",
        axes=task.problem.tensors[_worst_output(task, tally)].axes,
        output=_worst_output(task, tally),
        second_reference=outcome.second,
        tolerance=task.tolerance.rule,
        build_id=built.build_id,
        flags=list(subject.flags),
        compiler=f"{built.compiler_kind} {built.compiler_version}",
        shape=cases[0].shape,
        shapes={case.shape: task.given(case.sizes) for case in cases},
        seeds=list(cases[0].seeds),
        orders=list(dict.fromkeys(turn.order for case in cases for turn in case.turns)),
        elements=tally.elements,
        mismatches=tally.mismatches,
        unwritten=tally.unwritten,
        max_abs=tally.max_abs,
        max_ulp=tally.max_ulp,
        worst=_worst(task, tally),
        per_channel=_per_channel(task, tally),
        findings=[_finding(item) for item in found[:MAX_FINDINGS]],
        total_findings=len(found),
        launches=tally.launches,
        support=_support(outcome),
        notes=notes_on(subject, cases[0]),
        times=_times(outcome, total_s),
        checks=outcome.checks,
    )


def _finding(item: Found) -> Finding:
    return Finding(check=item.check, severity=item.severity, where=item.where, message=item.message, count=item.count)


def _worst_output(task: Task, tally: Tally) -> str:
    """Return the output that the worst elements are of; without any, the first one."""
    found = tally.worst[1].worst_part.output if tally.worst else None
    return found or task.problem.results[0]


def _slicing(task: Task, output: str, case: Case) -> Slicing:
    from kbserver.runs.slices import slicing_of

    return slicing_of(task.problem.tensors[output], task.problem.shape(output, case.sizes))


def _worst(task: Task, tally: Tally) -> list[WorstElement]:
    if tally.worst is None:
        return []
    case, comparison = tally.worst
    rows = [(check.channel, wrong) for check in comparison.worst_part.failing for wrong in check.worst]
    rows.sort(key=lambda row: (row[1].ulp >= 0, -row[1].ulp))
    slicing = _slicing(task, _worst_output(task, tally), case)
    return [
        WorstElement(
            index=slicing.index(channel, wrong.index),
            got=wrong.got if math.isfinite(wrong.got) else None,
            want=wrong.want,
            ulp=wrong.ulp if wrong.ulp >= 0 else None,
            shape=case.shape,
        )
        for channel, wrong in rows[:MAX_WORST]
    ]


def _per_channel(task: Task, tally: Tally) -> PerChannel | None:
    if tally.slices is None:
        return None
    if tally.worst is None:
        shape, channels, letter = tally.slices
        return PerChannel(shape=shape, channels=channels, failing=0, worst=[], axis=letter)
    case, comparison = tally.worst
    part = comparison.worst_part
    worst = sorted(part.failing, key=lambda check: -check.mismatches)[:MAX_CHANNELS]
    return PerChannel(
        shape=case.shape,
        channels=part.channels,
        failing=len(part.failing),
        axis=_slicing(task, _worst_output(task, tally), case).letter,
        worst=[
            ChannelSummary(
                channel=check.channel, mismatches=check.mismatches, elements=check.elements, max_ulp=check.max_ulp
            )
            for check in worst
        ],
    )


def _support(outcome: Outcome) -> SupportSummary | None:
    support = outcome.support
    if support is None:
        return None
    return SupportSummary(
        instructions=support.instructions,
        supported=support.supported,
        missing=[MissingInstruction(**entry) for entry in support.missing],
    )


def _times(outcome: Outcome, total_s: float) -> Times:
    tally = outcome.tally
    return Times(
        build_s=round(tally.build_s, 3),
        load_s=round(tally.load_s, 3),
        launch_s=round(tally.launch_s, 3),
        inputs_s=round(tally.inputs_s, 3),
        compare_s=round(tally.compare_s, 3),
        total_s=round(total_s, 3),
        check_s=round(tally.check_s, 3),
        build_cached=all(built.cached for built in outcome.builds),
        code_cached=all(info.cached for info in outcome.loads),
    )
