"""Whole divisions, in the steps that a compiler emits, come out as the exact quotient rounded once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kbserver.emulator.oracle.arithmetic import divide
from kbserver.emulator.oracle.formats import from_bits, to_bits
from tests.emulator.harness import VCC, fresh_wave, lanes, run

# v[0:1] / v[2:3] -> v[20:21]; LLVM's expansion of fdiv for f32 and for f64.
_F32 = """
v_div_scale_f32 v4, s[20:21], v2, v2, v0
v_div_scale_f32 v6, vcc, v0, v2, v0
v_rcp_f32_e32 v8, v4
v_fma_f32 v10, -v4, v8, 1.0
v_fma_f32 v8, v10, v8, v8
v_mul_f32_e32 v12, v6, v8
v_fma_f32 v14, -v4, v12, v6
v_fma_f32 v12, v14, v8, v12
v_fma_f32 v14, -v4, v12, v6
v_div_fmas_f32 v16, v14, v8, v12
v_div_fixup_f32 v20, v16, v2, v0
"""
_F64 = """
v_div_scale_f64 v[4:5], s[20:21], v[2:3], v[2:3], v[0:1]
v_rcp_f64_e32 v[8:9], v[4:5]
v_fma_f64 v[10:11], -v[4:5], v[8:9], 1.0
v_fma_f64 v[8:9], v[8:9], v[10:11], v[8:9]
v_fma_f64 v[10:11], -v[4:5], v[8:9], 1.0
v_fma_f64 v[8:9], v[8:9], v[10:11], v[8:9]
v_div_scale_f64 v[6:7], vcc, v[0:1], v[2:3], v[0:1]
v_mul_f64 v[12:13], v[6:7], v[8:9]
v_fma_f64 v[14:15], -v[4:5], v[12:13], v[6:7]
v_div_fmas_f64 v[16:17], v[14:15], v[8:9], v[12:13]
v_div_fixup_f64 v[20:21], v[16:17], v[2:3], v[0:1]
"""


def _numbers(size: int, seed: int) -> np.ndarray:
    """Return 64 patterns: random bits, with exponents at both ends and few fraction bits among them."""
    rng = np.random.default_rng([size, seed])
    bits = rng.integers(0, 1 << size, 64, dtype=np.uint64)
    fraction = {32: 23, 64: 52}[size]
    if seed % 3 == 1:
        bits &= ~np.uint64((1 << (fraction - 3)) - 1)
    if seed % 3 == 2:
        sign = bits & np.uint64(1 << (size - 1))
        near = rng.integers(0, 1 << fraction, 64, dtype=np.uint64)
        top = {32: 255, 64: 2047}[size]
        exponents = np.array([0, 1, 2, 23, 24, top // 2, top - 3, top - 2, top - 1, top], np.uint64)
        bits = sign | exponents[rng.integers(0, 10, 64)] << np.uint64(fraction) | near
    return bits


def _quotient(a: int, b: int, size: int) -> int | None:
    """Return the bits of the quotient, None for NaN."""
    value = divide(from_bits(a, size), from_bits(b, size))
    return None if value != value else to_bits(value, size)


@pytest.mark.parametrize(("size", "body"), [(32, _F32), (64, _F64)], ids=["f32", "f64"])
def test_a_division_is_the_quotient_rounded_once(size: int, body: str) -> None:
    wrong = []
    for seed in range(60):
        wave = fresh_wave()
        a, b = _numbers(size, seed), _numbers(size, seed // 3 * 3 + (seed + 1) % 3 + 1000)
        for first, values in ((0, a), (2, b)):
            wave.vgprs[first] = values.astype(np.uint32)
            wave.vgprs[first + 1] = (values >> np.uint64(32)).astype(np.uint32)
        run(body, wave)
        for lane in range(64):
            got = int(wave.vgprs[20, lane]) | (int(wave.vgprs[21, lane]) << 32 if size == 64 else 0)
            want = _quotient(int(a[lane]), int(b[lane]), size)
            same = from_bits(got, size) != from_bits(got, size) if want is None else got == want
            if not same:
                wrong.append(f"{int(a[lane]):#x} / {int(b[lane]):#x}: {got:#x}, not {want}")
    assert wrong == []


# Published tests for RDNA hardware expect (1*1 + 2) * 2^64 and (2*3 + 1) * 2^-64; without the flag it is a plain fma.
@pytest.mark.parametrize(
    ("flag", "a", "b", "c", "want"),
    [(1, 1.0, 1.0, 2.0, 3 * Fraction(2) ** 64), (1, 2.0, 3.0, 1.0, 7 / Fraction(2) ** 64), (0, 2.0, 3.0, 1.0, 7)],
)
def test_div_fmas_undoes_the_scale_of_div_scale(flag: int, a: float, b: float, c: float, want: Fraction) -> None:
    wave = fresh_wave()
    wave.set_pair(VCC, flag)
    for register, value in ((0, a), (1, b), (2, c)):
        wave.vgprs[register] = lanes(to_bits(value, 32))
    run("v_div_fmas_f32 v3, v0, v1, v2", wave)
    assert from_bits(int(wave.vgprs[3, 0]), 32) == want


def test_a_subnormal_f64_tie_is_decided_by_what_the_first_rounding_dropped() -> None:
    # 2^-946 * (1.5 + 2^-60) scaled by 2^-128 is just above one and a half of the smallest subnormal number.
    wave = fresh_wave()
    wave.set_pair(VCC, 0b11)
    tiny, big = Fraction(2) ** -1006, Fraction(1)
    for register, value in ((0, tiny), (2, big), (4, Fraction(5, 2) / Fraction(2) ** 946)):
        bits = to_bits(value, 64)
        wave.vgprs[register] = lanes(bits & 0xFFFFFFFF)
        wave.vgprs[register + 1] = lanes(bits >> 32)
    wave.vgprs[1, 1] ^= 1 << 31  # lane 1 lies just below the tie
    run("v_div_fmas_f64 v[6:7], v[0:1], v[2:3], v[4:5]", wave)
    assert [int(wave.vgprs[6, lane]) for lane in (0, 1)] == [3, 2]
