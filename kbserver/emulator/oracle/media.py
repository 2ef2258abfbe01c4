"""Bytes and pictures: the VOP1 and VOP3 tables of the CDNA3 and CDNA4 manuals, byte by byte on Python integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from kbserver.emulator.oracle.rule import Rule, rule
from kbserver.emulator.oracle.values import register_bits, source

if TYPE_CHECKING:
    from kbserver.emulator.decode import Decoded
    from kbserver.emulator.oracle.state import Wavefront


def _bytes(value: int, count: int = 4) -> list[int]:
    return list(value.to_bytes(8, "little")[:count])


def _masked(a: int, b: int, total: int) -> int:
    return total + sum(abs(p - q) for p, q in zip(_bytes(a), _bytes(b), strict=True) if q)


def _plain(a: int, b: int, total: int) -> int:
    return total + sum(abs(p - q) for p, q in zip(_bytes(a), _bytes(b), strict=True))


def _four_windows(sad: Callable[[int, int, int], int]) -> Callable[[int, int, int], int]:
    def function(a: int, b: int, totals: int) -> int:
        result = 0
        for n in range(4):
            window = a // 256**n % 2**32
            result += sad(window, b, totals // 65536**n % 65536) % 65536 * 65536**n
        return result

    return function


def sliding_dwords(wave: Wavefront, d: Decoded) -> None:
    """v_mqsad_u32_u8."""
    target, a, sums = (d.operands[n].register for n in (0, 1, 3))
    assert target
    assert a
    assert sums
    for lane in wave.active():
        window = register_bits(wave, a, 64, lane)
        mask = source(wave, d, 1, d.operands[2], "u32", lane)
        totals = [wave.vgprs[sums.index + n][lane] for n in range(4)]
        for n in range(4):
            wave.vgprs[target.index + n][lane] = _masked(window // 256**n % 2**32, mask, totals[n]) % 2**32


def _average(a: int, b: int, c: int) -> int:
    triples = zip(_bytes(a), _bytes(b), _bytes(c), strict=True)
    return int.from_bytes(bytes((p + q + r % 2) // 2 for p, q, r in triples), "little")


def _between(low: int, value: int, high: int) -> int:
    return max(low, min(high, value)) % 256


def _signed(half: int) -> int:
    return half - 65536 if half >= 32768 else half


def _cube(kind: str) -> Callable[[float, float, float], float]:
    def function(x: float, y: float, z: float) -> float:
        if abs(z) >= abs(x) and abs(z) >= abs(y):
            face, major, s, t = (5.0 if z < 0 else 4.0), z, (-x if z < 0 else x), -y
        elif abs(y) >= abs(x):
            face, major, s, t = (3.0 if y < 0 else 2.0), y, x, (-z if y < 0 else z)
        else:
            face, major, s, t = (1.0 if x < 0 else 0.0), x, (z if x < 0 else -z), -y
        doubled = major if not math.isfinite(major) else math.ldexp(major, 1)
        return {"id": face, "ma": doubled, "sc": s, "tc": t}[kind]

    return function


RULES: dict[str, Rule] = {
    "v_msad_u8": rule("u32 = u32 u32 u32", _masked),
    "v_qsad_pk_u16_u8": rule("u64 = u64 u32 u64", _four_windows(_plain)),
    "v_mqsad_pk_u16_u8": rule("u64 = u64 u32 u64", _four_windows(_masked)),
    "v_lerp_u8": rule("u32 = u32 u32 u32", _average),
    "v_sat_pk_u8_i16": rule(
        "u16 = u32",
        lambda a: _between(0, _signed(a % 65536), 255) + _between(0, _signed(a // 65536), 255) * 256,
    ),
    "v_ashr_pk_i8_i32": rule(
        "u16 = i32 i32 u32",
        lambda a, b, n: _between(-128, a // 2 ** (n % 32), 127) + _between(-128, b // 2 ** (n % 32), 127) * 256,
    ),
    "v_ashr_pk_u8_i32": rule(
        "u16 = i32 i32 u32",
        lambda a, b, n: _between(0, a // 2 ** (n % 32), 255) + _between(0, b // 2 ** (n % 32), 255) * 256,
    ),
    **{f"v_cube{kind}_f32": rule("f32 = f32 f32 f32", _cube(kind)) for kind in ("id", "ma", "sc", "tc")},
    "v_cvt_off_f32_i4": rule("f32 = u32", lambda a: ((a + 8) % 16 - 8) / 16),
    "v_prng_b32": rule("u32 = u32", lambda a: a * 2 % 2**32 ^ (0b11000101 if a >= 2**31 else 0)),
}
