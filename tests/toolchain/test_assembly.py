"""The assembly parser: what clang writes and what llvm-objdump prints, and odd text that must not break it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.toolchain.assembly import parse_assembly, split_operands

CLANG_TEXT = """\
	.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
	.text
	.globl	twice
	.type	twice,@function
twice:                                  ; @twice
.Lfunc_begin0:
	.file	0 "." "twice.hip" md5 0x00000000000000000000000000000000
	.file	1 "../include/hip/detail" "sync.h"
; %bb.0:
	.loc	0 7 3 prologue_end              ; twice.hip:7:3
	s_load_dwordx2 s[0:1], s[0:1], 0x0
	.loc	1 0 0
	s_waitcnt vmcnt(0) lgkmcnt(0)
.LBB0_1:                                ; =>This Inner Loop Header: Depth=1
	.loc	0 9 1
	;;#ASMSTART
	v_fmac_f32 v3, v1, |v2|   // a comment
	;;#ASMEND
	ds_read_b32 v4, v5 offset:16
	v_mov_b32_dpp v1, v2 quad_perm:[0,1,2,3] row_mask:0xf
	s_cbranch_scc1 .LBB0_1
	s_endpgm
.Lfunc_end0:
	.size	twice, .Lfunc_end0-twice
	.set twice.num_vgpr, max(6, helper.num_vgpr)
; Kernel info:
; codeLenInByte = 108
; NumVgprs: 6
; Occupancy: occupancy(8, 8, 512)
	.section	.rodata
	.amdhsa_kernel twice
		.amdhsa_next_free_vgpr max(totalnumvgprs(twice.num_agpr, twice.num_vgpr), 1, 0)
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .symbol:         twice.kd
    .vgpr_count:     6
...
	.end_amdgpu_metadata
"""


def test_functions_instructions_and_labels_are_found() -> None:
    program = parse_assembly(CLANG_TEXT)
    assert program.target == "gfx950"
    (kernel,) = program.kernels
    assert kernel.name == "twice"
    assert [instruction.mnemonic for instruction in kernel.instructions] == [
        "s_load_dwordx2", "s_waitcnt", "v_fmac_f32", "ds_read_b32", "v_mov_b32_dpp", "s_cbranch_scc1", "s_endpgm",
    ]  # fmt: skip
    assert kernel.labels[".LBB0_1"] == 2
    assert program.unread == ()


def test_operands_keep_ranges_and_modifiers_stand_apart() -> None:
    kernel = parse_assembly(CLANG_TEXT).kernels[0]
    load, wait, fmac, read, dpp, branch, _ = kernel.instructions
    assert load.operands == ("s[0:1]", "s[0:1]", "0x0")
    assert (wait.operands, wait.modifiers) == (("vmcnt(0)",), ("lgkmcnt(0)",))
    assert fmac.operands == ("v3", "v1", "|v2|")
    assert (read.operands, read.modifiers) == (("v4", "v5"), ("offset:16",))
    assert dpp.modifiers == ("quad_perm:[0,1,2,3]", "row_mask:0xf")
    assert branch.operands == (".LBB0_1",)


def test_instructions_know_their_source_line_and_inline_assembly() -> None:
    load, wait, fmac, read, *_ = parse_assembly(CLANG_TEXT).kernels[0].instructions
    assert str(load.source) == "twice.hip:7"
    assert wait.source is None, "line 0 is code of no line"
    assert (fmac.inline, read.inline) == (True, False)
    assert CLANG_TEXT.splitlines()[fmac.line - 1].strip().startswith("v_fmac_f32")


def test_symbolic_values_stay_text() -> None:
    program = parse_assembly(CLANG_TEXT)
    assert program.symbols["twice.num_vgpr"] == "max(6, helper.num_vgpr)"
    assert program.kernels[0].notes["Occupancy"] == "occupancy(8, 8, 512)"
    assert program.kernels[0].notes["codeLenInByte"] == "108"


OBJDUMP_TEXT = """\

kernel.o:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001900 <twice>:
	s_load_dwordx2 s[0:1], s[0:1], 0x0                         // 000000001900: C0060000 00000000
<L0>:
	v_add_f32_e32 v1, v1, v1                                   // 000000001908: 02020301
	s_cbranch_execz 65534                                      // 00000000190C: BF88FFFE <twice+0x8>
	s_endpgm                                                   // 000000001910: BF810000
"""


def test_disassembly_is_read_by_the_same_grammar() -> None:
    program = parse_assembly(OBJDUMP_TEXT)
    function = program.functions["twice"]
    assert [instruction.address for instruction in function.instructions] == [0x1900, 0x1908, 0x190C, 0x1910]
    assert function.instructions[2].target == "<twice+0x8>"
    assert function.labels["L0"] == 1
    assert program.unread == ()


@pytest.mark.parametrize(
    "text",
    ["", "\n\n", "not assembly at all", "\ufeff; only a comment", ".amdgpu_metadata\n---\n- [", "label:",
     "\x00\x01\x02", ".file 1\n.loc 9 9\n.set\n.type\n.size\n.amdhsa_kernel\n.amdgcn_target",
     "v_add_f32 v0, v1, v2", ".amdgpu_metadata\n"],
)  # fmt: skip
def test_odd_text_never_fails_the_parse(text: str) -> None:
    assert parse_assembly(text).kernels == ()


def test_metadata_that_is_no_yaml_is_a_problem_not_a_crash() -> None:
    broken = CLANG_TEXT.replace("  - .agpr_count:     0", "  - [.agpr_count:     0")
    program = parse_assembly(broken)
    assert program.kernels[0].metadata == {}
    assert "metadata cannot be read" in program.problems[0]


def test_statements_outside_the_grammar_are_listed() -> None:
    program = parse_assembly(CLANG_TEXT.replace("\ts_endpgm", "\tS_ENDPGM !!"))
    assert [text for _, text in program.unread] == ["S_ENDPGM !!"]


def test_operands_split_only_outside_brackets() -> None:
    assert split_operands("v[0:1], hwreg(HW_REG_MODE, 0, 4), -v2 neg_lo:[1,0] clamp") == (
        ("v[0:1]", "hwreg(HW_REG_MODE, 0, 4)", "-v2"),
        ("neg_lo:[1,0]", "clamp"),
    )


def test_recorded_compiler_output_is_read_whole(shared_data: Path) -> None:
    # Counted with awk on the recorded files: lines that begin with a tab and a letter.
    expected = {
        "generated-llvm22-gfx950-asm-with-amdhsa-metadata.s": {
            "saxpy": 18, "tile_transpose": 49, "_Z11lds_limitedILi8144EEvPf": 327,
        },
        "generated-llvm22-gfx90a-asm-mfma-with-amdhsa-metadata.s": {"mfma_f16": 22},
    }  # fmt: skip
    for name, counts in expected.items():
        program = parse_assembly((shared_data / "profiles" / name).read_text("utf-8"))
        assert {kernel.name: len(kernel.instructions) for kernel in program.kernels} == counts
        assert program.unread == () and program.problems == ()
