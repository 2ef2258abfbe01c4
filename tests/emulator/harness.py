"""Assembly text -> run one wavefront -> registers."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from kbserver.emulator.jit import HostCode, compile_ir
from kbserver.emulator.kernel import Kernel, load_kernel
from kbserver.emulator.memory import Memory
from kbserver.emulator.operands import EXEC, SCC, VCC
from kbserver.emulator.translate import translate
from kbserver.emulator.wave import WaveRunner, WaveState
from kbserver.toolchain.assembly import parse_assembly

ALL = (1 << 64) - 1


def kernel_text(body: str, arch: str = "gfx950", *, lds_bytes: int = 0, private_bytes: int = 0) -> str:
    """Return a whole assembly text around the lines of one kernel."""
    return f"""\t.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
\t.type\tk,@function
k:
{body}
\ts_endpgm
\t.amdhsa_kernel k
\t\t.amdhsa_group_segment_fixed_size {lds_bytes}
\t\t.amdhsa_private_segment_fixed_size {private_bytes}
\t.end_amdhsa_kernel
"""


def load(body: str, arch: str = "gfx950", **options: int) -> Kernel:
    return load_kernel(parse_assembly(kernel_text(body, arch, **options)))


@lru_cache(maxsize=64)
def _compiled(body: str, arch: str, private_bytes: int) -> tuple[HostCode, int]:
    translated = translate(load(body, arch, private_bytes=private_bytes))
    return compile_ir(translated.ir, None), len(translated.segments)


def fresh_wave(registers: int = 256, lds_bytes: int = 0, exec_: int = ALL) -> WaveState:
    wave = WaveState.fresh(registers, lds_bytes)
    wave.set_pair(EXEC, exec_)
    return wave


def run(
    body: str, wave: WaveState, *, arch: str = "gfx950", memory: Memory | None = None, private_bytes: int = 0
) -> WaveRunner:
    """Run the lines on a wavefront to the end; the wavefront is changed in place. Private memory lies in its file of
    VGPRs behind those that the lines name."""
    code, segments = _compiled(body, arch, private_bytes)
    wave.state = 0
    runner = WaveRunner(code, segments, memory or Memory(), len(wave.lds))
    assert runner.resume(wave) == -1, "the wavefront did not end"
    return runner


def lanes(*values: int) -> np.ndarray:
    """Return 64 dwords: the values, then the last one repeated."""
    return np.array([*values, *[values[-1]] * (64 - len(values))], np.int64).astype(np.uint32)


__all__ = ["ALL", "EXEC", "SCC", "VCC", "fresh_wave", "kernel_text", "lanes", "load", "run"]
