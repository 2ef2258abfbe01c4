"""Messages between processes: whole or an error, never a guess."""

from __future__ import annotations

import os
import socket
import struct

import pytest

from kbserver.devices.channel import MAX_MESSAGE_BYTES, BadMessage, ChannelClosed, close_all, receive, send


@pytest.fixture
def pair() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def test_a_message_arrives_with_its_descriptors(pair: tuple[socket.socket, socket.socket]) -> None:
    read_end, write_end = os.pipe()
    send(pair[0], {"do": "load", "text": "é" * 1000}, [write_end])
    message, fds = receive(pair[1])
    assert message == {"do": "load", "text": "é" * 1000}
    os.write(fds[0], b"through")
    assert os.read(read_end, 100) == b"through"
    close_all([read_end, write_end, *fds])


def test_messages_keep_their_bounds(pair: tuple[socket.socket, socket.socket]) -> None:
    send(pair[0], {"n": 1})
    send(pair[0], {"n": 2})
    assert [receive(pair[1])[0]["n"], receive(pair[1])[0]["n"]] == [1, 2]


def test_the_end_of_the_other_side_is_told_apart(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[0].close()
    with pytest.raises(ChannelClosed):
        receive(pair[1])
    with pytest.raises(ChannelClosed):
        send(pair[1], {"n": 1})


def test_half_a_message_is_the_end_of_the_other_side(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[0].sendall(struct.pack("<I", 100) + b'{"n"')
    pair[0].close()
    with pytest.raises(ChannelClosed):
        receive(pair[1])


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<I", MAX_MESSAGE_BYTES + 1),
        struct.pack("<I", 4) + b"nope",
        struct.pack("<I", 2) + b"[]",
        struct.pack("<I", 2) + b"\xff\xfe",
    ],
)
def test_what_is_no_message_is_refused(pair: tuple[socket.socket, socket.socket], data: bytes) -> None:
    pair[0].sendall(data)
    with pytest.raises(BadMessage):
        receive(pair[1])


def test_waiting_has_an_end(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[1].settimeout(0.01)
    with pytest.raises(TimeoutError):
        receive(pair[1])
