"""Profile a kernel: build it, run its machine code on the emulator, count."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass

from kbserver.core.errors import UsageError
from kbserver.devices import Choice
from kbserver.devices.interface import Code, Launch, LoadedInfo
from kbserver.emulator.measurement import Measurement
from kbserver.runs.bench import Bench
from kbserver.runs.cases import FILLS, Case, Turn
from kbserver.runs.references import find_reference
from kbserver.runs.stage import WALL_S, Subject, build_case, check_interface, launch_of
from kbserver.toolchain.assembly import Function, parse_assembly
from kbserver.toolchain.build import Build


@dataclass(frozen=True)
class Profiled:
    """What came out: the build, its kernel's instructions, and what was counted over them."""

    built: Build
    function: Function
    launch: Launch
    info: LoadedInfo
    measured: Measurement
    build_s: float
    load_s: float


def profile(subject: Subject, shape: str, choice: Choice, *, sample: int | None, seed: int, threads: int) -> Profiled:
    """Count one launch of the shape: the whole grid exactly, addresses of `sample` workgroups (None: of all).

    Raises UnsupportedInstruction, TimedOut, CompileFailed and UsageError as `verify` does.
    """
    if choice.device.name != "emulator":
        raise UsageError(f"profiles come from the emulator; {choice.device.name} runs kernels only", where="device")
    subject.task.defines(subject.variant, shape)
    turn = Turn("forward", True, FILLS[0])
    case = Case(shape, subject.task.dimensions(shape), (seed,), (turn,))
    started = time.monotonic()
    built = build_case(subject, case)
    build_s = time.monotonic() - started
    bench = Bench(subject.task, subject.variant, find_reference(subject.task), case, threads)
    code = Code(built.assembly_text, subject.variant.entry, subject.arch)
    started = time.monotonic()
    with closing(choice.device.load(code, buffer_bytes=3 * bench.nbytes, wall_s=WALL_S)) as loaded, closing(bench):
        load_s = time.monotonic() - started
        check_interface(subject, loaded.info)
        bench.fill_inputs(seed, 0)
        bench.fill_output(turn.fill)
        launch = launch_of(subject.variant, case, turn, seed, threads)
        measured = loaded.profile(launch, bench.buffers, sample)
    function = parse_assembly(built.assembly_text).functions[subject.variant.entry]
    return Profiled(built, function, launch, loaded.info, measured, build_s, load_s)
