"""Where machine code runs: one interface for the CPU emulator now and for GPUs.

`find_device(name)` gives a `Device`; `device.load(code)` prepares a kernel; `loaded.launch(...)` runs it over shared
buffers and tells what happened. Results are in the buffers. Everything that came from a kernel's author stays behind
this interface in a process of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from kbserver.core.errors import UnknownName
from kbserver.devices.interface import Device

DEVICES = ("auto", "emulator")


@dataclass(frozen=True)
class Choice:
    """The device that a run uses, and why it is that one."""

    device: Device
    decided_by: str


def find_device(name: str = "auto") -> Choice:
    """Return the device of a name; `auto` takes what this machine has. Raises UnknownName."""
    from pathlib import Path

    from kbserver.devices.emulator import Emulator

    if name not in DEVICES:
        raise UnknownName("device", name, DEVICES, where="device")
    if name == "emulator":
        return Choice(Emulator(), "--device")
    # The driver of AMD GPUs makes this node; without it no process can reach one.
    found = "this version runs no kernels on the GPU" if Path("/dev/kfd").exists() else "no AMD GPU here"
    return Choice(Emulator(), f"auto: {found}")
