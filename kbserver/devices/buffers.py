"""Buffers that two processes share without a copy: anonymous memory with a guard zone on both sides of the data."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

GUARD_BYTES = 4096
"""One page on each side: a stray write that escapes every check leaves its mark there."""
GUARD_FILL = 0xA5


@dataclass(frozen=True)
class Layout:
    """What a process needs to map a buffer, besides its file descriptor."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    writable: bool

    @property
    def data_bytes(self) -> int:
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize

    @property
    def map_bytes(self) -> int:
        return 2 * GUARD_BYTES + -(-self.data_bytes // mmap.PAGESIZE) * mmap.PAGESIZE


class SharedBuffer:
    """One tensor of a launch. `array` is the data; writes of the other process show up in it."""

    def __init__(self, layout: Layout, fd: int | None = None, *, read_only: bool = False) -> None:
        """Make a buffer, or map the one behind `fd`; read_only maps it so that a write ends the process."""
        self.layout = layout
        self.fd = os.memfd_create(f"kb-{layout.name}", os.MFD_CLOEXEC) if fd is None else fd
        if fd is None:
            os.ftruncate(self.fd, layout.map_bytes)
        rights = mmap.PROT_READ if read_only else mmap.PROT_READ | mmap.PROT_WRITE
        self._map = mmap.mmap(self.fd, layout.map_bytes, mmap.MAP_SHARED, rights)
        self.whole = np.frombuffer(self._map, np.uint8)
        inside = self.whole[GUARD_BYTES : GUARD_BYTES + layout.data_bytes]
        self.array = inside.view(layout.dtype).reshape(layout.shape)
        if fd is None:
            for guard in self._guards():
                guard[:] = GUARD_FILL

    def _guards(self) -> tuple[np.ndarray, np.ndarray]:
        return self.whole[:GUARD_BYTES], self.whole[GUARD_BYTES + self.layout.data_bytes :]

    def guards_changed(self) -> int:
        """Return how many bytes of the guard zones are not what they were."""
        return sum(int(np.count_nonzero(guard != GUARD_FILL)) for guard in self._guards())

    def close(self) -> None:
        """Give the memory back once the last array over it is gone."""
        del self.array, self.whole
        self._map = None  # type: ignore[assignment]
        os.close(self.fd)


@contextmanager
def mapped(layouts: Sequence[dict[str, Any]], fds: list[int]) -> Iterator[list[SharedBuffer]]:
    """Map the buffers that a message describes for the time of its work, taking a descriptor of `fds` for each."""
    buffers = []
    for entry in layouts:
        layout = Layout(**{**entry, "shape": tuple(entry["shape"])})
        # An input is mapped without the right to write: not even a fault of the emulator can change it.
        buffers.append(SharedBuffer(layout, fds.pop(0), read_only=not layout.writable))
    try:
        yield buffers
    finally:
        for buffer in buffers:
            buffer.close()
