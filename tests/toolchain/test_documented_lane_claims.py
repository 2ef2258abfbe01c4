"""What the pages on lanes, packed math, waits, registers and scratch say of code, settled by the compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.toolchain.clang import compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, instructions, names, refused

pytestmark = needs_clang

PACKED = """
KERNEL void pair(f2 *o) { o[LANE] = o[LANE + 64] * o[LANE + 128].yy + o[LANE + 192]; }
__attribute__((target("no-packed-fp32-ops")))
KERNEL void single(f2 *o) { o[LANE] = o[LANE + 64] * o[LANE + 128].yy + o[LANE + 192]; }
KERNEL void chain(const float *a, const float *b, float *o, int n) {
  float s = 0; for (int i = 0; i < n; i++) s += a[i * 256 + LANE] * b[i]; o[LANE] = s; }
KERNEL void two(const float *a, const float *b, float *o, int n) {
  float s = 0, t = 0;
  for (int i = 0; i < n; i++) { s += a[2 * (i * 256 + LANE)] * b[i]; t += a[2 * (i * 256 + LANE) + 1] * b[i]; }
  o[2 * LANE] = s; o[2 * LANE + 1] = t; }
"""
LANES = """
#define ADD(C) v += __builtin_amdgcn_update_dpp(0.f, v, C, 15, 15, true)
KERNEL void groups(float *o) { float v = o[LANE]; ADD(0xB1); ADD(0x4E); ADD(0x141); ADD(0x140); o[LANE] = v; }
KERNEL void rank(const int *p, int *o) {
  u64 m = __builtin_amdgcn_ballot_w64(p[LANE] > 0);
  o[LANE] = __builtin_amdgcn_mbcnt_hi((u32)(m >> 32), __builtin_amdgcn_mbcnt_lo((u32)m, 0)); }
KERNEL void choose(int *o, int s, int k) { int v = o[LANE]; o[LANE] = LANE == k ? s : v; }
static __attribute__((device)) float fmul_rn(float x, float y) { return x * y; }
static __attribute__((device)) float fadd_rn(float x, float y) { return x + y; }
KERNEL void rounded(float *o) { o[LANE] = fadd_rn(fmul_rn(o[LANE], o[LANE + 64]), o[LANE + 128]); }
KERNEL void wide(f4 *o, float x, int n) {
  f4 v = {x, x + LANE, x, x};
  for (int i = 0; i < n; i++) {
    __builtin_nontemporal_store(v, o + LANE); v = v * v;
    __builtin_amdgcn_sched_barrier(0); asm volatile("" ::: "memory"); } }
KERNEL void offset(__amdgpu_buffer_rsrc_t r, u32 x, int n, int place) {
  u4 v = {x, x + LANE, x, x};
  for (int i = 0; i < n; i++) { __builtin_amdgcn_raw_buffer_store_b128(v, r, LANE * 16, place, 0); v = v * v; } }
KERNEL void brain(const u32 *p, u32 *o) {
  u32 x = p[LANE], y = p[LANE + 64];
  o[LANE] = __builtin_amdgcn_perm(y + 0x7fff + (y >> 16 & 1), x + 0x7fff + (x >> 16 & 1), 0x07060302); }
typedef float f16 __attribute__((ext_vector_type(16)));
KERNEL void mixed(const h4 *a, const float *b, f16 *o) {
  f16 c = o[LANE];
  h4 x = a[LANE], y = a[LANE + 64]; float u = b[LANE], v = b[LANE + 64];
  c = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, c, 0, 0, 0);
  o[LANE] = __builtin_amdgcn_mfma_f32_32x32x2f32(u, v, c, 0, 0, 0); }
"""
READS = """
LDS h4 s[2048];
KERNEL void reads(const h4 *g, f4 *o) {
  for (int i = 0; i < 8; i++) s[LANE + 256 * i] = g[LANE + 256 * i];
  SYNC();
  f4 c = {0, 0, 0, 0};
  h4 a = s[LANE], b = s[LANE + 300], d = s[LANE + 611], e = s[LANE + 913];
  c = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0);
  c = __builtin_amdgcn_mfma_f32_16x16x16f16(b, d, c, 0, 0, 0);
  o[LANE] = __builtin_amdgcn_mfma_f32_16x16x16f16(d, e, c, 0, 0, 0); }
"""


def test_a_broadcast_of_the_high_half_is_packed_with_op_sel_unless_packed_fp32_is_off():
    code = instructions(PACKED, "gfx950")
    assert any(line.startswith("v_pk_fma_f32") and line.endswith("op_sel:[0,1,0]") for line in code["pair"])
    assert not any(name.startswith("v_pk_") for name in names(code["single"]))


def test_a_dot_product_with_one_sum_stays_single_and_two_sums_of_a_lane_are_packed():
    code = {kernel: names(lines) for kernel, lines in instructions(PACKED, "gfx942", "-O3").items()}
    assert "v_pk_fma_f32" not in code["chain"] and "v_pk_fma_f32" in code["two"]


def test_sums_over_neighbouring_lanes_are_one_fused_instruction_a_step():
    code = instructions(LANES, "gfx942")
    assert sum(line.startswith("v_add_f32_dpp") for line in code["groups"]) == 4


def test_a_rank_among_kept_lanes_takes_two_instructions_and_a_lane_is_written_by_a_select():
    code = {kernel: names(lines) for kernel, lines in instructions(LANES, "gfx942").items()}
    assert [name for name in code["rank"] if "bcnt" in name] == ["v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"]
    assert "v_cndmask_b32" in code["choose"]
    assert "undeclared identifier" in refused(
        "KERNEL void f(int *o) { o[0] = __builtin_amdgcn_writelane(1, 2, 3); }", "gfx942"
    )


def test_the_plain_operators_behind_the_rn_names_of_hip_are_contracted():
    code = names(instructions(LANES, "gfx942")["rounded"])
    assert "v_fmac_f32" in code and not {"v_mul_f32", "v_add_f32"} & set(code)


def test_two_floats_that_are_no_nan_round_to_bf16_in_five_instructions():
    code = names(instructions(LANES, "gfx942")["brain"])
    assert [code.count(name) for name in ("v_bfe_u32", "v_add3_u32", "v_perm_b32")] == [2, 2, 1]
    assert sum(name.startswith("v_") for name in code) == 5 + 1  # and one for the address


def test_nothing_stands_between_two_different_matrix_instructions_on_one_accumulator():
    code = names(instructions(LANES, "gfx942")["mixed"])
    between = code[code.index("v_mfma_f32_32x32x8_f16") : code.index("v_mfma_f32_32x32x2_f32")]
    assert between and "s_nop" not in between


def test_the_data_of_a_wide_store_is_overwritten_after_two_wait_states_and_at_once_with_a_scalar_offset():
    code = instructions(LANES, "gfx942")
    place = next(i for i, line in enumerate(code["wide"]) if line.startswith("global_store_dwordx4"))
    assert code["wide"][place + 1] == "s_nop 1" and code["wide"][place + 2].startswith("v_pk_mul_f32")
    place = next(i for i, line in enumerate(code["offset"]) if line.startswith("buffer_store_dwordx4"))
    assert code["offset"][place + 1].startswith("v_mul_lo_u32")


def test_lds_reads_are_waited_for_one_by_one_with_a_counted_lgkmcnt():
    code = instructions(READS, "gfx942")["reads"]
    after = code[max(place for place, line in enumerate(code) if line.startswith("ds_read")) + 1 :]
    waits = [line for line in after if line.startswith("s_waitcnt lgkmcnt")]
    assert waits == ["s_waitcnt lgkmcnt(2)", "s_waitcnt lgkmcnt(1)", "s_waitcnt lgkmcnt(0)"]


def live(size: int, values: int = 190) -> str:
    rows = [f"float a{i} = o[{i * 1024} + LANE];" for i in range(values)]
    for _ in range(2):
        rows += [f"a{i} = a{i} * a{(i * 7 + values // 2) % values} + 1.f;" for i in range(values)]
    rows += [f"o[{i * 1024} + LANE] = a{i};" for i in range(values)]
    bound = f"amdgpu_flat_work_group_size(1, {size})"
    return f'extern "C" __attribute__((global, {bound})) void live(float *o) {{ {" ".join(rows)} }}'


@pytest.mark.parametrize(("size", "registers"), [(512, 256), (640, 168), (768, 168), (1024, 128)])
def test_the_block_size_sets_the_most_registers_of_a_thread(size: int, registers: int):
    built = compile_hip(PRELUDE + live(size), "gfx942")
    assert (built.status, built.figure("vgpr_count"), built.figure("agpr_count")) == (0, registers, 0)


DESCRIPTOR = """.amdgcn_target "amdgcn-amd-amdhsa--{0}"
.rodata
.amdhsa_kernel k
 .amdhsa_next_free_vgpr 8
 .amdhsa_next_free_sgpr 8
 .amdhsa_accum_offset 8
 .amdhsa_private_segment_fixed_size 64
 {1}
.end_amdhsa_kernel
"""


@pytest.mark.parametrize(
    ("arch", "directive", "fits"),
    [
        ("gfx90a", ".amdhsa_user_sgpr_flat_scratch_init 1", True),
        ("gfx942", ".amdhsa_user_sgpr_flat_scratch_init 1", False),
        ("gfx950", ".amdhsa_user_sgpr_private_segment_buffer 1", False),
        ("gfx942", ".amdhsa_enable_private_segment 1", True),
        ("gfx950", ".amdhsa_enable_private_segment 1", True),
    ],
)
def test_architected_flat_scratch_takes_no_set_up_by_the_kernel(arch: str, directive: str, fits: bool):
    command = (sys.executable, "-m", "ziglang", "clang", "-x", "assembler", "-target", "amdgcn-amd-amdhsa")
    done = subprocess.run(
        [*command, f"-mcpu={arch}", "-c", "-", "-o", "/dev/null"],
        input=DESCRIPTOR.format(arch, directive),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    message = "directive is not supported with architected flat scratch"
    assert (message not in done.stderr, done.returncode == 0) == (fits, fits)
