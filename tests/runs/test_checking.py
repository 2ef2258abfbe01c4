"""The checks beside the results: how much of a launch they see, and what an error of theirs means."""

from __future__ import annotations

import pytest

from kbserver.core.errors import EngineCrashed
from kbserver.devices.interface import Checked, DeviceFinding, Launch
from kbserver.runs.checking import Checking, run_checks, sample_of
from kbserver.runs.findings import Findings


def launch(groups: int) -> Launch:
    return Launch(arguments=(), grid=(groups, 1, 1), block=(64, 1, 1))


@pytest.mark.parametrize(
    ("groups", "instructions", "wanted", "sample"),
    [
        (16, 20_000, None, None),  # small: whole
        (16, 400_000, None, None),
        (1000, 40_000_000, None, 10),  # a hundredth of it
        (30_208, 2_000_000_000, None, 6),
        (30_208, 20_000_000_000, None, 4),  # never fewer
        (16, 20_000, 3, 3),  # as asked for
        (16, 20_000, 99, None),
    ],
)
def test_small_launches_are_checked_whole_and_large_ones_on_a_sample(
    groups: int, instructions: int, wanted: int | None, sample: int | None
) -> None:
    assert sample_of(launch(groups), instructions, wanted) == sample


class Stub:
    """Checks that find one race, or die."""

    def __init__(self, error: EngineCrashed | None = None) -> None:
        self.error, self.closed = error, False

    def check(self, launch: Launch, buffers: object, sample: int | None) -> Checked:
        if self.error is not None:
            raise self.error
        race = DeviceFinding("LDS race", 3, "two accesses", "k.hip:7")
        note = DeviceFinding("global race", 1, "the same value", "k.hip:9", "note")
        return Checked(("LDS race",), (race, note), 8, sample or 8, 100, 0, 0.5, 0.1)

    def close(self) -> None:
        self.closed = True


def run(stub: Stub, launches: int = 1) -> tuple[Findings, object, list[int]]:
    findings, ran = Findings(), []
    checking = Checking({"kernel": stub}, ["kernel"] * launches)
    between = [lambda step=step: ran.append(step) for step in range(launches)]
    many = [launch(8)] * launches
    summary = run_checks(checking, many, [], findings, "tiny", [None] * launches, between)
    checking.close()
    assert stub.closed
    return findings, summary, ran


def test_a_race_decides_the_verdict_and_a_note_does_not() -> None:
    findings, summary, _ = run(Stub())
    assert {(one.check, one.severity) for one in findings.found.values()} == {
        ("lds_race", "error"),
        ("global_race", "note"),
    }
    assert findings.errors
    assert (summary.checked, summary.workgroups, summary.accesses, summary.reason) == (8, 8, 100, None)


def test_every_launch_of_a_variant_is_checked_with_those_before_it_run() -> None:
    _, summary, ran = run(Stub(), launches=3)
    assert ran == [0, 1]
    assert summary.workgroups == 24


def test_checks_that_die_are_no_verdict_and_say_so() -> None:
    findings, summary, _ = run(Stub(EngineCrashed("the process died")))
    assert not findings.found
    assert (summary.checks, summary.reason) == ([], "the process died")


def test_a_device_without_checks_has_nothing_to_do() -> None:
    checking = Checking({}, ())
    assert not checking.there
    checking.close()
