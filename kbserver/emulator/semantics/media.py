"""Vector unit, bytes and pictures (VOP1, VOP3): sums of absolute differences over sliding windows, averages, saturating
packs, cube map coordinates, and the step of a pseudo-random sequence.

v_cvt_pk_u8_f32 and v_cvt_pkaccum_u8_f32 are not here: no source says how they round.
"""

from __future__ import annotations

from kbserver.emulator.access import read_lanes, vgpr_bits, write_dwords
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value, absolute, call, select
from kbserver.emulator.operands import Register
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import f32, i16, i32, u16, u32, u64
from kbserver.emulator.vector_rows import lane


def _byte(x: Value, place: int) -> Value:
    return (x >> (8 * place)) & 0xFF


def _difference(a: Value, b: Value) -> Value:
    return call("umax", a, b) - call("umin", a, b)


def _sad(x: Value, y: Value, total: Value, *, masked: bool) -> Value:
    """Add the differences of four bytes; the masked form skips bytes of y that are 0."""
    for place in range(4):
        a, b = _byte(x, place), _byte(y, place)
        one = _difference(a, b)
        total = total + (select(b.eq(0), one.like(0), one) if masked else one)
    return total


def _masked_sad(x: Value, y: Value, total: Value) -> Value:
    return _sad(x, y, total, masked=True)


def _window(x: Value, place: int) -> Value:
    """Return the four bytes of a 64-bit value from byte `place` on."""
    return (x >> (8 * place)).to(u32)


def _sliding(masked: bool) -> Row:
    """v_qsad_pk_u16_u8, v_mqsad_pk_u16_u8: four windows, four sums of 16 bits."""

    def function(x: Value, y: Value, totals: Value) -> Value:
        result = totals.like(0)
        for place in range(4):
            total = (totals >> (16 * place)).to(u32) & 0xFFFF
            one = _sad(_window(x, place), y, total, masked=masked) & 0xFFFF
            result = result | (one.to(u64) << (16 * place))
        return result

    return lane("u64 = u64 u32 u64", function)


def _sliding_dwords(t: Translation, d: Decoded) -> None:
    """v_mqsad_u32_u8: four windows, four sums of 32 bits."""
    destination, sums = d.register(0, "v", 4), d.register(3, "v", 4)
    x = vgpr_bits(t.registers, d.register(1, "v", 2), 64)
    y = read_lanes(t.registers, d.operands[2], u32)
    totals = [t.registers.vgpr(sums.index + place) for place in range(4)]
    results = [_masked_sad(_window(x, place), y, totals[place]) for place in range(4)]
    for place, result in enumerate(results):
        write_dwords(t.registers, Register("v", destination.index + place), result)


def _average(x: Value, y: Value, z: Value) -> Value:
    """v_lerp_u8: (a + b + the low bit of c) / 2 in each byte."""
    result = x.like(0)
    for place in range(4):
        total = _byte(x, place) + _byte(y, place) + (_byte(z, place) & 1)
        result = result | ((total >> 1) << (8 * place))
    return result


def _saturate(x: Value, low: int, high: int) -> Value:
    """Return the low byte of a signed number held in low..high."""
    return call("smax", call("smin", x, high), low).to(u32) & 0xFF


def _pack_halves_to_bytes(x: Value) -> Value:
    """v_sat_pk_u8_i16."""
    low, high = x.to(u16).as_(i16).to(i32), (x >> 16).to(u16).as_(i16).to(i32)
    return (_saturate(low, 0, 255) | (_saturate(high, 0, 255) << 8)).to(u16)


def _shift_and_pack(low: int, high: int) -> Row:
    """v_ashr_pk_i8_i32, v_ashr_pk_u8_i32."""

    def function(x: Value, y: Value, count: Value) -> Value:
        first, second = (_saturate(value >> (count & 31), low, high) for value in (x, y))
        return (first | (second << 8)).to(u16)

    return lane("u16 = i32 i32 u32", function, keeps_high_half=True)


def _cube(kind: str) -> Row:
    """v_cubeid, v_cubema, v_cubesc, v_cubetc: the major axis is z, else y, else x, whichever is largest."""

    def pick(z_major: Value, y_major: Value, values: tuple[Value, Value, Value]) -> Value:
        x_case, y_case, z_case = values
        return select(z_major, z_case, select(y_major, y_case, x_case))

    def function(x: Value, y: Value, z: Value) -> Value:
        ax, ay, az = absolute(x), absolute(y), absolute(z)
        z_major, y_major = (az >= ax) & (az >= ay), ay >= ax

        def by_sign(axis: Value, negative: Value | float, positive: Value | float) -> Value:
            yes = negative if isinstance(negative, Value) else axis.like(negative)
            return select(axis < 0.0, yes, positive)

        cases = {
            "id": lambda: (by_sign(x, 1.0, 0.0), by_sign(y, 3.0, 2.0), by_sign(z, 5.0, 4.0)),
            "ma": lambda: (x * 2.0, y * 2.0, z * 2.0),
            "sc": lambda: (by_sign(x, z, -z), x, by_sign(z, -x, x)),
            "tc": lambda: (-y, by_sign(y, -z, z), -y),
        }[kind]()
        return pick(z_major, y_major, cases)

    return lane("f32 = f32 f32 f32", function)


def _random_step(x: Value) -> Value:
    """v_prng_b32."""
    return (x << 1) ^ select((x >> 31).ne(0), x.like(197), 0)


def _offset(x: Value) -> Value:
    """v_cvt_off_f32_i4: a signed number of four bits, in sixteenths."""
    return (((x << 28).as_(i32)) >> 28).to(f32) * 0.0625


ROWS: dict[str, Row] = {
    "v_msad_u8": lane("u32 = u32 u32 u32", _masked_sad),
    "v_qsad_pk_u16_u8": _sliding(masked=False),
    "v_mqsad_pk_u16_u8": _sliding(masked=True),
    "v_mqsad_u32_u8": Special(_sliding_dwords, writes=(0,), reads=(1, 2, 3)),
    "v_lerp_u8": lane("u32 = u32 u32 u32", _average),
    "v_sat_pk_u8_i16": lane("u16 = u32", _pack_halves_to_bytes),
    "v_ashr_pk_i8_i32": _shift_and_pack(-128, 127),  # gfx950
    "v_ashr_pk_u8_i32": _shift_and_pack(0, 255),  # gfx950
    **{f"v_cube{kind}_f32": _cube(kind) for kind in ("id", "ma", "sc", "tc")},
    "v_cvt_off_f32_i4": lane("f32 = u32", _offset),
    "v_prng_b32": lane("u32 = u32", _random_step),  # gfx950
}
