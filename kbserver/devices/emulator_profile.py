"""One profile on the emulator, inside the worker: the whole grid counted, a sample of its workgroups recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kbserver.devices.buffers import SharedBuffer
from kbserver.devices.emulator_launch import argument, emulator_buffers
from kbserver.emulator.machine import Machine
from kbserver.emulator.memory import Memory
from kbserver.emulator.profiling import profile as measure


def profile(machine: Machine, message: dict[str, Any], shared: Sequence[SharedBuffer]) -> dict[str, Any]:
    """Return the measurement as JSON."""
    buffers = emulator_buffers(shared)
    cache = message.get("cache")
    measured = measure(
        machine,
        Memory(list(buffers.values())),
        [argument(entry, buffers) for entry in message["arguments"]],
        grid=tuple(message["grid"]),
        block=tuple(message["block"]),
        dynamic_lds_bytes=message["dynamic_lds_bytes"],
        sample=message["sample"],
        threads=message["threads"],
        cache=Path(cache) if cache else None,
        fuel=message["fuel"],
    )
    return measured.to_json()
