"""Wait states: figures of LLVM's hazard recognizer on small kernels, the fact table, and what the compiler inserts."""

from __future__ import annotations

import re

import pytest

from kbserver.emulator.hazard_check import hazards
from kbserver.emulator.kernel import load_kernel
from kbserver.hardware.facts import load_facts
from kbserver.toolchain.assembly import parse_assembly
from tests.emulator.harness import load
from tests.toolchain.clang import compile_hip, needs_clang


def needed(body: str, arch: str = "gfx950") -> list[tuple[str, int, int]]:
    """Return (event, wait states between, wait states needed) of every finding."""
    return [(one.event, one.have, one.need) for one in hazards(load(body, arch))]


def enough(first: str, second: str, arch: str) -> int:
    """Return the smallest number of s_nop states between two instructions without a finding."""
    return next(states for states in range(25) if not needed(f"{first}\n" + "s_nop 0\n" * states + second, arch))


F16_4 = "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[10:11], v[12:13], v[20:23]"
F16_16 = "v_mfma_f32_16x16x16_f16 v[0:3], v[10:11], v[12:13], v[20:23]"
F16_32 = "v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[34:35], v[40:55]"
F16_32_2B = "v_mfma_f32_32x32x4_2b_f16 v[0:31], v[32:33], v[34:35], v[64:95]"
F32_16 = "v_mfma_f32_16x16x4_f32 v[0:3], v10, v11, v[20:23]"
F64_16 = "v_mfma_f64_16x16x4_f64 v[0:7], v[10:11], v[12:13], v[20:27]"
F64_4 = "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[10:11], v[12:13], v[20:21]"
FP8_128 = "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[10:17], v[20:27], v[30:33]"
FP4_128 = "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[10:13], v[20:23], v[30:33] cbsz:4 blgp:4"
SPARSE_32 = "v_smfmac_f32_32x32x16_f16 v[0:15], v[32:33], v[34:37], v40"
READ = "v_add_f32_e32 v99, v0, v98"
STORE = "global_store_dword v[98:99], v0, off"
WRITE = "v_mov_b32_e32 v0, 0"


# From the tables in the comments of GCNHazardRecognizer.cpp and its constants.
@pytest.mark.parametrize(
    ("first", "second", "gfx942", "gfx950"),
    [
        (F16_4, READ, 5, 5),
        (F16_16, READ, 7, 8),
        (F16_32, READ, 11, 12),
        (F16_32_2B, READ, 19, 20),
        (F16_16, STORE, 7, 8),
        (F16_16, WRITE, 7, 8),
        (F16_16, "v_accvgpr_write_b32 a0, v0", 7, 8),
        (F32_16, READ, 10, 10),
        (F64_16, "v_add_f64 v[98:99], v[0:1], v[96:97]", 11, 19),
        (F64_16, "global_store_dwordx2 v[98:99], v[0:1], off", 18, 18),
        (F64_4, "v_add_f64 v[98:99], v[0:1], v[96:97]", 6, 6),
        (F64_4, "global_store_dwordx2 v[98:99], v[0:1], off", 9, 9),
        (SPARSE_32, READ, 11, 12),
        # Into A or B of another, into C in other registers, into C in the same registers.
        (F16_16, "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[12:13], v[20:23]", 7, 8),
        (F16_16, "v_mfma_f32_16x16x16_f16 v[4:7], v[10:11], v[12:13], v[2:5]", 5, 6),
        (F16_16, "v_mfma_f32_16x16x16_f16 v[4:7], v[10:11], v[12:13], v[0:3]", 0, 0),
        (F16_4, "v_mfma_f32_4x4x4_16b_f16 v[4:7], v[10:11], v[12:13], v[0:3]", 2, 2),
        (F16_16, "v_mfma_f32_16x16x4_f32 v[4:7], v10, v12, v[2:5]", 5, 6),
        (F32_16, "v_mfma_f32_16x16x16_f16 v[4:7], v[10:11], v[12:13], v[2:5]", 0, 0),
        (F32_16, "v_mfma_f32_16x16x4_f32 v[4:7], v10, v12, v[2:5]", 8, 8),
        # C read, then overwritten.
        (F16_16, "v_mov_b32_e32 v20, 0", 3, 3),
        (F16_32, "v_mov_b32_e32 v41, 0", 7, 7),
        (F32_16, "v_mov_b32_e32 v20, 0", 0, 0),
        # Vector results into a matrix operation, transcendental ones into a vector operation.
        ("v_add_f32_e32 v10, v98, v99", F16_16, 2, 2),
        ("v_exp_f32_e32 v0, v98", READ, 1, 1),
        ("v_exp_f32_e32 v0, v98", "v_exp_f32_e32 v1, v0", 0, 0),
        ("v_add_f32_e32 v0, v98, v99", READ, 0, 0),
        # SGPRs.
        ("v_readfirstlane_b32 s4, v1", "global_load_dword v2, v3, s[4:5]", 5, 5),
        ("v_readfirstlane_b32 s4, v1", "v_add_f32_e32 v2, s4, v3", 2, 2),
        ("v_readfirstlane_b32 s4, v1", "v_readlane_b32 s5, v2, s4", 4, 4),
        ("v_cmp_gt_f32_e32 vcc, v1, v2", "v_cndmask_b32_e32 v3, v4, v5, vcc", 2, 2),
        ("v_cmpx_gt_u32_e32 vcc, v1, v2", F16_16, 4, 4),
        ("global_store_dwordx4 v[98:99], v[0:3], off", WRITE, 2, 2),
        ("buffer_store_dwordx4 v[0:3], v98, s[8:11], 0 offen", WRITE, 2, 2),
        # Measured on MI350X: llvm/llvm-project pull request 197267. LLVM 22 inserts nothing here.
        ("buffer_store_dwordx4 v[0:3], v98, s[8:11], s3 offen", WRITE, 1, 1),
        ("buffer_store_dwordx2 v[0:1], v98, s[8:11], s3 offen", WRITE, 0, 0),
        ("s_mov_b32 m0, s4", "buffer_load_dword v2, s[8:11], 0 offen lds", 1, 1),
        ("s_mov_b32 m0, s4", "global_load_lds_dword v[2:3], off", 1, 1),
        ("s_mov_b32 m0, s4", "buffer_load_dword v2, v3, s[8:11], 0 offen", 0, 0),
        ("v_accvgpr_write_b32 a0, v98", F16_16.replace("v[20:23]", "a[0:3]").replace("v[0:3]", "a[0:3]"), 2, 2),
        ("v_accvgpr_read_b32 v10, a9", F16_16, 2, 2),
    ],
)  # fmt: skip
def test_wait_states_that_dependent_instructions_need(first: str, second: str, gfx942: int, gfx950: int) -> None:
    assert (enough(first, second, "gfx942"), enough(first, second, "gfx950")) == (gfx942, gfx950)


def test_eight_bit_operands_double_the_passes_of_f8f6f4() -> None:
    assert (enough(FP8_128, READ, "gfx950"), enough(FP4_128, READ, "gfx950")) == (12, 8)


# v_dot2_f32_bf16 in inline assembly: nobody inserts these.
DOT = "v_dot2_f32_bf16 v0, v1, v2, v0"


@pytest.mark.parametrize(
    ("second", "states"),
    [
        (DOT, 0),
        ("v_dot2_f32_bf16 v5, v0, v2, v5", 3),
        (READ, 3),
        (STORE, 3),
        (WRITE, 3),
        ("v_dot2c_f32_bf16_e32 v0, v1, v2", 3),
        ("v_add_f32_e32 v9, v1, v2", 0),
    ],
)
def test_a_dot_product_forwards_its_result_to_its_own_kind_only(second: str, states: int) -> None:
    assert enough(DOT, second, "gfx950") == states


def test_gfx90a_has_its_own_figures() -> None:
    first = "v_mfma_f32_16x16x16f16 v[0:3], v[10:11], v[12:13], v[20:23]"
    assert enough(first, READ, "gfx90a") == 11
    assert enough(first, "v_mfma_f32_16x16x16f16 v[4:7], v[10:11], v[12:13], v[2:5]", "gfx90a") == 8
    assert enough("v_exp_f32_e32 v0, v98", READ, "gfx90a") == 0
    assert enough("buffer_store_dwordx4 v[0:3], v98, s[8:11], 0 offen", WRITE, "gfx90a") == 1
    assert enough("buffer_store_dwordx4 v[0:3], v98, s[8:11], s3 offen", WRITE, "gfx90a") == 0


def test_s_nop_counts_its_number_and_one() -> None:
    assert needed(f"{F16_16}\ns_nop 6\n{READ}") == [("matrix result", 7, 8)]
    assert needed(f"{F16_16}\ns_nop 7\n{READ}") == []


def test_the_path_with_the_fewest_states_counts() -> None:
    long = "s_nop 15"
    assert needed(f"{F16_16}\ns_cbranch_scc0 .Lskip\n{long}\n.Lskip:\n{READ}") == [("matrix result", 1, 8)]


def test_a_result_reaches_around_a_loop() -> None:
    body = f".Ltop:\n{READ}\n{F16_16}\ns_nop %d\ns_cbranch_scc1 .Ltop"
    assert needed(body % 5) == [("matrix result", 7, 8)]
    assert needed(body % 6) == []


def test_an_overwritten_register_carries_its_new_writer_s_hazards_only() -> None:
    body = f"{F16_32}\ns_nop 11\n{WRITE}\n{READ}"
    assert needed(body) == []


def test_the_message_says_what_to_insert() -> None:
    kernel = load(f"{DOT}\n{READ}")
    (one,) = hazards(kernel)
    assert one.message(kernel) == (
        "`v_add_f32_e32 v99, v0, v98` comes 0 wait states after `v_dot2_f32_bf16 v0, v1, v2, v0` (dot result, v0); "
        "gfx950 needs 3: put s_nop 2 between"
    )


XDL = {"2_passes": (F16_4, READ), "4_passes": (F16_16, READ), "8_passes": (F16_32, READ)}
DPP = "v_mov_b32_dpp v1, v0 row_shl:1 row_mask:0xf bank_mask:0xf"


@pytest.mark.parametrize(
    ("fact", "arch", "pairs"),
    [
        ("mfma_xdl_write_then_read", "gfx942", XDL),
        ("mfma_xdl_write_then_read", "gfx950", XDL),
        ("mfma_f32_non_xdl_write_then_read", "gfx950", {"8_passes": (F32_16, READ)}),
        ("mfma_src_c_read_then_valu_write", "gfx950", {"4_passes": (F16_16, "v_mov_b32_e32 v20, 0")}),
    ],
)
def test_rules_by_passes_are_those_of_the_fact_table(fact: str, arch: str, pairs: dict[str, tuple[str, str]]) -> None:
    value = load_facts().get(f"{arch}.hazards.{fact}").value
    assert isinstance(value, dict)
    assert {key: enough(*pair, arch) for key, pair in pairs.items()} == {key: value[key] for key in pairs}


@pytest.mark.parametrize(
    ("fact", "first", "second"),
    [
        ("valu_write_then_mfma_read", "v_add_f32_e32 v10, v98, v99", F16_16),
        ("v_cmpx_then_mfma", "v_cmpx_gt_u32_e32 vcc, v1, v2", F16_16),
        ("valu_writes_sgpr_then_vmem_reads_it", "v_readfirstlane_b32 s4, v1", "global_load_dword v2, v3, s[4:5]"),
        ("transcendental_then_valu_reads_result", "v_exp_f32_e32 v0, v98", READ),
        ("valu_writes_vgpr_then_dpp_reads_it", "v_add_f32_e32 v0, v98, v99", DPP),
        ("valu_writes_exec_then_dpp", "v_cmpx_gt_u32_e32 vcc, v1, v2", DPP),
        ("mfma_f64_then_v_fma_f64", F64_16, "v_fma_f64 v[98:99], v[96:97], v[96:97], v[96:97]"),
    ],
)
def test_rules_of_one_figure_are_those_of_the_fact_table(fact: str, first: str, second: str) -> None:
    assert enough(first, second, "gfx950") == load_facts().get(f"gfx950.hazards.{fact}").value


_KERNEL = """
typedef float v4f __attribute__((ext_vector_type(4)));
typedef _Float16 v4h __attribute__((ext_vector_type(4)));
typedef __bf16 v2b __attribute__((ext_vector_type(2)));
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 64)))
void k(v4h *a, v4f *c, v2b *b, float *d, int n) {
  int t = __builtin_amdgcn_workitem_id_x();
  v4f x = c[t], y = c[t + 64];
  for (int i = 0; i < n; i++) {
    x = __builtin_amdgcn_mfma_f32_16x16x16f16(a[t + i], a[t + 64], x, 0, 0, 0);
    y = __builtin_amdgcn_mfma_f32_4x4x4f16(a[t], a[t + i], y + x, 0, 0, 0);
  }
  c[t] = x * y;
  d[t] = DOT;
}
"""


@needs_clang
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_the_compiler_s_code_is_clean_and_every_wait_it_inserted_is_missed(arch: str) -> None:
    dot = "__builtin_amdgcn_fdot2_f32_bf16(b[t], b[t + 1], d[t], false) * d[t + 1]" if arch == "gfx950" else "0"
    compiled = compile_hip(_KERNEL.replace("DOT", dot), arch)
    assert hazards(load_kernel(parse_assembly(compiled.text))) == []
    lines = compiled.text.splitlines()
    # `s_nop 0` may be there for the instruction cache; longer ones are for dependences.
    waits = [n for n, line in enumerate(lines) if (nop := re.match(r"\s+s_nop (\d+)", line)) and int(nop[1]) > 0]
    assert len(waits) >= 2
    for place in waits:
        text = "\n".join(lines[:place] + lines[place + 1 :])
        assert hazards(load_kernel(parse_assembly(text))), lines[place]
