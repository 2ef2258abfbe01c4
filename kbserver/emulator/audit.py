"""Audit the translator: run one workgroup through host code and through the interpreter, and compare what they did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kbserver.emulator.arguments import Launch
from kbserver.emulator.entry_state import EntryState, entry_state
from kbserver.emulator.ir import LANES
from kbserver.emulator.kernel import Kernel
from kbserver.emulator.machine import Machine
from kbserver.emulator.memory import POISON, Buffer, Memory
from kbserver.emulator.operands import EXEC
from kbserver.emulator.oracle.interpreter import run_workgroup
from kbserver.emulator.oracle.state import AddressSpace, Wavefront

_POISON_WORD = POISON * 0x01010101


def audit_workgroup(
    machine: Machine,
    memory: Memory,
    arguments: Sequence[Buffer | int | float | bytes],
    *,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    workgroup: int,
) -> list[str]:
    """Return the differences between both executions: bytes of buffers, and how often each instruction ran.

    The buffers of `memory` hold the result of the host code afterwards.
    """
    kernel, launch = machine.kernel, Launch(grid, block)
    start = entry_state(kernel, launch, memory, arguments)
    space = AddressSpace.copy_of(start.memory.buffers)
    lds = bytearray([POISON]) * (kernel.entry.lds_bytes or LANES)
    scalars = start.sgprs.tolist()
    x, y = workgroup % grid[0], workgroup // grid[0] % grid[1]
    for place, number in zip(kernel.entry.workgroup_ids, (x, y, workgroup // (grid[0] * grid[1])), strict=True):
        if place is not None:
            scalars[place] = number
    waves = [_wave(kernel, start, scalars, lds, space, launch, number) for number in range(launch.waves)]
    run_workgroup(kernel, waves)
    outcome = machine.launch(memory, arguments, grid=grid, block=block, workgroups=range(workgroup, workgroup + 1))

    differences = []
    for buffer, (_, data, _) in zip(memory.buffers, space.ranges, strict=False):
        got = np.frombuffer(buffer.array.tobytes(), np.uint8)
        wrong = np.flatnonzero(got != np.frombuffer(bytes(data), np.uint8))
        if wrong.size:
            differences.append(f"{buffer.name}: {wrong.size} bytes differ, the first at {wrong[0]}")
    executions, _ = outcome.counts.per_instruction(len(kernel.code))
    for d in kernel.code:
        wanted = sum(wave.counts.get(d.index, 0) for wave in waves)
        if int(executions[d.index]) != wanted:
            text = " ".join(d.instruction.text.split())
            differences.append(f"line {d.instruction.line} `{text}` ran {executions[d.index]} times, not {wanted}")
    return differences


def _wave(
    kernel: Kernel, start: EntryState, scalars: list[int], lds: bytearray, space: AddressSpace, launch: Launch,
    number: int,
) -> Wavefront:  # fmt: skip
    vgprs = [[_POISON_WORD] * LANES for _ in range(kernel.vgpr_slots)]
    vgprs[0] = launch.initial_v0(kernel.entry.work_item_axes).reshape(-1, LANES)[number].tolist()
    wave = Wavefront(
        vgprs, list(scalars), lds, space,
        private=[bytearray([POISON]) * kernel.private_bytes for _ in range(LANES)],
        symbols=start.symbols.tolist(),
        symbols_at=start.symbols.ctypes.data,
        arch=kernel.arch,
    )  # fmt: skip
    wave.set_pair(EXEC, int(launch.initial_exec()[number]))
    return wave
