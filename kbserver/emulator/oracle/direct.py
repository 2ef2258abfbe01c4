"""LDS addressed by lane number: loads from memory past the VGPRs, and reads and writes without an address register.

From the CDNA4 manual, sections 9.1.9 and 10.3 and the entries of DS_READ_ADDTID_B32 and DS_WRITE_ADDTID_B32.
"""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.decode import Decoded
from kbserver.emulator.operands import M0
from kbserver.emulator.oracle.atomics import memory_address
from kbserver.emulator.oracle.state import Wavefront
from kbserver.emulator.oracle.values import Unreadable

Step = Callable[[Wavefront, Decoded], None]

# Suffix -> bytes in memory, signed.
WIDTHS = {
    "ubyte": (1, False), "sbyte": (1, True), "ushort": (2, False), "sshort": (2, True), "dword": (4, False),
    "dwordx3": (12, False), "dwordx4": (16, False),
}  # fmt: skip


def lds_place(wave: Wavefront, d: Decoded, size: int, lane: int) -> int:
    """Return the LDS byte where a lane's direct load goes: dwords stand 4 bytes apart, larger pieces 16."""
    return wave.scalars[M0] % 2**18 // 4 * 4 + d.number("offset") + lane * (16 if size > 4 else 4)


def to_lds(raw: bytes, *, signed: bool) -> bytes:
    """Return what a direct load writes: whole dwords."""
    return raw if len(raw) >= 4 else int.from_bytes(raw, "little", signed=signed).to_bytes(4, "little", signed=signed)


def _global(size: int, signed: bool) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            raw = wave.memory.read(memory_address(wave, d, 0, 1, lane), size)
            wave.lds_write(lds_place(wave, d, size, lane), to_lds(raw, signed=signed))

    return step


def _lane_address(wave: Wavefront, d: Decoded, lane: int) -> int:
    return wave.scalars[M0] % 2**16 + d.number("offset") + 4 * lane


def _vgpr(wave: Wavefront, d: Decoded) -> list[int]:
    register = d.operands[0].register
    if register is None:
        raise Unreadable("operand 0")
    return wave.vgprs[register.index]


def _read_by_lane(wave: Wavefront, d: Decoded) -> None:
    for lane in wave.active():
        _vgpr(wave, d)[lane] = int.from_bytes(wave.lds_read(_lane_address(wave, d, lane), 4), "little")


def _write_by_lane(wave: Wavefront, d: Decoded) -> None:
    for lane in wave.active():
        wave.lds_write(_lane_address(wave, d, lane), _vgpr(wave, d)[lane].to_bytes(4, "little"))


STEPS: dict[str, Step] = {
    **{f"global_load_lds_{name}": _global(*how) for name, how in WIDTHS.items()},
    "ds_read_addtid_b32": _read_by_lane,
    "ds_write_addtid_b32": _write_by_lane,
}
