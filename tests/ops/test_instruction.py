"""`instruction`: existence by target, spelling, encodings, whole lines, matrix layouts, substitutes, refs, search."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator

import pytest

from kbserver.core.errors import KbError, NoCompiler, UnknownName, UnresolvedRef, UsageError
from kbserver.ops import instruction, operations, read, search
from kbserver.ops.instruction_results import InstructionAnswer
from kbserver.render import render, render_plain

needs_clang = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None,
    reason="SKIPPED LOUDLY: the compiler is not installed (pip install 'kbserver[compile]' brings ziglang)",
)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def none_found(name: str | None = None) -> None:
        raise NoCompiler("no compiler for AMD GPUs found")

    monkeypatch.setattr("kbserver.ops.assemble_line.find_compiler", none_found)
    yield


def says_no(answer: InstructionAnswer) -> bool:
    return operations()["instruction"].says_no(answer)


def text(answer: InstructionAnswer) -> str:
    return render_plain(render(answer))


def test_an_instruction_that_exists_is_told_with_encoding_operands_and_targets() -> None:
    answer = instruction("v_fma_f32", arch="gfx950")
    assert answer.exists
    assert not says_no(answer)
    assert answer.targets == ["gfx90a", "gfx942", "gfx950"]
    (form,) = answer.encodings
    assert (form.format, form.opcode, form.size_bytes) == ("VOP3", 459, 8)
    assert [operand.name for operand in form.operands] == ["vdst", "src0", "src1", "src2"]
    assert form.operands[1].accepts == ["VGPR", "SGPR", "inline constant"]
    assert form.modifiers == ["clamp", "omod", "neg", "abs"]
    assert answer.semantics == "D = src0 * src1 + src2 in f32, fused: rounded once."
    assert answer.semantics_note.startswith("as the emulator here executes it")
    assert "what it computes: D = src0 * src1 + src2" in text(answer)


def test_what_a_dpp_form_adds_is_told_when_it_is_asked_for() -> None:
    plain, crossed = (instruction(name, arch="gfx942").semantics for name in ("v_mov_b32", "v_mov_b32_dpp"))
    assert plain == "D = src0, 32 bits a lane."
    assert crossed is not None
    assert crossed.startswith(f"{plain} With DPP src0 comes from the lane that the control names.")


def test_an_instruction_that_no_entry_describes_is_said_to_be_unknown() -> None:
    answer = instruction("v_screen_partition_4se_b32", arch="gfx950")
    assert answer.exists
    assert answer.semantics is None
    assert "what it computes: unknown here" in text(answer)


def test_an_instruction_missing_on_the_target_is_not_described_there() -> None:
    answer = instruction("v_permlane32_swap_b32", arch="gfx942")
    assert not answer.exists
    assert answer.semantics is None


def test_a_name_that_never_existed_is_no_on_every_target() -> None:
    answer = instruction("v_div_f64", arch="MI210")
    assert not answer.exists
    assert says_no(answer)
    assert answer.arch == "gfx90a"
    assert answer.decided_by == "MI210 is gfx90a"
    assert {"v_div_scale_f64", "v_div_fmas_f64", "v_div_fixup_f64"} <= {one.name for one in answer.alternatives}
    assert all(one.sources for one in answer.alternatives)
    assert text(answer).startswith("v_div_f64 does NOT exist on gfx90a (MI210 is gfx90a)")


def test_only_alternatives_of_the_asked_target_are_offered() -> None:
    on_old = {one.name for one in instruction("v_wmma_f32_16x16x16_bf16", arch="gfx90a").alternatives}
    on_new = {one.name for one in instruction("v_wmma_f32_16x16x16_bf16", arch="gfx950").alternatives}
    assert on_old == {"v_mfma_f32_16x16x16bf16_1k"}
    assert "v_mfma_f32_16x16x32_bf16" in on_new
    assert "v_mfma_f32_16x16x16bf16_1k" not in on_new


def test_an_instruction_of_another_target_says_where_it_is() -> None:
    answer = instruction("v_permlane32_swap_b32", arch="MI300X")
    assert not answer.exists
    assert answer.targets == ["gfx950"]
    assert answer.why is not None
    assert answer.why.startswith("not on gfx942: only on gfx950.")


def test_a_name_of_other_generations_says_which_have_it() -> None:
    answer = instruction("ds_load_b128", arch="gfx950")
    assert answer.elsewhere == ["gfx1100", "gfx1150", "gfx1200", "gfx1250"]
    assert answer.alternatives[0].name == "ds_read_b128"


def test_without_a_target_a_name_exists_when_any_target_has_it() -> None:
    answer = instruction("v_mfma_f32_16x16x8_xf32")
    assert answer.exists
    assert answer.targets == ["gfx942"]
    assert answer.arch is None


def test_old_mfma_spellings_lead_to_the_canonical_one() -> None:
    answer = instruction("V_MFMA_F32_4x4x4f16", arch="gfx942")
    assert answer.exists
    assert answer.canonical == "v_mfma_f32_4x4x4_16b_f16"
    assert answer.encodings[0].syntax.startswith("v_mfma_f32_4x4x4_16b_f16 ")
    assert instruction("v_mfma_f32_4x4x4f16", arch="gfx90a").canonical == "v_mfma_f32_4x4x4f16"


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("v_add_f32", [("VOP2", ""), ("VOP2", "dpp"), ("VOP2", "sdwa"), ("VOP3", "")]),
        ("v_add_f32_e32", [("VOP2", "")]),
        ("v_add_f32_e64", [("VOP3", "")]),
        ("v_add_f32_dpp", [("VOP2", "dpp")]),
        ("v_add_f32_sdwa", [("VOP2", "sdwa")]),
    ],
)
def test_a_suffix_chooses_the_encoding(name: str, forms: list[tuple[str, str]]) -> None:
    assert [(form.format, form.mode) for form in instruction(name, arch="gfx942").encodings] == forms


def test_a_suffix_that_the_instruction_lacks_is_a_no() -> None:
    answer = instruction("v_fma_f32_dpp", arch="gfx950")
    assert says_no(answer)
    assert answer.why == "v_fma_f32 exists, but has no _dpp form; it has: VOP3"


def test_an_invented_name_gets_near_names() -> None:
    answer = instruction("v_fmma_f32", arch="gfx950")
    assert not answer.exists
    assert answer.kind == "unknown"
    assert "v_fma_f32" in answer.near
    assert answer.alternatives == []


def test_an_unknown_target_fails_loud() -> None:
    with pytest.raises(UnknownName):
        instruction("v_fma_f32", arch="gfx1100")


@needs_clang
def test_a_whole_instruction_is_assembled() -> None:
    answer = instruction("v_fma_f32 v0, v1, v2, v3", arch="gfx950")
    (line,) = answer.line
    assert (line.arch, line.ok, line.bytes, line.size_bytes) == ("gfx950", True, "00 00 cb d1 01 05 0e 04", 8)
    assert answer.assembler is not None
    assert "clang" in answer.assembler
    assert "assembled for gfx950: 8 bytes: 00 00 cb d1 01 05 0e 04" in text(answer)


@needs_clang
def test_a_line_that_the_assembler_refuses_is_a_no_with_its_message() -> None:
    odd = instruction("v_fma_f64 v[1:2], v[4:5], v[6:7], v[8:9]", arch="gfx942")
    assert odd.exists
    assert says_no(odd)
    assert odd.line[0].error
    wrong_target = instruction("v_dot2_f32_bf16 v0, v1, v2, v3", arch="gfx942")
    assert wrong_target.line[0].error == "instruction not supported on this GPU"


@needs_clang
def test_without_a_target_each_one_answers_for_the_line() -> None:
    answer = instruction("global_load_dword v0, v[2:3], off sc0")
    assert {line.arch: line.ok for line in answer.line} == {"gfx90a": False, "gfx942": True, "gfx950": True}
    assert not says_no(answer)


@needs_clang
def test_bytes_that_wait_for_a_label_are_not_made_up() -> None:
    assert instruction("s_branch somewhere", arch="gfx950").line[0].bytes == "?? ?? 82 bf"


def test_without_a_compiler_the_tables_answer_and_say_so(no_compiler: None) -> None:
    answer = instruction("v_fma_f32 v0, v1, v2, v3", arch="gfx950")
    assert answer.exists
    assert answer.line == []
    assert answer.assembler == "none: no compiler for AMD GPUs found"
    assert not says_no(answer)


@pytest.mark.parametrize(
    "hostile",
    ["", "\n", '.incbin "x"', "v_nop\n.incbin x", "v_nop; v_nop", "a: v_nop", "v_nop // x", "../../x", "A" * 99_999],
)  # fmt: skip
def test_anything_but_one_instruction_is_a_usage_error(hostile: str) -> None:
    with pytest.raises(UsageError):
        instruction(hostile)


def test_an_element_of_c_is_placed_by_formula_and_table() -> None:
    answer = instruction("v_mfma_f32_16x16x32_bf16", arch="MI355X", element="C[5][9]")
    assert answer.matrix is not None
    place = answer.matrix.element
    assert place is not None
    assert (place.lane, place.register_index, place.bits) == (25, 1, None)
    assert place.formula == "C[i][j]: lane 16 * (i / 4) + j, register i % 4"
    assert "MI350" in place.status
    assert len(place.table) == 16
    assert "C[5][9]: lane 25, register 1 of C" in text(answer)


def test_the_inverse_question_names_the_elements_of_a_register() -> None:
    answer = instruction("v_mfma_f32_16x16x16_f16", arch="gfx942", element="A lane 35 register 0")
    assert answer.matrix is not None
    assert answer.matrix.element is not None
    assert answer.matrix.element.elements == ["A[3][8]", "A[3][9]"]
    assert answer.matrix.element.status.startswith("every element compared")


@pytest.mark.parametrize(
    ("name", "element"),
    [
        ("v_fma_f32", "C[1][1]"),
        ("v_no_such_thing", "C[1][1]"),
        ("v_mfma_f32_16x16x32_bf16", "C[16][0]"),
        ("v_mfma_f32_16x16x32_bf16", "nonsense"),
        ("v_mfma_f32_16x16x32_bf16", "C lane 64 register 0"),
        ("v_mfma_f32_16x16x128_f8f6f4", "A[0][0]"),
        ("v_smfmac_i32_16x16x128_i8", "A[0][0]"),
        ("v_mfma_f32_16x16x32_bf16", "A[0][0] fp8"),
    ],
)
def test_an_element_that_cannot_be_placed_is_refused(name: str, element: str) -> None:
    with pytest.raises(UsageError):
        instruction(name, arch="gfx950", element=element)


def test_matrix_cost_and_hazards_come_from_facts() -> None:
    answer = instruction("v_mfma_f32_16x16x32_bf16", arch="gfx950")
    assert answer.matrix is not None
    assert answer.matrix.cost["passes"] == 4
    assert answer.matrix.cost["ops_per_cu_per_clock"] == 4096
    assert answer.matrix.fact == "fact:gfx950.mfma.v_mfma_f32_16x16x32_bf16"
    read_result = [one for one in answer.hazards if one.fact == "fact:gfx950.hazards.mfma_xdl_write_then_read"]
    assert [one.value for one in read_result] == [8]


# GCNHazardRecognizer::checkMAIHazards90A: overlapping C of one's own kind, then C overwritten (nothing but XDL waits).
@pytest.mark.parametrize(
    ("name", "arch", "overlap", "overwrite"),
    [
        ("v_mfma_f64_4x4x4_4b_f64", "gfx942", 4, 0),
        ("v_mfma_f64_16x16x4_f64", "gfx942", 9, 0),
        ("v_mfma_f64_16x16x4_f64", "gfx950", 17, 0),
        ("v_mfma_f32_16x16x4_f32", "gfx942", 8, 0),
        ("v_mfma_f32_16x16x4f32", "gfx90a", 8, 7),
        ("v_mfma_f32_16x16x16_f16", "gfx950", 6, 3),
    ],
)
def test_waits_on_c_are_those_of_the_form(name: str, arch: str, overlap: int, overwrite: int) -> None:
    values = {one.fact.rpartition(".")[2]: one.value for one in instruction(name, arch=arch).hazards}
    assert values["mfma_write_then_src_c_overlap"] == overlap
    assert values["mfma_src_c_read_then_valu_write"] == overwrite


@pytest.mark.parametrize(("name", "passes"), [("v_smfmac_f32_16x16x32_f16", 4), ("v_smfmac_i32_32x32x32_i8", 8)])
def test_sparse_forms_of_cdna3_have_their_passes_on_gfx950(name: str, passes: int) -> None:
    answer = instruction(name, arch="gfx950")
    assert answer.matrix is not None
    assert answer.matrix.cost["passes"] == passes


@pytest.mark.parametrize(
    ("name", "counters", "masks"),
    [
        ("ds_read_b128", {"lgkmcnt": 15}, ["0x80", "0x100"]),
        ("ds_write_b64", {"lgkmcnt": 15}, ["0x80", "0x200"]),
        ("global_load_dwordx4", {"vmcnt": 63}, ["0x10", "0x20"]),
        ("global_store_dword", {"vmcnt": 63}, ["0x10", "0x40"]),
        ("flat_load_dword", {"vmcnt": 63, "lgkmcnt": 15}, ["0x10", "0x20"]),
        ("s_load_dwordx4", {"lgkmcnt": 15}, []),
        ("v_exp_f32", {}, ["0x1", "0x2", "0x400"]),
        ("v_mfma_f32_32x32x8_f16", {}, ["0x1", "0x8"]),
    ],
)
def test_counters_and_scheduling_bits_go_by_class(name: str, counters: dict[str, int], masks: list[str]) -> None:
    waits = instruction(name, arch="gfx942").waits
    assert waits is not None
    assert (waits.counters, waits.sched_group_barrier) == (counters, masks)


def test_a_builtin_is_answered_as_what_it_becomes() -> None:
    answer = instruction("__builtin_amdgcn_mfma_f32_16x16x32_bf16", arch="gfx950")
    assert (answer.kind, answer.exists, answer.canonical) == ("builtin", True, "v_mfma_f32_16x16x32_bf16")
    refused = instruction("llvm.amdgcn.mfma.f32.16x16x32.bf16", arch="gfx942")
    assert not refused.exists
    assert refused.why == "clang refuses it for gfx942: it needs target feature gfx950-insts"
    assert "v_mfma_f32_16x16x16_bf16" in {one.name for one in refused.alternatives}
    assert not instruction("__builtin_amdgcn_no_such", arch="gfx942").exists


def test_sources_that_differ_are_both_shown() -> None:
    answer = instruction("v_mfma_f32_16x16x8_xf32", arch="gfx950")
    assert [one.on for one in answer.errata] == [["gfx950"]]
    assert len(answer.errata[0].sources) == 2


def test_every_answer_is_json_and_text(no_compiler: None) -> None:
    for name in (
        "s_endpgm",
        "buffer_load_dwordx4",
        "v_cmp_eq_f32",
        "image_load",
        "mma.sync",
        "glc",
        "v_x",
        "ds_read_b128",
    ):
        for arch in (None, "gfx90a", "gfx950"):
            answer = instruction(name, arch=arch)
            assert json.loads(json.dumps(answer.to_json()))["mnemonic"] == name
            assert 0 < len(text(answer)) < 6000


def test_refs_open_in_any_spelling_and_wrong_ones_say_what_to_do() -> None:
    reading = read("isa:gfx950/v_dot2_f32_bf16")
    assert reading.title == "v_dot2_f32_bf16 on gfx950"
    assert "VOP3P, opcode 26, 8 bytes" in reading.text
    assert read("isa:MI300X/v_mfma_f32_4x4x4f16").title == "v_mfma_f32_4x4x4_16b_f16 on gfx942"
    for ref in ("isa:gfx942/v_dot2_f32_bf16", "isa:gfx950/v_nope", "isa:gfx950", "isa:gfx1100/v_nop", "isa:"):
        with pytest.raises(KbError) as refused:
            read(ref)
        assert isinstance(refused.value, UnresolvedRef)
        assert refused.value.hint


def test_every_mnemonic_is_found_by_search_under_its_name() -> None:
    for name in ("v_bitop3_b32", "ds_read_b64_tr_b16", "v_smfmac_i32_32x32x64_i8", "s_getpc_b64"):
        hits = search(name, kind="instruction", limit=3).hits
        assert hits[0].title == name
        assert read(hits[0].ref).ref == hits[0].ref
    assert search("v_mfma_f32_4x4x4f16", kind="instruction").hits[0].ref.startswith("isa:")
