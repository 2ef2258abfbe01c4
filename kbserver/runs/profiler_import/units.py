"""Units that trap: what a counter counts in where its name does not say so (gpu_arch/profiling/counters.md).

Where AMD's description of a counter and AMD's recorded profiles (rocprof-compute-test-data) differ, the record decides.
"""

from __future__ import annotations

import re

QUAD = "quad-cycles: 4 clocks each"
# The first pattern that fits the whole name decides. `[n]` behind a name is one channel, `_sum` all of them.
_UNITS = (
    (r"SQ_(WAVE_CYCLES|WAIT_\w+|ACTIVE_INST_\w+|INST_CYCLES_\w+)", QUAD),
    # 98,304 instructions of 64 lanes count 6,291,456 on MI300X.
    (r"SQ_THREAD_CYCLES_VALU", "quad-cycles times active lanes"),
    # The description says quad-cycles; the record has 15,599 for each CU of an MI300X busy for some 16,600 clocks.
    (r"SQ_BUSY_CU_CYCLES", "cycles, summed over the CUs that hold a wavefront"),
    (r"SQ_BUSY_CYCLES", "cycles, summed over the shader engines of all XCDs"),
    (r"SQ_VALU_MFMA_BUSY_CYCLES", "cycles, summed over the SIMDs"),
    (r"SQ_LDS_(BANK_CONFLICT|IDX_ACTIVE|ADDR_CONFLICT|UNALIGNED_STALL|ATOMIC_RETURN)", "cycles, summed over the CUs"),
    (r"SQ_LDS_MEM_VIOLATIONS", "lanes out of range; unused in most configurations of CDNA, so 0 proves nothing"),
    (r"SQ_INSTS_VALU_MFMA_MOPS_\w+", "units of 512 FLOPs"),
    (r"SQ_INSTS_LDS_(LOAD|STORE|ATOMIC)_BANDWIDTH", "units of 64 bytes"),
    (r"SQ_ACCUM_PREV_HIRES", "the level counter before it in the list, accumulated each cycle"),
    (r"GRBM_\w+", "cycles, summed over the XCDs"),
    (r"SPI_RA_\w+_SIMD_FULL_CSN", "full SIMDs, added up each cycle"),
    (r"SPI_RA_\w+_CU_FULL_CSN", "full CUs, added up each cycle"),
    (r"MeanOccupancyPerActiveCU", "wavefronts a SIMD, while the CU has any"),
    (r"MeanOccupancyPerCU", "wavefronts a CU, over all CUs"),
    (r"(FETCH_SIZE|WRITE_SIZE|FetchSize|WriteSize)", "KB of 1,024 bytes, beyond L2"),
    # MI200 has no number behind EA, and no requests of 128 bytes: 131,080 there for the 8 MiB of AMD's copy.
    (r"TCC_EA_RDREQ(\[\d+\]|_sum)?", "requests of 32 or 64 bytes beyond L2, not bytes"),
    (r"TCC_EA0_RDREQ(\[\d+\]|_sum)?", "requests of 32, 64 or 128 bytes beyond L2, not bytes"),
    (r"TCC_EA0?_RDREQ_32B(\[\d+\]|_sum)?", "requests of 32 bytes beyond L2"),
    (r"TCC_EA0?_RD_UNCACHED_32B(\[\d+\]|_sum)?", "units of 32 bytes of uncached reads: a request of 64 bytes is 2"),
    (r"TCC_EA0_RDREQ_(64|128)B(\[\d+\]|_sum)?", "requests of the size in the name, beyond L2"),
    (r"TCC_EA0?_WRREQ(\[\d+\]|_sum)?", "requests of 32 or 64 bytes beyond L2, not bytes"),
    (r"TCC_EA0?_WRREQ_64B(\[\d+\]|_sum)?", "requests of 64 bytes beyond L2"),
    (r"TCC_BUBBLE(\[\d+\]|_sum)?", "read requests of 128 bytes beyond L2; stays 0 on gfx950"),
    (r"TCP_TOTAL_CACHE_ACCESSES(_sum)?", "lookups: 16 for one contiguous instruction of 8 bytes a lane"),
    (r"TCP_TOTAL_(ACCESSES|READ|WRITE)(_sum)?", "64 for one contiguous instruction of 8 bytes a lane"),
    (r"TCP_TCC_READ_REQ(_sum)?", "requests to L2, one cache line each: 64 bytes on MI200, 128 since MI300"),
    (r"TCP_TCC_WRITE_REQ(_sum)?", "requests to L2 of 64 bytes"),
    (r"TCC_REQ(\[\d+\]|_sum)?", "requests: reads of up to 128 bytes, stores of 64"),
    (r"(TCC|TCP|TA|TD)_\w+_sum", "summed over all instances"),
)
PER_WAVE = re.compile(r"SQ_(INSTS_\w+|LDS_\w+|WAVE_CYCLES|WAIT_\w+|ACTIVE_INST_\w+|INST_CYCLES_\w+|THREAD_CYCLES_VALU)")
"""Counters of what wavefronts do: divided by SQ_WAVES they are figures of one."""
PERCENT = re.compile(r".*(Percent|Pct|Util\w*|HitRate|Hit_Rate|Busy)$|(?i:.*(utilization|hit rate).*)")


def unit_of(counter: str) -> str | None:
    """Return the unit of a counter that needs one said."""
    return next((unit for pattern, unit in _UNITS if re.fullmatch(pattern, counter)), None)
