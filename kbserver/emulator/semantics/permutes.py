"""DS instructions that move values between lanes: permutes by address, swizzles by pattern, transposing reads."""

from __future__ import annotations

import re
from collections.abc import Callable

from kbserver.emulator.access import BadOperand
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import LANES, select
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.runtime.transposes import FORMS
from kbserver.emulator.translate import Translation

_OFFSET = frozenset({"offset"})
_PATTERN = re.compile(r"swizzle\(([A-Z_]+),(.+)\)")
_QUAD, _FFT = 0x8000, 0xE000
"""Offsets below _QUAD are masks of bits, the 256 from there on are places in quads, the 32 from _FFT on butterflies."""


def _permute(routine: str) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        result, address, data = (t.registers.vgpr_pointer(d.register(place, "v", 1).index) for place in range(3))
        exec_ = t.registers.exec_bits.typed
        t.call(routine, f"ptr {address}, {exec_}, i64 {d.number('offset')}, ptr {data}, ptr {result}")

    return Special(function, _OFFSET, writes=(0,), reads=(1, 2), counter="lgkmcnt")


def _bits(and_: int, or_: int, xor: int) -> list[int]:
    """Source lanes of the pattern of bit operations on a lane's number in its half of the wavefront."""
    return [lane & 32 | ((lane & and_ | or_) ^ xor) & 31 for lane in range(LANES)]


def _quad(places: list[int]) -> list[int]:
    return [lane & ~3 | places[lane & 3] for lane in range(LANES)]


def _butterfly(mask: int) -> list[int]:
    """Lanes in bit-reversed order in groups of the mask: bits of the lane's number in the mask stay, and the reversed
    number gives the others. Follows the rows 0x00, 0x10 and 0x1f that the CDNA4 manual lists."""
    if mask == 31:
        return list(range(LANES))
    reversed_ = [int(format(lane & 31, "05b")[::-1], 2) >> mask.bit_count() for lane in range(LANES)]
    return [lane & 32 | lane & mask | reversed_[lane] for lane in range(LANES)]


def _letters(text: str) -> list[int]:
    """Five letters, highest bit first: 0 and 1 set the bit of the lane's number, p keeps it, i inverts it."""
    letters = text.strip('"')
    if not re.fullmatch(r"[01pi]{5}", letters):
        raise BadOperand(f"{text} is no mask of five letters of 0, 1, p and i")

    def mask(chosen: str) -> int:
        return int("".join("1" if letter in chosen else "0" for letter in letters), 2)

    return _bits(mask("pi"), mask("1"), mask("i"))


def _groups(size: int) -> int:
    if size not in (2, 4, 8, 16, 32):
        raise BadOperand(f"{size} is no group size of a swizzle")
    return size


def _broadcast(size: int, lane: int) -> list[int]:
    if not 0 <= lane < _groups(size):
        raise BadOperand(f"lane {lane} is not in a group of {size}")
    return _bits(32 - size, lane, 0)


_NAMED: dict[str, tuple[int, Callable[..., list[int]]]] = {
    "QUAD_PERM": (4, lambda *places: _quad([place & 3 for place in places])),
    "BROADCAST": (2, _broadcast),
    "SWAP": (1, lambda size: _bits(31, 0, _groups(2 * size) // 2)),
    "REVERSE": (1, lambda size: _bits(31, 0, _groups(size) - 1)),
    "FFT": (1, _butterfly),
}


def swizzle_sources(value: object) -> list[int]:
    """Return the lane that each lane reads, from the offset as a number or as the assembler's pattern.

    Raises BadOperand for the patterns that are not known. Rotations are not: which way they go was found in no source.
    """
    if isinstance(value, int) and 0 <= value < _QUAD:
        return _bits(value & 31, value >> 5 & 31, value >> 10 & 31)
    if isinstance(value, int) and value & ~0xFF == _QUAD:
        return _quad([value >> 2 * place & 3 for place in range(4)])
    if isinstance(value, int) and value & ~31 == _FFT:
        return _butterfly(value & 31)
    found = _PATTERN.fullmatch("".join(value.split())) if isinstance(value, str) else None
    if found is None:
        raise BadOperand(f"the emulator does not know the swizzle {value}")
    name, arguments = found[1], found[2].split(",")
    if name == "BITMASK_PERM":
        return _letters(found[2])
    count, function = _NAMED.get(name, (0, _quad))
    if len(arguments) != count or not all(argument.isdigit() for argument in arguments):
        raise BadOperand(f"the emulator does not know the swizzle {value}")
    return function(*(int(argument) for argument in arguments))


def _swizzle(t: Translation, d: Decoded) -> None:
    registers = t.registers
    value = registers.vgpr(d.register(1, "v", 1).index)
    # Lanes that are not active give 0.
    given = select(registers.exec_mask, value, 0)
    registers.set_vgpr(d.register(0, "v", 1).index, given.shuffle(swizzle_sources(d.modifiers.get("offset", 0))))


def _transposing_read(suffix: str, dwords: int) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        if t.arch != "gfx950":
            raise BadOperand(f"{t.arch} has no transposing read from LDS")
        pointer = t.registers.vgpr_pointer
        data, address = pointer(d.register(0, "v", dwords).index), pointer(d.register(1, "v", 1).index)
        exec_ = t.registers.exec_bits.typed
        t.call(
            f"lds_load_{suffix}",
            f"ptr {address}, {exec_}, i64 {d.number('offset')}, ptr {data}, ptr %lds, ptr %ctx, i32 {d.index}",
        )

    return Special(function, _OFFSET, writes=(0,), reads=(1,), counter="lgkmcnt")


ROWS: dict[str, Row] = {
    "ds_bpermute_b32": _permute("bpermute"),
    "ds_permute_b32": _permute("permute"),
    "ds_swizzle_b32": Special(_swizzle, _OFFSET, writes=(0,), reads=(1,), counter="lgkmcnt"),
    **{f"ds_read_{suffix}": _transposing_read(suffix, dwords) for suffix, (_, dwords) in FORMS.items()},
}
