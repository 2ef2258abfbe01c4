"""The emulator as a device: the kernel runs in a process of its own that is limited and cannot take ours down."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import IO, Any

from kbserver.core.errors import EngineCrashed, KbError, TimedOut, error_from_payload
from kbserver.core.paths import current_roots
from kbserver.devices.buffers import SharedBuffer
from kbserver.devices.channel import BadMessage, ChannelClosed, receive, send
from kbserver.devices.interface import Code, DeviceFinding, Launch, LaunchReport, LoadedInfo, Support
from kbserver.emulator.measurement import Measurement

MEMORY_BYTES = 4 << 30
"""Address space for Python, LLVM and the emulator; buffers come on top."""
MAX_STDERR = 2000


class Emulator:
    """Executes the kernel's machine code on this CPU, translated to host code."""

    name = "emulator"

    def load(self, code: Code, *, buffer_bytes: int, wall_s: float) -> LoadedOnEmulator:
        """Start a process and load the kernel in it."""
        return LoadedOnEmulator(code, buffer_bytes, wall_s)


class LoadedOnEmulator:
    """A kernel in its worker process. Use it from one thread, and close it."""

    def __init__(self, code: Code, buffer_bytes: int, wall_s: float) -> None:
        self._entry = code.entry
        self._wall_s = wall_s
        self._deadline = time.monotonic() + wall_s
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._channel, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kbserver.devices.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=_environment(),
            )
        finally:
            theirs.close()
        try:
            self.info = self._load(code, MEMORY_BYTES + buffer_bytes)
        except BaseException:
            self.close()
            raise

    def _load(self, code: Code, memory_bytes: int) -> LoadedInfo:
        with tempfile.TemporaryFile() as text:
            text.write(code.assembly.encode())
            text.flush()
            answer = self._ask(
                {
                    "do": "load",
                    "entry": code.entry,
                    "arch": code.arch,
                    "cache": str(current_roots().cache),
                    "memory_bytes": memory_bytes,
                    "wall_s": self._wall_s,
                },
                [text.fileno()],
            )
        return LoadedInfo(**{**answer, "support": Support(**answer["support"])})

    def launch(self, launch: Launch, buffers: Sequence[SharedBuffer]) -> LaunchReport:
        answer = self._ask(
            {"do": "launch", **asdict(launch), "buffers": [asdict(one.layout) for one in buffers]},
            [one.fd for one in buffers],
        )
        findings = tuple(DeviceFinding(**entry) for entry in answer["findings"])
        return LaunchReport(**{**answer, "findings": findings})

    def profile(self, launch: Launch, buffers: Sequence[SharedBuffer], sample: int | None) -> Measurement:
        """Count the launch's instructions over the whole grid and record the accesses of `sample` workgroups, or all.

        Raises what `launch` raises.
        """
        answer = self._ask(
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

    def _ask(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        try:
            self._channel.settimeout(max(0.01, self._deadline - time.monotonic()))
            send(self._channel, message, fds)
            answer, _ = receive(self._channel)
        except TimeoutError:
            self._kill()
            raise TimedOut(
                f"running the kernel took more than {self._wall_s:g} s",
                where=self._entry,
                hint="use a smaller shape",
                details={"limit": "wall"},
            ) from None
        except ChannelClosed:
            raise self._crashed() from None
        except BadMessage as error:
            raise self._crashed(f"answered with what is no message: {error}") from None
        if "error" in answer:
            raise self._error(answer)
        return answer["ok"]

    def _error(self, answer: dict[str, Any]) -> KbError:
        if answer["error"]["code"] == "memory":
            return EngineCrashed("the emulator's process reached its memory limit", where=self._entry)
        return error_from_payload(answer)

    def _crashed(self, how: str | None = None) -> EngineCrashed:
        """Return the error for a process that died: how, and the last line that it said."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        code = self._process.poll()
        if how is None:
            how = f"died of {signal.Signals(-code).name}" if code is not None and code < 0 else f"ended with {code}"
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - MAX_STDERR))
        said = [line for line in self._stderr.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return EngineCrashed(
            f"the process that executes the kernel {how}" + (f": {said[-1][:200]}" if said else ""),
            where=self._entry,
            hint="a fault of the emulator or of LLVM, not a verdict about the kernel: report it with the source",
            details={"stderr": said[-10:]},
        )

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """End the process and everything that it started."""
        self._channel.close()
        self._kill()
        self._stderr.close()


def _environment() -> dict[str, str]:
    """Return the environment of the worker: no user settings of Python, and this process's import paths."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    # The worker must find the package where this process found it, also when that was no installed copy.
    paths = [path for path in sys.path if path and os.path.isdir(path)]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1", "PYTHONNOUSERSITE": "1"}  # fmt: skip
