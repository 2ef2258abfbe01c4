"""Text of an imported profile: kernels and counters, then what is odd about them, then units."""

from __future__ import annotations

from kbserver.render.document import Document
from kbserver.runs.profile_report import ProfileReport
from kbserver.runs.profiler_import.report import ImportedFile, ImportedKernel, ImportedProfile
from kbserver.runs.rocprof.report import ProfilerRuns

MAX_KERNELS, MAX_COUNTERS, MAX_ROWS, MAX_FILES = 6, 14, 8, 6


def say_import(document: Document, imported: ImportedProfile) -> Document:
    """Add an import to a document."""
    document.say(f"imported from {imported.source}: {_files(imported.files)}")
    for agent in imported.agents[:2]:
        known = ", ".join(str(part) for part in (agent.product, agent.arch) if part)
        cus = "" if agent.compute_units is None else f"{agent.compute_units} CUs, "
        xccs = "" if agent.xccs is None else f"{agent.xccs} XCDs, "
        clock = f"clock {agent.max_clock_mhz} MHz" if agent.max_clock_mhz else "clock unknown"
        document.say(f"GPU {agent.name}{f' ({known})' if known else ''}: {cus}{xccs}{clock}")
    if len(imported.agents) > 2:
        document.say(f"{len(imported.agents) - 2} more GPUs.")
    for kernel in imported.kernels[:MAX_KERNELS]:
        _say_kernel(document, kernel)
    if imported.total_kernels > MAX_KERNELS:
        document.say(f"{imported.total_kernels - MAX_KERNELS} more kernels.")
    document.table(
        ("counter per wavefront", "profiler", "emulator", "ratio", "remark"),
        [(one.counter, f"{one.imported:g}", f"{one.emulated:g}", "-" if one.ratio is None else f"{one.ratio:.3f}",
          one.remark or "") for one in imported.compared],
    )  # fmt: skip
    document.table(
        ("samples", "%", "lanes", "instruction", "source", "stalls"),
        [(one.samples, f"{one.share_percent:g}", f"{one.active_lanes:g}", one.instruction, one.source or "-",
          ", ".join(f"{name} {share:g} %" for name, share in one.stalls.items()) or "-")
         for one in imported.samples[:MAX_ROWS]],
        title=f"{imported.total_samples} program counter samples:" if imported.samples else None,
    )  # fmt: skip
    document.table(
        ("clocks", "stall", "hits", "instruction"),
        [(one.latency, "-" if one.stall is None else one.stall, one.hits, one.instruction)
         for one in imported.trace[:MAX_ROWS]],
    )  # fmt: skip
    if imported.roofline:
        document.say("roofline: " + ", ".join(f"{name} {value:g}" for name, value in imported.roofline.items()))
    for odd in imported.impossible:
        place = f" of {odd.kernel}" if odd.kernel else ""
        document.say(f"impossible [{odd.counter}]{place}: {odd.value:g}; {odd.reason}")
    for note in imported.notes:
        document.say(f"note: {note}")
    return document


def say_runs(document: Document, report: ProfileReport, runs: ProfilerRuns) -> Document:
    """Add how rocprofv3 measures a launch: the command lines, or what failed."""
    if runs.reason is not None:
        document.say(
            f"not measured: {runs.reason}. With an AMD {report.arch} GPU and rocprofv3, {len(runs.passes)} command "
            f"lines measure kernel:{report.kernel}, shape {report.shape}, each in {runs.launches} launches:"
        )
        for one in runs.passes:
            document.say(one.command)
        document.say(f"then: kb profile {report.kernel} --shape {report.shape} --from {runs.output}")
        document.say(
            "the folder is whole (code object, arguments, inputs): copied to where kbserver and ROCm are installed, "
            f"{runs.script.rsplit('/', 1)[-1]} in it runs the same lines"
        )
        document.say("source: " + ", ".join(source.id for source in runs.sources))
        return document
    failed = [one for one in runs.passes if one.failure]
    document.say(f"measured by rocprofv3 in {len(runs.passes) - len(failed)} of {len(runs.passes)} runs: {runs.output}")
    for one in failed:
        document.say(f"failed: {one.command}: {one.failure}")
    return document


def _files(files: list[ImportedFile]) -> str:
    if len(files) == 1:
        return f"{files[0].format}, {files[0].rows} rows"
    shown = [
        f"{one.path} refused: {one.refused}" if one.refused else f"{one.path} ({one.format}, {one.rows} rows)"
        for one in sorted(files, key=lambda file: file.refused is None)[:MAX_FILES]
    ]
    rest = len(files) - len(shown)
    return "; ".join(shown) + (f"; {rest} more files" if rest else "")


def _say_kernel(document: Document, kernel: ImportedKernel) -> None:
    text = f"{kernel.short_name}: {kernel.dispatches} dispatch{'es' if kernel.dispatches > 1 else ''}"
    if kernel.duration:
        times = kernel.duration
        text += f", median {times.median_us:g} us ({times.min_us:g} to {times.max_us:g}, n {times.dispatches})"
    if kernel.waves is not None:
        text += f", {kernel.waves} wavefronts ({kernel.waves_from})"
    sizes = ((kernel.vgprs, "VGPR"), (kernel.agprs, "AGPR"), (kernel.lds_bytes, "B of LDS"))
    text += "".join(f", {size} {what}" for size, what in sizes if size is not None)
    document.say(text)
    parts = []
    for counter in kernel.counters[:MAX_COUNTERS]:
        each = "" if counter.per_wave is None else f" ({counter.per_wave:g} a wavefront)"
        unit = "" if counter.unit is None else f" [{counter.unit}]"
        parts.append(f"{counter.name} {counter.median:g}{each}{unit}")
    if parts:
        rest = kernel.total_counters - len(parts)
        document.say("  " + ", ".join(parts) + (f", and {rest} more counters (--json)" if rest else ""))
