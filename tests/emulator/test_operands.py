"""Operand and modifier grammar: what the assembler writes becomes typed operands."""

from __future__ import annotations

import pytest

from kbserver.emulator.decode import base_name, decode
from kbserver.emulator.operands import Name, Number, Operand, Register, parse_operand
from kbserver.toolchain.assembly import Instruction, split_operands


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("v7", Register("v", 7)),
        ("v[2:3]", Register("v", 2, 2)),
        ("a5", Register("v", 261)),
        ("a[0:3]", Register("v", 256, 4)),
        ("acc1", Register("v", 257)),
        ("s[4:7]", Register("s", 4, 4)),
        ("vcc", Register("s", 106, 2)),
        ("vcc_lo", Register("s", 106)),
        ("exec", Register("s", 126, 2)),
        ("exec_hi", Register("s", 127)),
        ("m0", Register("s", 124)),
        ("ttmp9", Register("s", 117)),
        ("flat_scratch", Register("s", 102, 2)),
        ("[s4, s5]", Register("s", 4, 2)),
        ("-16", Number(-16)),
        ("0x7fff", Number(0x7FFF)),
        ("64", Number(64)),
        ("1.0", Number(1.0)),
        ("-0.5", Number(-0.5)),
        ("0.15915494", Number(0.15915494)),
        ("off", Name("off")),
        (".LBB0_3", Name(".LBB0_3")),
        ("v[3:1]", Name("v[3:1]")),
    ],
)
def test_plain_operands(text: str, want: object) -> None:
    assert parse_operand(text) == Operand(want)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("-v1", Operand(Register("v", 1), negate=True)),
        ("|v1|", Operand(Register("v", 1), absolute=True)),
        ("-|s2|", Operand(Register("s", 2), negate=True, absolute=True)),
        ("neg(v1)", Operand(Register("v", 1), negate=True)),
        ("abs(v[0:1])", Operand(Register("v", 0, 2), absolute=True)),
        ("sext(v3)", Operand(Register("v", 3), sign_extend=True)),
        ("neg(1)", Operand(Number(1), negate=True)),
        ("-1.0", Operand(Number(-1.0))),
    ],
)
def test_input_modifiers(text: str, want: Operand) -> None:
    assert parse_operand(text) == want


def test_registers_print_as_the_assembler_writes_them() -> None:
    for text in ("v7", "v[2:3]", "a[0:3]", "s[4:7]", "vcc", "exec_lo", "m0"):
        assert str(parse_operand(text).value) == text


def test_modifiers_become_numbers_lists_words_and_flags() -> None:
    text = "v1, v2 offset:16 op_sel:[0,1] dst_sel:WORD_1 bitop3:0x6c sc0 quad_perm:[3,2,1,0]"
    operands, modifiers = split_operands(text)
    d = decode(0, Instruction(1, "v_mov_b32_dpp", operands, modifiers, "v_mov_b32_dpp " + text))
    assert dict(d.modifiers) == {
        "offset": 16,
        "op_sel": (0, 1),
        "dst_sel": "WORD_1",
        "bitop3": 0x6C,
        "sc0": True,
        "quad_perm": (3, 2, 1, 0),
    }
    assert (d.name, d.encoding) == ("v_mov_b32", "dpp")


def test_wait_counters_are_modifiers_of_their_instruction() -> None:
    operands, modifiers = split_operands("vmcnt(3) lgkmcnt(0)")
    d = decode(0, Instruction(1, "s_waitcnt", operands, modifiers, "s_waitcnt vmcnt(3) lgkmcnt(0)"))
    assert (d.operands, dict(d.modifiers)) == ((), {"vmcnt": 3, "lgkmcnt": 0})


@pytest.mark.parametrize(
    ("mnemonic", "want"),
    [
        ("v_add_u32_e32", ("v_add_u32", "e32")),
        ("v_or_b32_sdwa", ("v_or_b32", "sdwa")),
        ("s_mov_b32", ("s_mov_b32", "")),
    ],
)
def test_encoding_is_split_from_the_mnemonic(mnemonic: str, want: tuple[str, str]) -> None:
    assert base_name(mnemonic) == want
