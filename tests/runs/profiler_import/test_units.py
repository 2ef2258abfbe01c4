"""Units against AMD's record of a copy of 1,048,576 doubles by 16,384 wavefronts (rocprof-compute-test-data).

Counts of dispatch 0 on MI300X unless a row says otherwise. The facts of the kernel: 6 VALU, 3 SALU and 4 SMEM
instructions a wavefront, 8 MiB read and 8 MiB written, 304 CUs, 32 shader engines, one load and one store of 8 bytes a
lane. A unit is right when the count, read in it, gives what the kernel did.
"""

from __future__ import annotations

import pytest

from kbserver.runs.profiler_import.units import QUAD, unit_of

WAVES, MIB = 16_384, 1 << 20


@pytest.mark.parametrize(
    ("counter", "count", "instructions"),
    [
        ("SQ_ACTIVE_INST_VALU", 98_304, 6), ("SQ_INST_CYCLES_SALU", 49_152, 3), ("SQ_INST_CYCLES_SMEM", 65_536, 4),
        ("SQ_INST_CYCLES_VMEM_RD", 16_384, 1), ("SQ_INST_CYCLES_VMEM_WR", 16_384, 1),
        ("SQ_ACTIVE_INST_FLAT", 32_768, 2), ("SQ_ACTIVE_INST_SCA", 114_688, 7),
    ],
)  # fmt: skip
def test_an_instruction_takes_one_quad_cycle(counter: str, count: int, instructions: int) -> None:
    assert count == instructions * WAVES
    assert unit_of(counter) == QUAD


def test_thread_cycles_are_quad_cycles_times_lanes() -> None:
    assert 6_291_456 == 98_304 * 64
    assert unit_of("SQ_THREAD_CYCLES_VALU") == "quad-cycles times active lanes"


@pytest.mark.parametrize(
    ("cus", "engines", "busy_cu", "busy", "wave_quads"),
    [
        (304, 32, 4_741_987, 532_875, 33_166_169),  # MI300X
        (104, 8, 1_702_714, 127_301, 11_288_895),  # MI200
        (128, 16, 1_005_075, 126_903, 6_406_528),  # MI350 with 128 CUs
    ],
)
def test_a_busy_cu_counts_one_a_clock_although_its_description_says_quad_cycles(
    cus: int, engines: int, busy_cu: int, busy: int, wave_quads: int
) -> None:
    elapsed = busy / engines
    assert 0.9 < busy_cu / cus / elapsed < 1.1  # in quad-cycles it would be four times the elapsed clocks
    assert 20 < 4 * wave_quads / busy_cu < 32  # wavefronts on a busy CU, of 32 places
    assert unit_of("SQ_BUSY_CU_CYCLES") == "cycles, summed over the CUs that hold a wavefront"
    assert unit_of("SQ_BUSY_CYCLES") == "cycles, summed over the shader engines of all XCDs"
    assert unit_of("SQ_WAVE_CYCLES") == QUAD


@pytest.mark.parametrize(
    ("counter", "count", "bytes_each", "unit"),
    [
        ("TCP_TCC_READ_REQ_sum", 65_536, 128, "one cache line each: 64 bytes on MI200, 128 since MI300"),
        ("TCP_TCC_READ_REQ_sum", 131_072, 64, "one cache line each: 64 bytes on MI200, 128 since MI300"),  # MI200
        ("TCP_TCC_WRITE_REQ_sum", 131_072, 64, "of 64 bytes"),
        ("TCC_EA0_WRREQ_64B_sum", 131_072, 64, "of 64 bytes"),
        ("TCC_EA_RDREQ_sum", 131_072, 64, "of 32 or 64 bytes"),  # MI200, without 8 for the arguments
        ("TCC_BUBBLE_sum", 65_536, 128, "of 128 bytes"),
    ],
)
def test_requests_times_their_bytes_are_what_the_kernel_moved(
    counter: str, count: int, bytes_each: int, unit: str
) -> None:
    assert count * bytes_each == 8 * MIB
    assert unit in (unit_of(counter) or "")


@pytest.mark.parametrize(
    ("counter", "count", "each"),
    [("TCP_TOTAL_CACHE_ACCESSES_sum", 524_288, 16), ("TCP_TOTAL_ACCESSES_sum", 2_097_152, 64)],
)
def test_lookups_of_l1_are_no_lines(counter: str, count: int, each: int) -> None:
    assert count == each * 2 * WAVES  # the same on MI200, MI300X and MI350, whose lines are 64, 128 and 128 bytes
    assert f"{each} for one contiguous instruction of 8 bytes a lane" in (unit_of(counter) or "")


@pytest.mark.parametrize(
    ("counter", "unit"),
    [
        # gpu_arch/profiling/counters.md and counters-by-block.md
        ("SQ_VALU_MFMA_BUSY_CYCLES", "cycles, summed over the SIMDs"),
        ("SQ_LDS_UNALIGNED_STALL", "cycles, summed over the CUs"),
        ("SQ_INSTS_VALU_MFMA_MOPS_F8", "units of 512 FLOPs"),
        ("SQ_INSTS_LDS_LOAD_BANDWIDTH", "units of 64 bytes"),
        ("SPI_RA_VGPR_SIMD_FULL_CSN", "full SIMDs, added up each cycle"),
        ("SPI_RA_LDS_CU_FULL_CSN", "full CUs, added up each cycle"),
        # derived-metrics.md
        ("MeanOccupancyPerActiveCU", "wavefronts a SIMD, while the CU has any"),
        ("MeanOccupancyPerCU", "wavefronts a CU, over all CUs"),
        ("TCC_MISS_sum", "summed over all instances"),
        ("SQ_INSTS_VALU", None),
        ("SQ_WAVES", None),
    ],
)
def test_units_are_those_of_the_pages(counter: str, unit: str | None) -> None:
    assert unit_of(counter) == unit
