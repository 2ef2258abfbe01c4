"""Run lines through host code and through the interpreter, and compare everything that they may change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kbserver.emulator.context import DISPUTED_KINDS, FINDING, FINDING_KINDS
from kbserver.emulator.ir import LANES
from kbserver.emulator.kernel import Kernel
from kbserver.emulator.memory import Memory
from kbserver.emulator.oracle.interpreter import run_workgroup
from kbserver.emulator.oracle.state import AddressSpace, Wavefront
from kbserver.emulator.registers import VGPR_BYTES
from kbserver.emulator.wave import WaveState
from tests.emulator.harness import load, run


def private_memory(wave: WaveState, kernel: Kernel) -> np.ndarray:
    """Return the private memory of a wavefront as [lanes, bytes]: it lies behind the registers that the code names."""
    start, size = kernel.vgpr_slots * VGPR_BYTES, kernel.private_bytes
    return wave.vgprs.reshape(-1).view(np.uint8)[start : start + LANES * size].reshape(LANES, size)


def differences(
    lines: Sequence[str],
    wave: WaveState,
    memory: Memory | None = None,
    arch: str = "gfx950",
    *,
    private_bytes: int = 0,
) -> list[str]:
    """Return where the two differ, and leave the host code's result in the wavefront and the buffers."""
    body, memory = "\n".join(lines), memory or Memory()
    space = AddressSpace.copy_of(memory.buffers)
    twin = Wavefront(wave.vgprs.tolist(), wave.sgprs.tolist(), bytearray(wave.lds.tobytes()), space)
    kernel = load(body, arch, private_bytes=private_bytes)
    private = private_memory(wave, kernel)
    twin.private = [bytearray(row.tobytes()) for row in private]
    run_workgroup(kernel, [twin])
    runner = run(body, wave, arch=arch, memory=memory, private_bytes=private_bytes)
    kinds = [FINDING_KINDS[int(row[FINDING["kind"]])] for row in runner.findings[: runner.finding_count]]
    found = [kind for kind in kinds if kind not in DISPUTED_KINDS]
    registers = kernel.vgpr_slots if private_bytes else len(wave.vgprs)
    for register, lane in np.argwhere(wave.vgprs[:registers] != np.array(twin.vgprs[:registers], np.uint64)).tolist():
        found.append(f"v{register} lane {lane}: {wave.vgprs[register, lane]:#x}, not {twin.vgprs[register][lane]:#x}")
    found += [
        f"s{place}: {int(a):#x}, not {b:#x}"
        for place, (a, b) in enumerate(zip(wave.sgprs[:128], twin.scalars[:128], strict=True))
        if int(a) != b
    ]
    found += _bytes("LDS", wave.lds, twin.lds)
    for lane in range(LANES):
        found += _bytes(f"private memory of lane {lane}", private[lane], twin.private[lane])
    for buffer, (_, data, _) in zip(memory.buffers, space.ranges, strict=True):
        found += _bytes(buffer.name, np.frombuffer(buffer.array.tobytes(), np.uint8), data)
    return found


def _bytes(name: str, got: np.ndarray, wanted: bytearray) -> list[str]:
    wrong = np.flatnonzero(got != np.frombuffer(bytes(wanted), np.uint8))
    if not wrong.size:
        return []
    first = int(wrong[0])
    return [f"{name} + {first}: {got[first]:#x}, not {wanted[first]:#x} ({wrong.size} bytes)"]
