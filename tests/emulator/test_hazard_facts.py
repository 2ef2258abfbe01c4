"""Wait states of the fact table against the rules of the emulator, target by target."""

from __future__ import annotations

import re

import pytest

from kbserver.hardware.facts import load_facts
from tests.emulator.test_hazard_check import DPP, F16_4, F16_16, READ, enough
from tests.toolchain.clang import compile_hip, needs_clang

ARCHS = ("gfx90a", "gfx942", "gfx950")
F64_4 = "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[10:11], v[12:13], v[0:1]"


def of_target(text: str, arch: str) -> str:
    """Spell the matrix instructions as gfx90a does."""
    return (
        text if arch != "gfx90a" else text.replace("_4b_f64", "f64").replace("_16b_f16", "f16").replace("_f16 ", "f16 ")
    )


# Counted behind builtins of clang 22.1.8 for each target: gfx90a, gfx942, gfx950.
@pytest.mark.parametrize(
    ("fact", "first", "second", "states"),
    [
        ("valu_write_then_mfma_read", "v_add_f32_e32 v10, v98, v99", F16_16, (2, 2, 2)),
        ("valu_writes_sgpr_then_vmem_reads_it", "v_readfirstlane_b32 s4, v1", "global_load_dword v2, v3, s[4:5]",
         (5, 5, 5)),
        ("valu_writes_sgpr_then_lane_select", "v_readfirstlane_b32 s4, v1", "v_readlane_b32 s5, v2, s4", (4, 4, 4)),
        ("valu_writes_sgpr_then_valu_reads_it", "v_readfirstlane_b32 s4, v1", "v_mov_b32_e32 v2, s4", (0, 2, 2)),
        ("valu_writes_vcc_then_v_div_fmas", "v_cmp_gt_u32_e32 vcc, v1, v2", "v_div_fmas_f32 v3, v4, v5, v6", (4, 4, 4)),
        ("valu_writes_vgpr_then_dpp_reads_it", "v_add_f32_e32 v0, v98, v99", DPP, (2, 2, 2)),
        ("valu_writes_exec_then_dpp", "v_cmpx_gt_u32_e32 vcc, v1, v2", DPP, (5, 5, 5)),
        ("transcendental_then_valu_reads_result", "v_exp_f32_e32 v0, v98", READ, (0, 1, 1)),
    ],
)  # fmt: skip
def test_a_wait_of_the_fact_table_is_the_rule_of_each_target(
    fact: str, first: str, second: str, states: tuple[int, int, int]
) -> None:
    facts = load_facts()
    assert tuple(facts.get(f"{arch}.hazards.{fact}").value for arch in ARCHS) == states
    assert tuple(enough(of_target(first, arch), of_target(second, arch), arch) for arch in ARCHS) == states


def test_f32_forms_of_gfx90a_wait_like_its_other_matrix_instructions() -> None:
    facts = load_facts()
    value = facts.get("gfx90a.hazards.mfma_f32_non_xdl_write_then_read").value
    assert enough("v_mfma_f32_16x16x4f32 v[0:3], v10, v11, v[20:23]", READ, "gfx90a") == value["8_passes"] == 11
    assert facts.get("gfx90a.hazards.mfma_write_then_src_c_overlap").value["4x4"] == 4


@pytest.mark.parametrize(
    ("key", "instruction", "states"),
    [("2_passes", F16_4.replace("v[20:23]", "v[0:3]"), (0, 2, 2)), ("4x4", F64_4, (4, 4, 4))],
)
def test_a_chain_on_the_same_accumulator_waits_only_after_the_small_forms(
    key: str, instruction: str, states: tuple[int, int, int]
) -> None:
    facts = load_facts()
    assert tuple(facts.get(f"{arch}.hazards.mfma_write_then_src_c_same").value[key] for arch in ARCHS) == states
    chain = [of_target(instruction, arch) for arch in ARCHS]
    assert tuple(enough(one, one, arch) for one, arch in zip(chain, ARCHS, strict=True)) == states


_MOVED_TO_AGPRS = """
typedef float v4f __attribute__((ext_vector_type(4)));
typedef _Float16 v4h __attribute__((ext_vector_type(4)));
extern "C" __attribute__((global)) void k(v4f *o, v4h *a) {
  v4h x = a[0], y = a[1];
  v4f c;
  asm volatile("; loaded" : "=v"(c), "+v"(x), "+v"(y));
  asm volatile("; in AGPRs" : "+a"(c));
  v4f d = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, c, 0, 0, 0);
  asm volatile("; used" ::"a"(d));
  *o = d;
}
"""


@needs_clang
@pytest.mark.parametrize("arch", ARCHS)
def test_the_compiler_waits_between_a_move_to_an_agpr_and_the_mfma_that_reads_it(arch: str) -> None:
    text = compile_hip(_MOVED_TO_AGPRS, arch).text
    between = re.search(r"v_accvgpr_write_b32 a3, \w+\n((?:(?!v_mfma).)*)v_mfma", text, re.S)
    assert between
    others = re.findall(r"^\t([a-z]\w+)(?: (\d+)$)?", between[1], re.M)
    states = sum(int(count) + 1 if name == "s_nop" else 1 for name, count in others)
    assert states == load_facts().get(f"{arch}.hazards.v_accvgpr_write_then_mfma").value == 2
