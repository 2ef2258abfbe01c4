"""Device information as text: GPUs in a table, then problems with their fix, then differences with which to trust."""

from __future__ import annotations

from typing import Any

from kbserver.hardware.identify import Gpu
from kbserver.hardware.reference import Difference
from kbserver.ops.device import DeviceInfo
from kbserver.render.document import Document
from kbserver.render.registry import renders

MAX_GPUS = 16


@renders(DeviceInfo)
def _(result: DeviceInfo) -> Document:
    document = Document().say(_headline(result))
    columns = ["gpu", "product", "arch", "CUs", "LDS", "clock MHz", "L1", "L2", "L3", "memory", "chip id"]
    document.table(columns, [_row(gpu) for gpu in result.gpus[:MAX_GPUS]])
    if len(result.gpus) > MAX_GPUS:
        document.say(f"{len(result.gpus) - MAX_GPUS} more GPUs not shown; --json has all.")
    for text, indices in _grouped([(gpu.partition, gpu.index) for gpu in result.gpus]):
        document.say(f"Partition ({_gpus(indices)}), inferred: {text}.")
    said: set[str] = set()
    for problem in result.problems:
        where = f" ({_gpus(problem.gpus)})" if problem.gpus else ""
        fix = "" if problem.hint in said else f" Try: {problem.hint}."
        said.add(problem.hint)
        document.say(f"Problem {problem.code}{where}: {problem.message}.{fix}")
    for difference in result.differences_from_reference:
        document.say(_difference(difference))
    if result.gpus and not result.differences_from_reference:
        checked = [gpu for gpu in result.gpus if gpu.reference == gpu.arch]
        document.say(
            "No stated figure differs from the fact table."
            if checked
            else "Nothing was compared: the fact table has no data for these targets."
        )
    if result.note:
        document.say(f"Note: {result.note}")
    if result.sources:
        titles = dict.fromkeys(source.title for source in result.sources)
        document.say(f"Sources: {'; '.join(titles)}.")
    return document


def _headline(result: DeviceInfo) -> str:
    others: dict[str, int] = {}
    for agent in result.agents:
        if agent.kind != "GPU":
            others[agent.kind] = others.get(agent.kind, 0) + 1
    beside = "".join(f", {count} {kind} agent{'s' if count > 1 else ''}" for kind, count in others.items())
    versions = [f"runtime {result.runtime_version}"] if result.runtime_version else []
    versions += [f"driver {result.driver}"] if result.driver else []
    count = len(result.gpus)
    line = f"{count} GPU{'' if count == 1 else 's'}{beside} in {result.origin}"
    line += f" ({', '.join(versions)})" if versions else ""
    return line + (f"; repaired: {', '.join(result.repairs)}." if result.repairs else ".")


def _row(gpu: Gpu) -> list[Any]:
    product = gpu.product
    if gpu.virtual_function:
        product = f"{product} (virtual function)"
    sizes = [gpu.lds_bytes, gpu.max_clock_mhz, gpu.l1_bytes, gpu.l2_bytes, gpu.l3_bytes]
    cells = [str(value) if index == 1 and value else _kib(value) for index, value in enumerate(sizes)]
    memory = None if gpu.memory_bytes is None else f"{gpu.memory_bytes / 2**30:.1f} GiB"
    return [gpu.index, product, gpu.arch, gpu.compute_units, *cells, memory, gpu.chip_id]


def _kib(value: int | None) -> str | None:
    return None if value is None else f"{value // 1024} KiB"


def _difference(one: Difference) -> str:
    is_size = one.field.endswith("_bytes") and one.field != "cacheline_bytes"
    reported, reference = (
        ("nothing" if value is None else _kib(value) if is_size else value) for value in (one.reported, one.reference)
    )
    trust = {"reference": "trust the reference", "reported": "trust the report"}.get(one.trust, "unsettled")
    return (
        f"Differs ({_gpus(one.gpus)}) {one.field}: reported {reported}, reference {reference} [{one.fact}]; {trust}:"
        f" {one.explanation}."
    )


def _grouped(pairs: list[tuple[str | None, int]]) -> list[tuple[str, tuple[int, ...]]]:
    groups: dict[str, list[int]] = {}
    for text, index in pairs:
        if text:
            groups.setdefault(text, []).append(index)
    return [(text, tuple(indices)) for text, indices in groups.items()]


def _gpus(indices: tuple[int, ...]) -> str:
    """Return "GPU 0", "GPUs 0-3" or "GPUs 0, 2"."""
    if len(indices) == 1:
        return f"GPU {indices[0]}"
    if len(indices) > 2 and list(indices) == list(range(indices[0], indices[-1] + 1)):
        return f"GPUs {indices[0]}-{indices[-1]}"
    return f"GPUs {', '.join(map(str, indices))}"
