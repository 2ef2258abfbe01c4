"""Run lines through host code and through the interpreter, and compare everything that they may change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kbserver.emulator.memory import Memory
from kbserver.emulator.oracle.interpreter import run_workgroup
from kbserver.emulator.oracle.state import AddressSpace, Wavefront
from kbserver.emulator.wave import WaveState
from tests.emulator.harness import load, run


def differences(lines: Sequence[str], wave: WaveState, memory: Memory | None = None, arch: str = "gfx950") -> list[str]:
    """Return where the two differ, and leave the host code's result in the wavefront and the buffers."""
    body, memory = "\n".join(lines), memory or Memory()
    space = AddressSpace.copy_of(memory.buffers)
    twin = Wavefront(wave.vgprs.tolist(), wave.sgprs.tolist(), bytearray(wave.lds.tobytes()), space)
    run_workgroup(load(body, arch), [twin])
    runner = run(body, wave, arch=arch, memory=memory)
    found = [] if runner.finding_count == 0 else [f"{runner.finding_count} findings"]
    for register, lane in np.argwhere(wave.vgprs != np.array(twin.vgprs, np.uint64)).tolist():
        found.append(f"v{register} lane {lane}: {wave.vgprs[register, lane]:#x}, not {twin.vgprs[register][lane]:#x}")
    found += [
        f"s{place}: {int(a):#x}, not {b:#x}"
        for place, (a, b) in enumerate(zip(wave.sgprs[:128], twin.scalars[:128], strict=True))
        if int(a) != b
    ]
    found += _bytes("LDS", wave.lds, twin.lds)
    for buffer, (_, data, _) in zip(memory.buffers, space.ranges, strict=True):
        found += _bytes(buffer.name, np.frombuffer(buffer.array.tobytes(), np.uint8), data)
    return found


def _bytes(name: str, got: np.ndarray, wanted: bytearray) -> list[str]:
    wrong = np.flatnonzero(got != np.frombuffer(bytes(wanted), np.uint8))
    if not wrong.size:
        return []
    first = int(wrong[0])
    return [f"{name} + {first}: {got[first]:#x}, not {wanted[first]:#x} ({wrong.size} bytes)"]
