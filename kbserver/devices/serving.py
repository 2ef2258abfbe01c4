"""The loop of a worker process: one answer to each message, whatever the work raises."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from kbserver.core.errors import InternalError, KbError
from kbserver.devices.channel import ChannelClosed, close_all, receive, send

Work = Callable[[dict[str, Any], list[int]], dict[str, Any]]
"""Takes a message and the descriptors that came with it, which are closed afterwards; returns the answer."""


def methods_of(worker: object) -> Work:
    """Return the work of an object: each message names the method that takes it under `do`."""

    def work(message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(worker, message["do"])(message, fds)
        return answer

    return work


def of_kernel(error: BaseException) -> KbError:
    """Return an error for what no one foresaw."""
    return InternalError.of(error, "report it with the kernel")


def answer_messages(
    channel: socket.socket,
    work: Work,
    *,
    unforeseen: Callable[[BaseException], KbError] = of_kernel,
    caught: type[BaseException] = Exception,
) -> None:
    """Answer until the caller closes the channel. What is `caught` is answered with the error of `unforeseen`."""
    while True:
        try:
            message, fds = receive(channel)
        except ChannelClosed:
            return
        try:
            reply: dict[str, Any] = {"ok": work(message, fds)}
        except KbError as error:
            reply = error.payload()
        except MemoryError:
            reply = {"error": {"code": "memory", "message": "the memory limit was reached"}}
        except caught as error:
            reply = unforeseen(error).payload()
        finally:
            close_all(fds)
        send(channel, reply)
