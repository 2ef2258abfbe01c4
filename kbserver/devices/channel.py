"""Messages between the caller and the process that runs a kernel: length-prefixed JSON with file descriptors."""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Sequence
from typing import Any

MAX_MESSAGE_BYTES = 8 << 20
MAX_FDS = 16
_LENGTH = struct.Struct("<I")


class ChannelClosed(Exception):
    """The other process is gone."""


class BadMessage(Exception):
    """What arrived is no message: the other process does not keep to the format."""


def send(channel: socket.socket, message: dict[str, Any], fds: Sequence[int] = ()) -> None:
    """Send a message; the receiver gets its own duplicates of `fds`. Raises ChannelClosed."""
    body = json.dumps(message).encode()
    if len(body) > MAX_MESSAGE_BYTES:
        raise ValueError(f"a message of {len(body)} bytes")
    try:
        # Descriptors travel with the first byte, so they arrive with the length.
        socket.send_fds(channel, [_LENGTH.pack(len(body))], list(fds))
        channel.sendall(body)
    except (BrokenPipeError, ConnectionResetError):
        raise ChannelClosed from None


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return the next message and the descriptors that came with it. Raises ChannelClosed, BadMessage, TimeoutError."""
    try:
        head, fds, _, _ = socket.recv_fds(channel, _LENGTH.size, MAX_FDS)
        head += _exactly(channel, _LENGTH.size - len(head)) if head else b""
        if not head:
            raise ChannelClosed
        (length,) = _LENGTH.unpack(head)
        if length > MAX_MESSAGE_BYTES:
            raise BadMessage(f"a message of {length} bytes")
        message = json.loads(_exactly(channel, length))
    except (ConnectionResetError, BrokenPipeError):
        raise ChannelClosed from None
    except ValueError as error:
        raise BadMessage(str(error)) from None
    if not isinstance(message, dict):
        raise BadMessage("not an object")
    return message, fds


def close_all(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


def _exactly(channel: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        piece = channel.recv(min(1 << 20, count - len(parts)))
        if not piece:
            raise ChannelClosed
        parts += piece
    return bytes(parts)
