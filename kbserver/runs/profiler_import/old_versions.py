"""What versions of rocprofv3 that do not know gfx950 write for it: registers and bytes of about half the truth.

It is said where it shows, or where it cannot be told. No number is corrected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kbserver.runs.profiler_import.report import ImportedKernel

GFX950 = "gfx950"
# Names that AMD defines for one target of ours alone (rocprofv3-counter-defs): a file without its GPU names it so.
_ONLY_ON = {
    GFX950: re.compile(
        r"SQ_INSTS_VALU_MFMA_(MOPS_)?F6F4|SQ_ACTIVE_INST_VALU2|SQ_INSTS_LDS_(LOAD|STORE|ATOMIC)(_BANDWIDTH)?"
        r"|SQ_(LDS|VMEM)_\w+_FIFO_FULL|TCC_EA0_RDREQ_(64|128)B(_sum)?|TCC_(READ|WRITE|ATOMIC)_SECTORS(_sum)?"
    ),
    "gfx90a": re.compile(r"TCC_EA_\w+"),
}
GRANULE = 8
"""Registers are allocated in steps of it on gfx950 (fact gfx950.registers.vgpr_granule), gfx942 and gfx90a."""
KIB, LARGE = 1024, 128
SLACK = 1.01
"""Requests of another pass are of another launch."""
_REGISTERS = "on gfx950 rocprofv3 before May 2026 writes half of all allocated registers as VGPR, and 0 as AGPR"
_CODE = "the code object has the counts: kb compile, llvm-readelf --notes [rocm-systems-5862]"
_TELLS = "TCC_EA0_RDREQ_128B_sum counts the requests of 128 bytes"
_FETCH = "on gfx950 rocprofv3 before 2026 counts reads of 128 bytes as 64, about half of all bytes [rocm-systems-2501]"


def arches_of(agents: Iterable[str | None], kernels: Sequence[ImportedKernel]) -> set[str]:
    """Return the targets that were profiled, those of the agents or what counters give away; empty: unknown."""
    named = {arch for arch in agents if arch}
    names = {counter.name for kernel in kernels for counter in kernel.counters}
    return named or {arch for arch, only in _ONLY_ON.items() if any(only.fullmatch(name) for name in names)}


def may_be_old(arches: set[str]) -> bool:
    """Return whether a profile is, or may be, of the target that old versions do not know."""
    return not arches or GFX950 in arches


def old_version_notes(arches: set[str], kernels: Sequence[ImportedKernel]) -> Iterator[str]:
    """Yield what may be half of the truth; nothing for a profile of other targets."""
    if not may_be_old(arches):
        return
    unnamed = "" if arches else "the GPU is not named; "
    registers = _register_doubt(arches, kernels)
    if registers:
        yield unnamed + registers
    for kernel in kernels:
        doubt = fetch_doubt({one.name: one.median for one in kernel.counters})
        if doubt:
            yield f"{kernel.short_name}: {unnamed}{doubt}"
            return


def _register_doubt(arches: set[str], kernels: Sequence[ImportedKernel]) -> str | None:
    known = [kernel for kernel in kernels if kernel.vgprs]
    if not known or any(kernel.agprs for kernel in known):
        return None  # a version that knows gfx950 gives AGPRs: at the least what rounds the sum up
    half = next((one for one in known if one.agprs == 0 and (one.vgprs or 0) % GRANULE), None)
    if half:
        return (
            f"VGPR {half.vgprs} and AGPR 0 of {half.short_name} are no multiple of {GRANULE}, in which registers are "
            f"allocated: {_REGISTERS}; {_CODE}"
        )
    return f"AGPR 0 everywhere and no version known: {_REGISTERS}; {_CODE}" if arches else None


def fetch_doubt(counters: Mapping[str, float]) -> str | None:
    """Return why bytes read by a gfx950 may be half of what they were; None where the requests clear FETCH_SIZE."""
    size = counters.get("FETCH_SIZE", counters.get("FetchSize"))
    requests, large = counters.get("TCC_EA0_RDREQ_sum"), counters.get("TCC_EA0_RDREQ_128B_sum")
    if large is not None:
        short = size is not None and size * KIB * SLACK < LARGE * large
        return f"FETCH_SIZE is less than its {large:g} requests of 128 bytes: {_FETCH}" if short else None
    if size is None:
        if counters.get("TCC_BUBBLE_sum") == 0 and requests:
            return (
                f"TCC_BUBBLE is 0 beside {requests:g} read requests, so bytes cannot be made of it: {_FETCH}; {_TELLS}"
            )
        return None
    if size <= 0:
        return None
    if requests is None:
        return f"FETCH_SIZE, of a version that is not known: {_FETCH}; TCC_EA0_RDREQ_sum in the same pass would tell"
    each = size * KIB / requests if requests else LARGE
    if each > LARGE / 2 * SLACK:
        return None
    return f"FETCH_SIZE is {each:.3g} bytes a read request, as if none had 128: {_FETCH}; {_TELLS}"
