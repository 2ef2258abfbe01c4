"""LDS (DS): reads and writes of one or two elements at a byte address of 32 bits plus an offset."""

from __future__ import annotations

from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import LANES, Value
from kbserver.emulator.operands import M0, Register
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.runtime.elements import LOADS, STORES, Element
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import u32

_ONE = frozenset({"offset"})
_TWO = frozenset({"offset0", "offset1"})

# DS suffix -> suffix of the runtime routine.
_READS = {
    "b32": "dword", "b64": "dwordx2", "b96": "dwordx3", "b128": "dwordx4",
    "u8": "ubyte", "i8": "sbyte", "u16": "ushort", "i16": "sshort",
    "u8_d16": "ubyte_d16", "u8_d16_hi": "ubyte_d16_hi", "i8_d16": "sbyte_d16", "i8_d16_hi": "sbyte_d16_hi",
    "u16_d16": "short_d16", "u16_d16_hi": "short_d16_hi",
}  # fmt: skip
_WRITES = {
    "b32": "dword", "b64": "dwordx2", "b96": "dwordx3", "b128": "dwordx4",
    "b8": "byte", "b8_d16_hi": "byte_d16_hi", "b16": "short", "b16_d16_hi": "short_d16_hi",
}  # fmt: skip


def _access(t: Translation, d: Decoded, routine: str, address: Register, data: Register, offset: int) -> None:
    registers = t.registers
    addresses = registers.vgpr_pointer(address.index)
    pointer = registers.vgpr_pointer(data.index)
    t.call(
        routine,
        f"ptr {addresses}, {registers.exec_bits.typed}, i64 {offset}, ptr {pointer}, ptr %lds, ptr %ctx, i32 {d.index}",
    )


def _read(suffix: str, element: Element) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        destination = d.register(0, "v", element.dwords)
        _access(t, d, f"lds_load_{suffix}", d.register(1, "v", 1), destination, d.number("offset"))

    return Special(function, _ONE, writes=(0,), reads=(1,), counter="lgkmcnt")


def _write(suffix: str, element: Element) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        data = d.register(1, "v", element.dwords)
        _access(t, d, f"lds_store_{suffix}", d.register(0, "v", 1), data, d.number("offset"))

    return Special(function, _ONE, reads=(0, 1), counter="lgkmcnt")


def _parts(register: Register, dwords: int) -> tuple[Register, Register]:
    return Register("v", register.index, dwords), Register("v", register.index + dwords, dwords)


def _read2(dwords: int, stride: int) -> Special:
    """Two elements; the offsets count elements, or 64 of them in the st64 forms."""
    suffix = "dword" if dwords == 1 else "dwordx2"
    scale = dwords * 4 * stride

    def function(t: Translation, d: Decoded) -> None:
        destination = d.register(0, "v", 2 * dwords)
        address = d.register(1, "v", 1)
        parts = _parts(destination, dwords)
        # The address may be one of the destinations: both reads use what it was before.
        clash = parts[0].index <= address.index < parts[0].index + dwords
        for place in (1, 0) if clash else (0, 1):
            _access(t, d, f"lds_load_{suffix}", address, parts[place], d.number(f"offset{place}") * scale)

    return Special(function, _TWO, writes=(0,), reads=(1,), counter="lgkmcnt")


def _write2(dwords: int, stride: int) -> Special:
    suffix = "dword" if dwords == 1 else "dwordx2"
    scale = dwords * 4 * stride

    def function(t: Translation, d: Decoded) -> None:
        address = d.register(0, "v", 1)
        # With one address the second value is not written.
        for place in (0, 1) if d.number("offset0") != d.number("offset1") else (0,):
            data = d.register(1 + place, "v", dwords)
            _access(t, d, f"lds_store_{suffix}", address, data, d.number(f"offset{place}") * scale)

    return Special(function, _TWO, reads=(0, 1, 2), counter="lgkmcnt")


def _by_lane(routine: str, *, load: bool) -> Special:
    """Lane i at M0 + offset + 4i: no address in a VGPR."""

    def function(t: Translation, d: Decoded) -> None:
        data = t.registers.vgpr_pointer(d.register(0, "v", 1).index)
        places = Value(t.emitter, "<" + ", ".join(f"i32 {4 * lane}" for lane in range(LANES)) + ">", u32, LANES)
        base = (t.registers.sgpr(M0) & 0xFFFF).splat(LANES)
        t.emitter.store(places + base, "%addresses", align=64)
        exec_ = t.registers.exec_bits.typed
        t.call(
            routine,
            f"ptr %addresses, {exec_}, i64 {d.number('offset')}, ptr {data}, ptr %lds, ptr %ctx, i32 {d.index}",
        )

    places = {"writes": (0,)} if load else {"reads": (0,)}
    return Special(function, _ONE, counter="lgkmcnt", **places)


ROWS: dict[str, Row] = {
    "ds_read_addtid_b32": _by_lane("lds_load_dword", load=True),
    "ds_write_addtid_b32": _by_lane("lds_store_dword", load=False),
    **{f"ds_read_{name}": _read(suffix, LOADS[suffix]) for name, suffix in _READS.items()},
    **{f"ds_write_{name}": _write(suffix, STORES[suffix]) for name, suffix in _WRITES.items()},
    "ds_read2_b32": _read2(1, 1),
    "ds_read2st64_b32": _read2(1, 64),
    "ds_read2_b64": _read2(2, 1),
    "ds_read2st64_b64": _read2(2, 64),
    "ds_write2_b32": _write2(1, 1),
    "ds_write2st64_b32": _write2(1, 64),
    "ds_write2_b64": _write2(2, 1),
    "ds_write2st64_b64": _write2(2, 64),
}
