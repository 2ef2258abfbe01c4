"""The files that AMD's profilers write, told apart by their columns. To add one: a reader and a line in FORMATS."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kbserver.runs.profiler_import.gathered import PASSES, Dispatch, Gathered, Sample
from kbserver.runs.profiler_import.tables import Table, moment, number, plain, whole

Reader = Callable[[Table, Gathered], None]


@dataclass(frozen=True)
class Format:
    """A kind of file: the columns that only it has together, and its reader."""

    name: str
    needs: tuple[str, ...]
    read: Reader


# Fields of a dispatch -> the columns that hold it, newest name first.
_FIELDS = {
    "start": ("Start_Timestamp", "BeginNs"),
    "end": ("End_Timestamp", "EndNs"),
    "workgroup": ("Workgroup_Size", "wgr"),
    "grid": ("Grid_Size", "grd"),
    "vgprs": ("VGPR_Count", "Arch_VGPR", "arch_vgpr"),
    "agprs": ("Accum_VGPR_Count", "Accum_VGPR"),
    "sgprs": ("SGPR_Count", "SGPR"),
    "lds_bytes": ("LDS_Block_Size", "Group_Segment_Size", "LDS_Per_Workgroup", "lds"),
    "scratch_bytes": ("Scratch_Size", "Private_Segment_Size", "Scratch_Per_Workitem", "scr"),
}
_NO_COUNTERS = {plain(name) for names in _FIELDS.values() for name in names} | {
    plain(name)
    for name in (
        "Dispatch_ID", "GPU_ID", "Queue_ID", "queue-index", "PID", "TID", "Wave_Size", "Kernel_Name", "Correlation_ID",
        "Kernel_ID", "sig", "obj", "DispatchNs", "CompleteNs", "XCC_Index", "Agent_Id", "Process_Id", "Thread_Id",
        "Stream_Id", "Node_ID", "Index", "Unnamed: 0",
    )
}  # fmt: skip
_CHANNEL = re.compile(r"(.+)\[(\d+)\]")
_PASS_COPY = re.compile(r"(.+?)_\d+$")


def _fields(table: Table) -> dict[str, int]:
    found = {name: table.place(*columns) for name, columns in _FIELDS.items()}
    return {name: place for name, place in found.items() if place is not None}


def _dispatch(table: Table, row: Sequence[str], places: dict[str, int]) -> Dispatch:
    name = table.place("Kernel_Name", "KernelName")
    values = {key: (moment if key in ("start", "end") else whole)(row[place]) for key, place in places.items()}
    return Dispatch(kernel=sys.intern(row[name]) if name is not None else "", **values)


def _product(table: Table, row: Sequence[str], stem: str) -> int | None:
    """Return the product of the columns STEM_X, STEM_Y, STEM_Z."""
    result = 1
    for axis in "XYZ":
        place = table.place(f"{stem}_{axis}")
        size = whole(row[place]) if place is not None else None
        if size is None:
            return None
        result *= size
    return result


def read_kernel_trace(table: Table, into: Gathered) -> None:
    places = _fields(table)
    for row in table.rows():
        one = _dispatch(table, row, places)
        one.grid, one.workgroup = _product(table, row, "Grid_Size"), _product(table, row, "Workgroup_Size")
        into.dispatches.append(one)


def read_counter_collection(table: Table, into: Gathered) -> None:
    """One row a counter: the rows of one dispatch become one."""
    places, merged = _fields(table), {}
    at = [
        table.place(name)
        for name in ("Dispatch_Id", "Agent_Id", "Process_Id", "Kernel_Name", "Counter_Name", "Counter_Value")
    ]
    for row in table.rows():
        cells = [row[place] if place is not None else "" for place in at]
        key = tuple(cells[:4])
        if key not in merged:
            merged[key] = _dispatch(table, row, places)
            merged[key].timed = False
        into.add(merged[key], cells[4], number(cells[5]))
    into.dispatches += merged.values()


def read_wide(table: Table, into: Gathered) -> None:
    """rocprof and rocprof-compute: one row a dispatch, one column a counter, or one for each channel of it."""
    places, columns = _fields(table), _counter_columns(table)
    if any(_is_copy(column) for column in table.columns):
        into.note(PASSES)
    for row in table.rows():
        one = _dispatch(table, row, places)
        one.timed = not columns
        for place, (name, is_part) in columns.items():
            into.add(one, name, number(row[place]), is_part=is_part)
        into.dispatches.append(one)


def _counter_columns(table: Table) -> dict[int, tuple[str, bool]]:
    """Return place -> (counter, whether the column is one channel of it)."""
    found: dict[int, tuple[str, bool]] = {}
    for place, column in enumerate(table.columns):
        if plain(column) in _NO_COUNTERS or _is_copy(column):
            continue
        channel = _CHANNEL.fullmatch(column)
        if channel is None:
            found[place] = column, False
        elif f"{channel[1]}_sum" not in table.columns:  # where the sum is there too, it is of another pass
            found[place] = f"{channel[1]}_sum", True
    return found


def _is_copy(column: str) -> bool:
    """Return whether merged passes repeated a descriptive column, with a number behind."""
    copied = _PASS_COPY.fullmatch(column)
    return bool(copied and plain(copied[1]) in _NO_COUNTERS)


def read_agents(table: Table, into: Gathered) -> None:
    at = {name: table.place(name) for name in (
        "Agent_Type", "Name", "Product_Name", "Cu_Count", "Num_Xcc", "Lds_Size_In_Kb", "Max_Engine_Clk_Fcompute",
        "Device_Id",
    )}  # fmt: skip
    for row in table.rows():
        cell = {name: row[place] if place is not None else "" for name, place in at.items()}
        if cell["Agent_Type"].upper() != "GPU":
            continue
        kib = whole(cell["Lds_Size_In_Kb"])
        into.agents.append(
            {
                "name": cell["Product_Name"] or cell["Name"],
                "arch": cell["Name"] if cell["Name"].startswith("gfx") else None,
                "chip_id": whole(cell["Device_Id"]),
                "compute_units": whole(cell["Cu_Count"]),
                "xccs": whole(cell["Num_Xcc"]),
                "lds_bytes": kib * 1024 if kib else None,
                "max_clock_mhz": whole(cell["Max_Engine_Clk_Fcompute"]),
            }
        )


def read_sysinfo(table: Table, into: Gathered) -> None:
    for row in table.rows():
        cell = {plain(name): value for name, value in zip(table.columns, row, strict=False)}
        clock = whole(cell.get("maxsclk"))
        into.agents.append(
            {
                "name": cell.get("gpumodel", ""),
                "arch": cell.get("gpuarch") or None,
                "chip_id": whole(cell.get("gpuchipid")),
                "compute_units": whole(cell.get("cupergpu")),
                "xccs": whole(cell.get("numxcd")),
                "lds_bytes": None,
                "max_clock_mhz": clock or None,
            }
        )
        if clock == 0:
            into.odd.append((None, "max_sclk", 0.0, "the clock could not be read: peaks derived from it are zero"))


def read_roofline(table: Table, into: Gathered) -> None:
    for row in table.rows():
        for column, cell in zip(table.columns, row, strict=False):
            value = number(cell)
            # One row a device: the first stands for all.
            if table.count == 1 and value is not None and not column.lower().endswith(("low", "high", "device")):
                into.roofline[column] = value
    into.note(f"roofline of device 0 of {table.count}: bandwidths in GB/s, rates in G operations/s, as measured there")


def read_samples(table: Table, into: Gathered) -> None:
    at = {name: table.place(name) for name in (
        "Exec_Mask", "Instruction", "Instruction_Comment", "Wave_Issued_Instruction", "Stall_Reason",
    )}  # fmt: skip
    for row in table.rows():
        cell = {name: row[place] if place is not None else "" for name, place in at.items()}
        issued = cell["Wave_Issued_Instruction"]
        into.samples.append(
            Sample(
                instruction=" ".join(cell["Instruction"].split()),
                source=cell["Instruction_Comment"].rsplit("/", 1)[-1],
                lanes=((whole(cell["Exec_Mask"]) or 0) & (2**64 - 1)).bit_count(),
                issued=None if issued == "" else issued not in ("0", "false"),
                stall=cell["Stall_Reason"].removeprefix("ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_")
                or None,
            )
        )


def read_trace(table: Table, into: Gathered) -> None:
    """Statistics of a thread trace: clocks by instruction."""
    at = {name: table.place(name) for name in ("Instruction", "Hitcount", "Latency", "Stall", "Idle", "Source")}
    for row in table.rows():
        cell = {name: row[place] if place is not None else "" for name, place in at.items()}
        into.trace.append(
            {
                "instruction": " ".join(cell["Instruction"].split()),
                "source": cell["Source"].rsplit("/", 1)[-1] or None,
                "hits": whole(cell["Hitcount"]) or 0,
                "latency": whole(cell["Latency"]) or 0,
                "stall": whole(cell["Stall"]),
                "idle": whole(cell["Idle"]),
            }
        )


FORMATS = (
    Format("rocprofv3 counter_collection", ("Counter_Name", "Counter_Value", "Kernel_Name"), read_counter_collection),
    Format("rocprofv3 kernel_trace", ("Kernel_Name", "Start_Timestamp", "Grid_Size_X"), read_kernel_trace),
    Format("rocprofv3 agent_info", ("Agent_Type", "Cu_Count", "Node_Id"), read_agents),
    Format("thread trace statistics", ("Instruction", "Hitcount", "Latency"), read_trace),
    Format("PC samples", ("Sample_Timestamp", "Instruction", "Exec_Mask"), read_samples),
    Format("rocprof-compute sysinfo", ("gpu_model", "cu_per_gpu"), read_sysinfo),
    Format("rocprof-compute roofline", ("HBMBw", "LDSBw"), read_roofline),
    Format("rocprof or rocprof-compute counters", ("Dispatch_ID", "Kernel_Name", "Grid_Size"), read_wide),
    Format("rocprof-compute dispatch list", ("Dispatch_ID", "Kernel_Name", "GPU_ID"), read_wide),
)  # fmt: skip


def format_of(table: Table) -> Format | None:
    """Return the format whose columns a table has."""
    return next((one for one in FORMATS if table.has(*one.needs)), None)
