"""Packed operations: rules of one half, from the VOP3P table of the CDNA3 manual."""

from __future__ import annotations

import math
from collections.abc import Callable

from kbserver.emulator.oracle.arithmetic import add, fused, maximum, minimum, multiply
from kbserver.emulator.oracle.formats import from_bits, to_bits
from kbserver.emulator.oracle.rule import Rule, packed_rule, rule


def _accumulate(a: int, b: int, old: int) -> int:
    result = 0
    for n in range(2):
        x, y, z = (from_bits(value // 65536**n % 65536, 16) for value in (a, b, old))
        result += to_bits(fused(x, y, z), 16) * 65536**n
    return result


def _or_nan(pick: Callable[[float, float], float]) -> Callable[[float, float, float], float]:
    return lambda a, b, c: math.nan if any(map(math.isnan, (a, b, c))) else pick(pick(a, b), c)


RULES: dict[str, Rule] = {
    **{f"v_pk_add_{t}": packed_rule(f"{t} = {t} {t}", add) for t in ("f16", "f32")},
    **{f"v_pk_mul_{t}": packed_rule(f"{t} = {t} {t}", multiply) for t in ("f16", "f32")},
    **{f"v_pk_fma_{t}": packed_rule(f"{t} = {t} {t} {t}", fused) for t in ("f16", "f32")},
    "v_pk_fmac_f16": rule("f16x2 = b32 b32 dst", _accumulate),
    "v_pk_minimum3_f16": packed_rule("f16 = f16 f16 f16", _or_nan(minimum)),
    "v_pk_maximum3_f16": packed_rule("f16 = f16 f16 f16", _or_nan(maximum)),
    "v_pk_min_f16": packed_rule("f16 = f16 f16", minimum),
    "v_pk_max_f16": packed_rule("f16 = f16 f16", maximum),
    "v_pk_add_u16": packed_rule("u16 = u16 u16", lambda a, b: a + b),
    "v_pk_add_i16": packed_rule("i16 = i16 i16", lambda a, b: a + b),
    "v_pk_sub_u16": packed_rule("u16 = u16 u16", lambda a, b: a - b),
    "v_pk_sub_i16": packed_rule("i16 = i16 i16", lambda a, b: a - b),
    "v_pk_mul_lo_u16": packed_rule("u16 = u16 u16", lambda a, b: a * b),
    "v_pk_mad_u16": packed_rule("u16 = u16 u16 u16", lambda a, b, c: a * b + c),
    "v_pk_mad_i16": packed_rule("i16 = i16 i16 i16", lambda a, b, c: a * b + c),
    "v_pk_min_u16": packed_rule("u16 = u16 u16", min),
    "v_pk_min_i16": packed_rule("i16 = i16 i16", min),
    "v_pk_max_u16": packed_rule("u16 = u16 u16", max),
    "v_pk_max_i16": packed_rule("i16 = i16 i16", max),
    "v_pk_lshlrev_b16": packed_rule("b16 = u16 b16", lambda n, a: a * 2 ** (n % 16)),
    "v_pk_lshrrev_b16": packed_rule("b16 = u16 b16", lambda n, a: a // 2 ** (n % 16)),
    "v_pk_ashrrev_i16": packed_rule("i16 = u16 i16", lambda n, a: a // 2 ** (n % 16)),
}
