"""Getting a kernel ready: build it for a case, load it on the device, make its buffers."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from kbserver.core.errors import UnsupportedInstruction, UsageError
from kbserver.devices import Choice
from kbserver.devices.buffers import SharedBuffer
from kbserver.devices.interface import Code, Device, Launch, LaunchReport, Loaded, LoadedInfo, Support
from kbserver.runs.bench import Bench
from kbserver.runs.cases import Case, Turn
from kbserver.runs.checking import Checking
from kbserver.runs.expression import evaluate
from kbserver.runs.references import Reference
from kbserver.runs.task import Step, Task, Variant
from kbserver.toolchain.build import Build, build
from kbserver.toolchain.ready import build_ready, is_ready
from kbserver.toolchain.sources import Snapshot

PORTABLE = "sm_"
"""Targets of NVIDIA GPUs start like this."""
WALL_S = 600.0
"""Limit of all launches of one shape together, loading included."""


@dataclass(frozen=True)
class Subject:
    """The kernel under test: the source, and the task and variant whose interface it has. flags: of the compiler."""

    task: Task
    variant: Variant
    snapshot: Snapshot
    arch: str
    flags: tuple[str, ...] = ()


class Pipeline:
    """The kernels of a variant on a device, each symbol once, launched in the variant's order over the same buffers."""

    def __init__(self, subject: Subject, loaded: Mapping[str, Loaded]) -> None:
        self._subject, self._loaded = subject, loaded
        infos = [one.info for one in loaded.values()]
        self.info = infos[0] if len(infos) == 1 else _joined(infos)

    @classmethod
    def load(cls, device: Device, built: Build, subject: Subject, buffer_bytes: int, wall_s: float) -> Pipeline:
        """Load every symbol. Raises what loading raises, UsageError for a kernel with another interface."""
        loaded: dict[str, Loaded] = {}
        try:
            for step in subject.variant.steps:
                if step.entry not in loaded:
                    code = Code.of(built, step.entry, subject.arch)
                    loaded[step.entry] = device.load(code, buffer_bytes=buffer_bytes, wall_s=wall_s)
                check_interface(subject, step, loaded[step.entry].info)
        except BaseException:
            for one in loaded.values():
                one.close()
            raise
        return cls(subject, loaded)

    def launch(self, launches: Sequence[Launch], buffers: Sequence[SharedBuffer]) -> LaunchReport:
        """Run all launches in order; the report is their sum. Raises what a launch raises."""
        steps = self._subject.variant.steps
        reports = [
            self._loaded[step.entry].launch(launch, buffers) for step, launch in zip(steps, launches, strict=True)
        ]
        if len(reports) == 1:
            return reports[0]
        return LaunchReport(
            wall_s=sum(one.wall_s for one in reports),
            waves=sum(one.waves for one in reports),
            wave_instructions=sum(one.wave_instructions for one in reports),
            findings=tuple(finding for one in reports for finding in one.findings),
        )

    def launch_one(self, step: int, launch: Launch, buffers: Sequence[SharedBuffer]) -> LaunchReport:
        """Run one of the launches. Raises what a launch raises."""
        return self._loaded[self._subject.variant.steps[step].entry].launch(launch, buffers)

    def close(self) -> None:
        for one in self._loaded.values():
            one.close()


def _joined(infos: Sequence[LoadedInfo]) -> LoadedInfo:
    """Return what loading found out about all kernels of a variant."""
    missing = tuple(entry for info in infos for entry in info.support.missing)
    return replace(
        infos[0],
        support=Support(
            sum(info.support.instructions for info in infos), sum(info.support.supported for info in infos), missing
        ),
        lds_bytes=max(info.lds_bytes for info in infos),
        has_atomics=any(info.has_atomics for info in infos),
        translate_s=sum(info.translate_s for info in infos),
        compile_s=sum(info.compile_s for info in infos),
        cached=all(info.cached for info in infos),
    )


@dataclass(frozen=True)
class Prepared:
    """A case that is ready to launch; without `loaded`, `failure` says what the device lacks. Times in seconds."""

    case: Case
    built: Build
    bench: Bench
    loaded: Pipeline | None
    failure: UnsupportedInstruction | None
    build_s: float
    load_s: float
    checking: Checking | None = None

    def close(self) -> None:
        if self.checking is not None:
            self.checking.close()
        if self.loaded is not None:
            self.loaded.close()
        self.bench.close()


@dataclass(frozen=True)
class Stage:
    """Prepares cases of one kernel on one device."""

    subject: Subject
    choice: Choice
    reference: Reference
    threads: int

    def prepare(self, case: Case) -> Prepared:
        """Build and load. Raises what a build raises; an instruction that the device lacks is in the result."""
        subject = self.subject
        started = time.monotonic()
        built = build_case(subject, case)
        build_s = time.monotonic() - started
        bench = Bench(subject.task, subject.variant, self.reference, case, self.threads)
        started = time.monotonic()
        loaded, failure, checking = None, None, None
        try:
            if case.checked:
                checking = Checking.start(
                    self.choice.device, built, subject.variant, subject.arch, bench.nbytes, WALL_S
                )
            loaded = Pipeline.load(self.choice.device, built, subject, bench.nbytes, WALL_S)
        except UnsupportedInstruction as error:
            failure = error
        except BaseException:
            if loaded is not None:
                loaded.close()
            if checking is not None:
                checking.close()
            bench.close()
            raise
        return Prepared(case, built, bench, loaded, failure, build_s, time.monotonic() - started, checking)


class Stages:
    """The cases of a verification, each prepared when its turn comes, or ahead where the one before takes long."""

    def __init__(self, stage: Stage, cases: Sequence[Case]) -> None:
        self._stage, self._cases = stage, cases
        # The thread lives until the end: the processes that it starts are bound to it.
        self._pool = ThreadPoolExecutor(1)
        self._ahead: Future[Prepared] | None = None

    def __iter__(self) -> Iterator[Prepared]:
        for place, case in enumerate(self._cases):
            prepared = self._ahead.result() if self._ahead is not None else self._stage.prepare(case)
            self._ahead = None
            try:
                if case.large and place + 1 < len(self._cases):
                    context = contextvars.copy_context()
                    self._ahead = self._pool.submit(context.run, self._stage.prepare, self._cases[place + 1])
                yield prepared
            finally:
                prepared.close()

    def close(self) -> None:
        """End what was prepared ahead and is not needed."""
        if self._ahead is not None and self._ahead.exception() is None:
            self._ahead.result().close()
        self._pool.shutdown()


def build_case(subject: Subject, case: Case) -> Build:
    """Build the kernel with the sizes of a case; machine code that was given has its sizes."""
    defines = subject.task.defines_for(subject.variant, case.sizes, case.shape)
    if subject.arch.startswith(PORTABLE):
        from kbserver.toolchain.nvrtc import build_portable

        return build_portable(subject.snapshot, subject.arch, defines)
    if is_ready(subject.snapshot.main):
        return build_ready(subject.snapshot, subject.arch)
    return build(subject.snapshot, subject.arch, defines=defines, flags=subject.flags)


def check_interface(subject: Subject, step: Step, info: LoadedInfo) -> None:
    """Raise UsageError unless the kernel takes as many arguments as the variant gives it."""
    wanted = step.arguments
    if info.arguments != len(wanted):
        raise UsageError(
            f"{step.entry} takes {info.arguments} arguments; {subject.variant.name} is launched with {len(wanted)}",
            where=subject.snapshot.main,
            hint=f"in this order: {', '.join(wanted)}",
        )


def launches_of(task: Task, variant: Variant, case: Case, turn: Turn, seed: int, threads: int) -> tuple[Launch, ...]:
    """Return the launches of a variant on a case, in order."""
    return tuple(launch_of(task, step, case, turn, seed, threads) for step in variant.steps)


def launch_of(task: Task, step: Step, case: Case, turn: Turn, seed: int, threads: int) -> Launch:
    """Return one launch of a variant on a case. Raises UsageError for a size that cannot be launched."""
    grid, block = step.sizes_of("grid", case.sizes), step.sizes_of("block", case.sizes)
    lds = int(evaluate(step.lds, case.sizes))
    if min(*grid, *block) < 1 or lds < 0:
        raise UsageError(f"{step.entry}: grid {grid}, block {block}, {lds} bytes of LDS cannot be launched",
                         where=f"shape {case.shape}")  # fmt: skip
    return Launch(
        arguments=step.values(task.constants(case.sizes)),
        grid=grid,
        block=block,
        dynamic_lds_bytes=lds,
        order=turn.order,
        seed=seed,
        poison=turn.poison,
        threads=threads,
    )
