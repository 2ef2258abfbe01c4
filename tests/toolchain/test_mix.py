"""Classes of instructions and loops."""

from __future__ import annotations

import pytest

from kbserver.toolchain.assembly import Function, parse_assembly
from kbserver.toolchain.mix import base_mnemonic, classify, count_classes, count_mnemonics, find_loops, hot_loop


@pytest.mark.parametrize(
    ("mnemonic", "expected"),
    [
        ("v_fmac_f32_e32", "VALU"), ("v_accvgpr_read_b32", "VALU"), ("v_readfirstlane_b32", "VALU"),
        ("v_mfma_f32_32x32x8_f16", "MFMA"), ("v_smfmac_f32_16x16x32_bf16", "MFMA"), ("v_nop", "nop"),
        ("s_add_u32", "SALU"), ("s_load_dwordx4", "SMEM"), ("s_buffer_load_dword", "SMEM"), ("s_memtime", "SMEM"),
        ("s_waitcnt", "waitcnt"), ("s_waitcnt_vscnt", "waitcnt"), ("s_barrier", "barrier"), ("s_nop", "nop"),
        ("s_cbranch_execz", "branch"), ("s_branch", "branch"), ("s_endpgm", "control"), ("s_setprio", "control"),
        ("ds_read_b32", "LDS"), ("ds_bpermute_b32", "LDS"), ("ds_gws_barrier", "GWS"),
        ("global_load_lds_dword", "global"), ("buffer_load_dword", "buffer"), ("buffer_wbl2", "cache"),
        ("flat_load_dword", "flat"), ("scratch_store_dword", "scratch"), ("x_invented", "unknown"),
    ],
)  # fmt: skip
def test_each_instruction_has_the_class_of_its_unit(mnemonic: str, expected: str) -> None:
    assert classify(mnemonic) == expected


def test_encoding_suffixes_do_not_split_counts() -> None:
    names = ["v_fmac_f32_e32", "v_fmac_f32", "v_fmac_f32_e64", "v_mov_b32_dpp", "v_mov_b32_e64_dpp", "v_mov_b32_sdwa"]
    assert {base_mnemonic(name) for name in names} == {"v_fmac_f32", "v_mov_b32"}


def function(body: str) -> Function:
    return parse_assembly(f".type k,@function\nk:\n{body}\n.size k, 4\n").functions["k"]


NEST = """
 s_mov_b32 s0, 0
.LBB0_1:
 v_add_f32_e32 v0, v0, v0
.LBB0_2:
 v_mul_f32_e32 v1, v1, v1
 v_mul_f32_e32 v1, v1, v1
 s_cbranch_scc1 .LBB0_2
 s_cbranch_scc0 .LBB0_1
.LBB0_3:
 s_nop 0
 s_cbranch_scc1 .LBB0_3
 s_cbranch_scc1 .LBB0_4
 v_add_f32_e32 v0, v0, v0
.LBB0_4:
 s_endpgm
"""


def test_loops_are_backward_branches_with_depth_and_innermost() -> None:
    loops = {loop.label: (loop.depth, loop.innermost) for loop in find_loops(function(NEST))}
    assert loops == {".LBB0_1": (1, False), ".LBB0_2": (2, True), ".LBB0_3": (1, True)}


def test_the_hot_loop_is_the_largest_innermost_one() -> None:
    kernel = function(NEST)
    loop = hot_loop(kernel)
    assert loop is not None and loop.label == ".LBB0_2"
    body = loop.body(kernel.instructions)
    assert count_classes(body) == {"VALU": 2, "branch": 1}
    assert count_mnemonics(body) == {"v_mul_f32": 2, "s_cbranch_scc1": 1}


def test_several_branches_to_one_label_are_one_loop() -> None:
    kernel = function(".LBB0_1:\n s_cbranch_scc0 .LBB0_1\n v_nop\n s_cbranch_scc1 .LBB0_1\n s_endpgm")
    assert [(loop.start, loop.end) for loop in find_loops(kernel)] == [(0, 2)]


def test_a_jump_back_to_the_end_of_the_kernel_is_no_loop() -> None:
    text = (
        " s_cbranch_vccnz .LBB0_3\n.LBB0_1:\n v_mov_b32_e32 v0, 0\n s_endpgm\n.LBB0_3:\n s_barrier\n s_branch .LBB0_1"
    )
    assert find_loops(function(text)) == []


def test_code_without_a_backward_branch_has_no_loop() -> None:
    assert hot_loop(function(" s_branch .LBB0_9\n.LBB0_9:\n s_endpgm")) is None
