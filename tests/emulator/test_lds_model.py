"""The LDS model against counters that others measured on MI350X and MI355X.

HipKittens ran one instruction at a time with chosen lanes and addresses and published what SQ_LDS_BANK_CONFLICT said
(HazyResearch/HipKittens f09e968, analysis/paper_experiments/phases). The case study published the counter of its
step 3. The figures below are theirs.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from kbserver.core.sources import cite
from kbserver.emulator.lds_model import extra_passes, passes
from kbserver.emulator.lds_rules import RULES, find_rule

LANES = np.arange(64)
EXPERIMENT = LANES * 256
"""HipKittens' addresses: 64 dwords apart, so that every lane wants the same bank."""

# Threads that conflicted pairwise, as their phase_results.txt files list them, lanes 0 to 31.
PHASES = {
    "ds_read_b64": [list(range(32))],
    "ds_read_b96": [
        [0, 1, 2, 3, 20, 21, 22, 23],
        [4, 5, 6, 7, 16, 17, 18, 19],
        [8, 9, 10, 11, 28, 29, 30, 31],
        [12, 13, 14, 15, 24, 25, 26, 27],
    ],
    "ds_read_b128": [
        [0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27],
        [4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 28, 29, 30, 31],
    ],
    "ds_write_b64": [list(range(16)), list(range(16, 32))],
}
# Banks at which a second lane conflicted with lane 0 at bank 0, as their bank_results.txt files list them (4 to 127).
CONFLICTING_BANKS = {
    "ds_read_b64": [64],
    "ds_read_b96": [32, 64, 96],
    "ds_read_b128": [64],
    "ds_write_b64": [32, 64, 96],
}


@pytest.mark.parametrize("op", PHASES)
def test_two_lanes_conflict_exactly_when_hipkittens_saw_it(op: str) -> None:
    low = [set(phase) for phase in PHASES[op]]
    phases = low + [{lane + 32 for lane in phase} for phase in low]
    wrong = [
        (a, b)
        for a in range(64)
        for b in range(a + 1, 64)
        if passes("gfx950", op, EXPERIMENT, 1 << a | 1 << b).extra != any({a, b} <= phase for phase in phases)
    ]
    assert wrong == []


@pytest.mark.parametrize("op", CONFLICTING_BANKS)
def test_banks_wrap_where_hipkittens_saw_it_also_for_unaligned_addresses(op: str) -> None:
    found = []
    for bank in range(4, 128):
        addresses = np.zeros(64, np.int64)
        addresses[1] = bank * 4
        if passes("gfx950", op, addresses, 0b11).extra:
            found.append(bank)
    assert found == CONFLICTING_BANKS[op]


def test_a_whole_wavefront_of_one_bank_takes_the_sixty_passes_that_were_counted() -> None:
    # ds_write_b64/out/lds_conflict_counter_collection.csv: SQ_INSTS_LDS 1, SQ_LDS_BANK_CONFLICT 60.
    access = passes("gfx950", "ds_write_b64", EXPERIMENT)
    assert (access.phases, access.ideal, access.extra, access.passes) == (4, 4, 60, 64)


@pytest.mark.parametrize(
    ("name", "op"), [("lds-phase-b128", "ds_read_b128"), ("lds-conflict-b64", "ds_read_b64")], ids=["b128", "b64"]
)
def test_recorded_counter_files_agree(shared_data: Path, name: str, op: str) -> None:
    path = shared_data / "profiles" / f"gfx950-mi355x-rocprofv3-counter_collection-{name}.csv"
    with path.open(encoding="utf-8") as handle:
        rows = [row for row in csv.DictReader(handle) if row["Kernel_Name"].startswith("micro_tk")]
    counted = {row["Counter_Name"]: float(row["Counter_Value"]) for row in rows}
    # The last pair of the solver: lanes 62 and 63.
    assert counted == {
        "SQ_INSTS_LDS": 1.0,
        "SQ_LDS_BANK_CONFLICT": float(passes("gfx950", op, EXPERIMENT, 3 << 62).extra),
    }


def test_step3_of_the_case_study_has_the_conflicts_that_were_counted_on_mi350x() -> None:
    # Published: SQ_LDS_BANK_CONFLICT 1,401,840 of 3,776 wavefronts; 1,800 pairs of outputs, pitch 42 dwords, 45 reads.
    total = 0
    for first in range(0, 1800, 64):
        pair = first + LANES
        mask = sum(1 << int(lane) for lane in LANES[pair < 1800])
        start = (pair // 40 * 42 + pair % 40) * 4
        total += 45 * passes("gfx950", "ds_read_b32", start, mask).extra
    assert total / 4 == 1_401_840 / 3_776 == 371.25


def test_lanes_that_want_one_dword_share_it_and_atomics_do_not() -> None:
    same = np.zeros((1, 64), np.int64)
    active = np.ones((1, 64), bool)
    rule = find_rule("gfx950", "write", 4)
    assert extra_passes(rule, same, active, 4).tolist() == [0]
    assert extra_passes(rule, same, active, 4, shares=False).tolist() == [62]


def test_bytes_and_halves_of_one_dword_do_not_conflict() -> None:
    assert passes("gfx942", "ds_read_u16", LANES * 2).extra == 0
    assert passes("gfx942", "ds_write_b8", LANES).extra == 0
    assert passes("gfx942", "ds_read_u16_d16_hi", LANES * 2).extra == 0


@pytest.mark.parametrize(
    ("arch", "op", "stride_dwords", "extra"),
    [
        ("gfx942", "ds_read_b32", 1, 0),
        ("gfx942", "ds_read_b32", 2, 2),  # 32 lanes on 16 banks: two each, two phases
        ("gfx942", "ds_read_b32", 32, 62),
        ("gfx942", "ds_read_b32", 33, 0),
        ("gfx942", "ds_read_b64", 2, 0),
        ("gfx950", "ds_read_b64", 2, 0),
        ("gfx942", "ds_read_b64", 4, 4),  # 16 lanes, 8 fit before the banks wrap
        ("gfx950", "ds_read_b64", 4, 2),  # 32 lanes on 64 banks, 16 fit
        ("gfx942", "ds_read_b128", 4, 0),
        ("gfx950", "ds_read_b128", 4, 0),
    ],
)
def test_strides_conflict_as_the_banks_of_the_target_say(arch: str, op: str, stride_dwords: int, extra: int) -> None:
    assert passes(arch, op, LANES * stride_dwords * 4).extra == extra


def test_inactive_lanes_take_no_part_but_every_phase_takes_its_pass() -> None:
    access = passes("gfx950", "ds_read_b32", LANES * 128, 0b101)
    assert (access.ideal, access.extra) == (2, 1)
    assert passes("gfx950", "ds_read_b32", LANES * 128, 0).passes == 2


def test_every_rule_covers_each_lane_once_and_cites_a_source() -> None:
    for table in RULES.values():
        for rule in table.values():
            assert sorted(lane for group in rule.groups for lane in group) == list(range(64))
            assert rule.banks in (32, 64)
            assert rule.basis in ("measured", "vendor", "model")
            assert cite(*rule.source).url


def test_nothing_is_called_measured_for_gfx90a() -> None:
    assert {rule.basis for rule in RULES["gfx90a"].values()} == {"model"}
