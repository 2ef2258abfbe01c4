"""Occupancy against figures from elsewhere: LLVM 22.1.8's remarks, published kernels, and arithmetic by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kbserver.core.errors import UnknownName, UsageError
from kbserver.hardware.facts import load_facts
from kbserver.hardware.occupancy import occupancy
from tests.hardware.fact_fake import occupancy_facts

ARCHS = ("gfx90a", "gfx942", "gfx950")


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("first", "last", "waves"),
    [
        (1, 64, 8), (65, 72, 7), (73, 80, 6), (81, 96, 5),
        (97, 128, 4), (129, 168, 3), (169, 256, 2), (257, 512, 1),
    ],
)  # fmt: skip
def test_waves_follow_the_compilers_table_of_registers(arch: str, first: int, last: int, waves: int) -> None:
    for vgprs in (first, last):
        assert occupancy(arch, vgprs).waves_per_simd == waves
        assert occupancy(arch, vgprs).compiler_remark == waves


@pytest.mark.parametrize("arch", ARCHS)
def test_the_fact_tables_own_register_table_agrees(arch: str) -> None:
    table = load_facts().get(f"{arch}.execution.waves_per_simd_by_vgprs").value
    assert len(table) == 8
    for span, waves in table.items():
        for vgprs in map(int, span.split("-")):
            assert occupancy(arch, vgprs).waves_per_simd == waves


def test_step3_is_limited_to_three_waves_by_its_registers() -> None:
    found = occupancy("gfx950", 155, lds=32576, workgroup=256)
    assert (found.waves_per_simd, found.limiter, found.compiler_remark) == (3, "vgpr", 3)
    assert found.next_step == "<= 128 VGPRs for 4 waves per SIMD (4 workgroups per CU)"


def test_step5_gets_five_waves_by_registers_and_by_the_remark_but_four_by_whole_lds_granules() -> None:
    # 32,576 B take 26 granules of 1,280 B = 33,280 B; 163,840 / 33,280 = 4.9. LLVM 22 divides by 32,576: 5.03.
    found = occupancy("gfx950", 86, lds=32576, workgroup=256)
    assert found.limits["vgpr"].waves_per_simd == 5
    assert found.compiler_remark == 5
    assert (found.allocated_lds_bytes, found.workgroups_per_cu, found.waves_per_simd) == (33280, 4, 4)
    assert found.limiter == "lds"
    assert found.next_step == "<= 32,000 B of LDS for 5 waves per SIMD (5 workgroups per CU)"
    assert occupancy("gfx950", 86, lds=32000).waves_per_simd == 5
    assert "does not round LDS up to the allocation granule" in found.explanation[-1]


def test_the_same_lds_on_gfx942_gives_two_waves() -> None:
    found = occupancy("gfx942", 86, lds=32576)
    assert (found.waves_per_simd, found.limiter, found.compiler_remark) == (2, "lds", 2)
    assert any("64 KiB on gfx942" in line and "160 KiB on gfx950" in line for line in found.explanation)


def test_agprs_begin_after_four_aligned_vgprs_in_the_same_file() -> None:
    found = occupancy("gfx942", 6, agprs=16)
    assert found.allocated_vgprs == 24
    assert "both share one file of 512" in found.explanation[0]
    # LLVM 22.1.8: a kernel that clobbers v128 and a126 needs round_up(129, 4) + 127 = 259 registers, 1 wave.
    assert occupancy("gfx950", 129, agprs=127).allocated_vgprs == 264
    assert occupancy("gfx950", 129, agprs=127).waves_per_simd == 1


@pytest.mark.parametrize(("sgprs", "waves"), [(0, 8), (80, 8), (81, 7), (96, 7), (102, 7), (108, 7)])
def test_sgprs_beyond_eighty_cost_one_wave_and_never_more(sgprs: int, waves: int) -> None:
    assert occupancy("gfx942", 32, sgprs=sgprs).waves_per_simd == waves


def test_one_wave_workgroups_fill_every_slot_and_larger_ones_are_capped_at_sixteen() -> None:
    assert occupancy("gfx942", 32, workgroup=64).workgroups_per_cu == 32
    two = occupancy("gfx942", 32, workgroup=128)
    assert (two.workgroups_per_cu, two.waves_per_simd, two.limiter) == (16, 8, "waves+workgroups")


def test_workgroups_are_counted_whole_and_the_average_is_shown() -> None:
    found = occupancy("gfx942", 70, workgroup=192)  # 7 waves a SIMD = 28 slots, 9 workgroups of 3 waves
    assert (found.workgroups_per_cu, found.waves_per_cu, found.waves_per_simd) == (9, 27, 6.75)
    assert found.compiler_remark == 7
    assert "9 workgroups x 3 waves = 27 waves over 4 SIMDs = 6.75 per SIMD" in found.explanation[-2]
    assert "whole workgroups of 3 waves" in found.explanation[-1]


def test_a_partly_filled_last_wave_counts_as_a_wave() -> None:
    found = occupancy("gfx942", 32, workgroup=100)
    assert found.waves_per_workgroup == 2
    assert any("the last with 28 idle lanes" in line for line in found.explanation)


def test_a_workgroup_that_does_not_fit_is_said_to_be_unlaunchable() -> None:
    found = occupancy("gfx942", 155, workgroup=1024)  # 16 waves need 4 slots a SIMD, 155 registers give 3
    assert (found.workgroups_per_cu, found.waves_per_simd, found.limiter) == (0, 0, "vgpr")
    assert any("cannot be launched with 1024 threads" in line for line in found.explanation)
    assert found.next_step == "<= 128 VGPRs for 4 waves per SIMD (1 workgroup per CU)"


def test_ties_are_all_named() -> None:
    assert occupancy("gfx942", 64).limiter == "vgpr+waves"
    assert occupancy("gfx942", 128, lds=16384).limiter == "vgpr+lds"


def test_unused_resources_do_not_limit() -> None:
    limits = occupancy("gfx942", 128).limits
    assert (limits["lds"].workgroups_per_cu, limits["sgpr"].waves_per_simd) == (None, None)


def test_the_next_step_names_every_resource_that_must_shrink() -> None:
    assert occupancy("gfx942", 86).next_step == "<= 80 VGPRs for 6 waves per SIMD (6 workgroups per CU)"
    both = occupancy("gfx942", 128, lds=16384).next_step
    assert both == "<= 96 VGPRs and <= 12,800 B of LDS for 5 waves per SIMD (5 workgroups per CU)"
    assert occupancy("gfx942", 64).next_step == "none: every wave slot is in use"


def test_following_the_next_step_reaches_it() -> None:
    for arch in ARCHS:
        for vgprs in (65, 100, 170, 300):
            for lds in (0, 9000, 30000):
                start = occupancy(arch, vgprs, lds=lds)
                step = start.next_step.replace(",", "")
                fewer = re.search(r"<= (\d+) VGPRs", step)
                smaller = re.search(r"<= (\d+) B of LDS", step)
                again = occupancy(arch, int(fewer[1]) if fewer else vgprs, lds=int(smaller[1]) if smaller else lds)
                assert again.workgroups_per_cu == start.workgroups_per_cu + 1, (arch, vgprs, lds, step)


@pytest.mark.parametrize(
    ("arguments", "limit", "fact"),
    [
        ({"vgprs": 513}, "512", "fact:gfx942.registers.vgprs_per_simd_lane"),
        ({"vgprs": 300, "agprs": 300}, "512", "fact:gfx942.registers.vgprs_per_simd_lane"),
        ({"vgprs": 32, "lds": 65537}, "65,536", "fact:gfx942.lds.bytes_per_workgroup"),
        ({"vgprs": 32, "workgroup": 1025}, "1,024", "fact:gfx942.execution.max_workgroup_size"),
        ({"vgprs": 32, "workgroup": 0}, "at least 1", "fact:gfx942.execution.max_workgroup_size"),
        ({"vgprs": -1}, "at least 0", "fact:gfx942.registers.vgprs_per_simd_lane"),
        ({"vgprs": 32, "agprs": -4}, "at least 0", "fact:gfx942.registers.vgprs_per_simd_lane"),
        ({"vgprs": 32, "lds": -1}, "at least 0", "fact:gfx942.lds.bytes_per_workgroup"),
        ({"vgprs": 32, "sgprs": 113}, "112", "fact:gfx942.registers.sgprs_addressable"),
    ],
)
def test_impossible_figures_are_refused_with_the_limit_and_its_source(
    arguments: dict[str, int], limit: str, fact: str
) -> None:
    with pytest.raises(UsageError) as caught:
        occupancy("gfx942", **arguments)
    assert limit in caught.value.message
    assert fact in (caught.value.hint or "")
    assert "LLVM" in (caught.value.hint or "")


def test_gfx950_takes_what_gfx942_refuses() -> None:
    assert occupancy("gfx950", 32, lds=163840).workgroups_per_cu == 1
    with pytest.raises(UsageError, match="163,840"):
        occupancy("gfx950", 32, lds=163841)


def test_a_target_without_facts_is_an_error() -> None:
    with pytest.raises(UnknownName):
        occupancy("gfx1100", 32)


def test_figures_typed_by_hand_give_the_same_as_the_fact_table() -> None:
    typed = occupancy_facts()
    for arch in ARCHS:
        for arguments in ((86, 0, 0, 32576, 256), (155, 0, 0, 0, 256), (40, 16, 96, 5000, 320), (1, 0, 0, 0, 64)):
            ours, theirs = occupancy(arch, *arguments), occupancy(arch, *arguments, facts=typed)
            assert ours.limits == theirs.limits
            assert (ours.limiter, ours.compiler_remark) == (theirs.limiter, theirs.compiler_remark)


def test_constants_come_from_the_table_given() -> None:
    table = occupancy_facts()
    table.values["gfx942.registers.vgpr_granule"] = 16  # the granule that one vendor guide gives
    assert occupancy("gfx942", 161, facts=table).waves_per_simd == 2
    assert occupancy("gfx942", 161).waves_per_simd == 3


def test_every_answer_cites_its_figures() -> None:
    ids = {source.id for source in occupancy("gfx950", 86, lds=32576).sources}
    assert {"llvm-amdgpu-source", "llvm-22.1.8"} <= ids


# (target, LDS bytes, largest declared workgroup) -> "Occupancy" of clang 22.1.8 for a kernel of few registers
REMARKS = {
    ("gfx90a", 0, 1024): 8, ("gfx90a", 5000, 448): 7, ("gfx942", 9600, 768): 6, ("gfx942", 16640, 256): 3,
    ("gfx942", 32576, 256): 2, ("gfx942", 32576, 1024): 8, ("gfx950", 32576, 256): 5, ("gfx950", 32576, 448): 7,
    ("gfx950", 32576, 768): 6, ("gfx950", 16640, 256): 8, ("gfx950", 40000, 768): 6,
}  # fmt: skip


@pytest.mark.parametrize(("case", "remark"), REMARKS.items(), ids=str)
def test_the_compilers_remark_is_foretold(case: tuple[str, int, int], remark: int) -> None:
    arch, lds, workgroup = case
    assert occupancy(arch, 8, lds=lds, workgroup=workgroup).compiler_remark == remark


def test_without_launch_bounds_the_remark_is_said_to_be_higher() -> None:
    last = occupancy("gfx942", 55, lds=32576).explanation[-1]
    assert "also says 2" in last
    assert "without __launch_bounds__ (1 to 1024 threads) it would say 8" in last


@pytest.mark.parametrize("arch", ARCHS)
def test_recorded_remarks_are_foretold(arch: str, shared_data: Path) -> None:
    _compare(shared_data / "profiles" / f"generated-llvm22-{arch}-remarks-wg256.txt", arch, 256)


def test_recorded_remarks_without_declared_size_are_foretold(shared_data: Path) -> None:
    name = "generated-llvm22-gfx942-remarks-no-launch-bounds-misleading-occupancy.txt"
    _compare(shared_data / "profiles" / name, "gfx942", 1024)


@pytest.mark.parametrize("arch", ARCHS)
def test_recorded_remarks_with_agprs_are_foretold(arch: str, shared_data: Path) -> None:
    _compare(shared_data / "profiles" / f"generated-llvm22-{arch}-remarks-mfma-agpr.txt", arch, 1024)


def _compare(path: Path, arch: str, workgroup: int) -> None:
    kernels = re.split(r"Function Name: ", path.read_text("utf-8"))[1:]
    assert kernels
    for kernel in kernels:
        sgprs, vgprs, agprs, waves, lds = (
            int(re.search(rf"{re.escape(label)}: (\d+)", kernel)[1])  # type: ignore[index]
            for label in ("TotalSGPRs", "VGPRs", "AGPRs", "Occupancy [waves/SIMD]", "LDS Size [bytes/block]")
        )
        found = occupancy(arch, vgprs, agprs, sgprs, lds, workgroup)
        assert found.compiler_remark == waves, kernel.splitlines()[0]
