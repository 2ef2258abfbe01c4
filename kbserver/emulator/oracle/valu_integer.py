"""Vector unit, integers: rules from the VOP1, VOP2 and VOP3 tables of the CDNA3 instruction set manual."""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.oracle.rule import Rule, rule

_M32, _M64 = (1 << 32) - 1, (1 << 64) - 1


def _u24(a: int) -> int:
    return a % (1 << 24)


def _i24(a: int) -> int:
    return (a % (1 << 24) ^ 1 << 23) - (1 << 23)


def _field(a: int, offset: int, count: int, *, signed: bool) -> int:
    offset, count = offset % 32, count % 32
    if count == 0:
        return 0
    part = a // 2**offset % 2**count  # floor division is an arithmetic shift for negative numbers
    return part - 2**count if signed and part >> (count - 1) else part


def _median(a: int, b: int, c: int) -> int:
    return sorted((a, b, c))[1]


def _bytes(high: int, low: int) -> bytes:
    return (high << 32 | low).to_bytes(8, "little")


def _perm(high: int, low: int, selectors: int) -> int:
    data = _bytes(high, low)

    def one(selector: int) -> int:
        if selector >= 13:
            return 0xFF
        if selector == 12:
            return 0
        if selector >= 8:
            return 0xFF if data[2 * (selector - 8) + 1] & 0x80 else 0
        return data[selector]

    return int.from_bytes(bytes(one(selector) for selector in selectors.to_bytes(4, "little")), "little")


def _truth(size: int) -> Callable[..., int]:
    def function(a: int, b: int, c: int, bitop3: int = 0) -> int:
        result = 0
        for place in range(size):
            index = (a >> place & 1) * 4 + (b >> place & 1) * 2 + (c >> place & 1)
            result |= (bitop3 >> index & 1) << place
        return result

    return function


def _sad(a: int, b: int, total: int, size: int) -> int:
    parts = range(0, 32, size)
    return total + sum(abs((a >> p) % (1 << size) - (b >> p) % (1 << size)) for p in parts)


def _dot(a: int, b: int, total: int, size: int) -> int:
    def part(word: int, place: int) -> int:
        raw = (word & _M32) >> place & ((1 << size) - 1)
        return raw - (1 << size) if raw >> (size - 1) else raw

    return total + sum(part(a, place) * part(b, place) for place in range(0, 32, size))


def _leading(a: int, size: int = 32) -> int:
    return size - a.bit_length() if a else -1


def _sign_run(a: int) -> int:
    text = format(a & _M32, "032b")
    other = "1" if text[0] == "0" else "0"
    return text.find(other)


def _carry(a: int, b: int, c: int = 0) -> tuple[int, bool]:
    return a + b + c, a + b + c > _M32


def _borrow(a: int, b: int, c: int = 0) -> tuple[int, bool]:
    return a - b - c, a - b - c < 0


RULES: dict[str, Rule] = {
    "v_mov_b32": rule("b32 = b32", lambda a: a),
    "v_mov_b64": rule("b64 = b64", lambda a: a),
    "v_accvgpr_read_b32": rule("b32 = b32", lambda a: a),
    "v_accvgpr_write_b32": rule("b32 = b32", lambda a: a),
    "v_accvgpr_mov_b32": rule("b32 = b32", lambda a: a),
    "v_cndmask_b32": rule("b32 = b32 b32 mask", lambda a, b, m: b if m else a),
    "v_pack_b32_f16": rule("b32 = b16 b16", lambda a, b: a + b * 65536),
    "v_add_u32": rule("u32 = u32 u32", lambda a, b: a + b),
    "v_sub_u32": rule("u32 = u32 u32", lambda a, b: a - b),
    "v_subrev_u32": rule("u32 = u32 u32", lambda a, b: b - a),
    "v_add_i32": rule("i32 = i32 i32", lambda a, b: a + b),
    "v_sub_i32": rule("i32 = i32 i32", lambda a, b: a - b),
    "v_add_co_u32": rule("u32 mask = u32 u32", _carry),
    "v_sub_co_u32": rule("u32 mask = u32 u32", _borrow),
    "v_subrev_co_u32": rule("u32 mask = u32 u32", lambda a, b: _borrow(b, a)),
    "v_addc_co_u32": rule("u32 mask = u32 u32 mask", _carry),
    "v_subb_co_u32": rule("u32 mask = u32 u32 mask", _borrow),
    "v_subbrev_co_u32": rule("u32 mask = u32 u32 mask", lambda a, b, c: _borrow(b, a, c)),
    "v_add3_u32": rule("u32 = u32 u32 u32", lambda a, b, c: a + b + c),
    "v_lshl_add_u32": rule("u32 = u32 u32 u32", lambda a, n, b: a * 2 ** (n % 32) + b),
    "v_add_lshl_u32": rule("u32 = u32 u32 u32", lambda a, b, n: (a + b) * 2 ** (n % 32)),
    "v_xad_u32": rule("u32 = u32 u32 u32", lambda a, b, c: (a ^ b) + c),
    "v_lshl_add_u64": rule("u64 = u64 u32 u64", lambda a, n, b: a * 2 ** (n % 8) + b),
    "v_mul_lo_u32": rule("u32 = u32 u32", lambda a, b: a * b),
    "v_mul_hi_u32": rule("u32 = u32 u32", lambda a, b: a * b // 2**32),
    "v_mul_hi_i32": rule("i32 = i32 i32", lambda a, b: a * b // 2**32),
    "v_mul_u32_u24": rule("u32 = u32 u32", lambda a, b: _u24(a) * _u24(b)),
    "v_mul_i32_i24": rule("i32 = i32 i32", lambda a, b: _i24(a) * _i24(b)),
    "v_mul_hi_u32_u24": rule("u32 = u32 u32", lambda a, b: _u24(a) * _u24(b) // 2**32),
    "v_mul_hi_i32_i24": rule("i32 = i32 i32", lambda a, b: _i24(a) * _i24(b) // 2**32),
    "v_mad_u32_u24": rule("u32 = u32 u32 u32", lambda a, b, c: _u24(a) * _u24(b) + c),
    "v_mad_i32_i24": rule("i32 = i32 i32 i32", lambda a, b, c: _i24(a) * _i24(b) + c),
    "v_mad_u64_u32": rule("u64 mask = u32 u32 u64", lambda a, b, c: (a * b + c, a * b + c > _M64)),
    "v_mad_i64_i32": rule("i64 mask = i32 i32 i64", lambda a, b, c: (a * b + c, not -(2**63) <= a * b + c < 2**63)),
    "v_mad_u32_u16": rule("u32 = u16 u16 u32", lambda a, b, c: a * b + c),
    "v_mad_i32_i16": rule("i32 = i16 i16 i32", lambda a, b, c: a * b + c),
    **{
        f"v_{n}_{t}": rule(f"{t} = {t} {t}", f)
        for n, f in (("min", min), ("max", max))
        for t in ("u32", "i32", "u16", "i16")
    },
    **{f"v_{n}3_{t}": rule(f"{t} = {t} {t} {t}", f) for n, f in (("min", min), ("max", max)) for t in ("u32", "i32")},
    "v_med3_u32": rule("u32 = u32 u32 u32", _median),
    "v_med3_i32": rule("i32 = i32 i32 i32", _median),
    "v_and_b32": rule("b32 = b32 b32", lambda a, b: a & b),
    "v_or_b32": rule("b32 = b32 b32", lambda a, b: a | b),
    "v_xor_b32": rule("b32 = b32 b32", lambda a, b: a ^ b),
    "v_xnor_b32": rule("b32 = b32 b32", lambda a, b: _M32 - (a ^ b)),
    "v_not_b32": rule("b32 = b32", lambda a: _M32 - a),
    "v_or3_b32": rule("b32 = b32 b32 b32", lambda a, b, c: a | b | c),
    "v_and_or_b32": rule("b32 = b32 b32 b32", lambda a, b, c: a & b | c),
    "v_lshl_or_b32": rule("b32 = b32 u32 b32", lambda a, n, b: a * 2 ** (n % 32) | b),
    "v_bfi_b32": rule("b32 = b32 b32 b32", lambda m, a, b: m & a | (_M32 - m) & b),
    "v_bitop3_b32": rule("b32 = b32 b32 b32", _truth(32)),
    "v_bitop3_b16": rule("b16 = b16 b16 b16", _truth(16)),
    "v_lshlrev_b32": rule("b32 = u32 b32", lambda n, a: a * 2 ** (n % 32)),
    "v_lshrrev_b32": rule("b32 = u32 b32", lambda n, a: a // 2 ** (n % 32)),
    "v_ashrrev_i32": rule("i32 = u32 i32", lambda n, a: a // 2 ** (n % 32)),
    "v_lshlrev_b64": rule("b64 = u32 b64", lambda n, a: a * 2 ** (n % 64)),
    "v_lshrrev_b64": rule("b64 = u32 b64", lambda n, a: a // 2 ** (n % 64)),
    "v_ashrrev_i64": rule("i64 = u32 i64", lambda n, a: a // 2 ** (n % 64)),
    "v_bfe_u32": rule("u32 = u32 u32 u32", lambda a, n, w: _field(a, n, w, signed=False)),
    "v_bfe_i32": rule("i32 = i32 u32 u32", lambda a, n, w: _field(a, n, w, signed=True)),
    "v_bfm_b32": rule("b32 = u32 u32", lambda w, n: (2 ** (w % 32) - 1) * 2 ** (n % 32)),
    "v_bfrev_b32": rule("b32 = b32", lambda a: int(format(a, "032b")[::-1], 2)),
    "v_alignbit_b32": rule("b32 = b32 b32 u32", lambda a, b, n: (a * 2**32 + b) // 2 ** (n % 32)),
    "v_alignbyte_b32": rule("b32 = b32 b32 u32", lambda a, b, n: (a * 2**32 + b) // 256 ** (n % 4)),
    "v_perm_b32": rule("b32 = b32 b32 b32", _perm),
    "v_bcnt_u32_b32": rule("u32 = u32 u32", lambda a, total: bin(a).count("1") + total),
    "v_ffbh_u32": rule("i32 = u32", _leading),
    "v_ffbl_b32": rule("i32 = u32", lambda a: (a & -a).bit_length() - 1),
    "v_ffbh_i32": rule("i32 = i32", _sign_run),
    "v_sad_u8": rule("u32 = u32 u32 u32", lambda a, b, c: _sad(a, b, c, 8)),
    "v_sad_hi_u8": rule("u32 = u32 u32 u32", lambda a, b, c: _sad(a, b, 0, 8) * 65536 + c),
    "v_sad_u16": rule("u32 = u32 u32 u32", lambda a, b, c: _sad(a, b, c, 16)),
    "v_sad_u32": rule("u32 = u32 u32 u32", lambda a, b, c: _sad(a, b, c, 32)),
    "v_dot4c_i32_i8": rule("i32 = i32 i32 dst", lambda a, b, d: _dot(a, b, d, 8)),
    "v_dot2c_i32_i16": rule("i32 = i32 i32 dst", lambda a, b, d: _dot(a, b, d, 16)),
    "v_add_u16": rule("u16 = u16 u16", lambda a, b: a + b),
    "v_sub_u16": rule("u16 = u16 u16", lambda a, b: a - b),
    "v_subrev_u16": rule("u16 = u16 u16", lambda a, b: b - a),
    "v_add_i16": rule("i16 = i16 i16", lambda a, b: a + b),
    "v_sub_i16": rule("i16 = i16 i16", lambda a, b: a - b),
    "v_mul_lo_u16": rule("u16 = u16 u16", lambda a, b: a * b),
    "v_mad_u16": rule("u16 = u16 u16 u16", lambda a, b, c: a * b + c),
    "v_mad_i16": rule("i16 = i16 i16 i16", lambda a, b, c: a * b + c),
    "v_mad_legacy_u16": rule("u16 = u16 u16 u16", lambda a, b, c: a * b + c),
    "v_mad_legacy_i16": rule("i16 = i16 i16 i16", lambda a, b, c: a * b + c),
    **{
        f"v_{name}3_{t}": rule(f"{t} = {t} {t} {t}", function)
        for name, function in (("min", min), ("max", max), ("med", _median))
        for t in ("u16", "i16")
    },
    "v_lshlrev_b16": rule("b16 = u16 b16", lambda n, a: a * 2 ** (n % 16)),
    "v_lshrrev_b16": rule("b16 = u16 b16", lambda n, a: a // 2 ** (n % 16)),
    "v_ashrrev_i16": rule("i16 = u16 i16", lambda n, a: a // 2 ** (n % 16)),
}
