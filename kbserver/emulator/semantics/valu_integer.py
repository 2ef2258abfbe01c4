"""Vector unit, integers and bits (VOP1, VOP2, VOP3): one result a lane.

Shifts use the low bits of the count. 24-bit multiplications take the low 24 bits of each source, with their sign in
the i24 forms. Carries are masks with one bit a lane. 16-bit results zero the register's high half unless the row says
that it keeps it.
"""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.ir import Value, call, high_product, popcount, select
from kbserver.emulator.rows import Row
from kbserver.emulator.semantics.bits import bit_field, find_one, sign_run
from kbserver.emulator.types import i32, i64, u32, u64
from kbserver.emulator.vector_rows import lane

Pair = tuple[Value, Value]


def _add(x: Value, y: Value) -> Value:
    return x + y


def _sub(x: Value, y: Value) -> Value:
    return x - y


def _saturating(operation: str) -> Callable[[Value, Value], Value]:
    """Integer `clamp`: stop at the ends of the type instead of wrapping."""

    def function(x: Value, y: Value) -> Value:
        sign = "s" if x.type.kind == "i" else "u"
        return call(f"{sign}{operation}.sat", x, y)

    return function


def _add_carry(x: Value, y: Value) -> Pair:
    total = x + y
    return total, total < x


def _sub_borrow(x: Value, y: Value) -> Pair:
    return x - y, x < y


def _add_with_carry(x: Value, y: Value, carry: Value) -> Pair:
    first = x + y
    total = first + carry.to(u32)
    return total, (first < x) | (total < first)


def _sub_with_borrow(x: Value, y: Value, borrow: Value) -> Pair:
    first = x - y
    return first - borrow.to(u32), (x < y) | (first < borrow.to(u32))


def _reversed(function: Callable[..., object]) -> Callable[..., object]:
    """The `rev` forms exchange the first two sources."""
    return lambda x, y, *rest: function(y, x, *rest)


def _min(x: Value, y: Value) -> Value:
    return call("smin" if x.type.kind == "i" else "umin", x, y)


def _max(x: Value, y: Value) -> Value:
    return call("smax" if x.type.kind == "i" else "umax", x, y)


def _med3(x: Value, y: Value, z: Value) -> Value:
    return _max(_min(x, y), _min(_max(x, y), z))


def _low24(x: Value) -> Value:
    """Return the low 24 bits, with their sign for a signed type."""
    return (x << 8) >> 8


def _mul24(x: Value, y: Value) -> Value:
    return _low24(x) * _low24(y)


def _mul_high24(x: Value, y: Value) -> Value:
    wide = i64 if x.type.kind == "i" else u64
    return ((_low24(x).to(wide) * _low24(y).to(wide)) >> 32).to(x.type)


def _mad_wide(x: Value, y: Value, z: Value) -> Pair:
    """v_mad_u64_u32, v_mad_i64_i32: the carry is that of the 64-bit addition (overflow for the signed form)."""
    total = x.to(z.type) * y.to(z.type) + z
    product = total - z
    if z.type.kind == "u":
        return total, total < z
    return total, ((product ^ total) & (z ^ total)) < 0


def _mad_u16(x: Value, y: Value, z: Value) -> Value:
    return x * y + z


def _shift_left(x: Value, count: Value) -> Value:
    return x << (count & (x.type.bits - 1))


def _shift_right(x: Value, count: Value) -> Value:
    return x >> (count & (x.type.bits - 1))


def _align_bits(high: Value, low: Value, count: Value) -> Value:
    joined = low.to(u64) | (high.to(u64) << 32)
    return (joined >> (count & 31)).to(u32)


def _align_bytes(high: Value, low: Value, count: Value) -> Value:
    joined = low.to(u64) | (high.to(u64) << 32)
    return (joined >> ((count & 3) << 3)).to(u32)


def _permute_bytes(high: Value, low: Value, selectors: Value) -> Value:
    """v_perm_b32. Selector 0-7: byte of {high, low}; 8-11: the sign of byte 1, 3, 5, 7; 12: 0x00; above: 0xff."""
    joined = low.to(u64) | (high.to(u64) << 32)
    result = selectors.like(0)
    for place in range(4):
        selector = (selectors >> (8 * place)) & 0xFF
        plain = (joined >> ((selector & 7) << 3)).to(u32) & 0xFF
        # Selector 8 + n takes the sign of byte 2n + 1, which is bit 16 n + 15.
        sign = ((joined >> (((selector & 3) << 4) | 15)).to(u32) & 1) * 0xFF
        byte = select(selector < 8, plain, select(selector < 12, sign, select(selector.eq(12), plain.like(0), 0xFF)))
        result = result | (byte << (8 * place))
    return result


def _bit_operation(x: Value, y: Value, z: Value, *, bitop3: int) -> Value:
    """v_bitop3: bit 4a + 2b + c of the table is the result for source bits a, b, c."""
    result = x.like(0)
    for row in range(8):
        if bitop3 >> row & 1:
            a = x if row & 4 else ~x
            b = y if row & 2 else ~y
            c = z if row & 1 else ~z
            result = result | (a & b & c)
    return result


def _sad_u8(x: Value, y: Value, total: Value) -> Value:
    for place in range(4):
        a, b = (x >> (8 * place)) & 0xFF, (y >> (8 * place)) & 0xFF
        total = total + (_max(a, b) - _min(a, b))
    return total


def _sad_u16(x: Value, y: Value, total: Value) -> Value:
    for place in range(2):
        a, b = (x >> (16 * place)) & 0xFFFF, (y >> (16 * place)) & 0xFFFF
        total = total + (_max(a, b) - _min(a, b))
    return total


def _sad_u32(x: Value, y: Value, total: Value) -> Value:
    return total + (_max(x, y) - _min(x, y))


def _count_below(mask: Value, total: Value, *, high: bool) -> Value:
    """v_mbcnt: how many bits of the mask belong to lanes below this one, in one half of the wavefront."""
    emitter = mask.emitter
    words = []
    for number in range(64):
        below = (1 << number) - 1
        words.append(below >> 32 if high else below & 0xFFFFFFFF)
    constant = "<" + ", ".join(f"i32 {word}" for word in words) + ">"
    lanes = Value(emitter, constant, u32, 64)
    return popcount(mask & lanes) + total


def _dot4(x: Value, y: Value, total: Value) -> Value:
    for place in range(4):
        shift = 24 - 8 * place
        total = total + ((x << shift) >> 24) * ((y << shift) >> 24)
    return total


def _dot2(x: Value, y: Value, total: Value) -> Value:
    for shift in (16, 0):
        total = total + ((x << shift) >> 16) * ((y << shift) >> 16)
    return total


def _pack_halves(low: Value, high: Value) -> Value:
    return low.to(u32) | (high.to(u32) << 16)


ROWS: dict[str, Row] = {
    # Moves
    "v_mov_b32": lane("b32 = b32", lambda x: x),
    "v_mov_b64": lane("b64 = b64", lambda x: x),
    "v_accvgpr_read_b32": lane("b32 = b32", lambda x: x),
    "v_accvgpr_write_b32": lane("b32 = b32", lambda x: x),
    "v_accvgpr_mov_b32": lane("b32 = b32", lambda x: x),
    "v_cndmask_b32": lane("b32 = b32 b32 mask", lambda x, y, mask: select(mask, y, x)),
    "v_pack_b32_f16": lane("b32 = b16 b16", _pack_halves),
    # Addition and subtraction
    "v_add_u32": lane("u32 = u32 u32", _add, saturating=_saturating("add")),
    "v_sub_u32": lane("u32 = u32 u32", _sub, saturating=_saturating("sub")),
    "v_subrev_u32": lane("u32 = u32 u32", _reversed(_sub), saturating=_reversed(_saturating("sub"))),
    "v_add_i32": lane("i32 = i32 i32", _add, saturating=_saturating("add")),
    "v_sub_i32": lane("i32 = i32 i32", _sub, saturating=_saturating("sub")),
    "v_add_co_u32": lane("u32 mask = u32 u32", _add_carry),
    "v_sub_co_u32": lane("u32 mask = u32 u32", _sub_borrow),
    "v_subrev_co_u32": lane("u32 mask = u32 u32", _reversed(_sub_borrow)),
    "v_addc_co_u32": lane("u32 mask = u32 u32 mask", _add_with_carry),
    "v_subb_co_u32": lane("u32 mask = u32 u32 mask", _sub_with_borrow),
    "v_subbrev_co_u32": lane("u32 mask = u32 u32 mask", _reversed(_sub_with_borrow)),
    "v_add3_u32": lane("u32 = u32 u32 u32", lambda x, y, z: x + y + z),
    "v_lshl_add_u32": lane("u32 = u32 u32 u32", lambda x, n, y: _shift_left(x, n) + y),
    "v_add_lshl_u32": lane("u32 = u32 u32 u32", lambda x, y, n: _shift_left(x + y, n)),
    "v_xad_u32": lane("u32 = u32 u32 u32", lambda x, y, z: (x ^ y) + z),
    # The count of the 64-bit form has 3 bits that matter: 0 to 4, larger counts are reserved.
    "v_lshl_add_u64": lane("u64 = u64 u32 u64", lambda x, n, y: (x << (n & 7)) + y),
    # Multiplication
    "v_mul_lo_u32": lane("u32 = u32 u32", lambda x, y: x * y),
    "v_mul_hi_u32": lane("u32 = u32 u32", high_product),
    "v_mul_hi_i32": lane("i32 = i32 i32", high_product),
    "v_mul_u32_u24": lane("u32 = u32 u32", _mul24),
    "v_mul_i32_i24": lane("i32 = i32 i32", _mul24),
    "v_mul_hi_u32_u24": lane("u32 = u32 u32", _mul_high24),
    "v_mul_hi_i32_i24": lane("i32 = i32 i32", _mul_high24),
    "v_mad_u32_u24": lane("u32 = u32 u32 u32", lambda x, y, z: _mul24(x, y) + z),
    "v_mad_i32_i24": lane("i32 = i32 i32 i32", lambda x, y, z: _mul24(x, y) + z),
    "v_mad_u64_u32": lane("u64 mask = u32 u32 u64", _mad_wide),
    "v_mad_i64_i32": lane("i64 mask = i32 i32 i64", _mad_wide),
    "v_mad_u32_u16": lane("u32 = u16 u16 u32", lambda x, y, z: x.to(u32) * y.to(u32) + z),
    "v_mad_i32_i16": lane("i32 = i16 i16 i32", lambda x, y, z: x.to(i32) * y.to(i32) + z),
    # Minimum, maximum, median
    "v_min_u32": lane("u32 = u32 u32", _min),
    "v_min_i32": lane("i32 = i32 i32", _min),
    "v_max_u32": lane("u32 = u32 u32", _max),
    "v_max_i32": lane("i32 = i32 i32", _max),
    "v_min3_u32": lane("u32 = u32 u32 u32", lambda x, y, z: _min(_min(x, y), z)),
    "v_min3_i32": lane("i32 = i32 i32 i32", lambda x, y, z: _min(_min(x, y), z)),
    "v_max3_u32": lane("u32 = u32 u32 u32", lambda x, y, z: _max(_max(x, y), z)),
    "v_max3_i32": lane("i32 = i32 i32 i32", lambda x, y, z: _max(_max(x, y), z)),
    "v_med3_u32": lane("u32 = u32 u32 u32", _med3),
    "v_med3_i32": lane("i32 = i32 i32 i32", _med3),
    # Logic
    "v_and_b32": lane("u32 = u32 u32", lambda x, y: x & y),
    "v_or_b32": lane("u32 = u32 u32", lambda x, y: x | y),
    "v_xor_b32": lane("u32 = u32 u32", lambda x, y: x ^ y),
    "v_xnor_b32": lane("u32 = u32 u32", lambda x, y: ~(x ^ y)),
    "v_not_b32": lane("u32 = u32", lambda x: ~x),
    "v_or3_b32": lane("u32 = u32 u32 u32", lambda x, y, z: x | y | z),
    "v_and_or_b32": lane("u32 = u32 u32 u32", lambda x, y, z: (x & y) | z),
    "v_lshl_or_b32": lane("u32 = u32 u32 u32", lambda x, n, y: _shift_left(x, n) | y),
    "v_bfi_b32": lane("u32 = u32 u32 u32", lambda mask, x, y: (mask & x) | (~mask & y)),
    "v_bitop3_b32": lane("u32 = u32 u32 u32", _bit_operation, takes=("bitop3",)),
    "v_bitop3_b16": lane("u16 = u16 u16 u16", _bit_operation, takes=("bitop3",)),
    # Shifts and bit fields
    "v_lshlrev_b32": lane("u32 = u32 u32", lambda n, x: _shift_left(x, n)),
    "v_lshrrev_b32": lane("u32 = u32 u32", lambda n, x: _shift_right(x, n)),
    "v_ashrrev_i32": lane("i32 = u32 i32", lambda n, x: _shift_right(x, n)),
    "v_lshlrev_b64": lane("u64 = u32 u64", lambda n, x: x << (n & 63)),
    "v_lshrrev_b64": lane("u64 = u32 u64", lambda n, x: x >> (n & 63)),
    "v_ashrrev_i64": lane("i64 = u32 i64", lambda n, x: x >> (n & 63)),
    "v_bfe_u32": lane("u32 = u32 u32 u32", lambda x, n, w: bit_field(x, n & 31, w & 31)),
    "v_bfe_i32": lane("i32 = i32 u32 u32", lambda x, n, w: bit_field(x, n & 31, w & 31)),
    "v_bfm_b32": lane("u32 = u32 u32", lambda w, n: ((w.like(1) << (w & 31)) - 1) << (n & 31)),
    "v_bfrev_b32": lane("u32 = u32", lambda x: call("bitreverse", x)),
    "v_alignbit_b32": lane("u32 = u32 u32 u32", _align_bits),
    "v_alignbyte_b32": lane("u32 = u32 u32 u32", _align_bytes),
    "v_perm_b32": lane("u32 = u32 u32 u32", _permute_bytes),
    # Counting
    "v_bcnt_u32_b32": lane("u32 = u32 u32", lambda x, total: popcount(x) + total),
    "v_mbcnt_lo_u32_b32": lane("u32 = u32 u32", lambda x, total: _count_below(x, total, high=False)),
    "v_mbcnt_hi_u32_b32": lane("u32 = u32 u32", lambda x, total: _count_below(x, total, high=True)),
    "v_ffbh_u32": lane("i32 = u32", lambda x: find_one(x, leading=True)),
    "v_ffbl_b32": lane("i32 = u32", lambda x: find_one(x, leading=False)),
    "v_ffbh_i32": lane("i32 = i32", sign_run),
    # Sums of absolute differences, dot products
    "v_sad_u8": lane("u32 = u32 u32 u32", _sad_u8),
    "v_sad_hi_u8": lane("u32 = u32 u32 u32", lambda x, y, z: (_sad_u8(x, y, z.like(0)) << 16) + z),
    "v_sad_u16": lane("u32 = u32 u32 u32", _sad_u16),
    "v_sad_u32": lane("u32 = u32 u32 u32", _sad_u32),
    "v_dot4c_i32_i8": lane("i32 = i32 i32 dst", _dot4),
    "v_dot2c_i32_i16": lane("i32 = i32 i32 dst", _dot2),
    # 16 bits
    "v_add_u16": lane("u16 = u16 u16", _add, saturating=_saturating("add")),
    "v_sub_u16": lane("u16 = u16 u16", _sub, saturating=_saturating("sub")),
    "v_subrev_u16": lane("u16 = u16 u16", _reversed(_sub), saturating=_reversed(_saturating("sub"))),
    "v_add_i16": lane("i16 = i16 i16", _add, saturating=_saturating("add")),
    "v_sub_i16": lane("i16 = i16 i16", _sub, saturating=_saturating("sub")),
    "v_mul_lo_u16": lane("u16 = u16 u16", lambda x, y: x * y),
    "v_mad_u16": lane("u16 = u16 u16 u16", _mad_u16, keeps_high_half=True),
    "v_mad_i16": lane("i16 = i16 i16 i16", _mad_u16, keeps_high_half=True),
    "v_mad_legacy_u16": lane("u16 = u16 u16 u16", _mad_u16),
    "v_mad_legacy_i16": lane("i16 = i16 i16 i16", _mad_u16),
    "v_min_u16": lane("u16 = u16 u16", _min),
    "v_min_i16": lane("i16 = i16 i16", _min),
    "v_max_u16": lane("u16 = u16 u16", _max),
    "v_max_i16": lane("i16 = i16 i16", _max),
    **{
        f"v_{name}3_{t}": lane(f"{t} = {t} {t} {t}", function, keeps_high_half=True)
        for name, function in (
            ("min", lambda x, y, z: _min(_min(x, y), z)),
            ("max", lambda x, y, z: _max(_max(x, y), z)),
            ("med", _med3),
        )
        for t in ("u16", "i16")
    },
    "v_lshlrev_b16": lane("u16 = u16 u16", lambda n, x: _shift_left(x, n)),
    "v_lshrrev_b16": lane("u16 = u16 u16", lambda n, x: _shift_right(x, n)),
    "v_ashrrev_i16": lane("i16 = u16 i16", lambda n, x: _shift_right(x, n)),
}
