"""Scalar unit: rules from the SOP tables of the CDNA3 instruction set manual (chapter 16, SOP2 to SOPC)."""

from __future__ import annotations

from kbserver.emulator.oracle.rule import Rule, rule

_M32, _M64 = (1 << 32) - 1, (1 << 64) - 1


def _fits(value: int) -> bool:
    return -(1 << 31) <= value < 1 << 31


def _wrap(value: int) -> int:
    value &= _M32
    return value - (1 << 32) if value >> 31 else value


def _extract(value: int, control: int, size: int, *, signed: bool) -> int:
    offset, count = control & (size - 1), control >> 16 & 0x7F
    bits = [value >> place & 1 for place in range(size)]
    if signed:
        bits += [bits[-1]] * 128
    field = bits[offset : offset + count]
    if not field:
        return 0
    number = sum(bit << place for place, bit in enumerate(field))
    return number - (1 << len(field)) if signed and field[-1] else number


def _first_one(value: int, size: int) -> int:
    return next((place for place in range(size) if value >> place & 1), -1)


def _first_one_from_top(value: int, size: int) -> int:
    return next((place for place in range(size) if value >> (size - 1 - place) & 1), -1)


def _sign_run(value: int, size: int) -> int:
    sign = value >> (size - 1) & 1
    return next((place for place in range(1, size) if (value >> (size - 1 - place) & 1) != sign), -1)


def _scc(text: str, function: object) -> Rule:
    """A rule whose SCC says that the result is not zero."""
    size = int(text.split()[0].lstrip("bui"))

    def both(*values: int) -> tuple[int, bool]:
        result = function(*values)  # type: ignore[operator]
        return result, result & ((1 << size) - 1) != 0

    return rule(text, both)


def _logic(size: int) -> dict[str, object]:
    ones = (1 << size) - 1
    return {
        "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
        "andn2": lambda a, b: a & (ones - b), "orn2": lambda a, b: a | (ones - b),
        "nand": lambda a, b: ones - (a & b), "nor": lambda a, b: ones - (a | b), "xnor": lambda a, b: ones - (a ^ b),
    }  # fmt: skip


def _save(function: object) -> Rule:
    def result(source: int, mask: int) -> tuple[int, int, bool]:
        new = function(source, mask) & _M64  # type: ignore[operator]
        return mask, new, new != 0

    return rule("b64 exec scc = b64 exec", result)


def _replace(function: object) -> Rule:
    def result(source: int, mask: int) -> tuple[int, int, bool]:
        new = function(source, mask) & _M64  # type: ignore[operator]
        return new, new, new != 0

    return rule("b64 exec scc = b64 exec", result)


_RELATIONS = {
    "eq": lambda a, b: a == b, "lg": lambda a, b: a != b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
}  # fmt: skip


def _quads(value: int, size: int) -> int:
    return sum(0xF << place for place in range(0, size, 4) if value >> place & 0xF)


def _quad_bits(value: int, size: int) -> int:
    return sum(1 << place // 4 for place in range(0, size, 4) if value >> place & 0xF)


def _reverse(value: int, size: int) -> int:
    return int(format(value, f"0{size}b")[::-1], 2)


RULES: dict[str, Rule] = {
    "s_mov_b32": rule("b32 = b32", lambda a: a),
    "s_mov_b64": rule("b64 = b64", lambda a: a),
    "s_movk_i32": rule("i32 = k", lambda k: k),
    "s_cmov_b32": rule("b32 = dst b32 scc", lambda d, a, scc: a if scc else d),
    "s_cmov_b64": rule("b64 = dst b64 scc", lambda d, a, scc: a if scc else d),
    "s_cmovk_i32": rule("i32 = dst k scc", lambda d, k, scc: k if scc else d),
    "s_cselect_b32": rule("b32 = b32 b32 scc", lambda a, b, scc: a if scc else b),
    "s_cselect_b64": rule("b64 = b64 b64 scc", lambda a, b, scc: a if scc else b),
    "s_add_u32": rule("u32 scc = u32 u32", lambda a, b: (a + b, a + b >= 1 << 32)),
    "s_addc_u32": rule("u32 scc = u32 u32 scc", lambda a, b, c: (a + b + c, a + b + c >= 1 << 32)),
    "s_sub_u32": rule("u32 scc = u32 u32", lambda a, b: (a - b, b > a)),
    "s_subb_u32": rule("u32 scc = u32 u32 scc", lambda a, b, c: (a - b - c, b + c > a)),
    "s_add_i32": rule("i32 scc = i32 i32", lambda a, b: (a + b, not _fits(a + b))),
    "s_sub_i32": rule("i32 scc = i32 i32", lambda a, b: (a - b, not _fits(a - b))),
    "s_addk_i32": rule("i32 scc = dst k", lambda d, k: (d + k, not _fits(d + k))),
    "s_abs_i32": rule("i32 scc = i32", lambda a: (abs(a), a != 0)),
    "s_absdiff_i32": rule("i32 scc = i32 i32", lambda a, b: (abs(_wrap(a - b)), _wrap(a - b) != 0)),
    "s_lshl1_add_u32": rule("u32 scc = u32 u32", lambda a, b: (2 * a + b, 2 * a + b > _M32)),
    "s_lshl2_add_u32": rule("u32 scc = u32 u32", lambda a, b: (4 * a + b, 4 * a + b > _M32)),
    "s_lshl3_add_u32": rule("u32 scc = u32 u32", lambda a, b: (8 * a + b, 8 * a + b > _M32)),
    "s_lshl4_add_u32": rule("u32 scc = u32 u32", lambda a, b: (16 * a + b, 16 * a + b > _M32)),
    "s_min_i32": rule("i32 scc = i32 i32", lambda a, b: (min(a, b), a < b)),
    "s_min_u32": rule("u32 scc = u32 u32", lambda a, b: (min(a, b), a < b)),
    "s_max_i32": rule("i32 scc = i32 i32", lambda a, b: (max(a, b), a > b)),
    "s_max_u32": rule("u32 scc = u32 u32", lambda a, b: (max(a, b), a > b)),
    "s_mul_i32": rule("i32 = i32 i32", lambda a, b: a * b),
    "s_mulk_i32": rule("i32 = dst k", lambda d, k: d * k),
    "s_mul_hi_u32": rule("u32 = u32 u32", lambda a, b: a * b // (1 << 32)),
    "s_mul_hi_i32": rule("i32 = i32 i32", lambda a, b: a * b // (1 << 32)),
    **{f"s_{name}_b32": _scc("b32 scc = b32 b32", function) for name, function in _logic(32).items()},
    **{f"s_{name}_b64": _scc("b64 scc = b64 b64", function) for name, function in _logic(64).items()},
    "s_not_b32": _scc("b32 scc = b32", lambda a: _M32 - a),
    "s_not_b64": _scc("b64 scc = b64", lambda a: _M64 - a),
    "s_wqm_b32": _scc("b32 scc = b32", lambda a: _quads(a, 32)),
    "s_wqm_b64": _scc("b64 scc = b64", lambda a: _quads(a, 64)),
    "s_lshl_b32": _scc("b32 scc = b32 u32", lambda a, n: a * 2 ** (n % 32) & _M32),
    "s_lshl_b64": _scc("b64 scc = b64 u32", lambda a, n: a * 2 ** (n % 64) & _M64),
    "s_lshr_b32": _scc("b32 scc = b32 u32", lambda a, n: a // 2 ** (n % 32)),
    "s_lshr_b64": _scc("b64 scc = b64 u32", lambda a, n: a // 2 ** (n % 64)),
    "s_ashr_i32": _scc("i32 scc = i32 u32", lambda a, n: a // 2 ** (n % 32)),
    "s_ashr_i64": _scc("i64 scc = i64 u32", lambda a, n: a // 2 ** (n % 64)),
    "s_bfe_u32": _scc("u32 scc = u32 u32", lambda a, c: _extract(a, c, 32, signed=False)),
    "s_bfe_i32": _scc("i32 scc = i32 u32", lambda a, c: _extract(a, c, 32, signed=True)),
    "s_bfe_u64": _scc("u64 scc = u64 u32", lambda a, c: _extract(a, c, 64, signed=False)),
    "s_bfe_i64": _scc("i64 scc = i64 u32", lambda a, c: _extract(a, c, 64, signed=True)),
    "s_bfm_b32": rule("b32 = b32 b32", lambda w, o: (2 ** (w % 32) - 1) * 2 ** (o % 32)),
    "s_bfm_b64": rule("b64 = u32 u32", lambda w, o: (2 ** (w % 64) - 1) * 2 ** (o % 64)),
    "s_pack_ll_b32_b16": rule("b32 = b32 b32", lambda a, b: a % 65536 + b % 65536 * 65536),
    "s_pack_lh_b32_b16": rule("b32 = b32 b32", lambda a, b: a % 65536 + b // 65536 * 65536),
    "s_pack_hh_b32_b16": rule("b32 = b32 b32", lambda a, b: a // 65536 + b // 65536 * 65536),
    "s_sext_i32_i8": rule("i32 = i32", lambda a: (a % 256 ^ 128) - 128),
    "s_sext_i32_i16": rule("i32 = i32", lambda a: (a % 65536 ^ 32768) - 32768),
    "s_brev_b32": rule("b32 = b32", lambda a: _reverse(a, 32)),
    "s_brev_b64": rule("b64 = b64", lambda a: _reverse(a, 64)),
    "s_bitset0_b32": rule("b32 = dst u32", lambda d, n: d - (d & 2 ** (n % 32))),
    "s_bitset1_b32": rule("b32 = dst u32", lambda d, n: d - (d & 2 ** (n % 32)) + 2 ** (n % 32)),
    "s_bitset0_b64": rule("b64 = dst u32", lambda d, n: d - (d & 2 ** (n % 64))),
    "s_bitset1_b64": rule("b64 = dst u32", lambda d, n: d - (d & 2 ** (n % 64)) + 2 ** (n % 64)),
    "s_quadmask_b32": _scc("b32 scc = b32", lambda a: _quad_bits(a, 32)),
    "s_quadmask_b64": _scc("b64 scc = b64", lambda a: _quad_bits(a, 64)),
    "s_bitreplicate_b64_b32": rule("b64 = b32", lambda a: int("".join(2 * bit for bit in format(a, "032b")), 2)),
    "s_bcnt0_i32_b32": _scc("i32 scc = b32", lambda a: 32 - bin(a).count("1")),
    "s_bcnt1_i32_b32": _scc("i32 scc = b32", lambda a: bin(a).count("1")),
    "s_bcnt0_i32_b64": _scc("i32 scc = b64", lambda a: 64 - bin(a).count("1")),
    "s_bcnt1_i32_b64": _scc("i32 scc = b64", lambda a: bin(a).count("1")),
    "s_ff0_i32_b32": rule("i32 = b32", lambda a: _first_one(_M32 - a, 32)),
    "s_ff1_i32_b32": rule("i32 = b32", lambda a: _first_one(a, 32)),
    "s_ff0_i32_b64": rule("i32 = b64", lambda a: _first_one(_M64 - a, 64)),
    "s_ff1_i32_b64": rule("i32 = b64", lambda a: _first_one(a, 64)),
    "s_flbit_i32_b32": rule("i32 = b32", lambda a: _first_one_from_top(a, 32)),
    "s_flbit_i32_b64": rule("i32 = b64", lambda a: _first_one_from_top(a, 64)),
    "s_flbit_i32": rule("i32 = i32", lambda a: _sign_run(a, 32)),
    "s_flbit_i32_i64": rule("i32 = i64", lambda a: _sign_run(a, 64)),
    **{f"s_{name}_saveexec_b64": _save(function) for name, function in _logic(64).items()},
    "s_andn1_saveexec_b64": _save(lambda a, e: (_M64 - a) & e),
    "s_orn1_saveexec_b64": _save(lambda a, e: (_M64 - a) | e),
    "s_andn1_wrexec_b64": _replace(lambda a, e: (_M64 - a) & e),
    "s_andn2_wrexec_b64": _replace(lambda a, e: a & (_M64 - e)),
    **{f"s_cmp_{n}_i32": rule("scc = i32 i32", f) for n, f in _RELATIONS.items()},
    **{f"s_cmp_{n}_u32": rule("scc = u32 u32", f) for n, f in _RELATIONS.items()},
    "s_cmp_eq_u64": rule("scc = u64 u64", lambda a, b: a == b),
    "s_cmp_lg_u64": rule("scc = u64 u64", lambda a, b: a != b),
    **{f"s_cmpk_{n}_i32": rule("scc = i32 k", f) for n, f in _RELATIONS.items()},
    **{f"s_cmpk_{n}_u32": rule("scc = u32 uk", f) for n, f in _RELATIONS.items()},
    "s_bitcmp0_b32": rule("scc = b32 u32", lambda a, n: a // 2 ** (n % 32) % 2 == 0),
    "s_bitcmp1_b32": rule("scc = b32 u32", lambda a, n: a // 2 ** (n % 32) % 2 == 1),
    "s_bitcmp0_b64": rule("scc = b64 u32", lambda a, n: a // 2 ** (n % 64) % 2 == 0),
    "s_bitcmp1_b64": rule("scc = b64 u32", lambda a, n: a // 2 ** (n % 64) % 2 == 1),
}
