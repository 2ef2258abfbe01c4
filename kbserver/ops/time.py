"""`time_kernel` (`kb time`): how fast is a kernel, measured on a GPU, or an error when there is none."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from kbserver.core.errors import UsageError
from kbserver.ops.kernel_arguments import AsVariant, HostThreads, KernelName, TaskFile
from kbserver.ops.registry import Arg, operation
from kbserver.ops.verify import find_subject, find_threads
from kbserver.runs.report import Finding
from kbserver.runs.timing.report import (
    Baseline,
    CheckedOutputs,
    Clocks,
    DeviceFigures,
    DeviceState,
    FloorReport,
    Ratio,
    Ratios,
    TimedDevice,
    TimeReport,
    Timing,
    TimingSeconds,
)
from kbserver.runs.timing.verdict import CANNOT_TELL, REJECTED, SLOWER

if TYPE_CHECKING:
    from kbserver.devices.gpu import Gpu
    from kbserver.runs.findings import Found
    from kbserver.runs.stage import Subject
    from kbserver.runs.timing.lane import Lane
    from kbserver.runs.timing.run import TimedOutcome
    from kbserver.runs.timing.verdict import Verdict

KIND = "time"
DEFAULT_BUDGET_S, MAX_BUDGET_S = 60.0, 600.0
MAX_FINDINGS = 20


@operation(
    name="time_kernel",
    command="time",
    title="Time a kernel on a GPU",
    toolset="run",
    read_only=False,
    idempotent=False,
    says_no=lambda result: result.verdict in (REJECTED, SLOWER),
    cannot_tell=lambda result: result.verdict == CANNOT_TELL,
)
def time_kernel(
    name: KernelName = None,
    against: Annotated[
        str | None,
        Arg(
            "Baseline, timed in the same run: another kernel of the task, or torch for the library's own.",
            metavar="KERNEL",
        ),
    ] = None,
    path: Annotated[str | None, Arg("Your own kernel source file.")] = None,
    task: TaskFile = None,
    variant: AsVariant = None,
    shape: Annotated[str | None, Arg("A shape of the task; default: the published one.")] = None,
    arch: Annotated[str | None, Arg("Target; default: the device's.", flags=("--arch", "-a"))] = None,
    device: Annotated[
        str,
        Arg(
            "auto: an AMD GPU or none. cuda: portable kernels on an NVIDIA GPU, to try the harness.",
            choices=("auto", "hip", "cuda"),
        ),
    ] = "auto",
    budget: Annotated[float, Arg("Seconds to spend on samples at most.", metavar="SECONDS")] = DEFAULT_BUDGET_S,
    threads: HostThreads = None,
) -> TimeReport:
    """Measure a kernel's time on a GPU of this machine: the median of single launches with its confidence interval,
    with cold and with warm caches, on fresh inputs each time, every output checked, interleaved with a baseline.
    Verdict FASTER, SLOWER, SAME or CANNOT_TELL with the reason; REJECTED for wrong outputs or times below the physics
    floor. Needs an AMD GPU: without one the answer is the error no_device, never an estimate. Verify first.
    """  # fmt: skip
    started = time.monotonic()
    from kbserver.core.progress import say
    from kbserver.devices import find_gpu
    from kbserver.ops.where import gpu_target
    from kbserver.runs.records import new_run_id, write_run
    from kbserver.runs.timing.method import Method
    from kbserver.runs.timing.run import against_of, time_subject
    from kbserver.toolchain.ready import is_ready

    if not 0 < budget <= MAX_BUDGET_S:
        raise UsageError(f"budget is up to {MAX_BUDGET_S:g} seconds", where="budget")
    gpu, chosen_by = find_gpu(device)
    target, decided_by = gpu_target(gpu, arch)
    subject = find_subject(name, path, task, variant, target)
    if is_ready(subject.snapshot.main) and subject.variant.defines:
        raise UsageError(
            f"{subject.variant.name} has its sizes compiled in, and a kernel is verified on small shapes before it is "
            "timed on a large one",
            where=subject.snapshot.main,
            hint="give the source instead of machine code",
        )
    baseline = against_of(against, subject, lambda text: _named(text, subject, target))
    workers = find_threads(threads)
    wanted = shape or subject.task.published_shape
    outcome = time_subject(subject, wanted, gpu, baseline, budget_s=budget, method=Method(), threads=workers, say=say)
    about = (path, decided_by, chosen_by, wanted)
    report = _report(new_run_id(), subject, gpu, outcome, baseline.name if baseline else None, about, started)
    write_run(report.run_id, KIND, report.to_json(), outcome.built.source_sha256)
    return report


def _named(text: str, subject: Subject, target: str) -> Subject:
    """Return the kernel that `--against` names: of the subject's own task first, a file when it looks like one."""
    if "/" in text or text.endswith((".hip", ".cpp", ".cu")):
        from dataclasses import replace
        from pathlib import Path

        from kbserver.toolchain.sources import from_file

        return replace(subject, snapshot=from_file(Path(text).expanduser()))
    plain = text.strip().removeprefix("kernel:")
    if plain in [one.name for one in subject.task.variants]:
        return find_subject(plain, None, str(subject.task.path), None, target)
    return find_subject(plain, None, None, None, target)


def _report(
    run_id: str, subject: Subject, gpu: Gpu, outcome: TimedOutcome, baseline: str | None,
    about: tuple[str | None, str, str, str], started: float,
) -> TimeReport:  # fmt: skip
    path, decided_by, chosen_by, shape = about
    built, identity, measured = outcome.built, gpu.identity, outcome.measured
    ratios, verdict = _ratios(outcome, baseline)
    lane = outcome.lanes[0] if outcome.lanes else None
    return TimeReport(
        run_id=run_id,
        verdict=verdict.verdict,
        reason=verdict.reason,
        kernel=subject.variant.name,
        source=f"kernel:{subject.variant.name}" if path is None else built.source,
        task=subject.task.name,
        arch=subject.arch,
        decided_by=decided_by,
        device=TimedDevice(
            kind=identity.kind,
            name=identity.name,
            arch=identity.arch,
            driver=identity.driver,
            library=identity.library.rsplit("/", 1)[-1],
            bus=identity.bus,
            compute_units=identity.compute_units,
            figures="of this device"
            if identity.kind == "hip"
            else "a cross-check of harness and numerics, not figures of an AMD product",
        ),
        device_decided_by=chosen_by,
        shape=shape,
        sizes=dict(subject.task.shapes[shape]),
        build_id=built.build_id,
        compiler=f"{built.compiler_kind} {built.compiler_version}",
        resources=outcome.resources,
        cold=_timing(outcome, "cold", "kernel"),
        warm=_timing(outcome, "warm", "kernel"),
        baseline=_baseline(outcome, baseline),
        ratio=ratios,
        floor_ms=outcome.floor.cold_ms,
        floor=FloorReport(
            memory_ms=outcome.floor.memory_ms,
            compute_ms=outcome.floor.compute_ms,
            unit=outcome.floor.unit,
            product=outcome.floor.product,
            facts=list(outcome.floor.facts),
            bytes=outcome.work.nbytes,
            flops=outcome.work.flops,
            reason=outcome.floor.reason,
        ),
        measured_device=_figures(outcome),
        clocks=_clocks(outcome),
        checks=_checks(lane, outcome.gate),
        findings=[_finding(one) for one in outcome.wrong[:MAX_FINDINGS]],
        method_id=outcome.method.method_id,
        method=asdict(outcome.method),
        sets=outcome.sets,
        warmup_batches=measured.warmup_batches if measured else 0,
        warmup_stable=measured.warmup_stable if measured else False,
        stopped_by=measured.stopped_by if measured else "the verification before",
        seed=str(outcome.seed),
        notes=_notes(outcome),
        times=TimingSeconds(
            build_s=round(outcome.build_s, 3),
            gate_s=round(outcome.gate_s, 3),
            measure_s=round(outcome.measure_s, 3),
            total_s=round(time.monotonic() - started, 3),
        ),
    )


def _ratios(outcome: TimedOutcome, baseline: str | None) -> tuple[Ratios | None, Verdict]:
    """Return the ratios and the verdict of the run."""
    from kbserver.runs.timing.verdict import MEASURED, Verdict, combine, judge

    if outcome.wrong:
        first = outcome.wrong[0]
        return None, Verdict(REJECTED, f"[{first.check}] {first.message}")
    measured, confidence = outcome.measured, outcome.method.confidence
    assert measured is not None  # without faults the measurement was made
    if baseline is None:
        return None, Verdict(MEASURED, "no baseline was named: --against KERNEL compares")
    ratios = {state: measured.ratio(state, confidence) for state in ("cold", "warm")}
    verdicts = {state: judge(found) for state, found in ratios.items()}
    entries = {
        state: Ratio(median=_ms(found.median), ci=[_ms(found.low), _ms(found.high)], pairs=found.n,
                     verdict=verdicts[state].verdict)
        if found else None
        for state, found in ratios.items()
    }  # fmt: skip
    return Ratios(**entries), combine(verdicts["cold"], verdicts["warm"])


def _timing(outcome: TimedOutcome, state: str, lane: str) -> Timing | None:
    measured = outcome.measured
    interval = measured.interval(state, lane, outcome.method.confidence) if measured else None
    if measured is None or interval is None:
        return None
    samples = measured.samples[state]
    kernel, baseline, dropped = samples.kept()
    values = kernel if lane == "kernel" else baseline
    return Timing(
        median_ms=_ms(interval.median),
        ci=[_ms(interval.low), _ms(interval.high)],
        n=interval.n,
        min_ms=_ms(min(values)),
        max_ms=_ms(max(values)),
        dropped_outliers=dropped,
        dropped_throttled=samples.throttled,
    )


def _baseline(outcome: TimedOutcome, name: str | None) -> Baseline | None:
    if name is None or len(outcome.lanes) < 2:
        return None
    return Baseline(
        name=name,
        about=outcome.about.get("baseline", ""),
        cold=_timing(outcome, "cold", "baseline"),
        warm=_timing(outcome, "warm", "baseline"),
        findings=[_finding(one) for one in outcome.lanes[1].findings.found.values()],
    )


def _figures(outcome: TimedOutcome) -> DeviceFigures | None:
    measured = outcome.measured
    if measured is None or not measured.copy_gb_s:
        return None
    return DeviceFigures(
        empty_window_ms=_ms(measured.empty_ms),
        copy_gb_s=round(measured.copy_gb_s, 1),
        copy_of_problem_ms=_ms(outcome.work.nbytes / measured.copy_gb_s / 1e6),
    )


def _clocks(outcome: TimedOutcome) -> Clocks:
    measured = outcome.measured
    clocks = measured.clocks if measured else []
    return Clocks(
        before=_state(measured.before if measured else None),
        after=_state(measured.after if measured else None),
        lowest_mhz=min(clocks, default=None),
        highest_mhz=max(clocks, default=None),
    )


def _state(reading: dict[str, Any] | None) -> DeviceState | None:
    return DeviceState(**reading) if reading else None


def _checks(lane: Lane | None, gate: str | None) -> CheckedOutputs:
    checks = lane.checks if lane else None
    return CheckedOutputs(
        launches=checks.launches if checks else 0,
        complete=checks.complete if checks else 0,
        elements=checks.elements if checks else 0,
        written=checks.written if checks else 0,
        gate_run=gate,
    )


def _finding(item: Found) -> Finding:
    return Finding(check=item.check, severity=item.severity, where=item.where, message=item.message, count=item.count)


def _notes(outcome: TimedOutcome) -> list[str]:
    """Return what a reader must know before using the figures."""
    notes, measured = [], outcome.measured
    if measured is None:
        return notes
    cold = measured.interval("cold", "kernel", outcome.method.confidence)
    if cold and cold.median < 5 * measured.empty_ms:
        notes.append(f"the time is near that of an empty window, {measured.empty_ms:.4g} ms: mostly launch overhead")
    if not measured.clocks:
        notes.append("clocks could not be read here: samples taken while throttled are not told apart")
    if (measured.before or {}).get("other_processes"):
        notes.append(f"{measured.before['other_processes']} other processes used the device")  # type: ignore[index]
    if measured.stopped_by.startswith("the time limit"):
        notes.append("stopped by the time limit before the target was reached: --budget gives more")
    if len(outcome.lanes) > 1 and outcome.lanes[1].findings.errors:
        notes.append("the baseline's own output is outside the task's bound: its time is that of a wrong result")
    return notes


def _ms(value: float) -> float:
    return float(f"{value:.6g}")
