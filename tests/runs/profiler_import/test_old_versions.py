"""What rocprofv3 wrote for gfx950 before it knew it, told by signs that AMD's records and changes show.

Registers: the change of May 2026 (rocm-systems-5862) and the code before it: AGPR 0 and half of the sum as VGPR; AMD's
record of one kernel has 4 and 0 on MI350, 4 and 4 on MI300X. FETCH_SIZE: the change of January 2026
(rocm-systems-2501); for the recorded copy of 8 MiB the formula before it gives 65,640 requests x 64 bytes = 4,102.5 KB,
the one after it 8,205.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.runs.profiler_import.old_versions import fetch_doubt
from kbserver.runs.profiler_import.read import import_profile

COLUMNS = "Dispatch_Id,Kernel_Name,Grid_Size,Workgroup_Size,VGPR_Count,Accum_VGPR_Count,Counter_Name,Counter_Value\n"
AGENTS = "Node_Id,Agent_Type,Name,Product_Name,Cu_Count,Num_Xcc\n1,GPU,{arch},,256,8\n"
OLD_SIZE, NEW_SIZE, REQUESTS = 4102.5, 8205.0, 65_640
REGISTERS, FETCH = "rocprofv3 before May 2026 writes half", "rocprofv3 before 2026 counts reads of 128 bytes as 64"


def notes(folder: Path, arch: str | None, rows: dict[str, float], registers: tuple[int, int] = (8, 4)) -> list[str]:
    vgpr, agpr = registers
    text = "".join(f'1,"k(int)",4096,256,{vgpr},{agpr},{name},{value}\n' for name, value in rows.items())
    (folder / "a_counter_collection.csv").write_text(COLUMNS + text)
    if arch:
        (folder / "a_agent_info.csv").write_text(AGENTS.format(arch=arch))
    return [note for note in import_profile(str(folder)).notes if REGISTERS in note or FETCH in note]


@pytest.mark.parametrize("arch", ["gfx950", None])
def test_registers_that_no_allocation_makes_are_those_of_an_old_version(arch: str | None, tmp_path: Path) -> None:
    (note,) = notes(tmp_path, arch, {"SQ_WAVES": 64}, (4, 0))
    assert "VGPR 4 and AGPR 0 of k are no multiple of 8" in note and "[rocm-systems-5862]" in note
    assert note.startswith("the GPU is not named; ") == (arch is None)


@pytest.mark.parametrize(
    ("arch", "registers", "said"),
    [
        ("gfx950", (32, 0), True),  # half of 64, or 32 and a fixed version: it cannot be told
        ("gfx950", (4, 4), False),  # a version that knows it
        ("gfx942", (4, 0), False),
        ("gfx90a", (12, 0), False),
        (None, (32, 0), False),
    ],
)
def test_other_registers_are_doubted_on_gfx950_alone(
    arch: str | None, registers: tuple[int, int], said: bool, tmp_path: Path
) -> None:
    found = notes(tmp_path, arch, {"SQ_WAVES": 64}, registers)
    assert [note.startswith("AGPR 0 everywhere and no version known") for note in found] == ([True] if said else [])


@pytest.mark.parametrize(
    ("counters", "doubt"),
    [
        ({"FETCH_SIZE": OLD_SIZE, "TCC_EA0_RDREQ_sum": REQUESTS}, "FETCH_SIZE is 64 bytes a read request"),
        ({"FETCH_SIZE": OLD_SIZE, "TCC_EA0_RDREQ_sum": REQUESTS, "TCC_BUBBLE_sum": 0}, "FETCH_SIZE is 64 bytes"),
        ({"FETCH_SIZE": OLD_SIZE, "TCC_EA0_RDREQ_128B_sum": REQUESTS}, "FETCH_SIZE is less than its 65640 requests"),
        ({"FETCH_SIZE": OLD_SIZE}, "FETCH_SIZE, of a version that is not known"),
        ({"TCC_BUBBLE_sum": 0, "TCC_EA0_RDREQ_sum": REQUESTS}, "TCC_BUBBLE is 0 beside 65640 read requests"),
        ({"FETCH_SIZE": NEW_SIZE, "TCC_EA0_RDREQ_sum": REQUESTS}, None),
        ({"FETCH_SIZE": NEW_SIZE, "TCC_EA0_RDREQ_128B_sum": REQUESTS}, None),
        ({"FETCH_SIZE": OLD_SIZE, "TCC_EA0_RDREQ_128B_sum": 0}, None),  # all requests are of 64 bytes
        ({"FETCH_SIZE": 0.0}, None),
        ({"FETCH_SIZE": -3.0}, None),  # flagged as impossible already
        ({"TCC_BUBBLE_sum": 65_536, "TCC_EA0_RDREQ_sum": 65_767}, None),  # MI300X
        ({"SQ_WAVES": 64}, None),
    ],
)
def test_bytes_read_are_doubted_by_the_bytes_of_a_request(counters: dict[str, float], doubt: str | None) -> None:
    found = fetch_doubt(counters)
    assert (found or "").startswith(doubt or "") and (found is None) == (doubt is None)


@pytest.mark.parametrize(("arch", "said"), [("gfx950", True), (None, True), ("gfx942", False), ("gfx90a", False)])
def test_bytes_of_other_targets_are_not_doubted(arch: str | None, said: bool, tmp_path: Path) -> None:
    rows = {"FETCH_SIZE": OLD_SIZE, "TCC_EA0_RDREQ_sum": REQUESTS}
    found = notes(tmp_path, arch, rows)
    assert [FETCH in note and "[rocm-systems-2501]" in note for note in found] == ([True] if said else [])


def test_a_value_that_is_doubted_stays_as_it_was_written(tmp_path: Path) -> None:
    notes(tmp_path, "gfx950", {"FETCH_SIZE": OLD_SIZE, "TCC_EA0_RDREQ_sum": REQUESTS}, (4, 0))
    (kernel,) = import_profile(str(tmp_path)).kernels
    assert (kernel.vgprs, kernel.agprs) == (4, 0)
    assert {one.name: one.median for one in kernel.counters}["FETCH_SIZE"] == OLD_SIZE


@pytest.mark.parametrize(
    ("record", "said"), [("gfx950-mi350", True), ("gfx942-mi300x", False), ("gfx90a-mi200-104cu", False)]
)
def test_records_of_amd_are_told_apart_by_their_counters(record: str, said: bool, shared_data: Path) -> None:
    # None of the three files names its GPU.
    path = shared_data / "profiles" / f"{record}-rocprof-compute-vcopy-pmc_perf.csv"
    found = [note for note in import_profile(str(path)).notes if REGISTERS in note or FETCH in note]
    assert ["not named" in note for note in found] == ([False, False] if said else [])
    assert len(found) == (2 if said else 0)
