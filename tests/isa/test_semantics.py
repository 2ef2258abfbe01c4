"""What an instruction computes: the file is strict, covers most of each target, and agrees with the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import ContentError
from kbserver.emulator.oracle import rules
from kbserver.emulator.semantics import table as emulated
from kbserver.emulator.semantics.mfma import SHAPES
from kbserver.isa.semantics import load_semantics, meaning_of, semantics
from kbserver.isa.table import TARGETS, instructions

_FILE = """
bases:
  told: {says: somebody said so, sources: [{id: llvm-22.1.8, locator: assembled}]}
encodings: {_dpp: across lanes}
words:
  t: {i32: signed, u32: unsigned}
sections:
- basis: told
  entries:
    "v_max_{t}": "the larger one, {t}"
"""


def _loaded(folder: Path, old: str = "", new: str = "") -> dict[str, str]:
    assert old in _FILE
    path = folder / "semantics.yaml"
    path.write_text(_FILE.replace(old, new) if old else _FILE, "utf-8")
    load_semantics.cache_clear()
    return {name: one.text for name, one in load_semantics(path).meanings.items()}


def test_a_pattern_stands_for_each_instruction_that_exists(tmp_path: Path) -> None:
    assert _loaded(tmp_path) == {"v_max_i32": "The larger one, signed", "v_max_u32": "The larger one, unsigned"}


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"v_max_{t}"', '"v_biggest_{t}"', "v_biggest_{t}: no such instruction"),
        ('"v_max_{t}"', '"v_max_{x}"', "v_max_{x}: unknown words: t, x"),
        ("one, {t}", "one, {u}", "v_max_{t}: unknown words: u"),
        ("u32: unsigned", "u32: unsigned, u33: odd", "nothing uses: t.u33"),
        ("u32: unsigned", 'u32: ""', "t.u32: not a text"),
        ("u32: unsigned", "u32: 7", "t.u32: not a text"),
        ('"the larger one, {t}"', '" "', "v_max_{t}: not a text"),
        ('{t}"\n', '{t}"\n    v_max_u32: again\n', "v_max_u32: v_max_u32 is described twice"),
        ("basis: told", "basis: heard", "a section needs `entries` and a known `basis`"),
        ("  told:", "  spare: {says: x, sources: []}\n  told:", "nothing uses: basis spare"),
        ("llvm-22.1.8", "hearsay", "hearsay"),
        ("encodings:", "encoding:", "the keys are not bases, encodings, sections, words"),
        ("words:\n  t: {i32: signed, u32: unsigned}", "words: []", "malformed"),
        ('"v_max_{t}"', '"v_max_{t}{"', "malformed"),
    ],
)
def test_a_fault_of_the_file_is_named_with_the_file(tmp_path: Path, old: str, new: str, fault: str) -> None:
    with pytest.raises(ContentError) as caught:
        _loaded(tmp_path, old, new)
    assert fault in caught.value.message
    assert str(caught.value.where).startswith(str(tmp_path / "semantics.yaml"))


def test_a_key_given_twice_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match="duplicate key"):
        _loaded(tmp_path, "i32: signed", "i32: signed, i32: plain")


def test_every_entry_names_an_existing_mnemonic_and_leaves_no_placeholder() -> None:
    found = semantics().meanings
    assert [name for name in found if name not in instructions()] == []
    assert [name for name, one in found.items() if "{" in one.text or "  " in one.text or one.text[-1] != "."] == []


def test_every_basis_is_cited() -> None:
    assert [one.basis.name for one in semantics().meanings.values() if not one.basis.sources] == []


# Counted as the entries are: 92 to 95 %. Tables regenerated for a newer LLVM may lower that a little.
@pytest.mark.parametrize("arch", TARGETS)
def test_most_instructions_of_each_target_are_described(arch: str) -> None:
    names = [one.name for one in instructions().all() if arch in one.targets]
    known = sum(meaning_of(name) is not None for name in names)
    assert known / len(names) >= 0.9


def test_entries_that_rest_on_the_emulator_are_in_its_table() -> None:
    executed = ("emulator", "executed", "layout")
    claimed = {name for name, one in semantics().meanings.items() if one.basis.name in executed}
    assert claimed - emulated().keys() == set()


def test_every_instruction_that_the_oracle_has_a_rule_for_is_described_from_there() -> None:
    other = {name for name in rules() if (one := meaning_of(name)) is None or one.basis.name != "emulator"}
    assert other == set()


@pytest.mark.parametrize("name", SHAPES)
def test_a_matrix_entry_gives_the_shape_that_the_emulator_has(name: str) -> None:
    shape, meaning = SHAPES[name], meaning_of(name)
    assert meaning is not None
    blocks = f"{shape.blocks} independent blocks of" if shape.blocks > 1 else "one"
    assert f"{blocks} {shape.m} x {shape.n}" in meaning.text
    assert f"K = {shape.k}:" in meaning.text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v_fma_f32", "D = src0 * src1 + src2 in f32, fused: rounded once."),
        ("v_lshlrev_b32", "D = src1 << src0[4:0], 32 bits: the count is the first source."),
        (
            "v_cmp_nlt_f64",
            "Compares f64: the lane's bit of VCC (e32) or of the SGPR pair (e64) becomes 1 when src0 < src1 is false"
            " (true on NaN); lanes with EXEC 0 get 0.",
        ),
        ("s_addc_u32", "D = src0 + src1 + SCC, 32 bits, wrapping; SCC = carry."),
        (
            "v_cvt_i32_f64",
            "f64 to a signed 32-bit integer: truncated toward zero, saturated at the ends of the range, NaN gives 0.",
        ),
        (
            "ds_bpermute_b32",
            "Pulls: each active lane gets the data of lane (addr + offset) / 4 modulo 64; an inactive source lane"
            " gives 0. No LDS memory is used.",
        ),
        (
            "v_mfma_f32_32x32x4_2b_bf16",
            "D = A * B + C on 2 independent blocks of 32 x 32 with K = 4: A and B hold bf16, C and D f32, spread over"
            " the 64 lanes; EXEC is ignored. The order of the sum over K is not documented.",
        ),
        (
            "ds_max_rtn_i64",
            "Each active lane atomically keeps the larger of data and the signed 64-bit value in LDS at addr + offset."
            " D gets the old value.",
        ),
    ],
)
def test_an_entry_reads_as_written_by_hand(name: str, text: str) -> None:
    meaning = meaning_of(name)
    assert meaning is not None
    assert meaning.text == text


@pytest.mark.parametrize("name", ["v_screen_partition_4se_b32", "image_load", "no_such_name"])
def test_what_no_source_tells_stays_unknown(name: str) -> None:
    assert meaning_of(name) is None
