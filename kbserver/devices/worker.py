"""The process that runs kernels: `python -m kbserver.devices.worker FD`, started by `emulator.py` and by nobody else.

It limits itself before it reads a message. A kernel that brings LLVM or the emulator down brings down only this.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
from pathlib import Path
from typing import Any

from kbserver.core.errors import KbError
from kbserver.devices.buffers import mapped
from kbserver.devices.interface import LaunchReport, Support
from kbserver.devices.serving import answer_messages, methods_of

MAX_MISSING = 20


class Worker:
    """The kernel that was loaded, and what it is launched on."""

    def __init__(self) -> None:
        self.machine: Any = None
        self.checker: Any = None

    def load(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Translate and compile the kernel whose assembly text is behind the descriptor."""
        from kbserver.emulator.jit import check_host
        from kbserver.emulator.kernel import load_kernel
        from kbserver.emulator.machine import Machine

        program = _program(fds)
        host = check_host()
        support, has_atomics = _survey(program, message["entry"])
        try:
            kernel = load_kernel(program, message["entry"], message["arch"])
        except KbError as error:
            error.details["support"] = support.__dict__
            raise
        cache = message.get("cache")
        self.machine = Machine(kernel, cache=Path(cache) if cache else None, adaptive=True)
        return {
            "support": support.__dict__,
            "arguments": sum(not str(a.get("value_kind", "")).startswith("hidden_") for a in kernel.arguments),
            "lds_bytes": kernel.entry.lds_bytes,
            "has_atomics": has_atomics,
            "translate_s": self.machine.translate_s,
            "compile_s": self.machine.code.compile_s,
            "cached": self.machine.code.cached,
            "host": host,
        }

    def launch(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Run the loaded kernel over the buffers behind the descriptors."""
        from kbserver.devices.emulator_launch import launch

        with mapped(message["buffers"], fds) as buffers:
            report: LaunchReport = launch(self.machine, message, buffers)
        return {**report.__dict__, "findings": [finding.__dict__ for finding in report.findings]}

    def profile(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Count the loaded kernel's instructions and accesses over the buffers behind the descriptors."""
        from kbserver.devices.emulator_profile import profile

        with mapped(message["buffers"], fds) as buffers:
            return profile(self.machine, message, buffers)

    def load_checks(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Translate the kernel with masks and trace."""
        from kbserver.emulator.checks.run import Checker
        from kbserver.emulator.kernel import load_kernel

        kernel = load_kernel(_program(fds), message["entry"], message["arch"])
        cache = message.get("cache")
        self.checker = Checker(kernel, cache=Path(cache) if cache else None)
        return {}

    def check(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Check one launch over the buffers behind the descriptors."""
        from kbserver.devices.emulator_check import check

        with mapped(message["buffers"], fds) as buffers:
            report = check(self.checker, message, buffers)
        return {**report.__dict__, "findings": [finding.__dict__ for finding in report.findings]}


def _program(fds: list[int]) -> Any:
    """Return the program whose assembly text is behind the descriptor."""
    from kbserver.toolchain.assembly import parse_assembly

    with os.fdopen(fds.pop(), "rb") as handle:
        handle.seek(0)
        return parse_assembly(handle.read().decode("utf-8", "replace"))


def _survey(program: Any, entry: str) -> tuple[Support, bool]:
    """Return how much of the kernel can be executed, and whether it has atomic operations."""
    from kbserver.emulator.checks.report import is_atomic
    from kbserver.emulator.decode import base_name
    from kbserver.emulator.linking import reached
    from kbserver.emulator.support import survey

    function = program.functions.get(entry)
    if function is None:
        return Support(0, 0), False
    function = reached(program, function)
    found = survey(function)
    first: dict[str, Any] = {}
    for item in function.instructions:
        first.setdefault(base_name(item.mnemonic)[0], item)
    missing = tuple(
        {
            "mnemonic": mnemonic,
            "text": " ".join(first[mnemonic].text.split()),
            "line": first[mnemonic].line,
            "source": str(first[mnemonic].source) if first[mnemonic].source else None,
            "count": count,
        }
        for mnemonic, count in list(found.unsupported.items())[:MAX_MISSING]
    )
    has_atomics = any(is_atomic(item.mnemonic) for item in function.instructions)
    return Support(found.total, found.supported, missing), has_atomics


def limit_process(memory_bytes: int, wall_s: float) -> None:
    """Bound this process: address space, CPU seconds, file size, no core dump; it ends when its parent does."""
    import ctypes
    import signal

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
    seconds = int(wall_s * (os.cpu_count() or 1)) + 10
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def confine(cache: str | None) -> bool:
    """Take away files and network, as far as this kernel can: read what Python is made of, write the cache only."""
    from kbserver.toolchain.sandbox import confinement

    readable = [Path(entry) for entry in (*sys.path, sys.prefix, sys.base_prefix, "/usr/lib", "/lib") if entry]
    writable = [Path("/dev/null")]
    if cache:
        Path(cache).mkdir(parents=True, exist_ok=True)
        writable.append(Path(cache))
    with confinement(read=readable, write=writable) as enter:
        if enter is None:
            return False
        enter()
        return True


def serve(channel: socket.socket) -> None:
    """Answer messages until the caller closes the channel."""
    call = methods_of(Worker())

    def work(message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        if message["do"] in ("load", "load_checks"):
            limit_process(message["memory_bytes"], message["wall_s"])
            confine(message.get("cache"))
        return call(message, fds)

    answer_messages(channel, work)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
