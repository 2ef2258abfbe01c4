"""The process that executes a kernel, as its parent sees it: started with little, asked by messages, killed at need."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

from kbserver.core.errors import EngineCrashed, KbError, TimedOut, error_from_payload
from kbserver.devices.channel import BadMessage, ChannelClosed, receive, send

MAX_STDERR = 2000
KILL_S = 10.0
"""How long a killed process may take to go: one that waits for a hung GPU can stay in the kernel for good."""


class Child:
    """One worker process. `engine` says what may be at fault when it dies. Use it from one thread, and close it."""

    def __init__(
        self, module: str, *, where: str, wall_s: float, engine: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._where, self._wall_s, self._engine = where, wall_s, engine
        self._deadline = time.monotonic() + wall_s
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._channel, theirs = socket.socketpair()
        try:
            self.process = subprocess.Popen(
                # -P: without it, modules of the current folder would be imported, and before any confinement.
                [sys.executable, "-P", "-m", module, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**_environment(), **(environment or {})},
            )
        finally:
            theirs.close()

    def ask(self, message: dict[str, Any], fds: Sequence[int] = (), limit_s: float | None = None) -> Any:
        """Send a message and return the answer; limit_s bounds this one within the time for everything.

        Raises the error that the process answers with, TimedOut when the time for everything is spent, EngineCrashed
        when the process died.
        """
        try:
            left = self._deadline - time.monotonic()
            self._channel.settimeout(max(0.01, left if limit_s is None else min(left, limit_s)))
            send(self._channel, message, fds)
            answer, _ = receive(self._channel)
        except TimeoutError:
            self.kill()
            raise TimedOut(
                f"running the kernel took more than {self._wall_s:g} s",
                where=self._where,
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
            return EngineCrashed(f"the process of {self._engine} reached its memory limit", where=self._where)
        return error_from_payload(answer)

    def _crashed(self, how: str | None = None) -> EngineCrashed:
        """Return the error for a process that died: how, and the last line that it said."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5)
        code = self.process.poll()
        if how is None:
            how = f"died of {signal.Signals(-code).name}" if code is not None and code < 0 else f"ended with {code}"
        said = self.said()
        return EngineCrashed(
            f"the process that executes the kernel {how}" + (f": {said[-1][:200]}" if said else ""),
            where=self._where,
            hint=f"a fault of {self._engine}, not a verdict about the kernel: report it with the source",
            details={"stderr": said[-10:], "signal": -code if code is not None and code < 0 else None},
        )

    def said(self) -> list[str]:
        """Return the last lines that the process wrote to its standard error."""
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - MAX_STDERR))
        return [line for line in self._stderr.read().decode("utf-8", "replace").splitlines() if line.strip()]

    def kill(self) -> bool:
        """Kill the process and everything that it started; returns whether it is gone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        try:
            self.process.wait(timeout=KILL_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End the process."""
        self._channel.close()
        self.kill()
        self._stderr.close()


def _environment() -> dict[str, str]:
    """Return the environment of the worker: no user settings of Python, and this process's import paths."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    # The worker must find the package where this process found it, also when that was no installed copy.
    paths = [path for path in sys.path if path and os.path.isdir(path)]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1", "PYTHONNOUSERSITE": "1"}  # fmt: skip
