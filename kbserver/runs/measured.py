"""What a reference kernel's `measured.yaml` holds: counts of every variant by the emulator, and the table made of them.

Counts are sums over all launches of a variant and the whole grid, so that variants with other grids can be compared.
They are exact and depend on the compiler alone, which is named; no time is among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kbserver.core.errors import ContentError
from kbserver.core.yamlio import load_yaml
from kbserver.devices import find_device
from kbserver.runs.profile import Profiled, profile
from kbserver.runs.profile_summary import Summary
from kbserver.runs.stage import Subject
from kbserver.runs.task import Task, Variant, load_task
from kbserver.toolchain.resources import kernel_resources
from kbserver.toolchain.sources import from_file

FILE, README = "measured.yaml", "README.md"
SEED = 1
ARCH = "gfx950"
BEGIN, END = "<!-- counts -->", "<!-- end of counts -->"
COLUMNS = {
    "instructions": "instructions",
    "valu": "VALU",
    "mfma": "MFMA",
    "lds_instructions": "LDS",
    "lds_passes": "LDS passes",
    "lds_conflicts": "conflicts",
    "lds_atomics": "LDS atomics",
    "vmem": "VMEM",
    "lines": "lines",
    "global_atomics": "global atomics",
    "active_lanes": "active lanes",
    "vgprs": "VGPRs",
    "lds_bytes": "LDS bytes",
    "scratch_bytes": "scratch",
}
"""Count -> its column. lines: cache lines of all global requests; active_lanes: mean over VALU instructions; atomics
are counted by lane, and only in kernels that have some."""
_ATOMICS = {"LDS atomic": "lds_atomics", "global atomic": "global_atomics"}
_SUMS = {"valu": "SQ_INSTS_VALU", "mfma": "SQ_INSTS_MFMA", "lds_instructions": "SQ_INSTS_LDS", "vmem": "SQ_INSTS_VMEM"}


def task_files(folder: Path) -> list[Path]:
    """Return the task files of a reference kernel's folder, the main one first."""
    return sorted(folder.glob("*task.yaml"), key=lambda path: (path.name != "task.yaml", path.name))


def measured_arch(variant: Variant) -> str:
    """Return the target that a variant is counted for: gfx950 where it is written for that."""
    return ARCH if ARCH in variant.arches else variant.arches[0]


def count_variant(task: Task, variant: Variant, shape: str) -> tuple[dict[str, Any], str]:
    """Return (counts of a variant on a shape, the compiler).

    One host thread: where workgroups take places by atomics, the lines that they touch depend on who comes first.
    """
    subject = Subject(task, variant, from_file(task.source(variant)), measured_arch(variant))
    device = find_device("emulator")
    done = [
        profile(subject, shape, device, sample=None, seed=SEED, threads=1, step=step)
        for step in range(len(variant.steps))
    ]
    return _sum(done, subject.arch), f"{done[0].built.compiler_kind} {done[0].built.compiler_version}"


def _sum(launches: Sequence[Profiled], arch: str) -> dict[str, Any]:
    """Return the counts of all launches of a variant together."""
    totals: dict[str, float] = dict.fromkeys(
        ("waves", "instructions", *_SUMS, "lds_passes", "lds_conflicts", "lines"), 0
    )
    atomics: dict[str, float] = {}
    lanes, worst = 0.0, {"vgprs": 0, "lds_bytes": 0, "scratch_bytes": 0}
    for one in launches:
        summary = Summary(one.measured, one.function, arch)
        waves, lds, memory = one.measured.waves, summary.lds(), summary.global_memory()
        totals["waves"] += waves
        totals["instructions"] += summary.total
        for name, counter in _SUMS.items():
            totals[name] += waves * summary.counters[counter]
        lanes += waves * summary.counters["SQ_INSTS_VALU"] * (summary.active_lanes() or 0)
        if lds:
            totals["lds_passes"] += waves * lds.active_passes
            totals["lds_conflicts"] += waves * lds.conflict_passes
        totals["lines"] += waves * memory.lines if memory else 0
        for site in one.measured.sites:
            if site.kind in _ATOMICS:
                name = _ATOMICS[site.kind]
                atomics[name] = atomics.get(name, 0) + summary.scaled(site, site.lanes)
        resources = kernel_resources(one.function)
        found = {
            "vgprs": (resources.vgprs or 0) + (resources.agprs or 0),
            "lds_bytes": (resources.lds_bytes or 0) + one.launch.dynamic_lds_bytes,
            "scratch_bytes": resources.scratch_bytes or 0,
        }
        worst = {name: max(value, found[name]) for name, value in worst.items()}
    active = round(lanes / totals["valu"], 2) if totals["valu"] else 0
    return {**{name: round(value) for name, value in (totals | atomics).items()}, "active_lanes": active, **worst}


def measure(folder: Path) -> dict[str, Any]:
    """Return the content of a folder's `measured.yaml`: every variant of every task on its smallest shape."""
    runs, compilers = [], set()
    for path in task_files(folder):
        task = load_task(path)
        shape = task.smallest_shape
        counts = {}
        for variant in task.variants:
            counts[variant.name], compiler = count_variant(task, variant, shape)
            counts[variant.name] = {"arch": measured_arch(variant), **counts[variant.name]}
            compilers.add(compiler)
        runs.append({"task": task.name, "shape": shape, "sizes": dict(task.shapes[shape]), "counts": counts})
    return {"compiler": ", ".join(sorted(compilers)), "seed": SEED, "runs": runs}


def load_measured(folder: Path) -> dict[str, Any]:
    """Return a folder's `measured.yaml`. Raises ContentError."""
    data = load_yaml(folder / FILE)
    if not isinstance(data, dict) or set(data) != {"compiler", "seed", "runs"}:
        raise ContentError("expected compiler, seed and runs", where=f"{folder.name}/{FILE}")
    return data


def text_of(data: Mapping[str, Any], name: str) -> str:
    """Return the file of some measurements."""
    head = (
        "# Counted on the emulator, sums over all launches; no time was measured on AMD hardware.\n"
        f"# Written by `python -m kbserver.runs.measure_reference {name}`; a test counts again.\n"
    )
    return head + yaml.safe_dump(dict(data), sort_keys=False, width=120, default_flow_style=None)


def table(data: Mapping[str, Any]) -> str:
    """Return the lines between the marks of a README: a table a task, without columns that are 0 for all."""
    lines = []
    for run in data["runs"]:
        counts = run["counts"]
        columns = [name for name in COLUMNS if any(one.get(name) for one in counts.values())]
        sizes = ", ".join(f"{key} = {value}" for key, value in run["sizes"].items())
        lines += [
            f"Task `{run['task']}`, shape {run['shape']} ({sizes}), whole launch, {data['compiler']}:",
            "",
            "| variant | target | waves | " + " | ".join(COLUMNS[name] for name in columns) + " |",
            "|---|---|---:|" + "---:|" * len(columns),
        ]
        for name, one in counts.items():
            figures = " | ".join(f"{one.get(column, 0):,}" for column in columns)
            lines.append(f"| `{name}` | {one['arch']} | {one['waves']:,} | {figures} |")
        lines.append("")
    return "\n".join(lines)


def with_table(readme: str, data: Mapping[str, Any], where: str) -> str:
    """Return a README with its table of counts made anew. Raises ContentError without the marks."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ContentError(f"the README lacks the lines {BEGIN} and {END}", where=where)
    return f"{before}{BEGIN}\n\n{table(data)}\n{END}{after}"
