"""Getting a kernel ready: build it for a case, load it on the device, make its buffers."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from kbserver.core.errors import UnsupportedInstruction, UsageError
from kbserver.devices import Choice
from kbserver.devices.interface import Code, Launch, Loaded, LoadedInfo
from kbserver.runs.bench import Bench
from kbserver.runs.cases import Case, Turn
from kbserver.runs.expression import evaluate
from kbserver.runs.references import Reference
from kbserver.runs.task import Task, Variant
from kbserver.toolchain.build import Build, build
from kbserver.toolchain.sources import Snapshot

PORTABLE = "sm_"
"""Targets of NVIDIA GPUs start like this."""
WALL_S = 600.0
"""Limit of all launches of one shape together, loading included."""


@dataclass(frozen=True)
class Subject:
    """The kernel under test: the source, and the task and variant whose interface it has."""

    task: Task
    variant: Variant
    snapshot: Snapshot
    arch: str


@dataclass(frozen=True)
class Prepared:
    """A case that is ready to launch; without `loaded`, `failure` says what the device lacks. Times in seconds."""

    case: Case
    built: Build
    bench: Bench
    loaded: Loaded | None
    failure: UnsupportedInstruction | None
    build_s: float
    load_s: float

    def close(self) -> None:
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
        code = Code(built.assembly_text, subject.variant.entry, subject.arch)
        started = time.monotonic()
        loaded, failure = None, None
        try:
            loaded = self.choice.device.load(code, buffer_bytes=bench.nbytes, wall_s=WALL_S)
            check_interface(subject, loaded.info)
        except UnsupportedInstruction as error:
            failure = error
        except BaseException:
            if loaded is not None:
                loaded.close()
            bench.close()
            raise
        return Prepared(case, built, bench, loaded, failure, build_s, time.monotonic() - started)


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
    """Build the kernel with the sizes of a case."""
    defines = subject.task.defines_for(subject.variant, case.sizes, case.shape)
    if subject.arch.startswith(PORTABLE):
        from kbserver.toolchain.nvrtc import build_portable

        return build_portable(subject.snapshot, subject.arch, defines)
    return build(subject.snapshot, subject.arch, defines=defines)


def check_interface(subject: Subject, info: LoadedInfo) -> None:
    """Raise UsageError unless the kernel takes as many arguments as the variant."""
    wanted = subject.variant.arguments
    if info.arguments != len(wanted):
        raise UsageError(
            f"{subject.variant.entry} takes {info.arguments} arguments; {subject.variant.name} is launched with "
            f"{len(wanted)}",
            where=subject.snapshot.main,
            hint=f"in this order: {', '.join(wanted)}",
        )


def launch_of(variant: Variant, case: Case, turn: Turn, seed: int, threads: int) -> Launch:
    """Return the launch of a variant on a case."""
    x, y, z = (int(evaluate(part, case.sizes)) for part in variant.grid)
    return Launch(
        arguments=tuple(_argument(text, case) for text in variant.arguments),
        grid=(x, y, z),
        block=variant.block,
        order=turn.order,
        seed=seed,
        poison=turn.poison,
        threads=threads,
    )


def _argument(text: str, case: Case) -> str | tuple[str, int]:
    kind, colon, expression = text.partition(":")
    return (kind, int(evaluate(expression, case.sizes))) if colon else text
