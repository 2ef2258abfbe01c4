"""From two kernels and a GPU to a verdict: everything of a timing run that needs a process on the device."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

from kbserver.core.errors import KbError, UsageError
from kbserver.devices import Choice
from kbserver.devices.gpu import Gpu, GpuProcess, check_arch, describe
from kbserver.devices.interface import Code
from kbserver.runs.bench import Bench
from kbserver.runs.cases import FILLS, Case, Turn, on_hardware, plan
from kbserver.runs.findings import ERROR, Found
from kbserver.runs.problem import IN_OUT
from kbserver.runs.references import Reference, find_reference
from kbserver.runs.report import FAIL
from kbserver.runs.stage import Subject, build_case, launch_of
from kbserver.runs.task import Variant
from kbserver.runs.timing.floor import Floor, Work, floor_of, work_of
from kbserver.runs.timing.harness import Harness, Measured
from kbserver.runs.timing.lane import Lane, make_lane
from kbserver.runs.timing.method import COLD, WARM, Method
from kbserver.runs.verify import verify
from kbserver.toolchain.build import Build

WALL_S = 1800.0
SET_BYTES, MOST_SETS, FEWEST_SETS = 4 << 30, 8, 2
"""Buffer sets take up to this much memory, on the device and on the host."""
NOT_FASTER_THAN_COPY = 0.7
"""A cold kernel in less than this share of the time that copying its bytes takes did not read and write them."""
LIBRARY = "torch"


@dataclass(frozen=True)
class Against:
    """What to compare with: another kernel, or (subject None) the library call of the task's reference."""

    name: str
    subject: Subject | None


@dataclass
class TimedOutcome:
    """What a timing run found out. `wrong` are the faults of the kernel; without a measurement it never got so far."""

    built: Build
    work: Work
    floor: Floor
    seed: int
    method: Method
    measured: Measured | None = None
    lanes: list[Lane] = field(default_factory=list)
    about: dict[str, str] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)
    wrong: list[Found] = field(default_factory=list)
    gate: str | None = None
    sets: int = 0
    build_s: float = 0.0
    gate_s: float = 0.0
    measure_s: float = 0.0


def time_subject(
    subject: Subject, shape: str, gpu: Gpu, against: Against | None, *, budget_s: float, method: Method,
    threads: int, say: Callable[[str], None],
) -> TimedOutcome:  # fmt: skip
    """Verify the kernel on small shapes, then time it on `shape`, every output checked.

    Raises what a build raises, UsageError for a target or shape that does not fit, TimedOut for a kernel that hangs,
    LaunchFailed for one that fails.
    """
    one_launch(subject)
    with closing(find_reference(subject.task)) as reference:
        return _time(subject, shape, gpu, against, reference, budget_s, method, threads, say)


def one_launch(subject: Subject) -> None:
    """Raise UsageError for what cannot be repeated between two events: several launches, or inputs that change."""
    if len(subject.variant.steps) > 1:
        raise UsageError(
            f"{subject.variant.name} is {len(subject.variant.steps)} launches; timing measures one launch",
            where=f"kernel:{subject.variant.name}",
            hint="verify and profile work; time its kernels each in a task file of their own",
        )
    changed = subject.task.problem.named(IN_OUT)
    if changed:
        raise UsageError(
            f"{subject.variant.name} changes its input {changed[0]} in place, so that a second launch computes another"
            " problem; timing repeats launches",
            where=f"kernel:{subject.variant.name}",
            hint="give it an output of its own",
        )


def _time(
    subject: Subject, shape: str, gpu: Gpu, against: Against | None, reference: Reference, budget_s: float,
    method: Method, threads: int, say: Callable[[str], None],
) -> TimedOutcome:  # fmt: skip
    # Nobody can foresee it; it is stored, so that a run can be looked into.
    seed = secrets.randbits(63)
    started = time.monotonic()
    case = Case(shape, subject.task.dimensions(shape), (0,), (Turn("hardware", True, FILLS[0]),))
    subject.task.defines(subject.variant, shape)
    built = build_case(subject, case)
    check_arch(Code(built.assembly_text, subject.variant.entry, subject.arch), gpu.identity)
    work = work_of(subject.task.problem, reference, case.sizes)
    outcome = TimedOutcome(built, work, floor_of(gpu.identity, work, built.assembly_text), seed, method)
    outcome.build_s = time.monotonic() - started
    started = time.monotonic()
    say("verifying on small shapes")
    _gate(subject, gpu, threads, outcome)
    outcome.gate_s = time.monotonic() - started
    if not outcome.wrong:
        started = time.monotonic()
        _measure(_Setting(subject, case, gpu, against, reference, threads, budget_s, say), outcome)
        outcome.measure_s = time.monotonic() - started
    return outcome


def _gate(subject: Subject, gpu: Gpu, threads: int, outcome: TimedOutcome) -> None:
    """Run the kernel on the small shape and on one that it has not seen: a shape that is built in must not pay."""
    shape = subject.task.smallest_shape
    cases = on_hardware(plan(subject.task, subject.variant, shape, None, None))
    found = verify(subject, cases, Choice(gpu, "--device"), threads)
    outcome.gate = f"{found.verdict}: " + ", ".join(case.shape for case in cases)
    if found.verdict == FAIL:
        outcome.wrong = [one for one in found.findings.found.values() if one.severity == ERROR]
    elif found.reason:
        raise UsageError(f"the kernel cannot be verified on this device: {found.reason}", where=subject.variant.entry)


@dataclass(frozen=True)
class _Setting:
    """What a measurement needs to know."""

    subject: Subject
    case: Case
    gpu: Gpu
    against: Against | None
    reference: Reference
    threads: int
    budget_s: float
    say: Callable[[str], None]


def _measure(setting: _Setting, outcome: TimedOutcome) -> None:
    method, dice = outcome.method, random.Random(outcome.seed)
    lanes_wanted = 2 if setting.against else 1
    outcome.sets = max(FEWEST_SETS, min(MOST_SETS, SET_BYTES // (lanes_wanted * max(1, outcome.work.nbytes))))
    with ExitStack() as stack:
        process = stack.enter_context(closing(setting.gpu.process(WALL_S)))
        process.scratch(method.flush_bytes)
        where = {"shape": setting.case.shape, "process": process, "dice": dice}
        outcome.resources = _load(process, "kernel", setting.gpu, outcome.built, setting.subject)
        outcome.lanes.append(_lane("kernel", setting.subject, setting, outcome.sets, where))
        stack.callback(outcome.lanes[0].close)
        if setting.against:
            outcome.lanes.append(_baseline(setting, setting.against, outcome, where))
            stack.callback(outcome.lanes[1].close)
        harness = Harness(process, outcome.lanes, method, dice, setting.say)
        outcome.measured = harness.measured
        setting.say("first launch, every element compared")
        harness.gate()
        if not harness.rejected:
            harness.warm_up()
        if not harness.rejected:
            harness.measure(setting.budget_s)
        if not harness.rejected:
            harness.last_check()
        outcome.wrong += [one for one in outcome.lanes[0].findings.found.values() if one.severity == ERROR]
        outcome.wrong += impossible(outcome, harness.measured)


def _load(process: GpuProcess, slot: str, gpu: Gpu, built: Build, subject: Subject) -> dict[str, int]:
    code = Code.of(built, subject.variant.entry, subject.arch)
    _, arguments, _ = describe(code)
    wanted = subject.variant.arguments
    if arguments != len(wanted):
        raise UsageError(f"{code.entry} takes {arguments} arguments; {subject.variant.name} is launched with "
                         f"{len(wanted)}", hint=f"in this order: {', '.join(wanted)}")  # fmt: skip
    return process.load(slot, gpu.image(code), code.entry)


def _lane(slot: str, subject: Subject, setting: _Setting, sets: int, where: Mapping[str, Any]) -> Lane:
    variant, case = subject.variant, setting.case
    launch = launch_of(subject.task, variant.steps[0], case, case.turns[0], 0, setting.threads)
    return make_lane(slot, variant.name, launch, _bench_of(setting, variant), sets, where)


def _bench_of(setting: _Setting, variant: Variant) -> Callable[[], Bench]:
    return lambda: Bench(setting.subject.task, variant, setting.reference, setting.case, setting.threads)


def _baseline(setting: _Setting, against: Against, outcome: TimedOutcome, where: Mapping[str, Any]) -> Lane:
    process, task = where["process"], setting.subject.task
    if against.subject is not None:
        built = build_case(against.subject, setting.case)
        _load(process, "baseline", setting.gpu, built, against.subject)
        outcome.about["baseline"] = f"build:{built.build_id}, {built.compiler_version}"
        return _lane("baseline", against.subject, setting, outcome.sets, where)
    call = setting.reference.library(task.problem, setting.case.sizes)
    if call is None:
        raise UsageError(f"no library has a kernel for {task.name}", where="against")
    outcome.about["baseline"] = process.load_library("baseline", call)
    canonical = {name: tensor.axes for name, tensor in task.problem.tensors.items()}
    variant = setting.subject.variant.model_copy(update={"name": against.name, "layout": canonical})
    return make_lane("baseline", against.name, None, _bench_of(setting, variant), outcome.sets, where)


def impossible(outcome: TimedOutcome, measured: Measured) -> list[Found]:
    """Return findings for times that no kernel can have that computed the problem."""
    found, confidence = [], outcome.method.confidence
    cold, warm = (measured.interval(state, "kernel", confidence) for state in (COLD, WARM))
    floor = outcome.floor
    for name, interval, least in ((COLD, cold, floor.cold_ms), (WARM, warm, floor.compute_ms)):
        if interval and least and interval.median < least:
            text = f"{interval.median:.4g} ms is below the physics floor of {least:.4g} ms"
            found.append(Found("below_floor", ERROR, name, text, 1))
    copy_ms = outcome.work.nbytes / measured.copy_gb_s / 1e6
    if cold and copy_ms > 5 * measured.empty_ms and cold.median - measured.empty_ms < NOT_FASTER_THAN_COPY * copy_ms:
        text = f"{cold.median:.4g} ms; copying the same bytes takes {copy_ms:.4g} ms on this device"
        found.append(Found("faster_than_copy", ERROR, COLD, text, 1))
    return found


def against_of(text: str | None, subject: Subject, find: Callable[[str], Subject]) -> Against | None:
    """Return the baseline that an argument means: a variant of the same task, or the library's own kernel."""
    if text is None:
        return None
    if text.strip().lower() in (LIBRARY, "torch conv3d", "torch.conv3d"):
        return Against(LIBRARY, None)
    if text.strip().startswith("run:"):
        raise UsageError("a recorded run is no baseline: other clocks, perhaps another method", where="against",
                         hint="name the kernel itself: both are timed again, next to each other")  # fmt: skip
    try:
        other = find(text)
    except KbError as error:
        error.where = error.where or "against"
        raise
    if other.task.name != subject.task.name:
        raise UsageError(f"{text} computes {other.task.name}, not {subject.task.name}", where="against")
    one_launch(other)
    return Against(text, other)
