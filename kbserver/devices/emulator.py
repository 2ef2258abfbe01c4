"""The emulator as a device: the kernel runs in a process of its own that is limited and cannot take ours down."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict
from threading import Thread
from typing import Any

from kbserver.core.paths import current_roots
from kbserver.devices.buffers import SharedBuffer
from kbserver.devices.child import Child
from kbserver.devices.interface import Checked, Code, DeviceFinding, Launch, LaunchReport, LoadedInfo, Support
from kbserver.emulator.measurement import Measurement

MEMORY_BYTES = 4 << 30
"""Address space for Python, LLVM and the emulator; buffers come on top."""


class Emulator:
    """Executes the kernel's machine code on this CPU, translated to host code."""

    name = "emulator"

    def load(self, code: Code, *, buffer_bytes: int, wall_s: float) -> LoadedOnEmulator:
        """Start a process and load the kernel in it."""
        return LoadedOnEmulator(code, buffer_bytes, wall_s)

    def load_checks(self, code: Code, *, buffer_bytes: int, wall_s: float) -> ChecksOnEmulator:
        """Start a second process, which prepares the kernel for checks while the first one runs it."""
        return ChecksOnEmulator(code, buffer_bytes, wall_s)


class LoadedOnEmulator:
    """A kernel in its worker process. Use it from one thread, and close it."""

    def __init__(self, code: Code, buffer_bytes: int, wall_s: float) -> None:
        self._wall_s = wall_s
        self._child = Child(
            "kbserver.devices.worker", where=code.entry, wall_s=wall_s, engine="the emulator or of LLVM"
        )
        self._process = self._child.process
        try:
            self.info = self._load(code, MEMORY_BYTES + buffer_bytes)
        except BaseException:
            self.close()
            raise

    def _load(self, code: Code, memory_bytes: int) -> LoadedInfo:
        answer = _ask_to_load(self._child, "load", code, memory_bytes, self._wall_s)
        return LoadedInfo(**{**answer, "support": Support(**answer["support"])})

    def launch(self, launch: Launch, buffers: Sequence[SharedBuffer]) -> LaunchReport:
        answer = self._child.ask(
            {"do": "launch", **asdict(launch), "buffers": [asdict(one.layout) for one in buffers]},
            [one.fd for one in buffers],
        )
        findings = tuple(DeviceFinding(**entry) for entry in answer["findings"])
        return LaunchReport(**{**answer, "findings": findings})

    def profile(self, launch: Launch, buffers: Sequence[SharedBuffer], sample: int | None) -> Measurement:
        """Count the launch's instructions over the whole grid and record the accesses of `sample` workgroups, or all.

        Raises what `launch` raises.
        """
        answer = self._child.ask(
            {
                "do": "profile",
                **asdict(launch),
                "sample": sample,
                "cache": str(current_roots().cache),
                "buffers": [asdict(one.layout) for one in buffers],
            },
            [one.fd for one in buffers],
        )
        return Measurement.from_json(answer)

    def close(self) -> None:
        """End the process and everything that it started."""
        self._child.close()


class ChecksOnEmulator:
    """A kernel in the worker process that checks it; loading goes on in the background until `check` needs it."""

    def __init__(self, code: Code, buffer_bytes: int, wall_s: float) -> None:
        self._child = Child(
            "kbserver.devices.worker", where=code.entry, wall_s=wall_s, engine="the emulator's checks or of LLVM"
        )
        self._loaded: Future[None] = Future()
        cache = str(current_roots().cache)
        arguments = (self._child, "load_checks", code, MEMORY_BYTES + buffer_bytes, wall_s, cache)
        self._thread = Thread(target=self._load, args=arguments, daemon=True)
        self._thread.start()

    def _load(self, *arguments: Any) -> None:
        try:
            self._loaded.set_result(_ask_to_load(*arguments))
        except BaseException as error:  # told to the one who waits for it
            self._loaded.set_exception(error)

    def check(self, launch: Launch, buffers: Sequence[SharedBuffer], sample: int | None) -> Checked:
        """Raises what loading and launching raise."""
        self._loaded.result()
        answer = self._child.ask(
            {"do": "check", **asdict(launch), "sample": sample, "buffers": [asdict(one.layout) for one in buffers]},
            [one.fd for one in buffers],
        )
        findings = tuple(DeviceFinding(**entry) for entry in answer["findings"])
        return Checked(**{**answer, "checks": tuple(answer["checks"]), "findings": findings})

    def close(self) -> None:
        """End the process; a load that still goes on ends with it."""
        self._child.kill()
        self._thread.join()
        self._child.close()


def _ask_to_load(
    child: Child, verb: str, code: Code, memory_bytes: int, wall_s: float, cache: str | None = None
) -> dict[str, Any]:
    """Hand the assembly text to a worker and return its answer."""
    with tempfile.TemporaryFile() as text:
        text.write(code.assembly.encode())
        text.flush()
        return child.ask(
            {
                "do": verb,
                "entry": code.entry,
                "arch": code.arch,
                "cache": cache or str(current_roots().cache),
                "memory_bytes": memory_bytes,
                "wall_s": wall_s,
            },
            [text.fileno()],
        )
