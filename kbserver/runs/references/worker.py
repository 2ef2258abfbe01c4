"""The process of somebody's reference: `python -m kbserver.runs.references.worker FD`, started by `foreign.py`.

It gives up files, network and memory beyond a limit before it reads the source.
"""

from __future__ import annotations

import os
import socket
import sys
import traceback
from types import SimpleNamespace
from typing import Any

from kbserver.core.errors import ContentError
from kbserver.devices.buffers import mapped
from kbserver.devices.serving import answer_messages, methods_of
from kbserver.devices.worker import confine, limit_process
from kbserver.runs.problem import Problem
from kbserver.runs.references.module import ModuleReference

MEMORY_BYTES = 4 << 30
LIFE_S = 7200.0


class Worker:
    """The reference that was loaded."""

    def __init__(self) -> None:
        self.name = "reference"
        self.problem: Any = None
        self.reference: Any = None

    def load(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        self.name, self.problem = message["name"], Problem(**message["problem"])
        namespace: dict[str, Any] = {"__name__": "reference", "__file__": self.name}
        exec(compile(message["source"], self.name, "exec"), namespace)
        self.reference = ModuleReference(SimpleNamespace(**namespace), self.name)
        return {"families": list(self.reference.families)}

    def inputs(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        made = self.reference.inputs(self.problem, message["sizes"], message["seed"], message["family"])
        with mapped(message["layouts"], fds) as buffers:
            for buffer in buffers:
                buffer.array[...] = made[buffer.layout.name]
        return {}

    def exact(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        count = len(message["inputs"])
        with mapped(message["layouts"], fds) as buffers:
            inputs = {buffer.layout.name: buffer.array.copy() for buffer in buffers[:count]}
            found = self.reference.arrays(self.problem, message["sizes"], inputs)
            for place, name in enumerate(message["outputs"]):
                for offset in (0, 1):
                    buffers[count + 2 * place + offset].array[...] = found[name][offset]
        return {}

    def flops(self, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        return {"flops": self.reference.flops(self.problem, message["sizes"])}


def told(error: BaseException, name: str) -> ContentError:
    """Return an exception of the reference as an error that names its line."""
    line = None
    if isinstance(error, SyntaxError) and error.filename == name:
        line = error.lineno
    for frame in traceback.extract_tb(error.__traceback__):
        line = frame.lineno if frame.filename == name else line
    text = str(error).strip().splitlines()
    message = f"{type(error).__name__}: {text[0][:300]}" if text else type(error).__name__
    return ContentError(f"the reference failed: {message}", where=f"{name}:{line}" if line else name)


def serve(channel: socket.socket) -> None:
    """Answer messages until the caller closes the channel."""
    worker = Worker()
    limit_process(MEMORY_BYTES, LIFE_S)
    confine(None)
    answer_messages(
        channel,
        methods_of(worker),
        unforeseen=lambda error: told(error, worker.name),
        caught=BaseException,  # its author's code may raise anything, SystemExit too
    )


if __name__ == "__main__":
    os.chdir("/")
    serve(socket.socket(fileno=int(sys.argv[1])))
