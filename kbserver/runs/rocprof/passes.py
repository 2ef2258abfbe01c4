"""Which counters are measured, and which of them fit one run of the profiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

# Physical counters of a block, the same on gfx90a, gfx942 and gfx950 (rocprof-compute-gpu-table, perfmon_config).
LIMITS = {"SQ": 8, "TA": 2, "TD": 2, "TCP": 4, "TCC": 4, "CPC": 2, "CPF": 2, "SPI": 6, "GRBM": 2}
SOURCE = "rocprof-compute-gpu-table"
DEFINITIONS = "rocprofv3-counter-defs"
# Derived counters -> the physical ones of which they are made (rocprofiler-sdk-counters): requests in each size.
DERIVED = {"FETCH_SIZE": ("TCC", 3), "WRITE_SIZE": ("TCC", 2)}
ALWAYS = ("SQ_WAVES",)
"""In every pass: figures per wavefront must not mix launches."""
# What the emulator counts, so that the two can stand side by side, and what only the hardware knows. All are defined
# for gfx90a, gfx942 and gfx950 (DEFINITIONS): a name that a chip lacks fails its whole pass. Seven SQ counters share a
# pass with SQ_WAVES; the order keeps those together that are divided by each other.
MEASURED = (
    # SQ_BUSY_CYCLES beside GRBM_GUI_ACTIVE, in the first pass: only the former is a short kernel's time.
    "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_LDS", "SQ_INSTS_VMEM", "SQ_INSTS_MFMA",
    "SQ_BUSY_CYCLES",
    "SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR", "SQ_INSTS_BRANCH", "SQ_INSTS_VALU_FMA_F32", "SQ_INSTS_VALU_ADD_F32",
    "SQ_INSTS_VALU_MUL_F32", "SQ_INSTS_VALU_CVT",
    "SQ_INSTS_VALU_INT32", "SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE", "SQ_WAIT_INST_LDS", "SQ_WAIT_INST_ANY",
    "SQ_WAIT_ANY", "SQ_WAVE_CYCLES",
    # Loads and stores of global memory are FLAT; VMEM is 0 beside them and has buffer instructions.
    "SQ_BUSY_CU_CYCLES", "SQ_ACTIVE_INST_VALU", "SQ_ACTIVE_INST_LDS", "SQ_ACTIVE_INST_FLAT", "SQ_ACTIVE_INST_VMEM",
    "GRBM_GUI_ACTIVE", "TCC_HIT_sum", "TCC_MISS_sum", "WRITE_SIZE", "FETCH_SIZE",
    # The rate of hits in L1 is made of all three.
    "TCP_TOTAL_CACHE_ACCESSES_sum", "TCP_TCC_READ_REQ_sum", "TCP_TCC_WRITE_REQ_sum",
)  # fmt: skip

ALSO_ON = {"gfx950": ("TCC_EA0_RDREQ_sum",)}
"""Also measured: bytes a request tell whether FETCH_SIZE knows requests of 128 bytes, which older versions do not."""


def measured(arch: str) -> list[str]:
    """Return the counters that are measured on a target."""
    return [*MEASURED, *ALSO_ON.get(arch, ())]


def cost(counter: str) -> tuple[str, int]:
    """Return (block, physical counters) of a counter."""
    return DERIVED.get(counter, (counter.split("_", 1)[0], 1))


def passes(counters: Iterable[str]) -> list[list[str]]:
    """Return the counters in groups that fit one pass, each with `ALWAYS`; a counter goes to the first with room."""
    found: list[tuple[list[str], Counter[str]]] = []
    for counter in counters:
        block, needs = cost(counter)
        place = next((one for one in found if one[1][block] + needs <= LIMITS[block]), None)
        if place is None:
            place = list(ALWAYS), Counter(cost(name)[0] for name in ALWAYS)
            found.append(place)
        place[0].append(counter)
        place[1][block] += needs
    return [names for names, _ in found]
