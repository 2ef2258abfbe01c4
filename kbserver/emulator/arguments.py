"""What a launch puts in memory for the kernel: the argument segment with its hidden part, and the dispatch packet."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kbserver.core.errors import UsageError
from kbserver.emulator.context import PRIVATE_APERTURE, SHARED_APERTURE
from kbserver.emulator.ir import LANES
from kbserver.emulator.kernel import Kernel
from kbserver.emulator.memory import Buffer


@dataclass(frozen=True)
class Launch:
    """Grid in workgroups, block in work-items, and LDS beyond the kernel's own."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_lds_bytes: int = 0

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def waves(self) -> int:
        return -(-self.threads // LANES)

    def initial_exec(self) -> np.ndarray:
        """Return EXEC of each wavefront: the last one may be partly empty."""
        bits = np.arange(self.waves * LANES) < self.threads
        return np.packbits(bits, bitorder="little").view(np.uint64)

    def initial_v0(self, axes: int = 3) -> np.ndarray:
        """Return v0 of each wavefront: work-item ids packed as x | y << 10 | z << 20 (gfx90a and later).

        axes: how many of them the kernel asked for; the others are 0, and code that asked for x alone does not mask.
        """
        item = np.arange(self.waves * LANES, dtype=np.uint32)
        x, rest = item % self.block[0], item // self.block[0]
        packed = x | rest % self.block[1] << 10 | rest // self.block[1] << 20
        return (packed & ((1 << 10 * axes) - 1)).astype(np.uint32)

    def packet(self, kernarg_address: int) -> np.ndarray:
        """Return the 64-byte kernel dispatch packet of HSA."""
        work_items = [blocks * size for blocks, size in zip(self.grid, self.block, strict=True)]
        packed = struct.pack(
            "<HHHHHHIIIIIQQQQ", 0, 3, *self.block, 0, *work_items, 0, self.dynamic_lds_bytes, 0, kernarg_address, 0, 0
        )
        return np.frombuffer(packed, np.uint8)


def queue_descriptor() -> np.ndarray:
    """Return the queue that queue_ptr points at: the upper dwords of the apertures at bytes 64 and 68 of amd_queue_t,
    which code for older code objects reads; no field of it works."""
    queue = np.zeros(64, np.uint32)
    queue[16], queue[17] = SHARED_APERTURE, PRIVATE_APERTURE
    return queue


def _hidden(launch: Launch) -> dict[str, int]:
    """Return the values of the hidden arguments (code object v5) that a kernel may read."""
    values = {
        "hidden_grid_dims": 3
        if launch.grid[2] * launch.block[2] > 1
        else 2
        if launch.grid[1] * launch.block[1] > 1
        else 1
    }
    for axis, blocks, size in zip("xyz", launch.grid, launch.block, strict=True):
        values[f"hidden_block_count_{axis}"] = blocks
        values[f"hidden_group_size_{axis}"] = size
        values[f"hidden_remainder_{axis}"] = 0
        values[f"hidden_global_offset_{axis}"] = 0
    values["hidden_dynamic_lds_size"] = launch.dynamic_lds_bytes
    values["hidden_shared_base"], values["hidden_private_base"] = SHARED_APERTURE, PRIVATE_APERTURE
    return values


def kernarg_segment(kernel: Kernel, launch: Launch, arguments: Sequence[Any]) -> np.ndarray:
    """Return the argument segment. Raises UsageError when the arguments do not fit the kernel's description."""
    size = max(kernel.entry.kernarg_bytes, 4)
    segment = np.zeros(-(-size // 4) * 4, np.uint8)
    explicit = [entry for entry in kernel.arguments if not str(entry.get("value_kind", "")).startswith("hidden_")]
    if len(explicit) != len(arguments):
        raise UsageError(f"the kernel takes {len(explicit)} arguments, {len(arguments)} were given", where=kernel.name)
    for number, (entry, value) in enumerate(zip(explicit, arguments, strict=True)):
        _place(segment, entry, _encode(value, int(entry["size"]), f"argument {number} of {kernel.name}"))
    hidden = _hidden(launch)
    for entry in kernel.arguments:
        kind = str(entry.get("value_kind", ""))
        if kind in hidden:
            _place(segment, entry, hidden[kind].to_bytes(int(entry["size"]), "little"))
    return segment


def _place(segment: np.ndarray, entry: Any, raw: bytes) -> None:
    offset = int(entry["offset"])
    segment[offset : offset + len(raw)] = np.frombuffer(raw, np.uint8)


def _encode(value: Any, size: int, where: str) -> bytes:
    if isinstance(value, Buffer):
        value = value.address
    if isinstance(value, (bytes, bytearray)):
        raw = bytes(value)
    elif isinstance(value, np.generic):
        raw = value.tobytes()
    elif isinstance(value, float):
        raw = struct.pack({2: "<e", 4: "<f", 8: "<d"}.get(size, "<d"), value)
    elif isinstance(value, int):
        raw = (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")
    else:
        raise UsageError(f"a {type(value).__name__} cannot be a kernel argument", where=where)
    if len(raw) != size:
        raise UsageError(f"the argument has {len(raw)} bytes where the kernel takes {size}", where=where)
    return raw
