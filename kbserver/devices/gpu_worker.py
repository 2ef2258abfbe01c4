"""The process that drives a GPU: `python -m kbserver.devices.gpu_worker FD`, started by `gpu.py` and by nobody else.

A kernel that hangs or faults takes down this process, not ours. The process has the driver's memory needs, so it has no
address-space limit, and needs the device nodes, so it is not confined; nothing of the kernel's author runs on its CPU.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
from dataclasses import asdict
from typing import Any

from kbserver.core.errors import NoDevice
from kbserver.devices.buffers import Layout, SharedBuffer
from kbserver.devices.serving import answer_messages, methods_of


class GpuWorker:
    """Messages to calls of a session."""

    def __init__(self) -> None:
        self.session: Any = None
        self.telemetry: Any = None

    def open(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        from kbserver.devices.gpu_api import NoDriver
        from kbserver.devices.gpu_session import Session
        from kbserver.devices.telemetry import telemetry_of

        try:
            self.session = Session(message["kind"], message["ordinal"])
        except NoDriver as error:
            raise NoDevice(str(error)) from None
        identity = self.session.api.identity
        self.telemetry = telemetry_of(identity.kind, identity.bus)
        return asdict(identity)

    def load(self, message: dict[str, Any], fds: list[int]) -> dict[str, int]:
        with os.fdopen(fds.pop(), "rb") as handle:
            handle.seek(0)
            return self.session.load(message["slot"], handle.read(), message["entry"])

    def load_library(self, message: dict[str, Any], fds: list[int]) -> dict[str, str]:
        from kbserver.devices.library_slot import library_kernel

        self.session.kernels[message["slot"]], about = library_kernel(message["call"])
        return {"about": about}

    def attach(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        for key, entry in message["buffers"].items():
            layout = Layout(**{**entry, "shape": tuple(entry["shape"])})
            self.session.attach(key, SharedBuffer(layout, fds.pop(0)))
        return {}

    def scratch(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        self.session.scratch(message["bytes"])
        return {}

    def upload(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        self.session.upload(message["keys"])
        return {}

    def download(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        self.session.download(message["keys"])
        return {}

    def run(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        ms = self.session.run(message["plan"], spin_ms=message["spin_ms"], limit_s=message["limit_s"])
        # Read while the clocks are still those of the work that was just done.
        return {"ms": ms, "state": self.telemetry.read() if message.get("telemetry") else None}


def confine_process() -> None:
    """No core dump of device memory; the process ends when its parent does."""
    import ctypes
    import signal

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def serve(channel: socket.socket) -> None:
    """Answer messages until the caller closes the channel."""
    confine_process()
    answer_messages(channel, methods_of(GpuWorker()))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
