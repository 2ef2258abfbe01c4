"""Values between lanes by way of the LDS unit: permutes, swizzles and transposing reads.

Permutes and the butterfly follow the CDNA4 manual; the other swizzles follow LLVM's table of modifiers; the transposing
reads follow the address arithmetic of rocRoller's tests, in which 16 lanes read 16 columns of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kbserver.emulator.decode import Decoded
from kbserver.emulator.oracle.state import LANES, Wavefront
from kbserver.emulator.oracle.values import Unreadable

Step = Callable[[Wavefront, Decoded], None]


def _vgpr(wave: Wavefront, d: Decoded, place: int, offset: int = 0) -> list[int]:
    register = d.operands[place].register
    if register is None:
        raise Unreadable(f"operand {place}")
    return wave.vgprs[register.index + offset]


def _backward(wave: Wavefront, d: Decoded) -> None:
    active, addresses, data = set(wave.active()), _vgpr(wave, d, 1), _vgpr(wave, d, 2)
    sources = [(address + d.number("offset")) // 4 % LANES for address in addresses]
    got = [data[source] if source in active else 0 for source in sources]
    for lane in active:
        _vgpr(wave, d, 0)[lane] = got[lane]


def _forward(wave: Wavefront, d: Decoded) -> None:
    got = [0] * LANES
    for lane in wave.active():
        got[(_vgpr(wave, d, 1)[lane] + d.number("offset")) // 4 % LANES] = _vgpr(wave, d, 2)[lane]
    for lane in wave.active():
        _vgpr(wave, d, 0)[lane] = got[lane]


def _reversed_bits(number: int, count: int) -> int:
    return int(format(number, f"0{count}b")[::-1], 2)


def swizzle_source(offset: int, lane: int) -> int:
    """Return the lane that `lane` reads under the 16-bit offset of ds_swizzle_b32."""
    half, place = lane // 32 * 32, lane % 32
    low = offset % 32
    if offset >= 0xE000:  # butterfly: reversed bits within what the mask leaves
        if low == 31:
            return lane
        return half + (_reversed_bits(place, 5) >> bin(low).count("1") | place & low)
    if offset >= 0xC000:
        raise Unreadable("a rotation")
    if offset >= 0x8000:
        return lane // 4 * 4 + (offset >> lane % 4 * 2 & 3)
    and_, or_, xor = low, offset >> 5 & 31, offset >> 10 & 31
    return half + ((place & and_ | or_) ^ xor)


def encoded(pattern: str) -> int:
    """Return the offset that the assembler makes of `swizzle(NAME,...)` (LLVM, SIDefines.h, Swizzle::EncBits)."""
    name, *words = pattern.replace(" ", "").removeprefix("swizzle(").removesuffix(")").split(",")
    if name == "BITMASK_PERM":
        kinds = words[0].strip('"')
        bits = {kind: sum(16 >> place for place, one in enumerate(kinds) if one == kind) for kind in "1pi"}
        return bits["p"] | bits["i"] | bits["1"] << 5 | bits["i"] << 10
    numbers = [int(word) for word in words]
    if name == "QUAD_PERM":
        return 0x8000 + sum(number << 2 * place for place, number in enumerate(numbers))
    if name == "SWAP":
        return 31 + numbers[0] * 1024
    if name == "REVERSE":
        return 31 + (numbers[0] - 1) * 1024
    if name == "BROADCAST":
        return 32 - numbers[0] + numbers[1] * 32
    if name == "FFT":
        return 0xE000 + numbers[0]
    raise Unreadable(f"the swizzle {name}")


def _swizzle(wave: Wavefront, d: Decoded) -> None:
    offset = d.modifiers.get("offset", 0)
    if not isinstance(offset, int):
        offset = encoded(str(offset))
    active, data = set(wave.active()), list(_vgpr(wave, d, 1))
    for lane in active:
        source = swizzle_source(offset, lane)
        _vgpr(wave, d, 0)[lane] = data[source] if source in active else 0


def transposed(raw: Mapping[int, int], width: int, count: int, lane: int) -> int:
    """Return the bits that `lane` gets: its column of the rows that the lanes of its group of 16 read.

    A row is 16 elements of `width` bits, read by 16 / count lanes of the group, `count` elements each.
    """
    group, column = lane // 16 * 16, lane % 16
    result = 0
    for row in range(count):
        source = group + (row * 16 + column) // count
        element = raw.get(source, 0) >> column % count * width & (1 << width) - 1
        result |= element << row * width
    return result


def _transposing_read(width: int, size: int) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        raw = {
            lane: int.from_bytes(wave.lds_read(_vgpr(wave, d, 1)[lane] + d.number("offset"), size), "little")
            for lane in wave.active()
        }
        for lane in raw:
            bits = transposed(raw, width, size * 8 // width, lane)
            for place in range(size // 4):
                _vgpr(wave, d, 0, place)[lane] = bits >> 32 * place & 0xFFFFFFFF

    return step


STEPS: dict[str, Step] = {
    "ds_bpermute_b32": _backward,
    "ds_permute_b32": _forward,
    "ds_swizzle_b32": _swizzle,
    "ds_read_b64_tr_b16": _transposing_read(16, 8),
    "ds_read_b64_tr_b8": _transposing_read(8, 8),
    "ds_read_b64_tr_b4": _transposing_read(4, 8),
    "ds_read_b96_tr_b6": _transposing_read(6, 12),
}
