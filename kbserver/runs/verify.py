"""Verify a kernel: build it, run its machine code on fresh inputs, compare every element with the exact result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from kbserver.core.errors import TimedOut, UnsupportedInstruction, UsageError
from kbserver.devices import Choice
from kbserver.devices.interface import Code, Launch, LoadedInfo, Support
from kbserver.runs.bench import Bench
from kbserver.runs.cases import Case, Turn
from kbserver.runs.expression import evaluate
from kbserver.runs.findings import Findings
from kbserver.runs.references import Reference, find_reference
from kbserver.runs.report import FAIL, NOT_VERIFIED, PASS, SecondReference
from kbserver.runs.tally import Tally
from kbserver.runs.task import Task, Variant
from kbserver.toolchain.build import Build, build
from kbserver.toolchain.sources import Snapshot

WALL_S = 600.0
"""Limit of all launches of one shape together, loading included."""


@dataclass(frozen=True)
class Subject:
    """The kernel under test: the source, and the task and variant whose interface it has."""

    task: Task
    variant: Variant
    snapshot: Snapshot
    arch: str


@dataclass
class Outcome:
    """What a verification found out, as it grows. `builds` are those of the cases, in their order."""

    verdict: str = NOT_VERIFIED
    reason: str | None = None
    findings: Findings = field(default_factory=Findings)
    tally: Tally = field(default_factory=Tally)
    builds: list[Build] = field(default_factory=list)
    loads: list[LoadedInfo] = field(default_factory=list)
    support: Support | None = None
    second: SecondReference | None = None


def verify(subject: Subject, cases: Sequence[Case], choice: Choice, threads: int) -> Outcome:
    """Return the outcome of all cases.

    FAIL when anything is wrong; NOT_VERIFIED, with the reason, when the device cannot execute the kernel or time ran
    out. Raises CompileFailed and its like for a kernel that does not build, UsageError for one that does not have the
    variant's interface.
    """
    outcome = Outcome()
    reference = find_reference(subject.task)
    try:
        for case in cases:
            _run_case(subject, case, reference, choice, threads, outcome)
            if outcome.findings.errors:
                break  # the verdict stands; another shape would cost a build and tell nothing more
    except UnsupportedInstruction as error:
        support = error.details.get("support")
        outcome.support = Support(**support) if support else None
        outcome.reason = f"{error.message} [{error.where}]"
        return outcome
    except TimedOut as error:
        outcome.reason = error.message
        return outcome
    outcome.verdict = FAIL if outcome.findings.errors else PASS
    return outcome


def _run_case(
    subject: Subject, case: Case, reference: Reference, choice: Choice, threads: int, outcome: Outcome
) -> None:
    """Run all launches of one case; one that does not finish ends it."""
    tally, findings = outcome.tally, outcome.findings
    built = _build(subject, case, outcome)
    bench = Bench(subject.task, subject.variant, reference, case, threads)
    started = time.monotonic()
    code = Code(built.assembly_text, subject.variant.entry, subject.arch)
    with closing(choice.device.load(code, buffer_bytes=bench.nbytes, wall_s=WALL_S)) as loaded, closing(bench):
        tally.load_s += time.monotonic() - started
        outcome.loads.append(loaded.info)
        outcome.support = loaded.info.support
        check_interface(subject, loaded.info)
        for place, seed in enumerate(case.seeds):
            tally.inputs_s += bench.fill_inputs(seed, place)
            for turn in case.turns:
                bench.fill_output(turn.fill)
                try:
                    report = loaded.launch(launch_of(subject.variant, case, turn, seed, threads), bench.buffers)
                except TimedOut as error:
                    if error.details.get("limit") == "wall":
                        raise
                    findings.add("endless_loop", error.message, where=error.where)
                    return
                except UsageError as error:
                    findings.add("launch_refused", error.message, where=error.where)
                    return
                findings.of_device(report.findings)
                started = time.monotonic()
                comparison = bench.compare(turn.fill)
                findings.of_comparison(comparison, case.shape, bench.output_axes)
                findings.of_memory(bench.changed_inputs(), bench.changed_guards())
                findings.of_repetition(bench.compare_with_first(turn), turn, loaded.info.has_atomics)
                tally.add(case, seed, bench.family, turn, report, comparison)
                if outcome.second is None and len(tally.launches) == 1:
                    outcome.second = bench.second_opinion()
                tally.compare_s += time.monotonic() - started


def _build(subject: Subject, case: Case, outcome: Outcome) -> Build:
    started = time.monotonic()
    built = build_case(subject, case)
    outcome.builds.append(built)
    outcome.tally.build_s += time.monotonic() - started
    return built


def build_case(subject: Subject, case: Case) -> Build:
    """Build the kernel with the sizes of a case."""
    defines = subject.task.defines_for(subject.variant, case.sizes, case.shape)
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
    sizes = case.sizes
    x, y, z = (int(evaluate(part, sizes)) for part in variant.grid)
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
