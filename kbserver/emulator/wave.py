"""Run one wavefront by hand: its register files and LDS as arrays, for tests and audits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kbserver.emulator.context import CONTEXT, FINDING
from kbserver.emulator.ir import LANES
from kbserver.emulator.jit import HostCode
from kbserver.emulator.memory import Memory, aligned_bytes
from kbserver.emulator.operands import EXEC, FUEL, SGPR_SLOTS

FINDINGS = 64


@dataclass
class WaveState:
    """One wavefront: `vgprs` is [registers, 64], `sgprs` holds every scalar operand by number and SCC at its slot."""

    vgprs: np.ndarray
    sgprs: np.ndarray
    lds: np.ndarray
    state: int = 0
    """Where to resume; negative once it has ended."""

    @classmethod
    def fresh(cls, registers: int, lds_bytes: int = 0) -> WaveState:
        """Return a wavefront with all lanes active and zero in every register."""
        vgprs = aligned_bytes(registers * LANES * 4).view(np.uint32).reshape(registers, LANES)
        sgprs = aligned_bytes(SGPR_SLOTS * 4).view(np.uint32)
        wave = cls(vgprs, sgprs, aligned_bytes(lds_bytes))
        wave.set_pair(EXEC, (1 << LANES) - 1)
        wave.set_pair(FUEL, 1 << 40)
        return wave

    def pair(self, index: int) -> int:
        """Return a 64-bit scalar."""
        return int(self.sgprs[index]) | int(self.sgprs[index + 1]) << 32

    def set_pair(self, index: int, value: int) -> None:
        self.sgprs[index], self.sgprs[index + 1] = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF

    def copy(self) -> WaveState:
        """Return an independent copy."""
        other = WaveState.fresh(len(self.vgprs), len(self.lds))
        other.vgprs[:], other.sgprs[:], other.lds[:] = self.vgprs, self.sgprs, self.lds
        other.state = self.state
        return other


@dataclass
class WaveRunner:
    """Calls the kernel function of a compiled module on wavefronts."""

    code: HostCode
    segments: int
    memory: Memory = field(default_factory=Memory)
    lds_bytes: int = 0
    findings: np.ndarray = field(default_factory=lambda: np.zeros((FINDINGS, len(FINDING)), np.uint64))
    finding_count: int = 0
    clipped: int = 0
    """Lanes that a buffer resource's range check stopped."""

    def resume(self, wave: WaveState) -> int:
        """Run until a barrier or the end; return and keep the new state."""
        ranges, counters = self.memory.table(), np.zeros((max(1, self.segments), 2), np.uint64)
        context = aligned_bytes(len(CONTEXT) * 8).view(np.uint64)
        for name, value in (
            ("ranges", ranges.ctypes.data),
            ("range_count", len(ranges)),
            ("findings", self.findings.ctypes.data),
            ("finding_capacity", FINDINGS),
            ("finding_count", self.finding_count),
            ("lds_bytes", self.lds_bytes or len(wave.lds)),
            ("counters", counters.ctypes.data),
        ):
            context[CONTEXT[name]] = value
        pointers = (wave.vgprs.ctypes.data, wave.sgprs.ctypes.data, wave.lds.ctypes.data, context.ctypes.data)
        wave.state = int(self.code.kernel(*pointers, wave.state))
        self.finding_count = int(context[CONTEXT["finding_count"]])
        self.clipped = int(context[CONTEXT["clipped"]])
        return wave.state
