"""What the pages on assembly say of operands, encodings, descriptors and loops, settled by assembler and compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolchain.clang import assembles, needs_clang
from tests.toolchain.code_claims import instructions, names

pytestmark = needs_clang

TARGETS = ("gfx90a", "gfx942", "gfx950")
DESCRIPTOR = """
.amdgcn_target "amdgcn-amd-amdhsa--{0}"
.text
.p2align 8
k:
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_dispatch_ptr 1
  .amdhsa_next_free_vgpr 104
  .amdhsa_next_free_sgpr 30
  .amdhsa_accum_offset 72
.end_amdhsa_kernel
"""


def code(line: str, arch: str, folder: Path) -> bytes:
    """Return the object of one line; its encoding stands in it."""
    assert not assembles(line + "\n", arch, folder), (line, arch)
    return (folder / "kernel.o").read_bytes()


@pytest.mark.parametrize("arch", TARGETS)
def test_the_descriptor_of_the_example_holds_the_words_of_the_page(arch: str, tmp_path: Path) -> None:
    assert not assembles(DESCRIPTOR.format(arch), arch, tmp_path)
    built = (tmp_path / "kernel.o").read_bytes()
    assert bytes.fromhex("11000000 0c01ac00 88000000 0a00") in built


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize(
    "line",
    [
        "v_mfma_f32_32x32x8f16 v[0:15], a[0:1], v[16:17], v[0:15]",
        "v_mfma_f32_32x32x8f16 v[0:15], v[0:1], v[16:17], 1.0",
        "v_readlane_b32 s0, v1, m0",
        "v_cndmask_b32_e64 v0, v1, v2, s[4:5]",
        "v_pk_mul_f32 v[0:1], s[2:3], s[2:3]",
        "v_mov_b32_dpp v1, v2 row_newbcast:15",
        "s_dcache_wb",
        "s_atc_probe 1, s[0:1], 0",
    ],
)
def test_what_the_pages_call_legal_assembles(line: str, arch: str, tmp_path: Path) -> None:
    assert not assembles(line + "\n", arch, tmp_path)


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[16:17], v[0:15]", "invalid operand"),
        ("v_mfma_f32_32x32x8f16 v[0:15], s[0:1], v[16:17], v[0:15]", "invalid operand"),
        ("v_mfma_f32_32x32x8f16 v[0:15], 1.0, v[16:17], v[0:15]", "invalid operand"),
        ("v_readfirstlane_b32 m0, v1", "invalid operand"),
        ("ds_write_b32 v0, s1", "invalid operand"),
        ("s_mov_b64 s[0:1], 0x123456789ab", "invalid operand"),
        ("v_mov_b32 v256, v0", "register index is out of range"),
        ("s_mov_b32 s102, 0", "s102 register not available on this GPU"),
        ("v_mov_b32 v0, lds_direct", "lds_direct is not supported on this GPU"),
        ("v_cndmask_b32 v0, s1, v2, s[4:5]", "violates constant bus restrictions"),
        ("v_pk_mul_f32 v[0:1], s[2:3], s[4:5]", "violates constant bus restrictions"),
    ],
)
def test_what_the_pages_call_refused_has_that_message(line: str, message: str, arch: str, tmp_path: Path) -> None:
    assert message in assembles(line + "\n", arch, tmp_path)


@pytest.mark.parametrize(
    ("older", "newer"),
    [("glc", "sc0"), ("slc", "nt"), ("scc", "sc1")],
)
@pytest.mark.parametrize("access", ["global_load_dword v1, v[2:3], off", "buffer_load_dword v1, v2, s[4:7], s8 offen"])
def test_the_cache_bits_of_gfx90a_and_gfx942_are_the_same_bits(
    access: str, older: str, newer: str, tmp_path: Path
) -> None:
    bits = {"glc": (16, 14), "slc": (17, 17), "scc": (25, 15)}[older]["buffer" in access]
    plain = {"g": "008050dc02007f01", "b": "001050e002010108"}[access[0]]
    word = (int.from_bytes(bytes.fromhex(plain), "little") | 1 << bits).to_bytes(8, "little")
    assert word in code(f"{access} {older}", "gfx90a", tmp_path)
    assert word in code(f"{access} {newer}", "gfx942", tmp_path)


@pytest.mark.parametrize(
    ("modifier", "bit"),
    [("op_sel:[1,0,0]", 11), ("op_sel:[0,0,1]", 13), ("neg_hi:[1,0,0]", 8), ("neg_lo:[1,0,0]", 61), ("clamp", 15)],
)
def test_packed_modifiers_sit_on_the_bits_of_the_table(modifier: str, bit: int, tmp_path: Path) -> None:
    plain = int.from_bytes(bytes.fromhex("00408ed301050e1c"), "little")
    assert (plain | 1 << bit).to_bytes(8, "little") in code(
        f"v_pk_fma_f16 v0, v1, v2, v3 {modifier}", "gfx942", tmp_path
    )


@pytest.mark.parametrize("arch", TARGETS)
def test_a_divergent_loop_with_break_takes_lanes_out_of_exec_and_restores_them(arch: str) -> None:
    lines = instructions(
        "KERNEL void walk(volatile int *p, int *o, int n) { int i = LANE;"
        " while (i < n) { if (p[i] == 0) break; p[i] = 1; i += 64; } o[LANE] = i; }",
        arch,
    )["walk"]
    assert any(line.startswith("s_andn2_b64 exec, exec,") for line in lines), lines
    assert any(line.startswith("s_or_b64 exec, exec,") for line in lines)


@pytest.mark.parametrize("arch", TARGETS)
def test_a_value_that_readfirstlane_made_scalar_needs_no_wait_before_the_scalar_unit(arch: str) -> None:
    lines = instructions(
        "KERNEL void head(const int *p, int *o) {"
        " int s = __builtin_amdgcn_readfirstlane(p[LANE]); o[LANE] = (s + 77) * s; }",
        arch,
    )["head"]
    place = names(lines).index("v_readfirstlane_b32")
    assert names(lines)[place + 1].startswith("s_") and names(lines)[place + 1] != "s_nop"
