"""What rocminfo and its runtime print instead of GPUs, and what usually helps."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kbserver.core.model import Record


class Problem(Record):
    """Something wrong or missing: a stable code, what it is, and what to do."""

    code: str
    message: str
    hint: str
    gpus: tuple[int, ...] = ()
    """Indices of the GPUs that it concerns; empty when it concerns the whole text."""


@dataclass(frozen=True)
class _Rule:
    code: str
    pattern: re.Pattern[str]
    message: str
    hint: str


_LINE_CHARS = 2000  # error lines are short; searching `.*` in a line of megabytes is quadratic
_GROUPS = (
    "add the user to the groups that own the device (`sudo usermod -aG render,video $USER`, then log in again); in a"
    " container pass --device=/dev/kfd --device=/dev/dri --group-add video --group-add render"
)

_RULES = tuple(
    _Rule(code, re.compile(pattern, re.IGNORECASE), message, hint)
    for code, pattern, message, hint in (
        (
            "kfd_permission_denied",
            r"/dev/kfd.*permission denied|is not (?:a )?member of \W{0,3}(?:video|render)\W{0,3} group",
            "/dev/kfd exists but this user may not open it",
            _GROUPS,
        ),
        (
            "kfd_missing",
            r"/dev/kfd.*no such file",
            "/dev/kfd does not exist: the amdgpu driver is not loaded, or the container did not get the device",
            "on the host `sudo modprobe amdgpu` and look at `dmesg | grep -i amdgpu`; in a container pass"
            " --device=/dev/kfd --device=/dev/dri",
        ),
        (
            "kfd_invalid_argument",
            r"/dev/kfd.*invalid argument",
            "the kernel driver refused to open /dev/kfd",
            "often the installed driver does not support this GPU: look at `dmesg | grep -i kfd` and compare the"
            " versions of the amdgpu driver and ROCm",
        ),
        (
            "kfd_out_of_memory",
            r"/dev/kfd.*cannot allocate memory",
            "the kernel had no memory for this process's GPU context",
            "look at `dmesg | grep -i kfd`, free memory and raise `ulimit -v` and the container's memory limit",
        ),
        (
            "driver_not_loaded",
            r"ROCk module is NOT loaded",
            "the kernel driver (amdgpu with KFD) is not loaded",
            "`sudo modprobe amdgpu`, then `dmesg | grep -i amdgpu`; after a kernel update rebuild the DKMS module; a"
            " container sees the driver only when the host has it",
        ),
        (
            "wsl_assertion",
            r"thunk_proxy.*assertion",
            "ROCm for WSL stopped in its connection to the Windows driver",
            "update the Windows driver (AMD Software) and ROCm for WSL to versions of one release; the GPU must be on"
            " AMD's WSL support list",
        ),
        (
            "out_of_resources",
            r"HSA_STATUS_ERROR_OUT_OF_RESOURCES",
            "the HSA runtime could not start: HSA_STATUS_ERROR_OUT_OF_RESOURCES",
            "in most cases the driver is missing, the device may not be opened, or driver and ROCm do not fit together:"
            " check /dev/kfd, its permissions and `dmesg`; under WSL the GPU must be on AMD's WSL support list",
        ),
        (
            "hsakmt_allocation_failed",
            r"\[hsaKmtAllocMemory\] failed",
            "the user-mode driver could not allocate memory",
            "check that the amdgpu driver is loaded, `ulimit -l`, and the memory limit of the container",
        ),
        (
            "hsa_error",
            r"returned HSA_STATUS_ERROR(?!_OUT_OF_RESOURCES)\w*",
            "the HSA runtime reported an error",
            "look at `dmesg | grep -i amdgpu`; driver and ROCm must be of releases that fit together",
        ),
        (
            "rocminfo_not_found",
            r"rocminfo.*(?:command not found|not found$|No such file)",
            "rocminfo is not installed where this was run",
            "install the package rocminfo, or add /opt/rocm/bin to PATH",
        ),
        (
            "wsl",
            r"WSL environment detected",
            "this ran under WSL, where ROCm reports less (no UUID, no BDFID) and supports few GPUs",
            "for Instinct boards use Linux on the machine itself",
        ),
    )
)


def error_problems(lines: list[str]) -> list[Problem]:
    """Return one problem for each kind of error that the lines show, in the order of the rules."""
    starts = [line[:_LINE_CHARS] for line in lines]
    return [
        Problem(code=rule.code, message=rule.message, hint=rule.hint)
        for rule in _RULES
        if any(rule.pattern.search(line) for line in starts)
    ]
