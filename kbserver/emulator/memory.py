"""Buffers that a kernel may touch: host arrays between guard zones, and the table of ranges that every access is
checked with."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kbserver.core.errors import UsageError
from kbserver.emulator.context import RANGE, READ, WRITE

GUARD_BYTES = 4096
"""No two buffers are nearer than this, so that an address just past one is never inside the next."""
ALIGNMENT = 256
LINE_BYTES = 64
HOST_LINE_BYTES = 128
"""Two lines of the host: its prefetcher takes them in pairs."""
POISON = 0xFF
"""Fill of memory that nobody wrote: NaN in every float format, -1 as an integer."""


def aligned_bytes(size: int) -> np.ndarray:
    """Return zeroed bytes in cache lines of their own: the widest vector loads want the boundary, and host threads
    that count into one line would wait for each other."""
    raw = np.zeros(-(-size // HOST_LINE_BYTES) * HOST_LINE_BYTES + HOST_LINE_BYTES, np.uint8)
    start = -raw.ctypes.data % HOST_LINE_BYTES
    return raw[start : start + size]


@dataclass(frozen=True, eq=False)
class Buffer:
    """One allocation. `array` is the host's view; writes of the kernel show up in it."""

    name: str
    array: np.ndarray
    address: int
    writable: bool
    whole: np.ndarray
    """The allocation with its guard zones."""

    @property
    def nbytes(self) -> int:
        return int(self.array.nbytes)


@dataclass
class Memory:
    """All buffers of a launch."""

    buffers: list[Buffer] = field(default_factory=list)

    def buffer(self, name: str, data: np.ndarray, *, writable: bool = False) -> Buffer:
        """Copy an array into a buffer of its own."""
        source = np.ascontiguousarray(data)
        raw = np.full(source.nbytes + 2 * GUARD_BYTES + ALIGNMENT, POISON, np.uint8)
        start = GUARD_BYTES + (-(raw.ctypes.data + GUARD_BYTES)) % ALIGNMENT
        inside = raw[start : start + source.nbytes]
        inside[:] = source.reshape(-1).view(np.uint8)
        view = inside.view(source.dtype).reshape(source.shape)
        buffer = Buffer(name, view, raw.ctypes.data + start, writable, raw)
        self.buffers.append(buffer)
        return buffer

    def output(self, name: str, shape: tuple[int, ...], dtype: np.dtype | type) -> Buffer:
        """Return a writable buffer that is poisoned: what the kernel leaves unwritten stays NaN."""
        poison = np.full(int(np.prod(shape)) * np.dtype(dtype).itemsize, POISON, np.uint8)
        return self.buffer(name, poison.view(dtype).reshape(shape), writable=True)

    def table(self) -> np.ndarray:
        """Return the ranges as the generated code reads them. Raises UsageError when two buffers share a name."""
        names = [buffer.name for buffer in self.buffers]
        if len(set(names)) != len(names):
            raise UsageError("two buffers have one name", where=", ".join(names))
        table = np.zeros((max(1, len(self.buffers)), len(RANGE)), np.uint64)
        for row, buffer in zip(table, self.buffers, strict=False):
            row[RANGE["base"]] = buffer.address
            row[RANGE["end"]] = buffer.address + buffer.nbytes
            row[RANGE["line_end"]] = -(-(buffer.address + buffer.nbytes) // LINE_BYTES) * LINE_BYTES
            row[RANGE["rights"]] = READ | (WRITE if buffer.writable else 0)
        return table

    def describe(self, address: int) -> str:
        """Return where an address lies: in which buffer, or how far from the nearest."""
        if not self.buffers:
            return f"0x{address:x}: no buffers"
        nearest = min(self.buffers, key=lambda b: max(b.address - address, address - (b.address + b.nbytes) + 1, 0))
        place = address - nearest.address
        if 0 <= place < nearest.nbytes:
            return f"{nearest.name} + {place} bytes"
        if place < 0:
            return f"{-place} bytes before {nearest.name}"
        return f"{place - nearest.nbytes} bytes past the end of {nearest.name} ({nearest.nbytes} bytes)"
