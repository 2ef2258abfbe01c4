"""An imported kernel beside the emulator's counts of the same one, and where the two do not count the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kbserver.core.errors import UsageError
from kbserver.runs.profile_report import ProfileReport
from kbserver.runs.profiler_import.old_versions import arches_of, fetch_doubt, may_be_old
from kbserver.runs.profiler_import.report import ComparedCounter, ImportedKernel, ImportedProfile
from kbserver.toolchain.names import demangle, plain_name

KIB, MAX_NAMES = 1024, 6
_DESCRIPTOR = re.compile(r"\s*(\[clone \.kd\]|\(\.kd\)|\.kd)$")
NO_CACHE = "the emulator counts what wavefronts ask for; a cache answers part of it"
_REMARKS = {
    "SQ_LDS_BANK_CONFLICT": "the emulator's is a model of banks and lane groups, docs/profile.md",
    "SQ_LDS_IDX_ACTIVE": "the emulator's is a model of banks and lane groups, docs/profile.md",
    "SQ_INSTS_SALU": "another compiler version changes address arithmetic first",
    "SQ_INSTS_FLAT": "global and scratch instructions count in it",
    "TCP_TCC_READ_REQ_sum": f"the emulator's: cache lines that loads touch; {NO_CACHE}",
    "SQ_INSTS_BRANCH": "the emulator counts branches executed, taken or not",
}
_NOT_COMPARED = {
    "TCP_TOTAL_CACHE_ACCESSES_sum": "not compared: it counts lookups, 16 for a contiguous instruction of 8 bytes a "
    "lane (4 lines of 128 bytes, 8 of 64 on MI200) [rocprof-compute-test-data]; TCP_TCC_READ_REQ_sum counts lines",
}
"""Counters with a name that promises what the emulator counts, and why they are not that."""
_LDS_ON_MI200 = "flat instructions count in it on MI200"


def put_beside(imported: ImportedProfile, report: ProfileReport, entry: str) -> ImportedProfile:
    """Return the import with the counters of the kernel `entry` beside the emulator's, per wavefront.

    Raises UsageError when the profile has no such kernel.
    """
    kernel = find_kernel(imported, entry, report.kernel)
    odd = {one.counter for one in imported.impossible if one.kernel == kernel.short_name}
    arches = arches_of((agent.arch for agent in imported.agents), imported.kernels)
    doubtful = may_be_old(arches) and fetch_doubt({one.name: one.median for one in kernel.counters}) is not None
    rows = [
        ComparedCounter(
            counter=name,
            imported=round(theirs, 4),
            emulated=round(ours, 4),
            difference_percent=round(100 * (ours - theirs) / theirs, 2) if theirs else None,
            ratio=round(theirs / ours, 4) if ours else None,
            remark=remark,
        )
        for name, theirs, ours, remark in _pairs(kernel, report, doubtful=doubtful)
        if name not in odd  # no ratio of a value that cannot be
    ]
    notes = [*imported.notes, *_mismatches(imported, kernel, report)]
    if not rows:
        notes.append(f"the profile has no counter of {kernel.short_name} that the emulator counts too")
    return imported.model_copy(update={"compared": rows, "notes": notes})


def find_kernel(imported: ImportedProfile, entry: str, name: str) -> ImportedKernel:
    """Return the kernel of an entry (symbol or C++ name) or of a variant's name: the whole name, else a part of one.

    Raises UsageError when the profile has none, or several instances or overloads and the entry does not tell which.
    """
    whole = [one for one in imported.kernels if _bare(one.name) in (entry, demangle(entry))]
    if whole:
        return whole[0]
    for wanted in dict.fromkeys((entry, plain_name(entry), name)):
        exact = [one for one in imported.kernels if _own_name(one) == wanted]
        found = exact or [one for one in imported.kernels if wanted in one.name]
        if exact and len({_bare(one.name) for one in exact}) > 1:
            names = "; ".join(_bare(one.name)[:80] for one in exact[:MAX_NAMES])
            raise UsageError(f"the profile has {len(exact)} kernels called {wanted}", where=imported.source,
                             hint=f"an entry that is a symbol tells which: {names}")  # fmt: skip
        if len(found) == 1 or exact:
            return found[0]
    names = ", ".join(one.short_name for one in imported.kernels[:MAX_NAMES])
    raise UsageError(
        f"the profile has no kernel {entry}", where=imported.source, hint=f"it has: {names or 'no kernel at all'}"
    )


def _bare(name: str) -> str:
    """Return a kernel's name without what marks its descriptor: `.kd`, `(.kd)`, `[clone .kd]`."""
    return _DESCRIPTOR.sub("", name)


def _own_name(kernel: ImportedKernel) -> str:
    """Return the function's own name, of a demangled kernel or of a symbol."""
    return plain_name(_bare(kernel.name)) if kernel.name.startswith("_Z") else kernel.short_name.rsplit("::", 1)[-1]


def _pairs(
    kernel: ImportedKernel, report: ProfileReport, *, doubtful: bool
) -> Iterator[tuple[str, float, float, str | None]]:
    """Yield (counter, imported, emulated, remark), both per wavefront. doubtful: FETCH_SIZE may be half."""
    emulated = {**report.per_wave, **_memory(report)}
    for counter in kernel.counters:
        theirs = counter.per_wave
        if theirs is None and kernel.waves:
            theirs = counter.median / kernel.waves
        if counter.name not in emulated or theirs is None:
            continue
        remark = _REMARKS.get(counter.name)
        if counter.name in ("FETCH_SIZE", "WRITE_SIZE"):
            theirs, remark = theirs * KIB, f"in bytes; {NO_CACHE}"
            if counter.name == "FETCH_SIZE" and doubtful:
                remark += "; may be half, see the note"
        elif counter.name == "SQ_INSTS_LDS" and report.arch == "gfx90a":
            remark = _LDS_ON_MI200
        yield counter.name, theirs, emulated[counter.name], remark


def _memory(report: ProfileReport) -> dict[str, float]:
    """Return hardware counter -> what the emulator has for it, of memory."""
    found: dict[str, float] = {}
    if report.lds:
        found["SQ_LDS_BANK_CONFLICT"] = report.lds.conflict_passes
        found["SQ_LDS_IDX_ACTIVE"] = report.lds.active_passes
    if report.global_:
        found["FETCH_SIZE"], found["WRITE_SIZE"] = report.global_.bytes_read, report.global_.bytes_written
        if report.global_.lines_read is not None:
            found["TCP_TCC_READ_REQ_sum"] = report.global_.lines_read
    return found


def _mismatches(imported: ImportedProfile, kernel: ImportedKernel, report: ProfileReport) -> Iterator[str]:
    """Yield what makes the two another launch or another build, and what is not compared at all."""
    if kernel.waves is not None and kernel.waves != report.waves:
        yield (
            f"the profiled launch had {kernel.waves} wavefronts, this one (shape {report.shape}) {report.waves}: "
            "another shape; name the shape that was profiled, or compare figures per wavefront with that in mind"
        )
    collected = {counter.name for counter in kernel.counters}
    yield from (f"{name}: {why}" for name, why in _NOT_COMPARED.items() if name in collected)
    block = 1
    for size in report.block:
        block *= size
    if kernel.workgroup is not None and kernel.workgroup != block:
        yield f"the profiled workgroup had {kernel.workgroup} work-items, this one {block}: another kernel or variant"
    arches = {agent.arch for agent in imported.agents if agent.arch}
    if arches and report.arch not in arches:
        yield f"profiled on {', '.join(sorted(arches))}, counted for {report.arch}: --arch names the target"
    yield f"counted in a build by {report.compiler}: the instructions of another compiler's build are others"
