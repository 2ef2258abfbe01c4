"""Private memory and flat addresses, lane by lane, from the FLAT chapters of the CDNA3 and CDNA4 manuals."""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.decode import Decoded
from kbserver.emulator.operands import Name, Number, Register
from kbserver.emulator.oracle.atomics import MEMORY_UPDATES, Update
from kbserver.emulator.oracle.state import Wavefront
from kbserver.emulator.oracle.values import Unreadable, register_bits

Step = Callable[[Wavefront, Decoded], None]

# Upper dword of a flat address (Linux, kfd_flat_memory.c).
_LDS, _PRIVATE = 0x10000, 0x20000


def _signed(raw: bytes) -> int:
    return int.from_bytes(raw, "little", signed=True)


def _unsigned(raw: bytes) -> int:
    return int.from_bytes(raw, "little")


# suffix -> (bytes, what the register holds then, from the bytes read and what it held)
_NARROW: dict[str, tuple[int, Callable[[bytes, int], int]]] = {
    "ubyte": (1, lambda raw, old: _unsigned(raw)),
    "sbyte": (1, lambda raw, old: _signed(raw)),
    "ushort": (2, lambda raw, old: _unsigned(raw)),
    "sshort": (2, lambda raw, old: _signed(raw)),
    "ubyte_d16": (1, lambda raw, old: old >> 16 << 16 | _unsigned(raw)),
    "sbyte_d16": (1, lambda raw, old: old >> 16 << 16 | _signed(raw) % 2**16),
    "short_d16": (2, lambda raw, old: old >> 16 << 16 | _unsigned(raw)),
    "ubyte_d16_hi": (1, lambda raw, old: old % 2**16 | _unsigned(raw) << 16),
    "sbyte_d16_hi": (1, lambda raw, old: old % 2**16 | _signed(raw) % 2**16 << 16),
    "short_d16_hi": (2, lambda raw, old: old % 2**16 | _unsigned(raw) << 16),
}
_WIDE = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4}
# suffix -> (bytes, first byte of the register that is stored)
_STORED = {"byte": (1, 0), "byte_d16_hi": (1, 2), "short": (2, 0), "short_d16_hi": (2, 2)}

Place = Callable[[Wavefront, Decoded, int, int], int]
"""(wavefront, instruction, position of the address operand, lane) -> address"""
Read = Callable[[Wavefront, int, int, int], bytes]
Write = Callable[[Wavefront, int, int, bytes], None]


def _register(d: Decoded, place: int) -> Register:
    register = d.operands[place].register
    if register is None:
        raise Unreadable(f"operand {place}")
    return register


def _flat_address(wave: Wavefront, d: Decoded, place: int, lane: int) -> int:
    return register_bits(wave, _register(d, place), 64, lane) + d.number("offset")


def _flat_read(wave: Wavefront, lane: int, address: int, size: int) -> bytes:
    window, inside = divmod(address, 2**32)
    if window == _LDS:
        return wave.lds_read(inside, size)
    if window == _PRIVATE:
        return wave.private_read(lane, inside, size)
    return wave.memory.read(address, size)


def _flat_write(wave: Wavefront, lane: int, address: int, raw: bytes) -> None:
    window, inside = divmod(address, 2**32)
    if window == _LDS:
        wave.lds_write(inside, raw)
    elif window == _PRIVATE:
        wave.private_write(lane, inside, raw)
    else:
        wave.memory.write(address, raw)


def _private_address(wave: Wavefront, d: Decoded, place: int, lane: int) -> int:
    parts = [d.number("offset")]
    for operand in (d.operands[place], d.operands[2]):
        if not isinstance(operand.value, Name):
            assert operand.register is not None
            parts.append(register_bits(wave, operand.register, 32, lane))
    return sum(parts) % 2**32


def _private_read(wave: Wavefront, lane: int, address: int, size: int) -> bytes:
    return wave.private_read(lane, address, size)


def _private_write(wave: Wavefront, lane: int, address: int, raw: bytes) -> None:
    wave.private_write(lane, address, raw)


def _load(place: Place, read: Read, size: int, narrow: Callable[[bytes, int], int] | None) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        to = _register(d, 0).index
        found = {lane: read(wave, lane, place(wave, d, 1, lane), size) for lane in wave.active()}
        for lane, raw in found.items():
            if narrow is not None:
                wave.vgprs[to][lane] = narrow(raw, wave.vgprs[to][lane]) % 2**32
            for n in range(0 if narrow else size // 4):
                wave.vgprs[to + n][lane] = _unsigned(raw[4 * n : 4 * n + 4])

    return step


def _store(place: Place, write: Write, size: int, first: int, *, data: int = 1) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        source = _register(d, data)
        for lane in wave.active():
            words = [wave.vgprs[source.index + n][lane] for n in range(source.count)]
            raw = b"".join(word.to_bytes(4, "little") for word in words)
            write(wave, lane, place(wave, d, 1 - data, lane), raw[first : first + size])

    return step


def _buffer_address(wave: Wavefront, d: Decoded, place: int, lane: int) -> int:
    """Private memory through the runtime's resource: the SGPR offset counts bytes of all 64 lanes."""
    scalar = d.operands[3]
    frame = scalar.value.value if isinstance(scalar.value, Number) else wave.scalars[_register(d, 3).index]
    own = wave.vgprs[_register(d, place).index][lane] if "offen" in d.modifiers else 0
    return (int(frame) // 64 + own + d.number("offset")) % 2**32


def either(private: Step, buffer: Step) -> Step:
    """Return the step of a buffer load or store, by whether its resource adds the lane's number."""

    def step(wave: Wavefront, d: Decoded) -> None:
        resource = None if "lds" in d.modifiers else d.operands[2].register
        adds_lane = resource is not None and wave.scalars[resource.index + 3] >> 23 & 1
        (private if adds_lane and "idxen" not in d.modifiers else buffer)(wave, d)

    return step


def _atomic(update: Update, bits: int, *, compares: bool) -> Step:
    """[old,] address, data; of a compare the data are the new value, then the value to find."""
    size, dwords = bits // 8, bits // 32

    def step(wave: Wavefront, d: Decoded) -> None:
        returns = len(d.operands) == 3
        source, olds = _register(d, 1 + returns).index, {}
        for lane in wave.active():
            address = _flat_address(wave, d, int(returns), lane)
            if address % size:
                raise Unreadable("an atomic that is not aligned")
            words = [wave.vgprs[source + n][lane] for n in range(dwords * (1 + compares))]
            numbers = [sum(word << 32 * n for n, word in enumerate(words[i : i + dwords])) for i in (0, dwords)]
            olds[lane] = held = _unsigned(_flat_read(wave, lane, address, size))
            _flat_write(wave, lane, address, (update(held, *numbers) % 2**bits).to_bytes(size, "little"))
        for lane, old in olds.items() if returns else ():
            for n in range(dwords):
                wave.vgprs[_register(d, 0).index + n][lane] = old >> 32 * n & 0xFFFFFFFF

    return step


def _steps() -> dict[str, Step]:
    table = {}
    for unit, place, read, write in (
        ("flat", _flat_address, _flat_read, _flat_write),
        ("scratch", _private_address, _private_read, _private_write),
    ):
        for name, (size, narrow) in _NARROW.items():
            table[f"{unit}_load_{name}"] = _load(place, read, size, narrow)
        for name, (size, first) in _STORED.items():
            table[f"{unit}_store_{name}"] = _store(place, write, size, first)
        for name, dwords in _WIDE.items():
            table[f"{unit}_load_{name}"] = _load(place, read, 4 * dwords, None)
            table[f"{unit}_store_{name}"] = _store(place, write, 4 * dwords, 0)
    for name, (size, narrow) in _NARROW.items():
        table[f"buffer_load_{name}"] = _load(_buffer_address, _private_read, size, narrow)
    for name, (size, first) in _STORED.items():
        table[f"buffer_store_{name}"] = _store(_buffer_address, _private_write, size, first, data=0)
    for name, dwords in _WIDE.items():
        table[f"buffer_load_{name}"] = _load(_buffer_address, _private_read, 4 * dwords, None)
        table[f"buffer_store_{name}"] = _store(_buffer_address, _private_write, 4 * dwords, 0, data=0)
    for name, (update, bits, compares) in MEMORY_UPDATES.items():
        table[f"flat_atomic_{name}"] = _atomic(update, bits, compares=compares)
    return table


_ALL = _steps()
STEPS = {name: step for name, step in _ALL.items() if not name.startswith("buffer")}
BUFFER_STEPS = {name: step for name, step in _ALL.items() if name.startswith("buffer")}
"""Buffer loads and stores through the runtime's resource for private memory."""
