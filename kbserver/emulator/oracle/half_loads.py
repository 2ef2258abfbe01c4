"""Loads into half of a VGPR (d16), from the entries of the CDNA4 manual: the other half stays."""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.decode import Decoded
from kbserver.emulator.oracle.atomics import memory_address
from kbserver.emulator.oracle.state import Wavefront
from kbserver.emulator.oracle.values import Unreadable

Step = Callable[[Wavefront, Decoded], None]
_SIZES = {"u8": (1, False), "i8": (1, True), "u16": (2, False)}
_MEMORY = {"ubyte": "u8", "sbyte": "i8", "short": "u16"}


def _into_half(read: Callable[[Wavefront, Decoded, int, int], bytes], kind: str, *, high: bool) -> Step:
    size, signed = _SIZES[kind]

    def step(wave: Wavefront, d: Decoded) -> None:
        register = d.operands[0].register
        if register is None:
            raise Unreadable("operand 0")
        target = wave.vgprs[register.index]
        raw = {lane: read(wave, d, lane, size) for lane in wave.active()}
        for lane, given in raw.items():
            half = int.from_bytes(given, "little", signed=signed) % 2**16
            target[lane] = half * 2**16 + target[lane] % 2**16 if high else target[lane] // 2**16 * 2**16 + half

    return step


def _from_lds(wave: Wavefront, d: Decoded, lane: int, size: int) -> bytes:
    register = d.operands[1].register
    if register is None:
        raise Unreadable("operand 1")
    return wave.lds_read(wave.vgprs[register.index][lane] + d.number("offset"), size)


def _from_memory(wave: Wavefront, d: Decoded, lane: int, size: int) -> bytes:
    return wave.memory.read(memory_address(wave, d, 1, 2, lane), size)


STEPS: dict[str, Step] = {
    **{
        f"ds_read_{kind}_d16{end}": _into_half(_from_lds, kind, high=bool(end))
        for kind in _SIZES
        for end in ("", "_hi")
    },
    **{
        f"global_load_{name}_d16{end}": _into_half(_from_memory, kind, high=bool(end))
        for name, kind in _MEMORY.items()
        for end in ("", "_hi")
    },
}
