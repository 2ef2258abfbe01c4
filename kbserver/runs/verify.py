"""Verify a kernel: run its machine code on fresh inputs, compare every element with the exact result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from kbserver.core.errors import LaunchFailed, TimedOut, UnsupportedInstruction, UsageError
from kbserver.devices import Choice
from kbserver.devices.interface import LoadedInfo, Support
from kbserver.runs.acceptance import Comparison
from kbserver.runs.cases import Case, Turn
from kbserver.runs.checking import run_checks, sample_of
from kbserver.runs.findings import Findings
from kbserver.runs.references import find_reference
from kbserver.runs.report import FAIL, NOT_VERIFIED, PASS, ChecksSummary, SecondReference
from kbserver.runs.stage import Prepared, Stage, Stages, Subject, launches_of
from kbserver.runs.tally import Tally
from kbserver.toolchain.build import Build


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
    checks: ChecksSummary | None = None


def verify(subject: Subject, cases: Sequence[Case], choice: Choice, threads: int) -> Outcome:
    """Return the outcome of all cases.

    FAIL when anything is wrong; NOT_VERIFIED, with the reason, when the device cannot execute the kernel or time ran
    out. Raises CompileFailed and its like for a kernel that does not build, UsageError for one that does not have the
    variant's interface.
    """
    outcome = Outcome()
    try:
        with (
            closing(find_reference(subject.task)) as reference,
            closing(Stages(Stage(subject, choice, reference, threads), cases)) as stages,
        ):
            for prepared in stages:
                _run_case(prepared, threads, subject, outcome)
                if outcome.findings.errors:
                    break  # the verdict stands; another shape would cost a build and tell nothing more
    except UnsupportedInstruction as error:
        outcome.reason = f"{error.message} [{error.where}]"
        support = error.details.get("support")
        outcome.support = Support(**support) if support else outcome.support
    except TimedOut as error:
        outcome.reason = error.message
    if outcome.findings.errors:
        outcome.verdict = FAIL
    elif outcome.reason is None:
        outcome.verdict = PASS
    return outcome


def _run_case(prepared: Prepared, threads: int, subject: Subject, outcome: Outcome) -> None:
    """Run all launches of one case; one that does not finish ends it."""
    case, bench, tally = prepared.case, prepared.bench, outcome.tally
    tally.build_s += prepared.build_s
    tally.load_s += prepared.load_s
    outcome.builds.append(prepared.built)
    if prepared.loaded is None:
        raise prepared.failure  # type: ignore[misc]
    outcome.loads.append(prepared.loaded.info)
    outcome.support = prepared.loaded.info.support
    for place, seed in enumerate(case.seeds):
        tally.inputs_s += bench.fill_inputs(seed, place)
        for turn in case.turns:
            bench.fill_output(turn.fill)
            try:
                launches = launches_of(subject.task, subject.variant, case, turn, seed, threads)
                report = prepared.loaded.launch(launches, bench.buffers)
            except TimedOut as error:
                if error.details.get("limit") == "wall":
                    raise
                outcome.findings.add("endless_loop", error.message, where=error.where)
                return
            except LaunchFailed as error:
                outcome.findings.add("launch_failed", f"{error.message} ({error.hint})", where=error.where)
                return
            except UsageError as error:
                outcome.findings.add("launch_refused", error.message, where=error.where)
                return
            outcome.findings.of_device(report.findings)
            started = time.monotonic()
            comparison = _compare(prepared, turn, outcome)
            tally.add(case, subject.task.given(case.sizes), seed, bench.family, turn, report, comparison)
            if len(tally.launches) == 1:
                outcome.second = bench.second_opinion()
            tally.compare_s += time.monotonic() - started
    if prepared.checking is not None and prepared.checking.there:
        _check(prepared, threads, subject, outcome)


def _check(prepared: Prepared, threads: int, subject: Subject, outcome: Outcome) -> None:
    """Look for races and uses of unwritten memory, from the buffers as a first launch finds them."""
    case, bench, loaded = prepared.case, prepared.bench, prepared.loaded
    assert prepared.checking is not None and loaded is not None
    started = time.monotonic()
    turn = case.turns[0]
    bench.fill_output(turn.fill)
    launches = launches_of(subject.task, subject.variant, case, turn, case.seeds[0], threads)
    instructions = outcome.tally.launches[-1].wave_instructions
    outcome.checks = run_checks(
        prepared.checking,
        launches,
        bench.buffers,
        outcome.findings,
        case.shape,
        [sample_of(launch, instructions, case.sample) for launch in launches],
        [partial(loaded.launch_one, step, launch, bench.buffers) for step, launch in enumerate(launches)],
    )
    outcome.tally.check_s += time.monotonic() - started


def _compare(prepared: Prepared, turn: Turn, outcome: Outcome) -> Comparison:
    """Judge what the launch left in its buffers."""
    bench, findings = prepared.bench, outcome.findings
    comparison = bench.compare(turn.fill)
    findings.of_comparison(comparison, prepared.case.shape)
    findings.of_memory(bench.changed_inputs(), bench.changed_guards())
    has_atomics = prepared.loaded.info.has_atomics  # type: ignore[union-attr]
    findings.of_repetition(bench.compare_with_first(turn), turn, has_atomics)
    return comparison
