"""Counters of a mnemonic, against recorded profiles of a kernel whose instructions are known."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from kbserver.emulator.hardware_counters import count, counters_of

# A guarded copy c[i] = a[i] of doubles, compiled by clang 22: what a wavefront with all lanes in range executes.
COPY_TEXT = {
    "gfx942": (
        "s_load_dword s_load_dword s_waitcnt s_and_b32 s_mul_i32 v_add_u32_e32 v_cmp_gt_i32_e32 s_and_saveexec_b64 "
        "s_cbranch_execz s_load_dwordx2 s_load_dwordx2 v_ashrrev_i32_e32 v_lshlrev_b64 s_waitcnt v_lshl_add_u64 "
        "global_load_dwordx2 v_lshl_add_u64 s_waitcnt global_store_dwordx2 s_endpgm"
    ),
    "gfx90a": (
        "s_load_dword s_load_dword s_waitcnt s_and_b32 s_mul_i32 v_add_u32_e32 v_cmp_gt_i32_e32 s_and_saveexec_b64 "
        "s_cbranch_execz s_load_dwordx2 s_load_dwordx2 v_ashrrev_i32_e32 v_lshlrev_b64 s_waitcnt v_mov_b32_e32 "
        "v_add_co_u32_e32 v_addc_co_u32_e32 global_load_dwordx2 v_mov_b32_e32 v_add_co_u32_e32 v_addc_co_u32_e32 "
        "s_waitcnt global_store_dwordx2 s_endpgm"
    ),
}
COPY = {arch: text.split() for arch, text in COPY_TEXT.items()}
PROFILES = {
    "gfx942": "gfx942-mi300x-rocprof-compute-vcopy-pmc_perf.csv",
    "gfx90a": "gfx90a-mi200-104cu-rocprof-compute-vcopy-pmc_perf.csv",
}


@pytest.mark.parametrize("arch", COPY)
def test_the_recorded_copy_has_the_counters_that_its_instructions_give(shared_data: Path, arch: str) -> None:
    with (shared_data / "profiles" / PROFILES[arch]).open(encoding="utf-8") as handle:
        row = next(csv.DictReader(handle))
    waves = float(row["SQ_WAVES"])
    ours = count(COPY[arch], [1] * len(COPY[arch]), arch)
    compared = [name for name in ours if name in row]
    assert len(compared) > 12
    assert {name: ours[name] for name in compared} == {name: float(row[name]) / waves for name in compared}


def test_the_copy_counts_what_mi300x_counted() -> None:
    counted = count(COPY["gfx942"], [1] * 20, "gfx942")
    assert {name: value for name, value in counted.items() if value} == {
        "SQ_INSTS": 20, "SQ_INSTS_VALU": 6, "SQ_INSTS_SALU": 3, "SQ_INSTS_SMEM": 4, "SQ_INSTS_VMEM": 2,
        "SQ_INSTS_VMEM_RD": 1, "SQ_INSTS_VMEM_WR": 1, "SQ_INSTS_BRANCH": 1, "SQ_INSTS_SENDMSG": 1, "SQ_INSTS_FLAT": 2,
        "SQ_INSTS_VALU_INT32": 3, "SQ_INSTS_VALU_INT64": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("mnemonic", "arch", "subclass"),
    [
        ("v_fmac_f32_e32", "gfx950", "SQ_INSTS_VALU_FMA_F32"),
        ("v_pk_fma_f32", "gfx950", "SQ_INSTS_VALU_FMA_F32"),
        ("v_fma_f64", "gfx942", "SQ_INSTS_VALU_FMA_F64"),
        ("v_sub_f16_sdwa", "gfx942", "SQ_INSTS_VALU_ADD_F16"),
        ("v_mul_f32_dpp", "gfx942", "SQ_INSTS_VALU_MUL_F32"),
        ("v_rcp_iflag_f32_e32", "gfx942", "SQ_INSTS_VALU_TRANS_F32"),
        ("v_cvt_pk_bf16_f32", "gfx950", "SQ_INSTS_VALU_CVT"),
        ("v_mad_u64_u32", "gfx942", "SQ_INSTS_VALU_INT64"),
        ("v_mfma_f32_32x32x8_bf16_1k", "gfx942", "SQ_INSTS_VALU_MFMA_BF16"),
        ("v_mfma_f32_16x16x32_fp8_bf8", "gfx942", "SQ_INSTS_VALU_MFMA_F8"),
        ("v_mfma_scale_f32_16x16x128_f8f6f4", "gfx950", "SQ_INSTS_VALU_MFMA_F6F4"),
        ("v_mfma_i32_16x16x32_i8", "gfx942", "SQ_INSTS_VALU_MFMA_I8"),
        ("v_mfma_f64_4x4x4_4b_f64", "gfx942", "SQ_INSTS_VALU_MFMA_F64"),
        ("v_smfmac_f32_16x16x32_f16", "gfx942", "SQ_INSTS_VALU_MFMA_F16"),
    ],
)
def test_subclasses_of_the_vector_unit(mnemonic: str, arch: str, subclass: str) -> None:
    counters = counters_of(mnemonic, arch)
    assert subclass in counters
    assert counters[:2] == ("SQ_INSTS", "SQ_INSTS_VALU")


@pytest.mark.parametrize("mnemonic", ["s_nop", "s_waitcnt", "s_barrier", "s_setprio", "buffer_wbl2"])
def test_what_no_unit_executes_counts_as_an_instruction_only(mnemonic: str) -> None:
    assert counters_of(mnemonic, "gfx950") == ("SQ_INSTS",)


@pytest.mark.parametrize(
    "mnemonic", ["v_and_b32_e32", "v_mov_b32_e32", "v_lshlrev_b64", "v_cndmask_b32_e64", "v_max_f32"]
)
def test_bitwise_moves_and_comparisons_of_floats_are_in_no_subclass(mnemonic: str) -> None:
    assert counters_of(mnemonic, "gfx950") == ("SQ_INSTS", "SQ_INSTS_VALU")


def test_direct_loads_to_lds_are_vector_memory_and_not_lds() -> None:
    assert counters_of("global_load_lds_dword", "gfx950") == ("SQ_INSTS", "SQ_INSTS_VMEM", "SQ_INSTS_VMEM_RD")


@pytest.mark.parametrize(
    ("mnemonic", "counter"),
    [
        ("buffer_load_dwordx4", "SQ_INSTS_VMEM_RD"),
        ("buffer_store_short", "SQ_INSTS_VMEM_WR"),
        ("buffer_atomic_add", None),
    ],
)
def test_buffer_instructions_are_vector_memory_and_never_flat(mnemonic: str, counter: str | None) -> None:
    wanted = ("SQ_INSTS", "SQ_INSTS_VMEM", *([counter] if counter else []))
    assert counters_of(mnemonic, "gfx942") == counters_of(mnemonic, "gfx950") == wanted


@pytest.mark.parametrize(
    "mnemonic",
    ["ds_add_u32", "ds_cmpst_rtn_b64", "ds_bpermute_b32", "ds_swizzle_b32", "ds_read_b64_tr_b8", "ds_read_addtid_b32"],
)
def test_everything_that_goes_to_the_lds_unit_counts_as_lds(mnemonic: str) -> None:
    assert counters_of(mnemonic, "gfx950") == ("SQ_INSTS", "SQ_INSTS_LDS")


def test_flat_counts_as_lds_too_on_mi200_only() -> None:
    assert "SQ_INSTS_LDS" in counters_of("flat_load_dword", "gfx90a")
    assert "SQ_INSTS_LDS" not in counters_of("flat_load_dword", "gfx942")
