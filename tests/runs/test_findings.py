"""Findings say once what happened often, and name what wrong elements have in common."""

from __future__ import annotations

from kbserver.devices.interface import DeviceFinding
from kbserver.runs.acceptance import ChannelCheck, combine
from kbserver.runs.cases import Turn
from kbserver.runs.findings import Findings


def wrong(channel: int, **more: object) -> ChannelCheck:
    values = {"mismatches": 10, "unwritten": 0, "nonfinite": 0, "max_abs": 1.0, "max_ulp": 9, "box": ((0, 1), (8, 8))}
    return ChannelCheck(channel=channel, elements=100, **{**values, **more})  # type: ignore[arg-type]


GOOD = ChannelCheck(0, 100, 0, 0, 0, 0.0, 0)


def test_one_place_is_one_finding_with_a_count() -> None:
    findings = Findings()
    for _ in range(3):
        findings.of_device([DeviceFinding("LDS read out of range", 4, "`ds_read_b32 v1, v2` ...", "k.hip:7")])
    (found,) = findings.found.values()
    assert (found.check, found.count, found.where) == ("out_of_range", 12, "k.hip:7")
    assert findings.errors


def test_lanes_that_a_buffer_resource_stops_decide_nothing() -> None:
    findings = Findings()
    findings.of_device([DeviceFinding("lanes outside a buffer resource", 56, "...", None, "note")])
    (found,) = findings.found.values()
    assert (found.check, found.severity, findings.errors) == ("buffer_clipped", "note", False)


def test_an_unknown_kind_of_a_device_keeps_its_words() -> None:
    findings = Findings()
    findings.of_device([DeviceFinding("LDS race", 1, "two wavefronts", None)])
    assert [found.check for found in findings.found.values()] == ["lds_race"]


def test_wrong_elements_are_told_by_channel_and_place() -> None:
    findings = Findings()
    findings.of_comparison(combine([GOOD, wrong(3), wrong(5, box=((1, 1), (7, 8)))]), "tiny", "HW")
    (found,) = findings.found.values()
    assert found.check == "wrong_result" and found.count == 20
    assert found.message == "20 of 300 elements wrong in 2 of 3 channels (3, 5); within H 0-1, W 7-8"


def test_a_shared_factor_is_named() -> None:
    findings = Findings()
    findings.of_comparison(combine([wrong(0, ratio=1.041), wrong(1, ratio=1.039)]), "tiny", "HW")
    assert "all are 1.04 times the exact value" in next(iter(findings.found.values())).message


def test_unwritten_not_finite_and_constant_outputs_have_names_of_their_own() -> None:
    findings = Findings()
    findings.of_comparison(combine([wrong(0, unwritten=4, nonfinite=6)]), "tiny", "HW")
    findings.of_comparison(combine([wrong(0, constant=0.0)]), "other", "HW")
    counts = {(found.check, found.where): found.count for found in findings.found.values()}
    assert counts == {
        ("unwritten_output", "tiny"): 4,
        ("not_finite", "tiny"): 2,
        ("wrong_result", "tiny"): 10,
        ("constant_output", "other"): 1,
        ("wrong_result", "other"): 10,
    }


def test_results_that_differ_between_orders_are_a_race_unless_atomics_explain_them() -> None:
    for has_atomics, errors in ((False, True), (True, False)):
        findings = Findings()
        findings.of_repetition(5, Turn("reversed", True, 0xFFFF), has_atomics)
        (found,) = findings.found.values()
        assert (found.check, findings.errors) == ("order_dependent", errors)
    findings = Findings()
    findings.of_repetition(5, Turn("forward", False, 0xFFFF), False)
    assert [found.check for found in findings.found.values()] == ["uninitialised_read"]


def test_right_results_leave_no_finding() -> None:
    findings = Findings()
    findings.of_comparison(combine([GOOD, GOOD]), "tiny", "HW")
    findings.of_memory([], [])
    findings.of_repetition(0, Turn("forward", True, 0xFFFF), False)
    assert not findings.found
    findings.of_memory(["weight"], ["output"])
    assert [found.check for found in findings.found.values()] == ["input_modified", "guard_zone"]
