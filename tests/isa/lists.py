"""Differences between targets as an earlier, independent enumeration found them; `(lds)` marks that variant."""

from __future__ import annotations

_ONLY_GFX950 = """
    buffer_atomic_pk_add_bf16 buffer_load_dwordx3(lds) buffer_load_dwordx4(lds) ds_read_b64_tr_b16
    ds_read_b64_tr_b4 ds_read_b64_tr_b8 ds_read_b96_tr_b6 global_load_lds_dwordx3 global_load_lds_dwordx4
    v_ashr_pk_i8_i32 v_ashr_pk_u8_i32 v_bitop3_b16 v_bitop3_b32 v_cvt_f32_bf16 v_cvt_pk_bf16_f32
    v_cvt_pk_f16_f32 v_cvt_scalef32_2xpk16_bf6_f32 v_cvt_scalef32_2xpk16_fp6_f32 v_cvt_scalef32_f16_bf8
    v_cvt_scalef32_f16_fp8 v_cvt_scalef32_f32_bf8 v_cvt_scalef32_f32_fp8 v_cvt_scalef32_pk32_bf16_bf6
    v_cvt_scalef32_pk32_bf16_fp6 v_cvt_scalef32_pk32_bf6_bf16 v_cvt_scalef32_pk32_bf6_f16
    v_cvt_scalef32_pk32_f16_bf6 v_cvt_scalef32_pk32_f16_fp6 v_cvt_scalef32_pk32_f32_bf6
    v_cvt_scalef32_pk32_f32_fp6 v_cvt_scalef32_pk32_fp6_bf16 v_cvt_scalef32_pk32_fp6_f16
    v_cvt_scalef32_pk_bf16_bf8 v_cvt_scalef32_pk_bf16_fp4 v_cvt_scalef32_pk_bf16_fp8 v_cvt_scalef32_pk_bf8_bf16
    v_cvt_scalef32_pk_bf8_f16 v_cvt_scalef32_pk_bf8_f32 v_cvt_scalef32_pk_f16_bf8 v_cvt_scalef32_pk_f16_fp4
    v_cvt_scalef32_pk_f16_fp8 v_cvt_scalef32_pk_f32_bf8 v_cvt_scalef32_pk_f32_fp4 v_cvt_scalef32_pk_f32_fp8
    v_cvt_scalef32_pk_fp4_bf16 v_cvt_scalef32_pk_fp4_f16 v_cvt_scalef32_pk_fp4_f32 v_cvt_scalef32_pk_fp8_bf16
    v_cvt_scalef32_pk_fp8_f16 v_cvt_scalef32_pk_fp8_f32 v_cvt_scalef32_sr_bf8_bf16 v_cvt_scalef32_sr_bf8_f16
    v_cvt_scalef32_sr_bf8_f32 v_cvt_scalef32_sr_fp8_bf16 v_cvt_scalef32_sr_fp8_f16 v_cvt_scalef32_sr_fp8_f32
    v_cvt_scalef32_sr_pk32_bf6_bf16 v_cvt_scalef32_sr_pk32_bf6_f16 v_cvt_scalef32_sr_pk32_bf6_f32
    v_cvt_scalef32_sr_pk32_fp6_bf16 v_cvt_scalef32_sr_pk32_fp6_f16 v_cvt_scalef32_sr_pk32_fp6_f32
    v_cvt_scalef32_sr_pk_fp4_bf16 v_cvt_scalef32_sr_pk_fp4_f16 v_cvt_scalef32_sr_pk_fp4_f32 v_cvt_sr_bf16_f32
    v_cvt_sr_f16_f32 v_dot2_f32_bf16 v_dot2c_f32_bf16 v_maximum3_f32 v_mfma_f32_16x16x128_f8f6f4
    v_mfma_f32_16x16x32_bf16 v_mfma_f32_16x16x32_f16 v_mfma_f32_32x32x16_bf16 v_mfma_f32_32x32x16_f16
    v_mfma_f32_32x32x64_f8f6f4 v_mfma_i32_16x16x64_i8 v_mfma_i32_32x32x32_i8 v_mfma_ld_scale_b32 v_minimum3_f32
    v_permlane16_swap_b32 v_permlane32_swap_b32 v_pk_maximum3_f16 v_pk_minimum3_f16 v_prng_b32
    v_smfmac_f32_16x16x128_bf8_bf8 v_smfmac_f32_16x16x128_bf8_fp8 v_smfmac_f32_16x16x128_fp8_bf8
    v_smfmac_f32_16x16x128_fp8_fp8 v_smfmac_f32_16x16x64_bf16 v_smfmac_f32_16x16x64_f16
    v_smfmac_f32_32x32x32_bf16 v_smfmac_f32_32x32x32_f16 v_smfmac_f32_32x32x64_bf8_bf8
    v_smfmac_f32_32x32x64_bf8_fp8 v_smfmac_f32_32x32x64_fp8_bf8 v_smfmac_f32_32x32x64_fp8_fp8
    v_smfmac_i32_16x16x128_i8 v_smfmac_i32_32x32x64_i8
"""
ONLY_GFX950 = frozenset(_ONLY_GFX950.split())
"""In gfx950 and not in gfx942."""
_ADDED_GFX942 = """
    buffer_inv ds_pk_add_bf16 ds_pk_add_f16 ds_pk_add_rtn_bf16 ds_pk_add_rtn_f16 flat_atomic_add_f32
    flat_atomic_pk_add_bf16 flat_atomic_pk_add_f16 global_atomic_pk_add_bf16 global_load_lds_dword
    global_load_lds_sbyte global_load_lds_sshort global_load_lds_ubyte global_load_lds_ushort
    scratch_load_lds_dword scratch_load_lds_sbyte scratch_load_lds_sshort scratch_load_lds_ubyte
    scratch_load_lds_ushort v_cvt_f32_bf8 v_cvt_f32_fp8 v_cvt_pk_bf8_f32 v_cvt_pk_f32_bf8 v_cvt_pk_f32_fp8
    v_cvt_pk_fp8_f32 v_cvt_sr_bf8_f32 v_cvt_sr_fp8_f32 v_fmaak_f32 v_fmamk_f32 v_lshl_add_u64
    v_mfma_f32_16x16x16_bf16 v_mfma_f32_16x16x16_f16 v_mfma_f32_16x16x1_4b_f32 v_mfma_f32_16x16x32_bf8_bf8
    v_mfma_f32_16x16x32_bf8_fp8 v_mfma_f32_16x16x32_fp8_bf8 v_mfma_f32_16x16x32_fp8_fp8
    v_mfma_f32_16x16x4_4b_bf16 v_mfma_f32_16x16x4_4b_f16 v_mfma_f32_16x16x4_f32 v_mfma_f32_16x16x8_xf32
    v_mfma_f32_32x32x16_bf8_bf8 v_mfma_f32_32x32x16_bf8_fp8 v_mfma_f32_32x32x16_fp8_bf8
    v_mfma_f32_32x32x16_fp8_fp8 v_mfma_f32_32x32x1_2b_f32 v_mfma_f32_32x32x2_f32 v_mfma_f32_32x32x4_2b_bf16
    v_mfma_f32_32x32x4_2b_f16 v_mfma_f32_32x32x4_xf32 v_mfma_f32_32x32x8_bf16 v_mfma_f32_32x32x8_f16
    v_mfma_f32_4x4x1_16b_f32 v_mfma_f32_4x4x4_16b_bf16 v_mfma_f32_4x4x4_16b_f16 v_mfma_f64_16x16x4_f64
    v_mfma_f64_4x4x4_4b_f64 v_mfma_i32_16x16x32_i8 v_mfma_i32_16x16x4_4b_i8 v_mfma_i32_32x32x16_i8
    v_mfma_i32_32x32x4_2b_i8 v_mfma_i32_4x4x4_16b_i8 v_mov_b64 v_smfmac_f32_16x16x32_bf16
    v_smfmac_f32_16x16x32_f16 v_smfmac_f32_16x16x64_bf8_bf8 v_smfmac_f32_16x16x64_bf8_fp8
    v_smfmac_f32_16x16x64_fp8_bf8 v_smfmac_f32_16x16x64_fp8_fp8 v_smfmac_f32_32x32x16_bf16
    v_smfmac_f32_32x32x16_f16 v_smfmac_f32_32x32x32_bf8_bf8 v_smfmac_f32_32x32x32_bf8_fp8
    v_smfmac_f32_32x32x32_fp8_bf8 v_smfmac_f32_32x32x32_fp8_fp8 v_smfmac_i32_16x16x64_i8
    v_smfmac_i32_32x32x32_i8
"""
ADDED_GFX942 = frozenset(_ADDED_GFX942.split())
"""In gfx942 and not in gfx90a."""
_REMOVED_GFX942 = """
    buffer_invl2 buffer_store_lds_dword(lds) buffer_wbinvl1 buffer_wbinvl1_vol global_load_dword(lds)
    global_load_sbyte(lds) global_load_sshort(lds) global_load_ubyte(lds) global_load_ushort(lds)
    scratch_load_dword(lds) scratch_load_sbyte(lds) scratch_load_sshort(lds) scratch_load_ubyte(lds)
    scratch_load_ushort(lds) v_mac_f32 v_mad_f32 v_mad_legacy_f32 v_madak_f32 v_madmk_f32
    v_mfma_f32_16x16x16bf16_1k v_mfma_f32_16x16x16f16 v_mfma_f32_16x16x1f32 v_mfma_f32_16x16x2bf16
    v_mfma_f32_16x16x4bf16_1k v_mfma_f32_16x16x4f16 v_mfma_f32_16x16x4f32 v_mfma_f32_16x16x8bf16
    v_mfma_f32_32x32x1f32 v_mfma_f32_32x32x2bf16 v_mfma_f32_32x32x2f32 v_mfma_f32_32x32x4bf16
    v_mfma_f32_32x32x4bf16_1k v_mfma_f32_32x32x4f16 v_mfma_f32_32x32x8bf16_1k v_mfma_f32_32x32x8f16
    v_mfma_f32_4x4x1f32 v_mfma_f32_4x4x2bf16 v_mfma_f32_4x4x4bf16_1k v_mfma_f32_4x4x4f16 v_mfma_f64_16x16x4f64
    v_mfma_f64_4x4x4f64 v_mfma_i32_16x16x16i8 v_mfma_i32_16x16x4i8 v_mfma_i32_32x32x4i8 v_mfma_i32_32x32x8i8
    v_mfma_i32_4x4x4i8
"""
REMOVED_GFX942 = frozenset(_REMOVED_GFX942.split())
"""In gfx90a and not in gfx942; image instructions were not part of it."""
REMOVED_GFX950 = frozenset(("v_mfma_f32_16x16x8_xf32", "v_mfma_f32_32x32x4_xf32"))
"""In gfx942 and not in gfx950."""
