"""Units that trap: what a counter counts in where its name does not say so (gpu_arch/profiling/counters.md)."""

from __future__ import annotations

import re

QUAD = "quad-cycles: 4 clocks each"
_UNITS = (
    (r"SQ_(WAVE_CYCLES|BUSY_CU_CYCLES|WAIT_\w+|ACTIVE_INST_\w+|INST_CYCLES_\w+|THREAD_CYCLES_VALU)", QUAD),
    (r"SQ_INSTS_VALU_MFMA_MOPS_\w+", "units of 512 FLOPs"),
    (r"(FETCH_SIZE|WRITE_SIZE|FetchSize|WriteSize)", "KB of 1,024 bytes, beyond L2"),
    (r"TCC_EA0?_RDREQ(\[\d+\]|_sum)?", "requests of 32, 64 or 128 bytes beyond L2, not bytes"),
    (r"TCC_EA0?_(RDREQ_32B|RD_UNCACHED_32B)(\[\d+\]|_sum)?", "requests of 32 bytes beyond L2"),
    (r"TCC_EA0?_WRREQ(\[\d+\]|_sum)?", "requests of 32 or 64 bytes beyond L2, not bytes"),
    (r"TCC_EA0?_WRREQ_64B(\[\d+\]|_sum)?", "requests of 64 bytes beyond L2"),
    (r"TCC_BUBBLE(_sum)?", "read requests of 128 bytes beyond L2"),
    (r"GRBM_\w+", "cycles, summed over the XCDs"),
    (r"SQ_BUSY_CYCLES", "cycles, summed over shader engines and XCDs"),
    (r"SQ_LDS_(BANK_CONFLICT|IDX_ACTIVE|ADDR_CONFLICT)", "cycles, summed over the CUs"),
    (r"(TCC|TCP|TA|TD)_\w+_sum", "summed over all instances"),
    (r"SQ_ACCUM_PREV_HIRES", "the level counter before it in the list, accumulated"),
)
PER_WAVE = re.compile(r"SQ_(INSTS_\w+|LDS_\w+|WAVE_CYCLES|WAIT_\w+|ACTIVE_INST_\w+|INST_CYCLES_\w+|THREAD_CYCLES_VALU)")
"""Counters of what wavefronts do: divided by SQ_WAVES they are figures of one."""
PERCENT = re.compile(r".*(Percent|Pct|Util\w*|HitRate|Hit_Rate|Busy)$|(?i:.*(utilization|hit rate).*)")


def unit_of(counter: str) -> str | None:
    """Return the unit of a counter that needs one said."""
    return next((unit for pattern, unit in _UNITS if re.fullmatch(pattern, counter)), None)
