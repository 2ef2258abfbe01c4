"""Capture a launch, write the command lines of rocprofv3 that measure it, and run them where that is possible."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import numpy as np

from kbserver.core.errors import KbError, ToolFailure, WorkspaceError
from kbserver.core.paths import current_roots
from kbserver.core.process import Limits, run_limited
from kbserver.core.sources import cite
from kbserver.core.store import write_atomic
from kbserver.devices.launch_once import FORMAT, IMAGE, PLAN
from kbserver.runs.bench import Bench
from kbserver.runs.cases import FILLS, Case, Turn
from kbserver.runs.references import find_reference
from kbserver.runs.rocprof.passes import DEFINITIONS, SOURCE, measured, passes
from kbserver.runs.rocprof.report import ProfilerPass, ProfilerRuns
from kbserver.runs.stage import Subject, build_case, launches_of
from kbserver.toolchain.names import plain_name, symbol_in

PROGRAM, SCRIPT, OUT = "rocprofv3", "measure.sh", "out"
DRIVER = "kbserver.devices.launch_once"
LAUNCHES = 3
LIMITS = Limits(wall_s=300.0, memory_bytes=None, file_bytes=1 << 30)
DOCS = ("rocprofv3-docs", "rocprofiler-sdk-docs", SOURCE, DEFINITIONS)


def measure(subject: Subject, shape: str, seed: int, no_device: str | None, say: Callable[[str], None]) -> ProfilerRuns:
    """Capture one launch of the shape, and measure it unless `no_device` or a missing profiler is the reason not to.

    Raises what a build raises, WorkspaceError, and ToolFailure when the profiler fails in every run.
    """
    folder = capture(subject, shape, seed)
    program = find_profiler()
    reasons = [no_device] if no_device else []
    if program is None:
        reasons.append(f"{PROGRAM} was not found in PATH, ROCM_PATH/bin and /opt/rocm/bin")
    output = folder / OUT
    planned = plan(program or PROGRAM, subject, str(folder), sys.executable)
    script = [shlex.join(argv) for _, argv in plan(PROGRAM, subject, ".", "python3")]
    write_atomic(folder / SCRIPT, "\n".join(["#!/bin/sh", 'cd "$(dirname "$0")" || exit', *script]) + "\n")
    if not reasons:
        shutil.rmtree(output, ignore_errors=True)  # of an earlier run, which must not be imported with this one
    done = []
    for number, (counters, argv) in enumerate(planned, 1):
        if not reasons:
            say(f"rocprofv3, run {number} of {len(planned)}")
        failure = None if reasons else _run(argv)
        done.append(ProfilerPass(counters=counters, command=shlex.join(argv), failure=failure))
    failures = [one.failure for one in done if one.failure]
    if len(failures) == len(done):
        raise ToolFailure(f"{PROGRAM} failed in every run: {failures[-1]}", where=str(folder), hint=done[-1].command)
    return ProfilerRuns(
        folder=str(folder),
        output=str(output),
        script=str(folder / SCRIPT),
        launches=LAUNCHES,
        passes=done,
        reason="; ".join(reasons) or None,
        sources=[cite(name) for name in DOCS],
    )


def find_profiler() -> str | None:
    """Return the path of rocprofv3, None without it."""
    places = [os.environ.get("ROCM_PATH"), "/opt/rocm"]
    folders = [os.environ.get("PATH", ""), *(f"{place}/bin" for place in places if place)]
    return shutil.which(PROGRAM, path=os.pathsep.join(folders))


def plan(program: str, subject: Subject, folder: str, python: str) -> list[tuple[list[str], list[str]]]:
    """Return (counters, command line) of each run: the trace of times, which has no counters, and the passes."""
    # rocprofv3 looks at demangled names.
    names = "|".join(re.escape(plain_name(step.entry)) for step in subject.variant.steps)
    runs: list[tuple[list[str], list[str]]] = [([], ["--kernel-trace"])]
    runs += [
        (found, ["--pmc", *found, "--kernel-include-regex", f".*({names}).*"])
        for found in passes(measured(subject.arch))
    ]
    return [
        (
            counters,
            [program, *what, "--output-format", "csv", "-d", f"{folder}/{OUT}", "-o", f"run{number}", "--", python,
             "-P", "-m", DRIVER, folder],
        )
        for number, (counters, what) in enumerate(runs)
    ]  # fmt: skip


def capture(subject: Subject, shape: str, seed: int) -> Path:
    """Write code object, arguments and inputs of one launch into a folder of the workspace; returns it."""
    from kbserver.toolchain.link import code_object

    task, variant = subject.task, subject.variant
    task.defines(variant, shape)
    turn = Turn("forward", True, FILLS[0])
    case = Case(shape, task.dimensions(shape), (seed,), (turn,))
    built = build_case(subject, case)
    folder = current_roots().workspace / "profiles" / f"{built.build_id}-{shape}-{seed}"
    image = code_object(built.assembly_text, subject.arch)
    launches = launches_of(task, variant, case, turn, seed, 1)
    with closing(find_reference(task)) as reference, closing(Bench(task, variant, reference, case, 1)) as bench:
        bench.fill_inputs(seed, 0)
        bench.fill_output(turn.fill)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / IMAGE).write_bytes(image)
            for buffer in bench.buffers:
                np.save(folder / f"{buffer.layout.name}.npy", buffer.array, allow_pickle=False)
            content = {
                "format": FORMAT,
                "arch": subject.arch,
                "launches": LAUNCHES,
                "steps": [
                    {"slot": symbol_in(built.assembly_text, step.entry), "launch": asdict(launch)}
                    for step, launch in zip(variant.steps, launches, strict=True)
                ],
                "buffers": [{**asdict(one.layout), "file": f"{one.layout.name}.npy"} for one in bench.buffers],
            }
            write_atomic(folder / PLAN, json.dumps(content, indent=1) + "\n")
        except OSError as error:
            raise WorkspaceError(f"cannot capture the launch: {error.strerror}", where=str(folder)) from None
    return folder


def _run(argv: Sequence[str]) -> str | None:
    """Run one command line; returns why it failed, None when it did not."""
    try:
        done = run_limited(argv, limits=LIMITS, what=PROGRAM)
    except KbError as error:
        return error.one_line()
    if done.returncode == 0:
        return None
    said = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
    return f"ended with {done.returncode}: {said[-1][:300] if said else 'it said nothing'}"
