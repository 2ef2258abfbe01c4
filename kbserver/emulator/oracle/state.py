"""What the interpreter works on: one wavefront's registers as Python integers, LDS, and copies of the buffers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kbserver.emulator.memory import Buffer
from kbserver.emulator.operands import EXEC, SCC

LANES = 64


class OutOfRange(Exception):
    """An access to memory that no buffer holds."""


@dataclass
class AddressSpace:
    """Copies of the buffers at the addresses of the originals."""

    ranges: list[tuple[int, bytearray, bool]]

    @classmethod
    def copy_of(cls, buffers: Iterable[Buffer]) -> AddressSpace:
        return cls([(b.address, bytearray(b.array.tobytes()), b.writable) for b in buffers])

    def _find(self, address: int, size: int, *, write: bool) -> tuple[bytearray, int]:
        for base, data, writable in self.ranges:
            if base <= address and address + size <= base + len(data) and (writable or not write):
                return data, address - base
        raise OutOfRange(f"{'write' if write else 'read'} of {size} bytes at {address:#x}")

    def read(self, address: int, size: int) -> bytes:
        data, place = self._find(address, size, write=False)
        return bytes(data[place : place + size])

    def write(self, address: int, raw: bytes) -> None:
        data, place = self._find(address, len(raw), write=True)
        data[place : place + len(raw)] = raw


@dataclass
class Wavefront:
    """Registers of one wavefront. A VGPR is a list of 64 dwords; scalars are dwords by operand number."""

    vgprs: list[list[int]]
    scalars: list[int]
    lds: bytearray
    memory: AddressSpace
    pc: int = 0
    ended: bool = False
    executed: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    """instruction -> how often it ran."""
    private: list[bytearray] = field(default_factory=lambda: [bytearray() for _ in range(LANES)])
    """Private memory of each lane."""
    symbols: list[int] = field(default_factory=list)
    symbols_at: int = 0
    """Address of the table of symbols."""
    indexed: int = 0
    """Which operands M0 indexes (s_set_gpr_idx_on)."""
    arch: str = "gfx950"
    """The target, where a format depends on it."""

    def pair(self, index: int) -> int:
        return self.scalars[index] | self.scalars[index + 1] << 32

    def set_pair(self, index: int, value: int) -> None:
        self.scalars[index], self.scalars[index + 1] = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF

    @property
    def exec(self) -> int:
        return self.pair(EXEC)

    @property
    def scc(self) -> int:
        return self.scalars[SCC]

    def active(self) -> list[int]:
        """Return the numbers of the active lanes."""
        mask = self.exec
        return [lane for lane in range(LANES) if mask >> lane & 1]

    def private_read(self, lane: int, address: int, size: int) -> bytes:
        if address + size > len(self.private[lane]):
            raise OutOfRange(f"private read of {size} bytes at {address}")
        return bytes(self.private[lane][address : address + size])

    def private_write(self, lane: int, address: int, raw: bytes) -> None:
        if address + len(raw) > len(self.private[lane]):
            raise OutOfRange(f"private write of {len(raw)} bytes at {address}")
        self.private[lane][address : address + len(raw)] = raw

    def lds_read(self, address: int, size: int) -> bytes:
        if address + size > len(self.lds):
            raise OutOfRange(f"LDS read of {size} bytes at {address}")
        return bytes(self.lds[address : address + size])

    def lds_write(self, address: int, raw: bytes) -> None:
        if address + len(raw) > len(self.lds):
            raise OutOfRange(f"LDS write of {len(raw)} bytes at {address}")
        self.lds[address : address + len(raw)] = raw
