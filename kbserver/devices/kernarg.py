"""The argument block of a launch: each argument at the next multiple of its size, as C lays out a structure."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

_FORMATS = {"i32": "<i", "u32": "<I", "i64": "<q", "u64": "<Q", "f32": "<f", "f64": "<d"}


def pack(arguments: Sequence[str | Sequence[object]], addresses: Mapping[str, int]) -> bytes:
    """Return the block of a launch's arguments: names of buffers, or (type, number) pairs."""
    block = bytearray()
    for argument in arguments:
        if isinstance(argument, str):
            raw = struct.pack("<Q", addresses[argument])
        else:
            kind, value = argument
            raw = struct.pack(_FORMATS[str(kind)], value)
        block += bytes(-len(block) % len(raw)) + raw
    return bytes(block)
