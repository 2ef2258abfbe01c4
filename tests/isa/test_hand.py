"""The hand-written notes, errata and classes speak of instructions that exist, and cover what people ask for."""

from __future__ import annotations

import re

import pytest

from kbserver.isa import hand
from kbserver.isa.lookup import builtin, look_up, near_names
from kbserver.isa.table import TARGETS, instructions


def names_in(found: object) -> list[str]:
    return [one.name for one in found.instead]  # type: ignore[attr-defined]


def test_every_substitute_of_every_note_exists() -> None:
    table = instructions()
    assert [
        (note.names[0], one.name) for note in hand.notes().notes for one in note.instead if one.name not in table
    ] == []


def test_every_note_offers_something_on_each_target_that_it_speaks_of() -> None:
    table = instructions()
    poor = []
    for note in hand.notes().notes:
        for arch in note.without or TARGETS:
            if not any(arch in table.get(one.name).targets for one in note.instead):
                poor.append((note.names[0], arch))
    assert poor == []


def test_every_note_and_erratum_is_cited() -> None:
    assert all(note.sources for note in hand.notes().notes)
    assert all(one.sources and set(one.on) <= set(TARGETS) for one in hand.all_errata())


def test_every_instruction_belongs_to_a_class() -> None:
    assert [name for name in instructions().names if hand.class_of(name) is None] == []


def test_every_word_of_a_renaming_rule_is_known() -> None:
    notes = hand.notes()
    used = {name for name in instructions().elsewhere for other in notes.renamed(name) if "{" in other or "__" in other}
    assert used == set()


@pytest.mark.parametrize(
    ("newer", "ours"),
    [
        ("ds_load_b32", "ds_read_b32"),
        ("ds_load_b128", "ds_read_b128"),
        ("ds_load_2addr_b64", "ds_read2_b64"),
        ("ds_load_2addr_stride64_b32", "ds_read2st64_b32"),
        ("ds_store_b64", "ds_write_b64"),
        ("global_load_b32", "global_load_dword"),
        ("global_load_b128", "global_load_dwordx4"),
        ("global_load_u8", "global_load_ubyte"),
        ("global_load_d16_hi_b16", "global_load_short_d16_hi"),
        ("global_store_b96", "global_store_dwordx3"),
        ("buffer_load_b32", "buffer_load_dword"),
        ("scratch_load_b64", "scratch_load_dwordx2"),
        ("s_load_b32", "s_load_dword"),
        ("s_load_b512", "s_load_dwordx16"),
        ("s_buffer_load_b128", "s_buffer_load_dwordx4"),
        ("v_add_nc_u32", "v_add_u32"),
        ("v_sub_nc_u32", "v_sub_u32"),
        ("v_add_co_ci_u32", "v_addc_co_u32"),
        ("v_max_num_f32", "v_max_f32"),
        ("v_clz_i32_u32", "v_ffbh_u32"),
        ("v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"),
        ("s_and_not1_b64", "s_andn2_b64"),
        ("global_atomic_min_u32", "global_atomic_umin"),
        ("global_atomic_add_u64", "global_atomic_add_x2"),
        ("v_mul_dx9_zero_f32", "v_mul_legacy_f32"),
    ],
)
def test_newer_spellings_lead_to_ours(newer: str, ours: str) -> None:
    found = look_up(newer)
    assert found.targets == ()
    assert names_in(found)[0] == ours


@pytest.mark.parametrize(
    ("name", "arch", "expected"),
    [
        ("v_div_f64", "gfx90a", {"v_div_scale_f64", "v_rcp_f64", "v_fma_f64", "v_div_fmas_f64", "v_div_fixup_f64"}),
        ("v_mfma_f32_16x16x8_xf32", "gfx950", {"v_mfma_f32_16x16x4_f32", "v_mfma_f32_16x16x32_bf16"}),
        ("v_dot2_f32_bf16", "gfx942", {"v_lshlrev_b32", "v_and_b32", "v_fma_f32"}),
        ("ds_read_b64_tr_b16", "gfx942", {"v_perm_b32", "ds_bpermute_b32"}),
        ("v_permlane32_swap_b32", "gfx942", {"ds_bpermute_b32", "ds_swizzle_b32", "v_readlane_b32"}),
        ("v_wmma_f32_16x16x16_f16", "gfx942", {"v_mfma_f32_16x16x16_bf16"}),
        ("v_dual_fmac_f32", "gfx942", {"v_pk_fma_f32"}),
        ("s_wait_loadcnt", "gfx942", {"s_waitcnt"}),
        ("s_barrier_signal", "gfx950", {"s_barrier"}),
        ("v_permlanex16_b32", "gfx942", {"ds_bpermute_b32"}),
        ("v_exp_f64", "gfx942", {"v_exp_f32", "v_fma_f64"}),
        ("v_log_f64", "gfx942", {"v_log_f32"}),
        ("v_sin_f64", "gfx942", {"v_sin_f32"}),
        ("v_mac_f32", "gfx942", {"v_fmac_f32", "v_fma_f32"}),
        ("v_mad_f32", "gfx942", {"v_fma_f32"}),
        ("image_sample", "gfx942", {"buffer_load_dword"}),
        ("buffer_wbinvl1", "gfx942", {"buffer_inv", "buffer_wbl2"}),
        ("buffer_store_lds_dword", "gfx950", {"ds_read_b32", "buffer_store_dword"}),
        ("glc", "gfx942", {"global_load_dword"}),
        ("mma.sync.aligned.m16n8k16", "gfx950", {"v_mfma_f32_16x16x32_bf16"}),
        ("ldmatrix", "gfx950", {"ds_read_b64_tr_b16"}),
        ("cp.async.cg.shared.global", "gfx950", {"global_load_lds_dwordx4"}),
        ("cp.async.cg.shared.global", "gfx942", {"global_load_lds_dword"}),
        ("__shfl_down_sync", "gfx942", {"ds_bpermute_b32"}),
        ("lop3.b32", "gfx950", {"v_bitop3_b32"}),
        ("v_bitop3_b32", "gfx942", {"v_and_or_b32"}),
        ("v_mfma_f32_16x16x8bf16", "gfx942", {"v_mfma_f32_16x16x16_bf16"}),
        ("v_mfma_f32_16x16x32_bf16", "gfx942", {"v_mfma_f32_16x16x16_bf16"}),
        ("v_mfma_f32_16x16x16_bf16", "gfx90a", {"v_mfma_f32_16x16x16bf16_1k"}),
        ("global_load_dwordx8", "gfx950", {"global_load_dwordx4"}),
        ("global_load_lds_dwordx4", "gfx942", {"global_load_lds_dword"}),
        ("v_cvt_sr_pk_bf16_f32", "gfx950", {"v_cvt_sr_bf16_f32"}),
    ],
)  # fmt: skip
def test_what_takes_the_place_of_a_missing_name(name: str, arch: str, expected: set[str]) -> None:
    found = look_up(name, [arch])
    assert arch not in found.targets
    offered = {one.name for one in found.instead if arch in instructions().get(one.name).targets}
    assert expected <= offered


def test_old_spellings_name_their_canonical_form_by_target() -> None:
    assert look_up("v_mfma_f32_4x4x4f16").canonical == {
        "gfx90a": "v_mfma_f32_4x4x4f16",
        "gfx942": "v_mfma_f32_4x4x4_16b_f16",
        "gfx950": "v_mfma_f32_4x4x4_16b_f16",
    }
    assert look_up("v_mfma_f32_16x16x16bf16_1k").canonical["gfx942"] == "v_mfma_f32_16x16x16_bf16"
    assert look_up("v_mul_lo_i32").canonical["gfx950"] == "v_mul_lo_u32"


def test_misspelt_names_find_the_right_ones() -> None:
    assert near_names("v_fma_f33")[0] == "v_fma_f32"
    assert "v_mfma_f32_16x16x32_bf16" in near_names("v_mfma_f32_16x16x32_b16")
    assert near_names("completely_unrelated_thing") == ()


def test_builtins_say_where_they_compile_and_what_they_become() -> None:
    doubled = builtin("__builtin_amdgcn_mfma_f32_16x16x32_bf16")
    assert doubled.on == {"gfx950": ["v_mfma_f32_16x16x32_bf16"]}
    assert doubled.needs == "gfx950-insts"
    old = builtin("__builtin_amdgcn_mfma_f32_4x4x4f16")
    assert old.on["gfx90a"] == ["v_mfma_f32_4x4x4f16"]
    assert old.on["gfx950"] == ["v_mfma_f32_4x4x4_16b_f16"]
    assert builtin("__builtin_amdgcn_s_barrier_signal").on == {}
    assert re.fullmatch(
        r"unsigned int x2 \(unsigned int, unsigned int, _Bool, _Bool\)",
        builtin("__builtin_amdgcn_permlane16_swap").signature,
    )
