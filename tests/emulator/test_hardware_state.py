"""The mode register and the clocks: what code may ask and set, and what is refused."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.kernel import load_kernel
from kbserver.toolchain.assembly import parse_assembly
from tests.emulator.harness import fresh_wave, kernel_text, lanes, run


def test_the_mode_is_read_field_by_field() -> None:
    wave = fresh_wave()
    run(
        "s_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)\ns_getreg_b32 s1, hwreg(HW_REG_MODE, 0, 4)\n"
        "s_getreg_b32 s2, hwreg(HW_REG_MODE, 23, 1)\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1\n"
        "s_getreg_b32 s3, hwreg(HW_REG_MODE, 23, 1)",
        wave,
    )
    assert wave.sgprs[:4].tolist() == [15, 0, 0, 1]


def test_fp16_ovfl_turns_an_overflow_into_the_largest_number() -> None:
    wave = fresh_wave()
    wave.vgprs[1] = lanes(0x7F7FFFFF)
    wave.sgprs[5] = 1
    run("v_cvt_pk_fp8_f32 v0, v1, v1\ns_setreg_b32 hwreg(HW_REG_MODE, 23, 1), s5\nv_cvt_pk_fp8_f32 v2, v1, v1", wave)
    assert int(wave.vgprs[0, 0]) & 0xFFFF == 0x7F7F
    assert int(wave.vgprs[2, 0]) & 0xFFFF == 0x7E7E


def test_setting_the_mode_that_is_in_force_does_nothing() -> None:
    run("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3", fresh_wave())


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0", "flushing denormals"),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1", "rounding modes"),
        ("s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s0", "rounding modes"),
        ("s_getreg_b32 s0, hwreg(HW_REG_MODE)", "bits 31:0 of MODE"),
        ("s_getreg_b32 s0, hwreg(HW_REG_XCC_ID)", "the emulator has MODE alone"),
        ("v_add_f16 v0, v1, v1\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1", "FP16_OVFL in a kernel"),
    ],
)
def test_other_state_is_refused(line: str, why: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=why):
        run(line, fresh_wave())


def test_a_clock_grows_along_the_program_and_with_every_turn_of_a_loop() -> None:
    wave = fresh_wave()
    run("s_memtime s[0:1]\ns_nop 0\ns_memrealtime s[2:3]", wave)
    assert wave.pair(2) - wave.pair(0) == 2
    loop = "s_mov_b32 s6, {turns}\ns_memtime s[0:1]\nagain:\ns_sub_u32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\n"
    loop += "s_cbranch_scc1 again\ns_memtime s[2:3]"
    spans = []
    for turns in (2, 12):
        wave = fresh_wave()
        run(loop.format(turns=turns), wave)
        spans.append(wave.pair(2) - wave.pair(0))
    assert spans[1] - spans[0] == 10 * 3


def test_a_descriptor_that_sets_fp16_ovfl_is_kept_and_refused_with_arithmetic_of_halves() -> None:
    def kernel(body: str) -> bool:
        text = kernel_text(body).replace("\t.end_amdhsa", "\t\t.amdhsa_fp16_overflow 1\n\t.end_amdhsa")
        return load_kernel(parse_assembly(text)).entry.fp16_overflow

    assert kernel("v_cvt_pk_fp8_f32 v0, v1, v2")
    with pytest.raises(UnsupportedInstruction, match=r"v_add_f16.*under \.amdhsa_fp16_overflow"):
        kernel("v_add_f16_e32 v0, v1, v2")
