"""What a wavefront finds when it starts: argument segment and dispatch packet in memory, and its first SGPRs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kbserver.core.errors import UsageError
from kbserver.emulator.arguments import Launch, kernarg_segment, queue_descriptor
from kbserver.emulator.context import PRIVATE_APERTURE, SHARED_APERTURE
from kbserver.emulator.kernel import LDS_LIMIT_BYTES, PRIVATE_BUFFER, Kernel
from kbserver.emulator.memory import Buffer, Memory
from kbserver.emulator.operands import FP16_OVERFLOW, PRIVATE_BASE, PRIVATE_LIMIT, SGPR_SLOTS, SHARED_BASE, SHARED_LIMIT
from kbserver.emulator.runtime.private_buffers import ADDS_LANE


@dataclass(frozen=True, eq=False)
class EntryState:
    """The launch's buffers with those of the runtime, and the SGPR file that every wavefront starts with."""

    memory: Memory
    sgprs: np.ndarray
    symbols: np.ndarray
    """The table of symbols: one address a slot."""


def check_launch(kernel: Kernel, launch: Launch) -> None:
    """Raise UsageError for a launch that the hardware would refuse."""
    lds = kernel.entry.lds_bytes + launch.dynamic_lds_bytes
    limit = LDS_LIMIT_BYTES[kernel.arch]
    if lds > limit:
        raise UsageError(f"the workgroup needs {lds} bytes of LDS; {kernel.arch} has {limit}", where=kernel.name)
    if not 1 <= launch.threads <= kernel.max_workgroup:
        raise UsageError(
            f"{launch.threads} threads in a workgroup; the kernel was compiled for at most {kernel.max_workgroup}",
            where=kernel.name,
            hint="see __launch_bounds__",
        )
    if min(launch.grid) < 1:
        raise UsageError(f"the grid {launch.grid} has no workgroups", where=kernel.name)


def entry_state(
    kernel: Kernel, launch: Launch, memory: Memory, arguments: Sequence[Buffer | int | float | bytes]
) -> EntryState:
    """Place arguments and dispatch packet in memory and point the user SGPRs at them."""
    segment = kernarg_segment(kernel, launch, arguments)
    whole = Memory(list(memory.buffers))
    place = whole.buffer("kernel arguments", segment)
    packet = whole.buffer("dispatch packet", launch.packet(place.address))
    entry = kernel.entry
    sgprs = np.zeros(SGPR_SLOTS, np.uint32)
    sgprs[FP16_OVERFLOW] = entry.fp16_overflow
    pointers = {"kernarg_segment_ptr": place.address, "dispatch_ptr": packet.address}
    if "queue_ptr" in entry.user_sgprs:
        pointers["queue_ptr"] = whole.buffer("queue", queue_descriptor()).address
    for name, address in pointers.items():
        if name in entry.user_sgprs:
            _set_pair(sgprs, entry.user_sgprs[name], address)
    if PRIVATE_BUFFER in entry.user_sgprs:
        # Interleaved, the lane's number added: what marks it. Its base counts from the wavefront's private memory.
        first = entry.user_sgprs[PRIVATE_BUFFER]
        sgprs[first : first + 4] = 0, 1 << 31, 0xFFFFFFFF, ADDS_LANE
    if "private_segment_size" in entry.user_sgprs:
        sgprs[entry.user_sgprs["private_segment_size"]] = kernel.private_bytes
    for slot, aperture in ((SHARED_BASE, SHARED_APERTURE), (PRIVATE_BASE, PRIVATE_APERTURE)):
        _set_pair(sgprs, slot, aperture << 32)
    for slot, aperture in ((SHARED_LIMIT, SHARED_APERTURE), (PRIVATE_LIMIT, PRIVATE_APERTURE)):
        _set_pair(sgprs, slot, aperture << 32 | 0xFFFFFFFF)
    if entry.preload_dwords:
        words = segment[entry.preload_offset_dwords * 4 :].view(np.uint32)[: entry.preload_dwords]
        sgprs[entry.preload_first : entry.preload_first + len(words)] = words
    return EntryState(whole, sgprs, _place_symbols(kernel, whole))


def _set_pair(sgprs: np.ndarray, first: int, value: int) -> None:
    sgprs[first], sgprs[first + 1] = value & 0xFFFFFFFF, value >> 32


def _place_symbols(kernel: Kernel, memory: Memory) -> np.ndarray:
    """Give every variable of the program its memory, with its first value, and return the table of symbols."""
    if not kernel.symbols:
        return np.zeros(1, np.uint64)
    addresses: dict[str, int] = {}
    buffers: dict[str, Buffer] = {}
    for symbol in kernel.symbols:
        addresses[symbol.name] = symbol.code_address
        if symbol.variable is not None:
            data = np.frombuffer(symbol.variable.data, np.uint8)
            name = f"variable {symbol.name}"
            buffers[symbol.name] = memory.buffer(name, data, writable=symbol.variable.writable)
            addresses[symbol.name] = buffers[symbol.name].address
    for symbol in kernel.symbols:
        for offset, target, addend in symbol.variable.addresses if symbol.variable is not None else ():
            field = buffers[symbol.name].array[offset : offset + 8]
            field[:] = np.frombuffer((addresses[target] + addend).to_bytes(8, "little"), np.uint8)
    table = np.array([addresses[symbol.name] for symbol in kernel.symbols], np.uint64)
    # Code reads an entry of the table as it would one of the global offset table: with a scalar load.
    return memory.buffer("table of symbols", table).array
