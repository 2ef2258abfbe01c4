"""What the pages on wait states, LDS offsets and asm operands say, settled by the compiler and the assembler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.toolchain.clang import assembles, needs_clang
from tests.toolchain.code_claims import instructions, names, refused

pytestmark = needs_clang

TYPES = """
typedef float f16v __attribute__((ext_vector_type(16)));
typedef float f32v __attribute__((ext_vector_type(32)));
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
typedef __bf16 b8 __attribute__((ext_vector_type(8)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i16 __attribute__((ext_vector_type(16)));
typedef double d4 __attribute__((ext_vector_type(4)));
"""
PRODUCT = """
KERNEL void product({0} *p, {1} *o) {{ {0} x = p[LANE], y = p[LANE + 64]; {1} w = o[LANE];
  __builtin_amdgcn_sched_barrier(0); {1} r = __builtin_amdgcn_mfma_{2};
  __builtin_amdgcn_sched_barrier(0); o[LANE] = r + r; }}
"""
PLAIN = "{}(x, y, w, 0, 0, 0)"
SCALED = "{}(x, y, w, {}, {}, 0, 1, 0, 1)"


def waits_behind_product(operand: str, result: str, call: str, arch: str) -> int:
    """Return the wait states between the MFMA and the addition that reads its result."""
    lines = instructions(TYPES + PRODUCT.format(operand, result, call), arch)["product"]
    start = max(number for number, line in enumerate(lines) if "mfma" in line) + 1
    count = 0
    for line in lines[start:]:
        if re.match(r"v_(pk_)?(add_f|add_u|lshl)", line):
            return count
        count += int(line.split()[1]) + 1 if line.startswith("s_nop") else 1
    raise AssertionError(lines)


@pytest.mark.parametrize(
    ("operand", "result", "call", "older", "newer"),
    [
        ("h4", "f4", PLAIN.format("f32_4x4x4f16"), 5, 5),
        ("h4", "f4", PLAIN.format("f32_16x16x16f16"), 7, 8),
        ("long", "f4", PLAIN.format("f32_16x16x32_fp8_fp8"), 7, 8),
        ("long", "i4", PLAIN.format("i32_16x16x32_i8"), 7, 8),
        ("h4", "f16v", PLAIN.format("f32_32x32x8f16"), 11, 12),
        ("long", "f16v", PLAIN.format("f32_32x32x16_fp8_fp8"), 11, 12),
        ("float", "f4", PLAIN.format("f32_16x16x4f32"), 10, 10),
        ("float", "f16v", PLAIN.format("f32_32x32x2f32"), 18, 18),
        ("double", "double", PLAIN.format("f64_4x4x4f64"), 6, 6),
        ("double", "d4", PLAIN.format("f64_16x16x4f64"), 11, 19),
        ("h8", "f4", PLAIN.format("f32_16x16x32_f16"), None, 8),
        ("i4", "i4", PLAIN.format("i32_16x16x64_i8"), None, 8),
        ("b8", "f16v", PLAIN.format("f32_32x32x16_bf16"), None, 12),
        ("i4", "i16", PLAIN.format("i32_32x32x32_i8"), None, 12),
        ("i8", "f4", SCALED.format("scale_f32_16x16x128_f8f6f4", 0, 0), None, 12),
        ("i8", "f4", SCALED.format("scale_f32_16x16x128_f8f6f4", 4, 4), None, 8),
        ("i8", "f16v", SCALED.format("scale_f32_32x32x64_f8f6f4", 0, 0), None, 20),
        ("i8", "f16v", SCALED.format("scale_f32_32x32x64_f8f6f4", 4, 4), None, 12),
    ],
)
def test_the_compiler_leaves_the_documented_wait_states_behind_a_product(
    operand: str, result: str, call: str, older: int | None, newer: int
):
    assert waits_behind_product(operand, result, call, "gfx950") == newer
    if older is not None:
        assert waits_behind_product(operand, result, call, "gfx942") == older


SIZED = """
typedef float T __attribute__((ext_vector_type({0})));
KERNEL void use(T *o) {{ T x; asm volatile("; use %0" : "={1}"(x)); o[LANE] = x; }}
"""


@pytest.mark.parametrize("letter", ["v", "a", "s"])
def test_asm_operands_have_2_to_12_16_or_32_registers(letter: str):
    for size in (2, 5, 11, 12, 16, 32):
        assert instructions(SIZED.format(size, letter), "gfx942")
    for size in (1, 20, 24, 33, 64):
        assert "couldn't allocate output register for constraint" in refused(SIZED.format(size, letter), "gfx942")


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("ds_read2st64_b32 v[0:1], v2 offset0:255 offset1:254", ""),
        ("ds_read2st64_b32 v[0:1], v2 offset0:256", "invalid offset0 value"),
        ("ds_read2_b32 v[0:1], v2 offset:4", "not a valid operand"),
        ("ds_read2_b128 v[0:7], v8", "invalid instruction"),
        ("global_load_dword v2, [v0,v1], off", ""),
        ("v_add_f32 v0, a0, v1", "invalid operand for instruction"),
        ("v_mov_b32 v0, a0", "invalid operand for instruction"),
        ("v_add_f32_e64 v0, s1, 0x12345678", "literal operands are not supported"),
        ("global_atomic_add_f32 v[0:1], a2, off", ""),
        ("ds_add_f32 v0, a1", ""),
        ("ds_add_rtn_f32 a2, v0, a1", ""),
        ("ds_bpermute_b32 a0, v0, a1", ""),
        ("ds_read_b128 v[0:3], v4 offset:65536", "expected a 16-bit unsigned offset"),
        ("global_load_short_d16_hi v0, v[2:3], off", ""),
        ("global_load_dwordx4 v[0:3], v4, s[0:1] offset:16", ""),
        ("global_load_dwordx4 v[0:3], v[4:5], s[0:1]", "invalid operand for instruction"),
        ("s_sendmsg sendmsg(MSG_INTERRUPT)", ""),
        ("s_sendmsg sendmsg(MSG_SAVEWAVE)", ""),
        ("s_sendmsg sendmsg(MSG_GET_DOORBELL)", ""),
        ("s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", "specified message id is not supported on this GPU"),
        ("v_mov_b32 v4, v[0:1][1]", "expected a register or a list of registers"),
        ("v_add_f32_dpp v0, v1, v2 row_bcast:15 row_mask:0xa", ""),
        ("v_add_f32_dpp v0, v1, v2 row_bcast:31 row_mask:0xc", ""),
    ],
)
def test_the_assembler_takes_and_refuses_what_the_pages_say(line: str, complaint: str, arch: str, tmp_path: Path):
    said = assembles(line + "\n", arch, tmp_path)
    assert complaint in said if complaint else not said


DISTANCES = """
LDS float store[16384];
KERNEL void rows(float *o) { o[LANE] = store[LANE] + store[LANE + 4096]; }
KERNEL void odd(float *o) { o[LANE] = store[LANE] + store[LANE + 300]; }
KERNEL void fill(float *o) { store[LANE] = o[LANE]; store[LANE + 4096] = o[LANE + 9]; SYNC();
  o[LANE] = store[LANE ^ 1]; }
"""


def test_loads_at_multiples_of_64_elements_become_one_and_others_two():
    kernels = instructions(DISTANCES, "gfx942")
    assert "ds_read2st64_b32" in names(kernels["rows"])
    assert names(kernels["odd"]).count("ds_read_b32") == 2


SPILLING = """
extern "C" __attribute__((global, amdgpu_flat_work_group_size(1024, 1024))) void spills(float *o) { float x[200];
#pragma unroll
  for (int i = 0; i < 200; i++) x[i] = o[i * 64 + LANE];
  for (int t = 0; t < 9; t++) {
#pragma unroll
    for (int i = 0; i < 200; i++) x[i] = x[i] * x[(i * 7 + 3) % 200] + o[t]; }
#pragma unroll
  for (int i = 0; i < 200; i++) o[i * 64 + LANE] = x[i]; }
"""
INDEXED = """
KERNEL void picks(float *o, const int *n) { float x[64];
  for (int i = 0; i < 64; i++) x[i] = o[i * 64 + LANE];
  for (int i = 0; i < 64; i++) x[n[i]] += 1;
  o[LANE] = x[n[LANE]]; }
"""
NO_FRAME = ("-Wframe-larger-than=0", "-Werror=frame-larger-than")


def test_a_warning_about_frames_refuses_kernels_with_scratch():
    for source in (SPILLING, INDEXED):
        assert "exceeds limit (0) in" in refused(source, "gfx942", *NO_FRAME)
    assert instructions("KERNEL void clean(float *o) { o[LANE] += 1; }", "gfx942", *NO_FRAME)


MIXED = """
#define DIRECT(K) __builtin_amdgcn_global_load_lds( \\
  (__attribute__((address_space(1))) void *)(g + K * 1024 + LANE * 4), (IN_LDS void *)(tile + K * 256), 16, 0, 0)
KERNEL void mixed(float *o, float *g, f4 *r) { LDS float tile[1024];
  f4 first = r[LANE]; __builtin_amdgcn_sched_barrier(0); DIRECT(0); DIRECT(1); DIRECT(2);
  __builtin_amdgcn_sched_barrier(0); asm volatile("; use" ::"v"(first)); SYNC(); o[LANE] = tile[LANE ^ 1]; }
"""


def test_loads_to_registers_and_to_lds_are_counted_in_one_order():
    lines = instructions(MIXED, "gfx950")["mixed"]
    assert next(line for line in lines if "vmcnt" in line) == "s_waitcnt vmcnt(3)"


SHIFTED = """
KERNEL void shifted(float *o, float *g) { LDS float tile[1024];
  __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void *)(g + LANE * 4),
    (IN_LDS void *)tile, 16, 64, 0);
  SYNC(); o[LANE] = tile[LANE ^ 1]; }
"""


def test_the_offset_of_a_direct_load_goes_into_the_instruction():
    lines = instructions(SHIFTED, "gfx950")["shifted"]
    assert any(line.startswith("global_load_lds_dwordx4") and "offset:64" in line for line in lines)
    assert any(line.startswith("s_mov_b32 m0, 0") for line in lines)


HALVES = """
typedef short s2 __attribute__((ext_vector_type(2)));
KERNEL void halves(s2 *o, const short *i) { s2 v; v.x = i[LANE * 7]; v.y = i[LANE * 9]; o[LANE] = v; }
"""


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_two_halves_share_a_register_only_without_ecc(arch: str):
    for target in (arch, f"{arch}:sramecc+"):
        found = names(instructions(HALVES, target)["halves"])
        assert "v_perm_b32" in found and "global_load_short_d16_hi" not in found
    assert "global_load_short_d16_hi" in names(instructions(HALVES, f"{arch}:sramecc-")["halves"])


OVERLAP = """
KERNEL void small(h4 *p, f4 *o) { h4 x = p[LANE], y = p[LANE + 64]; f4 c = {0, 0, 0, 0};
  o[LANE] = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, c, 0, 0, 0); }
KERNEL void large(h4 *p, f16v *o) { h4 x = p[LANE], y = p[LANE + 64]; f16v c = {};
  o[LANE] = __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, c, 0, 0, 0); }
"""


def registers(operand: str) -> set[int]:
    first, last = re.search(r"\[(\d+):(\d+)\]", operand).groups()
    return set(range(int(first), int(last) + 1))


def test_only_small_results_overlap_their_own_operands():
    kernels = instructions(TYPES + OVERLAP, "gfx942")
    for name, overlaps in (("small", True), ("large", False)):
        line = next(line for line in kernels[name] if "mfma" in line)
        result, first, second, _ = line.split(" ", 1)[1].split(", ")
        assert bool(registers(result) & (registers(first) | registers(second))) is overlaps


def test_the_assembler_checks_c_against_d_of_large_results_only(tmp_path: Path):
    overlap = "v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[16:17], v[2:17]\n"
    assert "source 2 operand must not partially overlap with dst" in assembles(overlap, "gfx942", tmp_path)
    for line in (
        "v_mfma_f32_16x16x16_f16 v[0:3], v[40:41], v[16:17], v[2:5]",
        "v_mfma_f32_32x32x8_f16 v[0:15], v[2:3], v[16:17], v[20:35]",
    ):
        assert not assembles(line + "\n", "gfx942", tmp_path)


MASKED = """
KERNEL void restored(float *o, u64 mask) { float x = o[LANE]; u64 saved;
  asm volatile("s_and_saveexec_b64 %1, %2\\nv_add_f32 %0, 1.0, %0\\ns_mov_b64 exec, %1"
    : "+v"(x), "=&s"(saved) : "s"(mask) : "scc"); o[LANE] = x; }
"""
LEFT = """
KERNEL void left(float *o) { float x = o[LANE];
  asm volatile("s_mov_b64 exec, 0xffff\\nv_add_f32 %0, 1.0, %0" : "+v"(x)::"exec"); o[LANE] = x; }
"""


def test_a_clobber_of_exec_is_only_a_warning_and_restores_nothing():
    lines = instructions(MASKED, "gfx950")["restored"]
    assert lines.count(next(line for line in lines if line.startswith("s_and_saveexec_b64"))) == 1
    assert "inline asm clobber list contains reserved registers: exec" in refused(LEFT, "gfx950", "-Werror")
    behind = instructions(LEFT, "gfx950", "-Wno-inline-asm")["left"]
    place = next(number for number, line in enumerate(behind) if line.startswith("s_mov_b64 exec"))
    assert not any("exec" in line for line in behind[place + 1 :])


SADDR = """
KERNEL void based(f4 *o, const float *p) { f4 r; u32 off = LANE * 16;
  asm volatile("global_load_dwordx4 %0, %1, %2\\n s_waitcnt vmcnt(0)" : "=v"(r) : "v"(off), "s"(p) : "memory");
  o[LANE] = r; }
"""


def test_a_kernel_argument_serves_as_scalar_base_in_assembly():
    lines = instructions(SADDR, "gfx942")["based"]
    assert any(re.match(r"global_load_dwordx4 v\[\d+:\d+\], v\d+, s\[\d+:\d+\]", line) for line in lines)


FLAG = """
KERNEL void handed(int *o) { LDS int data[64]; LDS int flag; data[LANE] = o[LANE];
  if (LANE == 0) __hip_atomic_store(&flag, 7, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
  while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) < 7) __builtin_amdgcn_s_sleep(1);
  o[LANE] = data[LANE ^ 1]; }
"""


def test_a_flag_in_lds_is_stored_behind_a_wait_and_read_in_a_loop():
    lines = instructions(FLAG, "gfx942")["handed"]
    flag = next(number for number, line in enumerate(lines) if line.startswith("ds_write_b32") and "offset" in line)
    assert lines[flag - 1] == "s_waitcnt lgkmcnt(0)"
    assert "s_sleep 1" in lines and "s_barrier" not in lines
