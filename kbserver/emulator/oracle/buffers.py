"""Buffer memory lane by lane, from section 9.1 of the CDNA4 manual: address, range check, each dword on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kbserver.emulator.decode import Decoded
from kbserver.emulator.operands import Number
from kbserver.emulator.oracle.atomics import MEMORY_UPDATES, Update
from kbserver.emulator.oracle.direct import WIDTHS, lds_place, to_lds
from kbserver.emulator.oracle.state import Wavefront
from kbserver.emulator.oracle.values import Unreadable

Step = Callable[[Wavefront, Decoded], None]


@dataclass(frozen=True)
class _Lane:
    """One lane's access: where it starts, and how many bytes from there are in range (None: all)."""

    number: int
    address: int
    room: int | None

    def reaches(self, place: int) -> bool:
        return self.room is None or place < self.room


def _vgpr(wave: Wavefront, d: Decoded, place: int, further: int = 0) -> list[int]:
    register = d.operands[place].register
    if register is None:
        raise Unreadable(f"operand {place}")
    return wave.vgprs[register.index + further]


def _scalar(wave: Wavefront, d: Decoded, place: int) -> int:
    value = d.operands[place].value
    if isinstance(value, Number):
        return int(value.value) % 2**32
    register = d.operands[place].register
    if register is None:
        raise Unreadable(f"operand {place}")
    return wave.scalars[register.index]


def _lanes(wave: Wavefront, d: Decoded, first: int) -> Iterator[_Lane]:
    """Yield the active lanes; `first` is the operand with the VGPR address, the resource and the SGPR offset follow."""
    register = d.operands[first + 1].register
    if register is None:
        raise Unreadable("a resource")
    words = wave.scalars[register.index : register.index + 4]
    base, stride = words[0] + words[1] % 2**16 * 2**32, words[1] // 2**16 % 2**14
    swizzled, adds_lane, kind, format_ = words[1] >> 31, words[3] >> 23 & 1, words[3] >> 30, words[3] >> 15 & 15
    indexed, offset = "idxen" in d.modifiers, "offen" in d.modifiers
    if swizzled or adds_lane or kind or not format_ or (indexed and not stride):
        raise Unreadable("this kind of buffer resource")
    start = base + _scalar(wave, d, first + 2)
    for lane in wave.active():
        place = d.number("offset") + (_vgpr(wave, d, first, int(indexed))[lane] if offset else 0)
        index = _vgpr(wave, d, first)[lane] if indexed else 0
        inside = None if index < words[2] else 0
        room = inside if indexed else max(0, words[2] - place)
        yield _Lane(lane, start + index * stride + place, room)


def _read(wave: Wavefront, lane: _Lane, size: int) -> bytes:
    """Return what a load gives: dwords out of range are 0."""
    if size < 4:
        return wave.memory.read(lane.address, size) if lane.reaches(0) else bytes(size)
    parts = (
        wave.memory.read(lane.address + place, 4) if lane.reaches(place) else bytes(4) for place in range(0, size, 4)
    )
    return b"".join(parts)


def _load(size: int, signed: bool) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        if "lds" in d.modifiers:
            for lane in _lanes(wave, d, 0):
                raw = to_lds(_read(wave, lane, size), signed=signed)
                wave.lds_write(lds_place(wave, d, size, lane.number), raw)
            return
        for lane, raw in [(lane, _read(wave, lane, size)) for lane in _lanes(wave, d, 1)]:
            words = to_lds(raw, signed=signed)
            for place in range(len(words) // 4):
                _vgpr(wave, d, 0, place)[lane.number] = int.from_bytes(words[4 * place : 4 * place + 4], "little")

    return step


def _load_half(size: int, *, signed: bool, high: bool) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane, raw in [(lane, _read(wave, lane, size)) for lane in _lanes(wave, d, 1)]:
            half = int.from_bytes(raw, "little", signed=signed) % 2**16
            old = _vgpr(wave, d, 0)[lane.number]
            _vgpr(wave, d, 0)[lane.number] = half * 2**16 + old % 2**16 if high else old // 2**16 * 2**16 + half

    return step


def _store(size: int, shift: int) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in _lanes(wave, d, 1):
            for place in range(0, size, 4):
                word = _vgpr(wave, d, 0, place // 4)[lane.number] >> shift
                if lane.reaches(place):
                    wave.memory.write(lane.address + place, word.to_bytes(4, "little")[: min(size, 4)])

    return step


def _atomic(update: Update, bits: int, compares: bool) -> Step:
    size, dwords = bits // 8, bits // 32

    def step(wave: Wavefront, d: Decoded) -> None:
        returns = bool(d.modifiers.keys() & {"sc0", "glc"})
        for lane in _lanes(wave, d, 1):
            words = [_vgpr(wave, d, 0, n)[lane.number] for n in range(dwords * (2 if compares else 1))]
            data = sum(word << 32 * n for n, word in enumerate(words[:dwords]))
            wanted = sum(word << 32 * n for n, word in enumerate(words[dwords:]))
            old = 0
            if lane.reaches(size - 1):
                old = int.from_bytes(wave.memory.read(lane.address, size), "little")
                new = update(old, data, wanted) % 2**bits
                wave.memory.write(lane.address, new.to_bytes(size, "little"))
            for n in range(dwords if returns else 0):
                _vgpr(wave, d, 0, n)[lane.number] = old >> 32 * n & 0xFFFFFFFF

    return step


STEPS: dict[str, Step] = {
    **{f"buffer_load_{name}": _load(*how) for name, how in WIDTHS.items()},
    "buffer_load_dwordx2": _load(8, False),
    **{
        f"buffer_load_{letter}byte_d16{end}": _load_half(1, signed=letter == "s", high=bool(end))
        for letter in "us"
        for end in ("", "_hi")
    },
    **{f"buffer_load_short_d16{end}": _load_half(2, signed=False, high=bool(end)) for end in ("", "_hi")},
    **{f"buffer_store_{name}": _store(size, 0) for name, size in (("byte", 1), ("short", 2), ("dword", 4))},
    **{f"buffer_store_dwordx{n}": _store(4 * n, 0) for n in (2, 3, 4)},
    "buffer_store_byte_d16_hi": _store(1, 16),
    "buffer_store_short_d16_hi": _store(2, 16),
    **{f"buffer_atomic_{name}": _atomic(*how) for name, how in MEMORY_UPDATES.items()},
}
