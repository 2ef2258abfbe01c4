"""Only one name or one instruction is read; nothing that an assembler would obey otherwise gets through."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UsageError
from kbserver.isa.line import read_question


@pytest.mark.parametrize(
    ("text", "name", "suffix"),
    [
        ("v_fma_f32", "v_fma_f32", ""),
        ("  V_ADD_F32_E64 ", "v_add_f32", "_e64"),
        ("v_mov_b32_dpp", "v_mov_b32", "_dpp"),
        ("v_add_f32_sdwa", "v_add_f32", "_sdwa"),
        ("__shfl_xor()", "__shfl_xor", ""),
        ("llvm.amdgcn.mfma.f32.4x4x4f16", "__builtin_amdgcn_mfma_f32_4x4x4f16", ""),
        ("mma.sync.aligned.m16n8k16.row.col", "mma.sync.aligned.m16n8k16.row.col", ""),
    ],
)  # fmt: skip
def test_names_are_read_in_any_case_and_spelling(text: str, name: str, suffix: str) -> None:
    asked = read_question(text)
    assert (asked.name, asked.suffix, asked.line) == (name, suffix, None)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("v_fma_f32 v0, v1,\tv2, v3", "v_fma_f32 v0, v1, v2, v3"),
        ("V_Add_F32_e32  v0, -1.0, v1", "v_add_f32_e32 v0, -1.0, v1"),
        ("ds_read_b128 v[4:7], v8 offset:16\n", "ds_read_b128 v[4:7], v8 offset:16"),
        ("s_waitcnt vmcnt(0) & lgkmcnt(0)".replace(" &", ""), "s_waitcnt vmcnt(0) lgkmcnt(0)"),
        ("v_add_f32_e64 v0, |v1|, -v2 clamp", "v_add_f32_e64 v0, |v1|, -v2 clamp"),
    ],
)
def test_one_instruction_is_read_as_it_stands(text: str, line: str) -> None:
    assert read_question(text).line == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "\n",
        '.incbin "/etc/passwd"',
        ".include x",
        '.macro m\nv_nop\n.endm',
        "v_nop\n.incbin x",
        "v_nop\r.incbin x",
        "v_nop 0\u2028.incbin x",
        "v_nop ; .incbin x",
        "v_nop // comment",
        "v_nop /* comment */",
        "v_nop # comment",
        "label: v_nop",
        "v_mov_b32 v0, \"x\"",
        "v_mov_b32 v0, 'x'",
        "v_mov_b32 v0, \\x",
        "v_mov_b32 v0, $x",
        "v_mov_b32 v0, @x",
        "v_mov_b32 v0, `id`",
        "x = 5",
        "v_x = 5",
        "-v_nop v0",
        "v_nop \x00",
        "v_nop \x1b[31m",
        "тест",
        "v_mov_b32 v0, ñ",
        "v" * 97,
        "v_nop " + "0" * 301,
        "A" * 100_000,
    ],
)  # fmt: skip
def test_anything_else_is_refused_shortly(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_question(text)
    assert len(refused.value.one_line()) < 500
