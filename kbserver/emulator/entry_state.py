"""What a wavefront finds when it starts: argument segment and dispatch packet in memory, and its first SGPRs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kbserver.core.errors import UsageError
from kbserver.emulator.arguments import Launch, kernarg_segment
from kbserver.emulator.kernel import LDS_LIMIT_BYTES, Kernel
from kbserver.emulator.memory import Buffer, Memory
from kbserver.emulator.operands import SGPR_SLOTS


@dataclass(frozen=True, eq=False)
class EntryState:
    """The launch's buffers with those of the runtime, and the SGPR file that every wavefront starts with."""

    memory: Memory
    sgprs: np.ndarray


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
    for name, address in (("kernarg_segment_ptr", place.address), ("dispatch_ptr", packet.address)):
        if name in entry.user_sgprs:
            first = entry.user_sgprs[name]
            sgprs[first], sgprs[first + 1] = address & 0xFFFFFFFF, address >> 32
    if entry.preload_dwords:
        words = segment[entry.preload_offset_dwords * 4 :].view(np.uint32)[: entry.preload_dwords]
        sgprs[entry.preload_first : entry.preload_first + len(words)] = words
    return EntryState(whole, sgprs)
