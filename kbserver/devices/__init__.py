"""Where machine code runs: one interface for the CPU emulator and for GPUs.

`find_device(name)` gives a `Device`; `device.load(code)` prepares a kernel; `loaded.launch(...)` runs it over shared
buffers and tells what happened. Results are in the buffers. Everything that came from a kernel's author stays behind
this interface in a process of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kbserver.core.errors import NoDevice, UnknownName, UsageError
from kbserver.devices.interface import Device

if TYPE_CHECKING:
    from kbserver.devices.gpu import Gpu

DEVICES = ("auto", "emulator", "hip", "cuda")
GPUS = ("hip", "cuda")
KFD = Path("/dev/kfd")
"""The driver of AMD GPUs makes this node; without it no process can reach one."""


@dataclass(frozen=True)
class Choice:
    """The device that a run uses, and why it is that one."""

    device: Device
    decided_by: str


def find_device(name: str = "auto", arch: str | None = None) -> Choice:
    """Return the device of a name; `auto` takes an AMD GPU of the target `arch`, else the emulator, and says why.

    Raises UnknownName, and NoDevice when a GPU was named that is not there.
    """
    from kbserver.devices.emulator import Emulator

    if name not in DEVICES:
        raise UnknownName("device", name, DEVICES, where="device")
    if name == "emulator":
        return Choice(Emulator(), "--device")
    if name in GPUS:
        return Choice(_gpu(name), "--device")
    found = "no AMD GPU here"
    if KFD.exists():
        try:
            gpu = _gpu("hip")
        except NoDevice as error:
            found = f"the AMD GPU cannot be used: {error.message}"
        else:
            if arch in (None, gpu.arch):
                return Choice(gpu, f"auto: an AMD GPU, {gpu.identity.name}")
            found = f"the GPU here is {gpu.arch}, the build is for {arch}"
    return Choice(Emulator(), f"auto: {found}")


def find_gpu(name: str = "auto") -> tuple[Gpu, str]:
    """Return (GPU, how it was chosen). `auto` takes an AMD GPU and nothing else. Raises NoDevice, UsageError."""
    if name == "emulator":
        raise UsageError("the emulator has no notion of time", where="device", hint="--device hip, on an AMD GPU")
    if name not in DEVICES:
        raise UnknownName("device", name, (*GPUS, "auto"), where="device")
    if name in GPUS:
        return _gpu(name), "--device"
    try:
        return _gpu("hip"), "auto: an AMD GPU"
    except NoDevice as error:
        raise NoDevice(
            f"no AMD GPU to time on: {error.message}",
            where="--device auto",
            hint="`kb verify` and `kb profile` need no GPU; --device cuda tries the harness on an NVIDIA GPU",
        ) from None


def _gpu(kind: str) -> Gpu:
    from kbserver.devices.gpu import Gpu

    return Gpu(kind)
