"""The generated tables hold each target's instructions, as two other enumerations and AMD's own opcode tables say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kbserver.core.errors import ContentError
from kbserver.core.paths import Roots, use_roots
from kbserver.isa.families import FAMILIES
from kbserver.isa.table import FOLDER, instructions
from tests.isa.lists import ADDED_GFX942, ONLY_GFX950, REMOVED_GFX942, REMOVED_GFX950

ROOT = Path(__file__).resolve().parents[2]
SCALED_PAIRS = {"v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4"}

# From AMD's machine-readable ISA of CDNA 4, as extracted by another project: name, format, opcode.
AMD_OPCODES = (
    ("ds_add_u32", "DS", 0), ("ds_write_b64", "DS", 77), ("ds_read_b64_tr_b16", "DS", 227), ("ds_read_b128", "DS", 255),
    ("flat_load_dword", "FLAT", 20), ("global_atomic_pk_add_bf16", "GLOBAL", 82),
    ("global_load_lds_dwordx4", "GLOBAL", 125), ("tbuffer_load_format_xyzw", "MTBUF", 3),
    ("buffer_load_dwordx4", "MUBUF", 23), ("buffer_inv", "MUBUF", 41), ("scratch_load_dword", "SCRATCH", 20),
    ("s_load_dwordx4", "SMEM", 2), ("s_scratch_load_dword", "SMEM", 5), ("s_buffer_load_dwordx4", "SMEM", 10),
    ("s_mov_b32", "SOP1", 0), ("s_add_u32", "SOP2", 0), ("s_cmp_eq_u32", "SOPC", 6), ("s_movk_i32", "SOPK", 0),
    ("s_barrier", "SOPP", 10), ("s_waitcnt", "SOPP", 12), ("v_mov_b32", "VOP1", 1), ("v_exp_f32", "VOP1", 32),
    ("v_rcp_f64", "VOP1", 37), ("v_add_f32", "VOP2", 1), ("v_fmac_f32", "VOP2", 59), ("v_cmp_eq_f32", "VOP3", 66),
    ("v_mov_b32", "VOP3", 321), ("v_exp_f32", "VOP3", 352), ("v_rcp_f64", "VOP3", 357), ("v_min3_f32", "VOP3", 464),
    ("v_med3_f32", "VOP3", 470), ("v_div_scale_f64", "VOP3", 481), ("v_div_fmas_f32", "VOP3", 482),
    ("v_mad_u64_u32", "VOP3", 488), ("v_perm_b32", "VOP3", 493), ("v_lshl_add_u64", "VOP3", 520),
    ("v_bitop3_b32", "VOP3", 564), ("v_cvt_pk_bf16_f32", "VOP3", 616), ("v_readlane_b32", "VOP3", 649),
    ("v_dot2_f32_bf16", "VOP3P", 26), ("v_mfma_f32_16x16x128_f8f6f4", "VOP3P", 45), ("v_pk_fma_f32", "VOP3P", 48),
    ("v_mfma_f32_16x16x32_bf16", "VOP3P", 53), ("v_smfmac_f32_16x16x64_bf16", "VOP3P", 57),
    ("v_accvgpr_read_b32", "VOP3P", 88), ("v_cmp_eq_f32", "VOPC", 66),
)  # fmt: skip


def names(arch: str, *, lds_apart: bool = False) -> set[str]:
    """Return the mnemonics of a target; with `lds_apart` the variant that writes LDS counts as a name of its own."""
    found = set()
    for one in instructions().all():
        modes = [form.mode.split() for form in one.on(arch)]
        if any("lds" not in mode for mode in modes):
            found.add(one.name)
        if any("lds" in mode for mode in modes):
            found.add(f"{one.name}(lds)" if lds_apart else one.name)
    return found


def images(found: set[str]) -> set[str]:
    return {name for name in found if name.startswith("image_")}


@pytest.mark.parametrize(("arch", "count"), [("gfx90a", 1135), ("gfx942", 1151), ("gfx950", 1248)])
def test_each_target_has_its_number_of_mnemonics(arch: str, count: int) -> None:
    assert len(names(arch)) == count


@pytest.mark.parametrize(
    # The earlier enumeration, plus 11 names on every target that it missed, plus what it left out on purpose.
    ("arch", "earlier", "left_out"),
    [("gfx90a", 1115, 25), ("gfx942", 1146, 0), ("gfx950", 1243, 2)],
)
def test_the_sets_of_the_earlier_enumeration_are_contained(arch: str, earlier: int, left_out: int) -> None:
    found = names(arch, lds_apart=True)
    assert len(images(found) | (SCALED_PAIRS & found)) == left_out
    assert len(found) == earlier + 11 + left_out


def test_the_99_mnemonics_that_only_gfx950_has() -> None:
    assert names("gfx950", lds_apart=True) - names("gfx942", lds_apart=True) - SCALED_PAIRS == ONLY_GFX950
    assert len(ONLY_GFX950) == 99


def test_gfx950_lost_two_instructions_of_gfx942() -> None:
    assert names("gfx942", lds_apart=True) - names("gfx950", lds_apart=True) == REMOVED_GFX950


def test_gfx942_added_and_removed_what_the_lists_say() -> None:
    old, new = names("gfx90a", lds_apart=True), names("gfx942", lds_apart=True)
    assert new - old == ADDED_GFX942
    assert old - new - images(old) == REMOVED_GFX942


def test_image_instructions_are_on_gfx90a_alone() -> None:
    assert len(images(names("gfx90a"))) == 25
    assert not images(names("gfx942") | names("gfx950"))


@pytest.mark.parametrize(("name", "form", "opcode"), AMD_OPCODES, ids=lambda value: str(value))
def test_opcodes_are_those_of_amds_machine_readable_isa(name: str, form: str, opcode: int) -> None:
    found = instructions().get(name)
    assert found is not None
    assert {row.opcode for row in found.on("gfx950") if row.format == form} == {opcode}


def test_operands_and_bytes_of_a_form_fit_each_other() -> None:
    sizes = {"SOP1": {4}, "SOP2": {4}, "SOPC": {4}, "SOPP": {4}, "VOP3": {8}, "VOP3P": {8}, "DS": {8}, "VOP3PX": {16}}
    for one in instructions().all():
        for form in one.forms:
            assert len(form.code) in sizes.get(form.format, {4, 8})
            assert "?" not in " ".join(form.operands), one.name
            assert form.syntax.split()[0].startswith(one.name)


def test_vgpr_tuples_start_at_an_even_register_with_one_exception() -> None:
    free = {
        one.name
        for one in instructions().all()
        for form in one.forms
        for word in form.operands
        if word.partition(":")[2].lstrip("vascl")[:1] not in ("", "1", "i") and "%" not in word
    }
    assert free == {"ds_read_b96_tr_b6"}


def test_files_are_generated_sorted_and_small() -> None:
    folder = ROOT / FOLDER
    total = 0
    for path in folder.glob("*.jsonl"):
        header, *lines = path.read_text("utf-8").splitlines()
        assert "do not edit" in json.loads(header)["generated"]
        assert json.loads(header)["llvm"] == "22.1.8"
        listed = [json.loads(line)["name"] for line in lines]
        assert listed == sorted(listed)
        total += path.stat().st_size
    assert total < 1_500_000
    assert {path.stem for path in folder.glob("*.jsonl")} == {*FAMILIES, "aliases", "elsewhere", "builtins"}


def test_names_that_no_target_has_are_listed_with_those_that_have_them() -> None:
    elsewhere = instructions().elsewhere
    assert elsewhere["v_permlanex16_b32"] == ("gfx1030", "gfx1100", "gfx1150", "gfx1200", "gfx1250")
    assert elsewhere["s_wait_loadcnt"] == ("gfx1200", "gfx1250")
    assert not set(elsewhere) & set(instructions().names)


def test_a_missing_or_damaged_table_is_said_with_its_file(tmp_path: Path) -> None:
    with use_roots(Roots(tmp_path, tmp_path, "test")), pytest.raises(ContentError) as missing:
        instructions()
    assert "scalar.jsonl" in str(missing.value.where)
    damaged = tmp_path / "damaged"
    (damaged / FOLDER).mkdir(parents=True)
    (damaged / FOLDER / "scalar.jsonl").write_text('{"columns": ["other"]}\n', "utf-8")
    with use_roots(Roots(damaged, tmp_path, "test")), pytest.raises(ContentError, match="not a generated table"):
        instructions()
