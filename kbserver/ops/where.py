"""Which target a run is for and where it runs: the arguments `arch` and `device` together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kbserver.core.errors import UsageError
from kbserver.core.targets import features_of
from kbserver.ops.compile import resolve_target

if TYPE_CHECKING:
    from kbserver.devices import Choice
    from kbserver.devices.gpu import Gpu


def choose(device: str, arch: str | None, path: str | None) -> tuple[str, str, Choice]:
    """Return (target, how it was decided, device). Without `arch`, a GPU that is named decides the target.

    path: the kernel's file, if it is one; machine code in it has its target. Raises NoDevice, UnknownName, UsageError.
    """
    from kbserver.devices import GPUS, find_device

    if device in GPUS:
        choice = find_device(device)
        return *gpu_target(choice.device, arch), choice  # type: ignore[arg-type]
    target, decided_by = target_of(arch, path)
    return target, decided_by, find_device(device, target)


def target_of(arch: str | None, path: str | None) -> tuple[str, str]:
    """Return (target, how it was decided): `arch`, else the target of the machine code in a file, else the default."""
    from kbserver.toolchain.ready import is_ready, open_ready

    if arch is None and path is not None and is_ready(path):
        _, named = open_ready(Path(path).expanduser(), None)
        if named is not None:
            return resolve_target(named)[0], "the file"
    return run_target(arch)


def run_target(arch: str | None) -> tuple[str, str]:
    """Return (target, how it was decided) of a run, which must not claim features that its build does not have.

    Raises UnknownName, UsageError.
    """
    features = features_of(arch or "")
    if features:
        raise UsageError(
            f"runs are built for the target alone, without {features.strip(':')}",
            where="arch",
            hint=f"--arch {(arch or '').split(':')[0]}; `kb compile` and `kb asm` take features",
        )
    return resolve_target(arch)


def gpu_target(gpu: Gpu, arch: str | None) -> tuple[str, str]:
    """Return (target, how it was decided) of a run on a GPU. Raises UsageError when `arch` is another target."""
    if arch is None or arch == gpu.arch:
        return gpu.arch, "the device" if arch is None else "given"
    if gpu.name == "cuda":
        raise UsageError(f"{arch} code cannot run here: the device is {gpu.identity.name}, {gpu.arch}", where="arch",
                         hint="leave --arch out: portable kernels are built for the device")  # fmt: skip
    target, decided_by = run_target(arch)
    if target != gpu.arch:
        raise UsageError(f"the build would be for {target}, the device is {gpu.arch} ({gpu.identity.name})",
                         where="arch", hint=f"--arch {gpu.arch}")  # fmt: skip
    return target, decided_by
