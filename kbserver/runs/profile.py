"""Profile a kernel: build it, run its machine code on the emulator, count."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from dataclasses import dataclass

from kbserver.core.errors import UsageError
from kbserver.devices import Choice
from kbserver.devices.interface import Code, Launch, LoadedInfo
from kbserver.emulator.linking import reached
from kbserver.emulator.measurement import Measurement
from kbserver.runs.bench import Bench
from kbserver.runs.cases import FILLS, Case, Turn
from kbserver.runs.references import find_reference
from kbserver.runs.stage import WALL_S, Subject, build_case, check_interface, launches_of
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


def profile(
    subject: Subject, shape: str, choice: Choice, *, sample: int | None, seed: int, threads: int,
    step: int | None = None,
) -> Profiled:  # fmt: skip
    """Count one launch of the shape: the whole grid exactly, addresses of `sample` workgroups (None: of all).

    step: which launch of a variant with several; default: the one that it says. Those before it run uncounted.
    Raises UnsupportedInstruction, TimedOut, CompileFailed and UsageError as `verify` does.
    """
    if choice.device.name != "emulator":
        raise UsageError(f"profiles come from the emulator; {choice.device.name} runs kernels only", where="device")
    task, variant = subject.task, subject.variant
    task.defines(variant, shape)
    entries = [one.entry for one in variant.steps]
    wanted = entries.index(variant.entry) if step is None else step
    turn = Turn("forward", True, FILLS[0])
    case = Case(shape, task.dimensions(shape), (seed,), (turn,))
    started = time.monotonic()
    built = build_case(subject, case)
    build_s = time.monotonic() - started
    launches = launches_of(task, variant, case, turn, seed, threads)
    with (
        closing(find_reference(task)) as reference,
        closing(Bench(task, variant, reference, case, threads)) as bench,
        ExitStack() as stack,
    ):
        bench.fill_inputs(seed, 0)
        bench.fill_output(turn.fill)
        load_s = 0.0
        for place, (one, launch) in enumerate(zip(variant.steps, launches, strict=True)):
            code = Code.of(built, one.entry, subject.arch)
            started = time.monotonic()
            loaded = stack.enter_context(
                closing(choice.device.load(code, buffer_bytes=3 * bench.nbytes, wall_s=WALL_S))
            )
            load_s += time.monotonic() - started
            check_interface(subject, one, loaded.info)
            if place == wanted:
                measured = loaded.profile(launch, bench.buffers, sample)
                break
            loaded.launch(launch, bench.buffers)
        else:
            raise UsageError(f"{variant.name} has {len(entries)} launches", where="step")
        info = loaded.info
    program = parse_assembly(built.assembly_text)
    function = reached(program, program.functions[code.entry])
    return Profiled(built, function, launch, info, measured, build_s, load_s)
