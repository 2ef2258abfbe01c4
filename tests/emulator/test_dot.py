"""Dot products inside a dword: clamp, the order of the additions, and the modifiers that are refused."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UnsupportedInstruction
from tests.emulator.harness import fresh_wave, lanes, run


def _result(line: str, *sources: int) -> int:
    wave = fresh_wave()
    for register, bits in enumerate(sources):
        wave.vgprs[register + 1] = lanes(bits)
    run(line, wave)
    return int(wave.vgprs[0, 0])


def test_bytes_are_signed_in_the_i8_form_only() -> None:
    # -1*2 + 3*4 + 0*0 + -128*1, then 255*2 + 3*4 + 0*0 + 128*1
    assert _result("v_dot4_i32_i8 v0, v1, v2, v3", 0x800003FF, 0x01000402, 1000) == 1000 - 118
    assert _result("v_dot4_u32_u8 v0, v1, v2, v3", 0x800003FF, 0x01000402, 1000) == 1000 + 650


def test_clamp_saturates_the_integer_sum() -> None:
    assert _result("v_dot4_i32_i8 v0, v1, v2, v3", 0x7F, 0x7F, 0x7FFFFFFF) == 0x80003F00
    assert _result("v_dot4_i32_i8 v0, v1, v2, v3 clamp", 0x7F, 0x7F, 0x7FFFFFFF) == 0x7FFFFFFF
    assert _result("v_dot4_i32_i8 v0, v1, v2, v3 clamp", 0x80, 0x7F, 0x80000000) == 0x80000000
    assert _result("v_dot4_u32_u8 v0, v1, v2, v3 clamp", 0xFF, 0xFF, 0xFFFFFFFF) == 0xFFFFFFFF


def test_bf16_products_are_added_first_in_dot2_and_onto_the_addend_in_dot2c() -> None:
    # 2^24 has a step of 2: adding 2 is exact, adding 1 twice is two ties that both go back to even.
    addend = 0x4B800000
    assert _result("v_dot2_f32_bf16 v0, v1, v2, v3", 0x3F803F80, 0x3F803F80, addend) == 0x4B800001
    wave = fresh_wave()
    for register, bits in ((0, addend), (1, 0x3F803F80), (2, 0x3F803F80)):
        wave.vgprs[register] = lanes(bits)
    run("v_dot2c_f32_bf16 v0, v1, v2", wave)
    assert int(wave.vgprs[0, 0]) == addend


def test_f16_form_flushes_subnormal_addend_and_result() -> None:
    assert _result("v_dot2_f32_f16 v0, v1, v2, v3", 0, 0, 0x80000001) == 0x00000000
    assert _result("v_dot2_f32_f16 v0, v1, v2, v3", 0x3C003C00, 0x3C003C00, 0x3F800000) == 0x40400000


@pytest.mark.parametrize("suffix", ["neg_lo:[1,0,0]", "op_sel:[1,0,0]"])
def test_modifiers_of_halves_are_refused(suffix: str) -> None:
    with pytest.raises(UnsupportedInstruction, match="v_dot2_f32_f16"):
        run(f"v_dot2_f32_f16 v0, v1, v2, v3 {suffix}", fresh_wave())
