"""One launch on the emulator, inside the worker: shared buffers to the emulator's, its outcome to a report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from kbserver.devices.buffers import SharedBuffer
from kbserver.devices.interface import DeviceFinding, LaunchReport
from kbserver.emulator.context import DISPUTED_KINDS
from kbserver.emulator.machine import Finding, Machine, Outcome
from kbserver.emulator.memory import Buffer, Memory

_NUMBERS = {"i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "f32": np.float32, "f64": np.float64}
DIVERGENT_BARRIER = "barrier divergence"
BUFFER_CLIPPED = "lanes outside a buffer resource"
WRITE_TO_INPUT = "write to an input"
MISSING_WAIT = "missing wait"
MISSING_WAIT_STATES = "missing wait states"
ARGUMENT_TYPES = tuple(_NUMBERS)


def launch(machine: Machine, message: dict[str, Any], shared: Sequence[SharedBuffer]) -> LaunchReport:
    """Run the machine once over shared buffers, without copying them."""
    buffers = emulator_buffers(shared)
    outcome = machine.launch(
        Memory(list(buffers.values())),
        [argument(entry, buffers) for entry in message["arguments"]],
        grid=tuple(message["grid"]),
        block=tuple(message["block"]),
        dynamic_lds_bytes=message["dynamic_lds_bytes"],
        threads=message["threads"],
        order=message["order"],
        seed=message["seed"],
        poison=message["poison"],
        fuel=message["fuel"],
    )
    return LaunchReport(
        wall_s=outcome.wall_s,
        waves=outcome.waves,
        wave_instructions=outcome.counts.wave_instructions,
        findings=(*_missing_waits(machine), *_hazards(machine), *_findings(outcome, shared)),
    )


def _missing_waits(machine: Machine) -> tuple[DeviceFinding, ...]:
    """Return one finding for each place that touches what may still be under way; the same at every launch."""
    found = []
    for site, uses in groupby(machine.missing_waits, key=lambda use: use.site):
        first = max(uses, key=lambda use: use.certain)
        instruction = machine.kernel.code[site].instruction
        where = str(instruction.source) if instruction.source else f"assembly line {instruction.line}"
        severity = "error" if first.certain else "warning"
        found.append(DeviceFinding(MISSING_WAIT, 1, first.message(machine.kernel), where, severity))
    return tuple(found)


def _hazards(machine: Machine) -> tuple[DeviceFinding, ...]:
    """Return one finding for each instruction that follows too soon on one that it depends on."""
    found = []
    for site, uses in groupby(machine.hazards, key=lambda use: use.site):
        worst = max(uses, key=lambda use: use.need - use.have)
        instruction = machine.kernel.code[site].instruction
        where = str(instruction.source) if instruction.source else f"assembly line {instruction.line}"
        found.append(DeviceFinding(MISSING_WAIT_STATES, 1, worst.message(machine.kernel), where))
    return tuple(found)


def emulator_buffers(shared: Sequence[SharedBuffer]) -> dict[str, Buffer]:
    """Return the emulator's view of shared buffers, by name."""
    return {
        one.layout.name: Buffer(one.layout.name, one.array, one.array.ctypes.data, one.layout.writable, one.whole)
        for one in shared
    }


def argument(entry: str | list[Any], buffers: dict[str, Buffer]) -> Buffer | np.generic:
    """Return an argument of a message: a buffer by its name, or a number by type and value."""
    if isinstance(entry, str):
        return buffers[entry]
    kind, value = entry
    return _NUMBERS[kind](value)


def _kind(finding: Finding, shared: Sequence[SharedBuffer]) -> str:
    """Return the finding's kind; a write that hits a buffer without the right to write is one of its own."""
    if finding.kind in ("global write out of range", "global atomic out of range"):
        for buffer in shared:
            first = buffer.array.ctypes.data
            if first <= finding.address and finding.address + finding.bytes <= first + buffer.layout.data_bytes:
                return WRITE_TO_INPUT
    return finding.kind


def _findings(outcome: Outcome, shared: Sequence[SharedBuffer]) -> list[DeviceFinding]:
    """Return one finding for each kind and instruction; the first access of each is told in full."""

    def place(finding: Finding) -> tuple[str, int]:
        return _kind(finding, shared), finding.site

    found = []
    for (kind, _), group in groupby(sorted(outcome.findings, key=place), key=place):
        accesses = list(group)
        first = accesses[0]
        found.append(
            DeviceFinding(
                kind=kind,
                count=len(accesses),
                message=f"`{first.instruction}` reached {first.where}, {first.bytes} bytes; "
                f"lane {first.lane}, wavefront {first.wave}, workgroup {first.workgroup}",
                where=first.source or f"assembly line {first.line}",
                severity="warning" if kind in DISPUTED_KINDS else "error",
            )
        )
    if outcome.divergent_rounds:
        found.append(
            DeviceFinding(
                kind=DIVERGENT_BARRIER,
                count=outcome.divergent_rounds,
                message="some wavefronts of a workgroup waited at a barrier, others waited at another or had ended",
            )
        )
    if outcome.clipped_lanes:
        found.append(
            DeviceFinding(
                kind=BUFFER_CLIPPED,
                count=outcome.clipped_lanes,
                message="the range check of buffer resources gave 0 to loads and dropped stores, as the hardware does; "
                "compilers mask lanes this way",
                severity="note",
            )
        )
    return found
