"""Input and output modifiers of the vector unit: constants, neg and abs, clamp and omod, op_sel, SDWA, DPP."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from tests.emulator.harness import ALL, EXEC, fresh_wave, lanes, load, run


def floats(*values: float) -> np.ndarray:
    return np.array([*values, *[values[-1]] * (64 - len(values))], np.float32).view(np.uint32)


def result(line: str, *, exec_: int = ALL, **registers: np.ndarray) -> np.ndarray:
    """Return v0 after one instruction; v0 starts as 0xaaaaaaaa unless it is given."""
    wave = fresh_wave(exec_=exec_)
    wave.vgprs[0] = 0xAAAAAAAA
    for name, values in registers.items():
        wave.vgprs[int(name[1:])] = values
    run(line, wave)
    return wave.vgprs[0]


@pytest.mark.parametrize(
    ("line", "low", "high"),
    [
        ("v_mov_b32_e32 v0, -16", 0xFFFFFFF0, None),
        ("v_mov_b32_e32 v0, 1.0", 0x3F800000, None),
        ("v_mov_b32_e32 v0, 0.15915494", 0x3E22F983, None),
        ("v_and_b32_e32 v0, 0.5, v1", 0x3F000000, None),
        ("v_add_f16_e32 v0, 1.0, v2", 0x3C00, None),
        ("v_add_f16_e32 v0, 1, v2", 0x0001, None),
        ("v_mov_b64 v[0:1], -2", 0xFFFFFFFE, 0xFFFFFFFF),
        ("v_add_f64 v[0:1], 1.0, v[2:3]", 0, 0x3FF00000),
        ("v_add_f64 v[0:1], 0x40080000, v[2:3]", 0, 0x40080000),
        ("v_add_f64 v[0:1], 1, v[2:3]", 1, 0),
        ("v_lshlrev_b64 v[0:1], 4, 3", 48, 0),
    ],
)
def test_constants_take_the_form_of_their_operand(line: str, low: int, high: int | None) -> None:
    wave = fresh_wave()
    wave.vgprs[1] = 0xFFFFFFFF
    run(line, wave)
    assert int(wave.vgprs[0, 7]) == low
    if high is not None:
        assert int(wave.vgprs[1, 7]) == high


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("s_mov_b64 s[4:5], 0xffffffff", 0x00000000_FFFFFFFF),
        ("s_mov_b64 s[4:5], -1", 0xFFFFFFFF_FFFFFFFF),
        ("s_mov_b64 s[4:5], 1.0", 0x3FF00000_00000000),
        ("s_ashr_i64 s[4:5], -8, 1", 0xFFFFFFFF_FFFFFFFC),
    ],
)
def test_scalar_constants_of_64_bits(line: str, first: int) -> None:
    wave = fresh_wave()
    run(line, wave)
    assert wave.pair(4) == first


def test_neg_and_abs_change_the_sign_bit_only() -> None:
    one, nan = floats(1.0, -2.0), lanes(0x7FC00001)
    assert result("v_mul_f32_e64 v0, -v1, 1.0", v1=one)[:2].tolist() == [0xBF800000, 0x40000000]
    assert result("v_mul_f32_e64 v0, |v1|, 1.0", v1=one)[:2].tolist() == [0x3F800000, 0x40000000]
    assert result("v_mul_f32_e64 v0, -|v1|, 1.0", v1=one)[:2].tolist() == [0xBF800000, 0xC0000000]
    assert result("v_cndmask_b32_e64 v0, -v1, v1, s[20:21]", v1=nan)[0] == 0xFFC00001


def test_neg_of_an_integer_operand_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="v_add_u32_e64 v0, -v1, v2"):
        run("v_add_u32_e64 v0, -v1, v2", fresh_wave())


def test_clamp_and_omod() -> None:
    values = floats(-1.0, 0.25, 3.0, float("nan"))
    assert result("v_add_f32_e64 v0, v1, 0 clamp", v1=values)[:4].tolist() == floats(0.0, 0.25, 1.0, 0.0)[:4].tolist()
    assert result("v_add_f32_e64 v0, v1, 0 mul:4", v1=values)[1] == floats(1.0)[0]
    assert result("v_add_f32_e64 v0, v1, 0 div:2", v1=values)[2] == floats(1.5)[0]
    assert result("v_add_u32_e64 v0, v1, v1 clamp", v1=lanes(0x80000001, 5))[:2].tolist() == [0xFFFFFFFF, 10]
    assert result("v_sub_u32_e64 v0, 3, v1 clamp", v1=lanes(4, 1))[:2].tolist() == [0, 2]
    assert result("v_add_i16 v0, v1, v1 clamp", v1=lanes(0x7000, 0x9000))[:2].tolist() == [0x7FFF, 0x8000]


def test_sixteen_bit_results_zero_the_high_half_except_where_gfx9_keeps_it() -> None:
    assert result("v_add_u16_e32 v0, v1, v1", v1=lanes(3))[0] == 6
    assert result("v_fma_f16 v0, 1.0, 1.0, 0")[0] == 0xAAAA3C00
    assert result("v_mad_u16 v0, v1, v1, v1", v1=lanes(3))[0] == 0xAAAA000C
    assert result("v_max3_f16 v0, v1, v1, v1", v1=lanes(0x3C00))[0] == 0xAAAA3C00
    assert result("v_med3_i16 v0, v1, v1, v1", v1=lanes(3))[0] == 0xAAAA0003
    assert result("v_fma_legacy_f16 v0, v1, v1, v1", v1=lanes(0x3C00))[0] == 0x4000
    assert result("v_div_fixup_f16 v0, v1, v1, v1", v1=lanes(0x3C00))[0] == 0xAAAA3C00
    assert result("v_div_fixup_legacy_f16 v0, v1, v1, v1", v1=lanes(0x3C00))[0] == 0x3C00


def test_op_sel_chooses_halves_and_keeps_the_other_half_of_the_destination() -> None:
    source = lanes(0x00050003)
    assert result("v_mad_u16 v0, v1, v1, v1 op_sel:[1,0,0,0]", v1=source)[0] == 0xAAAA0012
    assert result("v_mad_u16 v0, v1, v1, v1 op_sel:[1,1,0,1]", v1=source)[0] == 0x001CAAAA


@pytest.mark.parametrize(
    ("modifiers", "want"),
    [
        ("dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD", 0x22),
        ("dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD", 0x8844),
        ("dst_sel:BYTE_2 dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:DWORD", 0x00880000),
        ("dst_sel:BYTE_2 dst_unused:UNUSED_SEXT src0_sel:BYTE_3 src1_sel:DWORD", 0xFF880000),
        ("dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:DWORD", 0x0011AAAA),
        ("dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:WORD_1 src1_sel:DWORD", 0xFFFF8844),
    ],
)
def test_sdwa_selects_parts(modifiers: str, want: int) -> None:
    assert result(f"v_add_u32_sdwa v0, v1, v2 {modifiers}", v1=lanes(0x88442211), v2=lanes(0))[3] == want


def test_sdwa_sign_extends_on_request() -> None:
    line = "v_add_u32_sdwa v0, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:WORD_0"
    assert result(line, v1=lanes(0x88442211), v2=lanes(0x10000))[0] == 0xFFFFFF88


# Lane 0 to 63 hold 100 + lane; (control, lane) -> what the lane receives, None when it keeps its old value.
@pytest.mark.parametrize(
    ("control", "want"),
    [
        ("quad_perm:[1,0,3,2]", {0: 101, 1: 100, 2: 103, 62: 163}),
        ("quad_perm:[2,2,2,2]", {4: 106, 7: 106}),
        ("row_shl:1", {0: 101, 14: 115, 15: None, 16: 117, 31: None}),
        ("row_shr:1", {0: None, 1: 100, 15: 114, 16: None, 17: 116}),
        ("row_ror:1", {0: 115, 1: 100, 16: 131}),
        ("row_mirror", {0: 115, 3: 112, 15: 100, 16: 131}),
        ("row_half_mirror", {0: 107, 7: 100, 8: 115}),
        ("wave_shr:1", {0: None, 1: 100, 16: 115, 63: 162}),
        ("wave_shl:1", {0: 101, 15: 116, 63: None}),
        ("wave_ror:1", {0: 163, 1: 100}),
        ("wave_rol:1", {0: 101, 63: 100}),
        ("row_bcast:15", {0: None, 15: None, 16: 115, 31: 115, 32: 131, 63: 147}),
        ("row_bcast:31", {31: None, 32: 131, 63: 131}),
        ("row_newbcast:3", {0: 103, 15: 103, 16: 119}),
    ],
)
def test_dpp_reads_the_lane_of_its_control(control: str, want: dict[int, int | None]) -> None:
    source = np.arange(100, 164).astype(np.uint32)
    got = result(f"v_mov_b32_dpp v0, v1 {control} row_mask:0xf bank_mask:0xf", v1=source)
    assert {lane: int(got[lane]) for lane in want} == {k: 0xAAAAAAAA if v is None else v for k, v in want.items()}


def test_dpp_bound_control_gives_zero_where_there_is_no_source() -> None:
    source = np.arange(100, 164).astype(np.uint32)
    got = result("v_mov_b32_dpp v0, v1 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:0", v1=source)
    assert got[:4].tolist() == [0, 0, 100, 101]


def test_dpp_masks_switch_off_rows_and_banks() -> None:
    source = np.arange(100, 164).astype(np.uint32)
    got = result("v_mov_b32_dpp v0, v1 quad_perm:[0,1,2,3] row_mask:0xa bank_mask:0x1", v1=source)
    written = [lane for lane in range(64) if got[lane] != 0xAAAAAAAA]
    assert written == [16, 17, 18, 19, 48, 49, 50, 51]


def test_dpp_source_that_is_inactive_counts_as_missing() -> None:
    source = np.arange(100, 164).astype(np.uint32)
    got = result("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf", exec_=0b1110, v1=source)
    assert got[:5].tolist() == [0xAAAAAAAA, 0xAAAAAAAA, 101, 102, 0xAAAAAAAA]


def test_unknown_modifier_is_an_error_not_ignored() -> None:
    with pytest.raises(UnsupportedInstruction, match="unknown modifier frobnicate"):
        run("v_add_u32_e64 v0, v1, v2 frobnicate:3", fresh_wave())


def test_exec_is_a_scalar_operand_like_any_other() -> None:
    wave = fresh_wave(exec_=0xF0)
    run("s_mov_b64 s[4:5], exec\ns_mov_b32 exec_lo, 3\nv_mov_b32 v0, 9\ns_mov_b32 s6, exec_hi", wave)
    assert (wave.pair(4), wave.pair(EXEC), int(wave.sgprs[6])) == (0xF0, 3, 0)
    assert np.flatnonzero(wave.vgprs[0] == 9).tolist() == [0, 1]


def test_every_unsupported_instruction_names_itself_and_its_place() -> None:
    with pytest.raises(UnsupportedInstruction) as raised:
        load("v_mov_b32 v0, 1\nv_frobnicate_b32 v1, v2")
    assert "v_frobnicate_b32 v1, v2" in raised.value.message
    assert raised.value.where == "assembly line 5"
    assert raised.value.details["mnemonic"] == "v_frobnicate_b32"
