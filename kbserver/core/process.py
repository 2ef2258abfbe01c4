"""Run an external program under limits: wall clock, memory, output size; the whole process group dies with it."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbserver.core.errors import OutputTooLarge, TimedOut, Unavailable


@dataclass(frozen=True)
class Limits:
    """Limits of one child: seconds of wall clock, bytes of address space, bytes of output and of any file written.

    memory_bytes None: not limited, for programs that reserve address space without using it, as GPU runtimes do.
    """

    wall_s: float = 60.0
    memory_bytes: int | None = 4 << 30
    output_bytes: int = 4 << 20
    file_bytes: int = 256 << 20


@dataclass(frozen=True)
class Finished:
    """How the child ended. `returncode` is negative for a signal, as in `subprocess`."""

    returncode: int
    stdout: str
    stderr: str
    wall_s: float


def run_limited(
    argv: Sequence[str],
    *,
    limits: Limits,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    what: str = "the program",
    preexec: Callable[[], None] | None = None,
) -> Finished:
    """Run `argv` without a shell and without standard input.

    Raises Unavailable when it cannot start, TimedOut and OutputTooLarge when a limit is reached; in every case no
    process of its group is left behind.
    """

    def prepare() -> None:
        if limits.memory_bytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if preexec is not None:
            preexec()

    started = time.monotonic()
    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=dict(env) if env is not None else None,
            start_new_session=True,
            preexec_fn=prepare,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"cannot start {what}: {error}", where=str(argv[0])) from None
    try:
        out, err = _collect(child, started, limits, what)
        child.wait(timeout=max(0.1, limits.wall_s - (time.monotonic() - started)))
    except subprocess.TimeoutExpired:
        raise TimedOut(f"{what} timed out after {limits.wall_s:g} s", where=str(argv[0])) from None
    finally:
        _kill_group(child)
    return Finished(child.returncode, out, err, time.monotonic() - started)


def _collect(child: subprocess.Popen[bytes], started: float, limits: Limits, what: str) -> tuple[str, str]:
    buffers = {child.stdout: bytearray(), child.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for stream in buffers:
            assert stream is not None
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            left = limits.wall_s - (time.monotonic() - started)
            if left <= 0:
                raise subprocess.TimeoutExpired(child.args, limits.wall_s)
            for key, _ in selector.select(timeout=left):
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                buffers[key.fileobj] += chunk  # type: ignore[index]
                if sum(map(len, buffers.values())) > limits.output_bytes:
                    raise OutputTooLarge(
                        f"{what} wrote more than {limits.output_bytes} bytes",
                        where=str(child.args[0]),  # type: ignore[index]
                    )
    out, err = buffers[child.stdout], buffers[child.stderr]
    return out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()
