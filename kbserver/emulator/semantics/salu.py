"""Scalar unit (SOP1, SOP2, SOPK, SOPC): integers and masks of one value a wavefront, with SCC.

SCC is the carry of add_u32 and sub_u32 (borrow), the signed overflow of add_i32 and sub_i32, "the result is not zero"
of logic, shifts and bit fields, and "the first operand was picked" of min and max. Moves and multiplies keep it.
"""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.ir import Value, call, high_product, popcount, select
from kbserver.emulator.rows import Row, scalar
from kbserver.emulator.semantics.bits import bit_field, find_one, sign_run
from kbserver.emulator.types import i32, i64, u32, u64

Pair = tuple[Value, Value]


def _add_u(x: Value, y: Value) -> Pair:
    total = x + y
    return total, total < x


def _addc(x: Value, y: Value, carry: Value) -> Pair:
    total = x.to(u64) + y.to(u64) + carry.to(u64)
    return total.to(u32), (total >> 32).ne(0)


def _sub_u(x: Value, y: Value) -> Pair:
    return x - y, x < y


def _subb(x: Value, y: Value, borrow: Value) -> Pair:
    total = x.to(u64) - y.to(u64) - borrow.to(u64)
    return total.to(u32), (total >> 63).ne(0)


def _add_i(x: Value, y: Value) -> Pair:
    total = x.to(i64) + y.to(i64)
    return total.to(i32), total.to(i32).to(i64).ne(total)


def _sub_i(x: Value, y: Value) -> Pair:
    total = x.to(i64) - y.to(i64)
    return total.to(i32), total.to(i32).to(i64).ne(total)


def _min(x: Value, y: Value) -> Pair:
    first = x < y
    return select(first, x, y), first


def _max(x: Value, y: Value) -> Pair:
    first = x > y
    return select(first, x, y), first


def _abs(x: Value) -> Pair:
    result = select(x < 0, -x, x)
    return result, result.ne(0)


def _abs_difference(x: Value, y: Value) -> Pair:
    difference = x - y
    result = select(difference < 0, -difference, difference)
    return result, result.ne(0)


def _nonzero(function: Callable[..., Value]) -> Callable[..., Pair]:
    """Add SCC = (result != 0)."""

    def both(*values: Value) -> Pair:
        result = function(*values)
        return result, result.ne(0)

    return both


def _left_add(bits: int) -> Callable[[Value, Value], Pair]:
    """s_lshl<n>_add_u32: SCC is the carry out of 32 bits."""

    def function(x: Value, y: Value) -> Pair:
        total = (x.to(u64) << bits) + y.to(u64)
        return total.to(u32), (total >> 32).ne(0)

    return function


def _field(x: Value, packed: Value) -> Value:
    """s_bfe: offset in the low 5 or 6 bits of the second operand, width in bits 22:16."""
    bits = x.type.bits
    return bit_field(x, packed & (bits - 1), (packed >> 16) & 0x7F)


def _mask(width: Value, offset: Value) -> Value:
    """s_bfm: `width` ones from bit `offset` on."""
    room = width.type.bits - 1
    return ((width.like(1) << (width & room)) - 1) << (offset & room)


def _shifted(operation: str) -> Callable[[Value, Value], Value]:
    """Shift by the low 5 or 6 bits of the count."""

    def function(x: Value, count: Value) -> Value:
        masked = count & (x.type.bits - 1)
        return x << masked if operation == "left" else x >> masked

    return function


def _pack(low_high: tuple[bool, bool]) -> Callable[[Value, Value], Value]:
    def function(x: Value, y: Value) -> Value:
        low = x >> 16 if low_high[0] else x & 0xFFFF
        high = y & 0xFFFF0000 if low_high[1] else y << 16
        return low | high

    return function


def _any_of_quads(x: Value) -> Value:
    """s_quadmask: bit i of the result is set when a bit of quad i is."""
    result = x.like(0)
    for quad in range(x.type.bits // 4):
        result = result | (((x >> (4 * quad)) & 0xF).ne(0).to(x.type) << quad)
    return result


def _doubled_bits(x: Value) -> Value:
    """s_bitreplicate: spread the bits to the even places, then double each."""
    wide = x.to(u64)
    for shift, mask in ((16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F),
                        (2, 0x3333333333333333), (1, 0x5555555555555555)):  # fmt: skip
        wide = (wide | (wide << shift)) & mask
    return wide * 3


def _whole_quads(x: Value) -> Value:
    """s_wqm: all four bits of every quad that has one set."""
    ones = 0x1111111111111111 & ((1 << x.type.bits) - 1)
    some = (x | (x >> 1) | (x >> 2) | (x >> 3)) & ones
    return some * 15


_LOGIC: dict[str, Callable[[Value, Value], Value]] = {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "andn2": lambda x, y: x & ~y,
    "orn2": lambda x, y: x | ~y,
    "nand": lambda x, y: ~(x & y),
    "nor": lambda x, y: ~(x | y),
    "xnor": lambda x, y: ~(x ^ y),
}


def _save_exec(operation: Callable[[Value, Value], Value]) -> Callable[[Value, Value], tuple[Value, Value, Value]]:
    """The destination keeps the old EXEC; the operation runs on (source, EXEC)."""

    def function(x: Value, exec_: Value) -> tuple[Value, Value, Value]:
        result = operation(x, exec_)
        return exec_, result, result.ne(0)

    return function


def _write_exec(operation: Callable[[Value, Value], Value]) -> Callable[[Value, Value], tuple[Value, Value, Value]]:
    """s_andn1_wrexec, s_andn2_wrexec: destination and EXEC both get the result."""

    def function(x: Value, exec_: Value) -> tuple[Value, Value, Value]:
        result = operation(x, exec_)
        return result, result, result.ne(0)

    return function


_COMPARE: dict[str, Callable[[Value, Value], Value]] = {
    "eq": lambda x, y: x.eq(y),
    "lg": lambda x, y: x.ne(y),
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
}

ROWS: dict[str, Row] = {
    # Moves
    "s_mov_b32": scalar("b32 = b32", lambda x: x),
    "s_mov_b64": scalar("b64 = b64", lambda x: x),
    "s_movk_i32": scalar("i32 = k", lambda k: k),
    "s_cmov_b32": scalar("b32 = dst b32 scc", lambda old, x, scc: select(scc, x, old)),
    "s_cmov_b64": scalar("b64 = dst b64 scc", lambda old, x, scc: select(scc, x, old)),
    "s_cmovk_i32": scalar("i32 = dst k scc", lambda old, k, scc: select(scc, k, old)),
    "s_cselect_b32": scalar("b32 = b32 b32 scc", lambda x, y, scc: select(scc, x, y)),
    "s_cselect_b64": scalar("b64 = b64 b64 scc", lambda x, y, scc: select(scc, x, y)),
    # Addition and subtraction
    "s_add_u32": scalar("u32 scc = u32 u32", _add_u),
    "s_addc_u32": scalar("u32 scc = u32 u32 scc", _addc),
    "s_sub_u32": scalar("u32 scc = u32 u32", _sub_u),
    "s_subb_u32": scalar("u32 scc = u32 u32 scc", _subb),
    "s_add_i32": scalar("i32 scc = i32 i32", _add_i),
    "s_sub_i32": scalar("i32 scc = i32 i32", _sub_i),
    "s_addk_i32": scalar("i32 scc = dst k", _add_i),
    "s_abs_i32": scalar("i32 scc = i32", _abs),
    "s_absdiff_i32": scalar("i32 scc = i32 i32", _abs_difference),
    **{f"s_lshl{n}_add_u32": scalar("u32 scc = u32 u32", _left_add(n)) for n in (1, 2, 3, 4)},
    "s_min_i32": scalar("i32 scc = i32 i32", _min),
    "s_min_u32": scalar("u32 scc = u32 u32", _min),
    "s_max_i32": scalar("i32 scc = i32 i32", _max),
    "s_max_u32": scalar("u32 scc = u32 u32", _max),
    # Multiplication
    "s_mul_i32": scalar("i32 = i32 i32", lambda x, y: x * y),
    "s_mulk_i32": scalar("i32 = dst k", lambda x, k: x * k),
    "s_mul_hi_u32": scalar("u32 = u32 u32", high_product),
    "s_mul_hi_i32": scalar("i32 = i32 i32", high_product),
    # Logic
    **{f"s_{n}_b32": scalar("b32 scc = b32 b32", _nonzero(f)) for n, f in _LOGIC.items()},
    **{f"s_{n}_b64": scalar("b64 scc = b64 b64", _nonzero(f)) for n, f in _LOGIC.items()},
    "s_not_b32": scalar("b32 scc = b32", _nonzero(lambda x: ~x)),
    "s_not_b64": scalar("b64 scc = b64", _nonzero(lambda x: ~x)),
    "s_wqm_b32": scalar("b32 scc = b32", _nonzero(_whole_quads)),
    "s_wqm_b64": scalar("b64 scc = b64", _nonzero(_whole_quads)),
    # Shifts and bit fields
    "s_lshl_b32": scalar("b32 scc = b32 u32", _nonzero(_shifted("left"))),
    "s_lshl_b64": scalar("b64 scc = b64 u32", _nonzero(lambda x, n: x << (n & 63))),
    "s_lshr_b32": scalar("b32 scc = b32 u32", _nonzero(_shifted("right"))),
    "s_lshr_b64": scalar("b64 scc = b64 u32", _nonzero(lambda x, n: x >> (n & 63))),
    "s_ashr_i32": scalar("i32 scc = i32 u32", _nonzero(_shifted("right"))),
    "s_ashr_i64": scalar("i64 scc = i64 u32", _nonzero(lambda x, n: x >> (n & 63))),
    "s_bfe_u32": scalar("u32 scc = u32 u32", _nonzero(_field)),
    "s_bfe_i32": scalar("i32 scc = i32 u32", _nonzero(_field)),
    "s_bfe_u64": scalar("u64 scc = u64 u32", _nonzero(_field)),
    "s_bfe_i64": scalar("i64 scc = i64 u32", _nonzero(_field)),
    "s_bfm_b32": scalar("b32 = b32 b32", _mask),
    "s_bfm_b64": scalar("b64 = u32 u32", lambda w, o: _mask(w.to(u64), o.to(u64))),
    "s_pack_ll_b32_b16": scalar("b32 = b32 b32", _pack((False, False))),
    "s_pack_lh_b32_b16": scalar("b32 = b32 b32", _pack((False, True))),
    "s_pack_hh_b32_b16": scalar("b32 = b32 b32", _pack((True, True))),
    "s_sext_i32_i8": scalar("i32 = i32", lambda x: (x << 24) >> 24),
    "s_sext_i32_i16": scalar("i32 = i32", lambda x: (x << 16) >> 16),
    "s_brev_b32": scalar("b32 = b32", lambda x: call("bitreverse", x)),
    "s_brev_b64": scalar("b64 = b64", lambda x: call("bitreverse", x)),
    "s_bitset0_b32": scalar("b32 = dst u32", lambda old, n: old & ~(n.like(1) << (n & 31))),
    "s_bitset1_b32": scalar("b32 = dst u32", lambda old, n: old | (n.like(1) << (n & 31))),
    "s_bitset0_b64": scalar("b64 = dst u32", lambda old, n: old & ~(old.like(1) << (n & 63))),
    "s_bitset1_b64": scalar("b64 = dst u32", lambda old, n: old | (old.like(1) << (n & 63))),
    "s_quadmask_b32": scalar("b32 scc = b32", _nonzero(_any_of_quads)),
    "s_quadmask_b64": scalar("b64 scc = b64", _nonzero(_any_of_quads)),
    "s_bitreplicate_b64_b32": scalar("b64 = b32", _doubled_bits),
    # Counting
    "s_bcnt0_i32_b32": scalar("i32 scc = b32", _nonzero(lambda x: popcount(~x).as_(i32))),
    "s_bcnt1_i32_b32": scalar("i32 scc = b32", _nonzero(lambda x: popcount(x).as_(i32))),
    "s_bcnt0_i32_b64": scalar("i32 scc = b64", _nonzero(lambda x: popcount(~x).to(i32))),
    "s_bcnt1_i32_b64": scalar("i32 scc = b64", _nonzero(lambda x: popcount(x).to(i32))),
    "s_ff0_i32_b32": scalar("i32 = b32", lambda x: find_one(~x, leading=False)),
    "s_ff1_i32_b32": scalar("i32 = b32", lambda x: find_one(x, leading=False)),
    "s_ff0_i32_b64": scalar("i32 = b64", lambda x: find_one(~x, leading=False)),
    "s_ff1_i32_b64": scalar("i32 = b64", lambda x: find_one(x, leading=False)),
    "s_flbit_i32_b32": scalar("i32 = b32", lambda x: find_one(x, leading=True)),
    "s_flbit_i32_b64": scalar("i32 = b64", lambda x: find_one(x, leading=True)),
    "s_flbit_i32": scalar("i32 = i32", sign_run),
    "s_flbit_i32_i64": scalar("i32 = i64", sign_run),
    # EXEC
    **{f"s_{n}_saveexec_b64": scalar("b64 exec scc = b64 exec", _save_exec(f)) for n, f in _LOGIC.items()},
    "s_andn1_saveexec_b64": scalar("b64 exec scc = b64 exec", _save_exec(lambda x, y: ~x & y)),
    "s_orn1_saveexec_b64": scalar("b64 exec scc = b64 exec", _save_exec(lambda x, y: ~x | y)),
    "s_andn1_wrexec_b64": scalar("b64 exec scc = b64 exec", _write_exec(lambda x, y: ~x & y)),
    "s_andn2_wrexec_b64": scalar("b64 exec scc = b64 exec", _write_exec(lambda x, y: x & ~y)),
    # Comparisons
    **{f"s_cmp_{n}_{t}": scalar(f"scc = {t} {t}", f) for n, f in _COMPARE.items() for t in ("i32", "u32")},
    "s_cmp_eq_u64": scalar("scc = u64 u64", _COMPARE["eq"]),
    "s_cmp_lg_u64": scalar("scc = u64 u64", _COMPARE["lg"]),
    **{f"s_cmpk_{n}_i32": scalar("scc = i32 k", f) for n, f in _COMPARE.items()},
    **{f"s_cmpk_{n}_u32": scalar("scc = u32 uk", f) for n, f in _COMPARE.items()},
    "s_bitcmp0_b32": scalar("scc = b32 u32", lambda x, n: ((x >> (n & 31)) & 1).eq(0)),
    "s_bitcmp1_b32": scalar("scc = b32 u32", lambda x, n: ((x >> (n & 31)) & 1).ne(0)),
    "s_bitcmp0_b64": scalar("scc = b64 u32", lambda x, n: ((x >> (n & 63)) & 1).eq(0)),
    "s_bitcmp1_b64": scalar("scc = b64 u32", lambda x, n: ((x >> (n & 63)) & 1).ne(0)),
}
