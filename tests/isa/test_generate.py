"""Regenerating the tables gives the files in place; the parts of the generator are right on their own."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from kbserver.core.errors import Unavailable
from kbserver.isa import generate
from kbserver.isa.assembler import LlvmMc, find_llvm_mc
from kbserver.isa.builtins import Builtin, _split_signature
from kbserver.isa.encodings import ENCODINGS
from kbserver.isa.forms import Line, split_line
from kbserver.isa.mnemonics import _names_in
from kbserver.isa.table import FOLDER

ROOT = Path(__file__).resolve().parents[2]


def exact_llvm() -> LlvmMc:
    try:
        return find_llvm_mc(generate.LLVM_VERSION)
    except Unavailable as error:
        pytest.skip(f"SKIPPED LOUDLY: regeneration was not compared: {error.one_line()}")


@pytest.mark.slow
def test_regeneration_of_the_instruction_tables_changes_nothing() -> None:
    files = generate.instruction_tables(exact_llvm())
    assert generate.differences(files, ROOT / FOLDER) == []
    assert len(files) == 10


@pytest.mark.slow
def test_regeneration_of_one_builtin_in_forty_changes_nothing() -> None:
    # All 782 take minutes of compiling: `python -m kbserver.isa.generate --check` compares every one.
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("SKIPPED LOUDLY: ziglang is not installed: builtins were not compared")
    lines = (ROOT / FOLDER / "builtins.jsonl").read_text("utf-8").splitlines()[1:]
    again = generate.builtin_lines(every=40)
    assert len(again) == len(lines[::40])
    assert again == lines[::40]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("s_endpgm", Line("s_endpgm", ())),
        ("v_fma_f32 v0, v1, v2, v3 clamp", Line("v_fma_f32", ("v0", "v1", "v2", "v3"), ("clamp",))),
        ("s_waitcnt vmcnt(4) expcnt(0)", Line("s_waitcnt", ("vmcnt(4)",), ("expcnt(0)",))),
        ("s_getreg_b32 s12, hwreg(52, 8, 3)", Line("s_getreg_b32", ("s12", "hwreg(52, 8, 3)"))),
        ("x v[0:3], a op_sel:[0,1] y", Line("x", ("v[0:3]", "a"), ("op_sel:[0,1]", "y"))),
    ],
)
def test_an_instruction_is_taken_apart_and_put_together(text: str, line: Line) -> None:
    assert split_line(text) == line
    assert line.text() == text


def test_opcode_fields_lie_inside_their_words_and_meet_no_operand() -> None:
    for encoding in ENCODINGS:
        low, width = encoding.opcode
        assert low + width <= 32 * encoding.dwords
        taken = set(range(low, low + width))
        for field in encoding.fields:
            bits = set(range(field.bit, field.bit + field.width))
            assert not bits & taken, (encoding.format, encoding.mode, field.name)
            assert all(value < 1 << field.width for value in field.values)


def test_a_table_of_names_is_found_among_other_bytes() -> None:
    names = [b"v_or_b32", b"v_permlanex16_b32", b"v_xor_b32"]
    table = b"".join(bytes([len(name)]) + name for name in names)
    assert _names_in(b"\x00\xffnoise\x00" + table + b"\x00tail") == [name.decode() for name in names]
    assert _names_in(b"nothing here") == []


def test_signatures_with_attributes_are_taken_apart() -> None:
    vector = "__attribute__((__vector_size__(4 * sizeof(float)))) float"
    assert _split_signature(f"{vector} ({vector}, int)") == (vector, (vector, "int"))
    assert _split_signature("void (void) __attribute__((noreturn))") == ("void", ())
    one = Builtin("__builtin_amdgcn_x", vector, (vector, "int"))
    assert one.signature == "float x4 (float x4, int)"
    assert one.definition(3, "1") == f"{vector} f3({vector} a0) {{ return __builtin_amdgcn_x(a0, 1); }}"
