"""What the documents say about instructions and the compiler, proven with the assembler and clang of the pip package.

One assembler run per target judges the whole table; one compile per target and flag set judges the code claims.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from tests.toolchain.clang import Compiled, compile_hip, needs_clang

pytestmark = needs_clang

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ("gfx90a", "gfx942", "gfx950")
ALL, NONE = "gfx90a gfx942 gfx950", ""
NEW, CDNA2, CDNA3, CDNA4 = "gfx942 gfx950", "gfx90a", "gfx942", "gfx950"

GENERATIONS = "gpu_arch/general/generations.md"
COALESCING = "gpu_arch/general/coalescing.md"
LDS, LDS4 = "gpu_arch/general/lds.md", "gpu_arch/cdna4/lds.md"
WAITS = "gpu_arch/general/waits-and-barriers.md"
LANES = "gpu_arch/general/cross-lane.md"
MFMA3, MFMA4 = "gpu_arch/cdna3/mfma.md", "gpu_arch/cdna4/mfma.md"
FORMATS = "gpu_arch/general/numeric-formats.md"
BF16 = "gpu_arch/general/bf16.md"
REGISTERS = "gpu_arch/general/registers-and-occupancy.md"
ATOMICS = "gpu_arch/general/atomics.md"
DIRECT = "gpu_arch/general/direct-to-lds.md"
MODEL = "gpu_arch/general/memory-model.md"
BUFFERS = "gpu_arch/general/buffer-instructions.md"
OFFSETS = "gpu_arch/compiler/inline-assembly-errors.md"
WIDTHS = "gpu_arch/general/access-widths.md"
SCALARS = "gpu_arch/general/scalar-memory.md"
AGPRS = "gpu_arch/general/agprs.md"
SPARSE = "gpu_arch/general/sparse-mfma.md"
SCALED = "gpu_arch/cdna4/block-scaled-mfma.md"
TRANSPOSED = "gpu_arch/cdna4/transposed-lds-reads.md"
DOUBLE = "gpu_arch/general/double-precision.md"
PACKED = "gpu_arch/general/packed-and-dot-math.md"
INTEGERS = "gpu_arch/general/integer-arithmetic.md"
FUNCTIONS = "gpu_arch/general/transcendentals.md"
FP8 = "gpu_arch/general/fp8-conversions.md"
PIPELINES = "gpu_arch/general/producer-consumer.md"
MI200 = "gpu_arch/cdna2/mi200-notes.md"

# (document that says so, instruction, targets on which it assembles)
INSTRUCTIONS = [
    (GENERATIONS, "v_mac_f32 v0, v1, v2", CDNA2),
    (GENERATIONS, "v_mad_f32 v0, v1, v2, v3", CDNA2),
    (GENERATIONS, "v_fmac_f32 v0, v1, v2", ALL),
    (GENERATIONS, "buffer_wbinvl1", CDNA2),
    (GENERATIONS, "buffer_wbinvl1_vol", CDNA2),
    (GENERATIONS, "buffer_invl2", CDNA2),
    (GENERATIONS, "buffer_store_lds_dword s[0:3], 0 lds", CDNA2),
    (GENERATIONS, "image_load v0, v[2:3], s[0:7] dmask:0x1", CDNA2),
    (GENERATIONS, "image_sample v0, v[2:3], s[0:7], s[8:11] dmask:0x1", CDNA2),
    (GENERATIONS, "v_bitop3_b32 v0, v1, v2, v3 bitop3:0x27", CDNA4),
    (GENERATIONS, "v_prng_b32 v0, v1", CDNA4),
    (GENERATIONS, "v_minimum3_f32 v0, v1, v2, v3", CDNA4),
    (GENERATIONS, "v_dot2_f32_bf16 v0, v1, v2, v3", CDNA4),
    (GENERATIONS, "buffer_atomic_pk_add_bf16 v0, v1, s[0:3], 0 offen", CDNA4),
    (GENERATIONS, "v_mov_b64 v[0:1], v[2:3]", NEW),
    (GENERATIONS, "v_div_f64 v[0:1], v[2:3], v[4:5]", NONE),
    (GENERATIONS, "s_delay_alu instid0(VALU_DEP_1)", NONE),
    (GENERATIONS, "global_prefetch_b8 v[0:1], off", NONE),
    (COALESCING, "global_load_dwordx4 v[0:3], v[4:5], off", ALL),
    (COALESCING, "global_load_dwordx8 v[0:7], v[8:9], off", NONE),
    (COALESCING, "s_load_dwordx16 s[0:15], s[16:17], 0", ALL),
    (MODEL, "global_load_dwordx4 v[0:3], v[4:5], off glc slc", CDNA2),
    (MODEL, "global_load_dwordx4 v[0:3], v[4:5], off sc0 sc1 nt", NEW),
    (COALESCING, "global_load_dwordx4 v[0:3], v[4:5], off offset:4096", NONE),
    (COALESCING, "global_load_dwordx4 v[0:3], v[4:5], off offset:-4096", ALL),
    (COALESCING, "global_atomic_add_f64 v[0:1], v[2:3], off", ALL),
    (COALESCING, "global_atomic_pk_add_bf16 v[0:1], v2, off", NEW),
    (COALESCING, "global_atomic_fmax v[0:1], v2, off", NONE),
    (LDS, "ds_read_b128 v[0:3], v4", ALL),
    (LDS, "ds_read_b256 v[0:7], v8", NONE),
    (LDS, "ds_load_b32 v0, v1", NONE),
    (ATOMICS, "ds_pk_add_bf16 v0, v1", NEW),
    (DIRECT, "global_load_lds_dword v[0:1], off", NEW),
    (LDS4, "ds_read_b64_tr_b16 v[0:1], v2", CDNA4),
    (LDS4, "ds_read_b96_tr_b6 v[0:2], v4", CDNA4),
    (DIRECT, "global_load_lds_dwordx3 v[0:1], off", CDNA4),
    (DIRECT, "global_load_lds_dwordx4 v[0:1], off", CDNA4),
    (WAITS, "s_waitcnt vmcnt(63)", ALL),
    (WAITS, "s_waitcnt vmcnt(64)", NONE),
    (WAITS, "s_waitcnt lgkmcnt(16)", NONE),
    (WAITS, "s_waitcnt vscnt(0)", NONE),
    (WAITS, "s_barrier_signal -1", NONE),
    (WAITS, "s_barrier_wait -1", NONE),
    (MODEL, "buffer_inv sc1", NEW),
    (LANES, "v_permlane32_swap_b32 v0, v1", CDNA4),
    (LANES, "v_permlane16_swap_b32 v0, v1", CDNA4),
    (LANES, "v_permlane16_b32 v0, v1, s0, s1", NONE),
    (LANES, "v_mov_b32_dpp v0, v1 row_bcast:31 row_mask:0xc bank_mask:0xf", ALL),
    (LANES, "v_mov_b32_dpp v0, v1 row_share:1 row_mask:0xf bank_mask:0xf", NONE),
    (MFMA3, "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]", NEW),
    (MFMA3, "v_mfma_f32_16x16x16f16 v[0:3], v[4:5], v[6:7], v[0:3]", ALL),
    (MFMA3, "v_mfma_f32_16x16x8bf16 v[0:3], v4, v6, v[0:3]", CDNA2),
    (MFMA3, "v_mfma_f32_16x16x8_xf32 v[0:3], v[4:5], v[6:7], v[0:3]", CDNA3),
    (MFMA4, "v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]", CDNA4),
    (MFMA4, "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], v[0:3] cbsz:4 blgp:4", CDNA4),
    (MFMA4, "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], v[0:3] cbsz:0 blgp:4", NONE),
    (FORMATS, "v_cvt_pk_fp8_f32 v0, v1, v2", NEW),
    (FORMATS, "v_cvt_sr_bf16_f32 v0, v1, v2", CDNA4),
    (FORMATS, "v_cvt_sr_pk_bf16_f32 v0, v1, v2, v3", NONE),
    (BF16, "v_pk_fma_bf16 v0, v1, v2, v3", NONE),
    (REGISTERS, "v_fma_f32 v0, a1, v2, v3", NONE),
    (ATOMICS, "global_atomic_add_f32 v0, v[0:1], v2, off sc0", NEW),
    (ATOMICS, "global_atomic_fmax v[0:1], v2, off", NONE),
    (ATOMICS, "global_atomic_fmin v[0:1], v2, off", NONE),
    (ATOMICS, "global_atomic_umax v[0:1], v2, off", ALL),
    (ATOMICS, "global_atomic_max_f64 v[0:1], v[2:3], off", ALL),
    (ATOMICS, "global_atomic_pk_add_f16 v[0:1], v2, off", ALL),
    (ATOMICS, "flat_atomic_pk_add_bf16 v[0:1], v2", NEW),
    (ATOMICS, "ds_pk_add_f16 v0, v1", NEW),
    (ATOMICS, "ds_add_rtn_f32 v0, v1, v2", ALL),
    (ATOMICS, "ds_add_f64 v0, v[2:3]", ALL),
    (ATOMICS, "ds_max_f64 v0, v[2:3]", ALL),
    (ATOMICS, "ds_append v0", ALL),
    (MODEL, "buffer_wbl2 sc1", NEW),
    (MODEL, "buffer_inv sc0 sc1", NEW),
    (MODEL, "buffer_wbinvl1_vol", CDNA2),
    (BUFFERS, "buffer_atomic_pk_add_bf16 v0, v1, s[0:3], 0 offen", CDNA4),
    (BUFFERS, "buffer_atomic_add_f64 v[0:1], v2, s[0:3], 0 offen", ALL),
    (BUFFERS, "buffer_load_format_xyzw v[0:3], v4, s[0:3], 0 idxen", ALL),
    (BUFFERS, "buffer_load_dwordx4 v[0:3], v[4:5], s[0:3], 0 addr64", NONE),
    (OFFSETS, "buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen offset:4096", ALL),
    (WIDTHS, "flat_load_dwordx4 v[0:3], v[4:5] offset:-8", NONE),
    (WIDTHS, "global_load_short_d16_hi v0, v[2:3], off", ALL),
    (SCALARS, "s_load_u8 s0, s[2:3], 0", NONE),
    (SCALARS, "s_load_dword s0, s[2:3], 0xfffff", ALL),
    (SCALARS, "s_load_dword s0, s[2:3], 0x100000", NONE),
    (SCALARS, "v_pk_fma_f32 v[0:1], v[2:3], s[4:5], v[6:7]", ALL),
    (AGPRS, "ds_write_b128 v0, a[4:7]", ALL),
    (AGPRS, "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], a[0:3]", NONE),
    (AGPRS, "v_readlane_b32 s0, a1, s2", NONE),
    (SPARSE, "v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10", NEW),
    (SPARSE, "v_smfmac_i32_16x16x128_i8 v[0:3], v[4:7], v[8:15], v16", CDNA4),
    (SPARSE, "v_smfmac_i32_32x32x32_i8 v[0:15], v[16:17], v[18:21], v28", NEW),
    (SCALED, "v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, v3", CDNA4),
    (SCALED, "v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], v[6:21], v[22:37], v40", CDNA4),
    (TRANSPOSED, "ds_read_b64_tr_b16 a[0:1], v2", CDNA4),
    (TRANSPOSED, "ds_read_b64_tr_b4 v[0:1], v2", CDNA4),
    (DOUBLE, "v_pk_fma_f64 v[0:3], v[4:7], v[8:11], v[12:15]", NONE),
    (PACKED, "v_dot4_i32_iu8 v0, v1, v2, v3", NONE),
    (PACKED, "v_dot4_i32_i8 v0, v1, v2, v3", ALL),
    (INTEGERS, "s_mul_u64 s[0:1], s[2:3], s[4:5]", NONE),
    (INTEGERS, "v_cvt_pk_u16_u32 v0, v1, v2", ALL),
    (FUNCTIONS, "v_exp_bf16 v0, v1", NONE),
    (FUNCTIONS, "v_rsq_f64 v[0:1], v[2:3]", ALL),
    (FP8, "v_cvt_f32_fp8_sdwa v0, v1 src0_sel:BYTE_2", NEW),
    (FP8, "v_cvt_scalef32_pk_bf16_fp8 v0, v1, v2", CDNA4),
    (MI200, "v_lshl_add_u64 v[0:1], v[2:3], 3, v[4:5]", NEW),
    (MI200, "v_fmaak_f32 v0, v1, v2, 0x3f000001", NEW),
    (MI200, "flat_atomic_add_f32 v[0:1], v2", NEW),
    (MI200, "scratch_load_dword v0, v1, s0", NEW),
]


@lru_cache(maxsize=len(TARGETS))
def rejected_on(target: str) -> dict[int, str]:
    """Assemble the whole table for a target in one run; return line (from 0) to message for the refused ones."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ziglang", "clang", "-x", "assembler", "-target", "amdgcn-amd-amdhsa"),
            *(f"-mcpu={target}", "-ferror-limit=0", "-c", "-", "-o", "/dev/null"),
        ],
        input="\n".join(instruction for _, instruction, _ in INSTRUCTIONS) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.findall(r"^<stdin>:(\d+):\d+: error: (.*)$", done.stderr, re.M)
    assert found, f"no refusal at all: the assembler did not run: {done.stderr[:300]}"
    return {int(line) - 1: message for line, message in found}


@pytest.mark.parametrize(
    ("line", "instruction", "targets"),
    [(line, instruction, targets) for line, (_, instruction, targets) in enumerate(INSTRUCTIONS)],
    ids=[instruction for _, instruction, _ in INSTRUCTIONS],
)
def test_an_instruction_assembles_on_the_targets_that_the_documents_name(line: int, instruction: str, targets: str):
    accepted = [target for target in TARGETS if line not in rejected_on(target)]
    assert accepted == targets.split(), instruction


@pytest.mark.parametrize("document", sorted({document for document, _, _ in INSTRUCTIONS}))
def test_each_proven_instruction_is_named_by_the_document_that_claims_it(document: str):
    text = (ROOT / document).read_text("utf-8")
    names = {instruction.split()[0] for named, instruction, _ in INSTRUCTIONS if named == document}
    missing = {name for name in names if name not in text and name.replace("_dpp", "") not in text}
    assert missing <= {"v_mov_b32_dpp", "global_load_dwordx4"}


def assembled(instruction: str) -> bytes:
    """Return the object file for gfx950: equal files mean equal code."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ziglang", "clang", "-x", "assembler", "-target", "amdgcn-amd-amdhsa"),
            *("-mcpu=gfx950", "-c", "-", "-o", "-"),
        ],
        input=instruction.encode() + b"\n",
        capture_output=True,
        timeout=60,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize(("beyond", "kept"), [("offset:4096", ""), ("offset:8191", "offset:4095")])
def test_a_buffer_offset_beyond_12_bits_is_cut_silently(beyond: str, kept: str):
    load = "buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen "
    assert assembled(load + beyond) == assembled(load + kept) != assembled(load + "offset:16")


def test_bound_ctrl_0_and_1_are_the_same_bit():
    add = "v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf "
    assert assembled(add + "bound_ctrl:0") == assembled(add + "bound_ctrl:1") != assembled(add)


def test_the_refusal_of_another_generation_reads_as_documented():
    by_name = {instruction.split()[0]: line for line, (_, instruction, _) in enumerate(INSTRUCTIONS)}
    assert rejected_on("gfx942")[by_name["v_mac_f32"]] == "instruction not supported on this GPU"
    glc = next(line for line, (_, text, _) in enumerate(INSTRUCTIONS) if text.endswith("glc slc"))
    assert rejected_on("gfx942")[glc] == "invalid operand for instruction"
    vscnt = next(line for line, (_, text, _) in enumerate(INSTRUCTIONS) if "vscnt" in text)
    assert rejected_on("gfx950")[vscnt] == "invalid counter name vscnt"


KERNELS = """
#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256)))
#define LANE __builtin_amdgcn_workitem_id_x()
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f8 __attribute__((ext_vector_type(8)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
#define SYNC() __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \\
               __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")
KERNEL void wide(f8 *o, const f8 *i) { o[LANE] = i[LANE] * 2.f; }
KERNEL void divide(float *o, const float *i) { o[LANE] = i[LANE] / i[LANE + 64]; }
KERNEL void fused(float *o, const float *i) { o[LANE] = i[LANE] * i[LANE + 64] + i[LANE + 128]; }
KERNEL void to_bf16(__bf16 *o, const float *i) { o[LANE] = (__bf16)i[LANE]; }
KERNEL void add_double(double *o) { __hip_atomic_fetch_add(o, 1.0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
KERNEL void stream(float *o, const float *i) { __builtin_nontemporal_store(i[LANE], o + LANE); }
KERNEL void window16(float *o, int s) { float w[16];
  for (int i = 0; i < 16; i++) w[i] = o[LANE + i * 64];
  o[LANE] = w[s]; }
KERNEL void window64(float *o, int s) { float w[64];
  for (int i = 0; i < 64; i++) w[i] = o[LANE + i * 64];
  o[LANE] = w[s]; }
KERNEL void prefetch(f4 *o, const f4 *i, int n) {
  static __attribute__((shared)) f4 tile[256];
  f4 next = i[LANE], sum = {0, 0, 0, 0};
  for (int k = 0; k < n; k++) {
    tile[LANE] = next; next = i[LANE + (k + 1) * 256]; SYNC(); sum += tile[255 - LANE]; SYNC(); }
  o[LANE] = sum; }
KERNEL void matrix(f4 *o, const h4 *x) { f4 c = o[LANE];
  c = __builtin_amdgcn_mfma_f32_16x16x16f16(x[LANE], x[LANE + 64], c, 0, 0, 0); o[LANE] = c * 2.f; }
KERNEL void lds4(f4 *o, int s) { static __attribute__((shared)) float b[4096]; b[LANE] = s; SYNC();
  f4 v; __builtin_memcpy(&v, b + s * LANE, 16); o[LANE] = v; }
KERNEL void lds16(f4 *o, int s) { static __attribute__((shared)) f4 b[1024]; b[LANE] = s; SYNC();
  o[LANE] = b[s * LANE]; }
KERNEL void lds_cast_element(f4 *o, int s) { static __attribute__((shared)) float b[4096]; b[LANE] = s; SYNC();
  o[LANE] = *(const f4 *)&b[s + LANE * 4]; }
KERNEL void lds_cast_pointer(f4 *o, int s) { static __attribute__((shared)) float b[4096]; b[LANE] = s; SYNC();
  const float *from = b + s + LANE * 4; o[LANE] = *(const f4 *)from; }
KERNEL void lds_cast_array(f4 *o, int s) { static __attribute__((shared)) float b[4096]; b[LANE] = s; SYNC();
  o[LANE] = ((const f4 *)b)[s + LANE]; }
extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64))) void one_wave(int *o) {
  static __attribute__((shared)) int x[64]; x[LANE] = o[LANE]; SYNC(); o[LANE] = x[63 - LANE]; }
KERNEL void add64(unsigned long long *o) { o[LANE] += o[LANE + 64]; }
KERNEL void modulo(unsigned *o, unsigned d) { o[LANE] %= d; }
KERNEL void inline_load(float *o, const float *p) { float v;
  asm volatile("global_load_dword %0, %1, off" : "=v"(v) : "v"(p + LANE)); o[LANE] = v + 1.f; }
"""


@lru_cache(maxsize=8)
def kernels(arch: str, *flags: str) -> dict[str, list[str]]:
    """Compile the kernels above and return the instruction lines of each."""
    built = compile_hip(KERNELS, arch, ("-Wno-c++20-extensions", *flags))
    assert built.status == 0, built.diagnostics
    found: dict[str, list[str]] = {}
    name = ""
    for line in built.text.splitlines():
        if label := re.match(r"([a-z]\w+):\s", line):
            name = label[1]
        elif name and (instruction := re.match(r"\t([a-z]\w+.*)", line)):
            found.setdefault(name, []).append(instruction[1])
    return found


def names(lines: list[str]) -> list[str]:
    return [re.sub(r"_e(?:32|64)$", "", line.split()[0]) for line in lines]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_32_byte_vector_load_becomes_two_dwordx4(arch: str):
    loads = [line for line in kernels(arch)["wide"] if line.startswith("global_load")]
    assert [line.split()[0] for line in loads] == ["global_load_dwordx4", "global_load_dwordx4"]
    assert loads[1].endswith("offset:16")


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_barrier_does_not_drain_loads_into_registers(arch: str):
    lines = kernels(arch)["prefetch"]
    first = lines.index("s_barrier")
    load = max(n for n, line in enumerate(lines[:first]) if line.startswith("global_load_dwordx4"))
    between = [line for line in lines[load + 1 : first] if line.startswith("s_waitcnt")]
    assert between == ["s_waitcnt lgkmcnt(0)"]


def test_division_is_ten_instructions_unless_fast():
    exact, fast = names(kernels("gfx942")["divide"]), names(kernels("gfx942", "-ffast-math")["divide"])
    assert exact.count("v_div_scale_f32") == 2
    assert {"v_rcp_f32", "v_div_fmas_f32", "v_div_fixup_f32"} <= set(exact)
    assert "v_rcp_f32" in fast and not any(name.startswith("v_div") for name in fast)


def test_multiply_and_add_fuse_by_default_and_not_with_contraction_off():
    assert "v_fmac_f32" in names(kernels("gfx942")["fused"])
    apart = names(kernels("gfx942", "-ffp-contract=off")["fused"])
    assert "v_mul_f32" in apart and "v_add_f32" in apart and "v_fmac_f32" not in apart


def test_float_to_bf16_is_one_instruction_on_gfx950_only():
    assert "v_cvt_pk_bf16_f32" in names(kernels("gfx950")["to_bf16"])
    assert {"v_bfe_u32", "v_add3_u32", "v_cndmask_b32"} <= set(names(kernels("gfx942")["to_bf16"]))


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_adding_a_double_atomically_is_native(arch: str):
    assert "global_atomic_add_f64" in names(kernels(arch)["add_double"])


def test_a_nontemporal_store_sets_nt():
    assert any(line.startswith("global_store_dword") and line.endswith(" nt") for line in kernels("gfx950")["stream"])


def test_a_runtime_index_sends_64_values_to_scratch_and_16_not():
    assert any(name.startswith("scratch_") for name in names(kernels("gfx942")["window64"]))
    assert not any(name.startswith("scratch_") for name in names(kernels("gfx942")["window16"]))


@pytest.mark.parametrize(("arch", "nop"), [("gfx90a", "s_nop 10"), ("gfx942", "s_nop 6"), ("gfx950", "s_nop 7")])
def test_the_compiler_waits_between_a_matrix_result_and_its_use(arch: str, nop: str):
    assert nop in kernels(arch)["matrix"]


def test_the_compiler_waits_for_no_load_of_inline_assembly():
    lines = kernels("gfx942")["inline_load"]
    load = next(n for n, line in enumerate(lines) if line.startswith("global_load_dword "))
    use = next(n for n, line in enumerate(lines) if line.startswith("v_add_f32"))
    assert load < use and not any(line.startswith("s_waitcnt") for line in lines[load:use])


def small(body: str, arch: str, *flags: str) -> Compiled:
    """Compile one kernel. `#line` keeps the file's name out of the way of the messages."""
    return compile_hip(f'extern "C" __attribute__((global)) void k(int *o, int i) {{ {body} }}', arch, flags)


@pytest.mark.parametrize(("arch", "size"), [("gfx90a", 65536), ("gfx942", 65536), ("gfx950", 163840)])
def test_a_workgroup_may_take_all_lds_of_its_cu_and_no_dword_more(arch: str, size: int):
    body = "static __attribute__((shared)) char b[{0}]; b[i] = 1; __builtin_amdgcn_s_barrier(); o[0] = b[i + 1];"
    assert small(body.format(size), arch).status == 0
    over = small(body.format(size + 4), arch)
    assert over.status != 0 and f"local memory ({size + 4}) exceeds limit ({size})" in over.diagnostics


def test_builtins_of_gfx950_are_refused_for_gfx942_in_the_documented_words():
    swap = "auto r = __builtin_amdgcn_permlane32_swap(o[0], i, false, false); o[1] = r[0];"
    assert "needs target feature permlane32-swap" in small(swap, "gfx942").diagnostics
    assert small(swap, "gfx950").status == 0
    load = (
        "__builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void *)o,"
        " (__attribute__((address_space(3))) void *)0, 16, 0, 0);"
    )
    refused = small(load, "gfx942").diagnostics
    assert "invalid size value" in refused and "size must be 1, 2, or 4" in refused
    assert "global_load_lds_dwordx4" in small(load, "gfx950").text


def test_wave32_is_not_to_be_had_on_gfx942():
    assert small("o[0] = i;", "gfx942", "-mno-wavefrontsize64").figure("wavefront_size") == 64


def test_single_precision_denormals_are_kept_unless_a_flag_flushes_them():
    assert small("o[0] = i;", "gfx942").figure("float_denorm_mode_32") == 3
    assert small("o[0] = i;", "gfx942", "-fgpu-flush-denormals-to-zero").figure("float_denorm_mode_32") == 0


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_16_byte_lds_read_is_one_instruction_only_with_proven_alignment(arch: str):
    assert names(kernels(arch)["lds16"]).count("ds_read_b128") == 1
    assert names(kernels(arch)["lds4"]).count("ds_read2_b32") == 2


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_cast_of_an_element_of_a_shared_array_promises_no_alignment(arch: str):
    assert names(kernels(arch)["lds_cast_element"]).count("ds_read2_b32") == 2
    assert names(kernels(arch)["lds_cast_pointer"]).count("ds_read_b128") == 1
    assert names(kernels(arch)["lds_cast_array"]).count("ds_read_b128") == 1


def test_a_workgroup_of_one_wavefront_needs_no_barrier_instruction():
    assert "s_barrier" not in kernels("gfx942")["one_wave"]
    assert "s_barrier" in kernels("gfx942")["prefetch"]


def test_adding_64_bit_integers_is_one_instruction_from_gfx942_on():
    assert "v_lshl_add_u64" in names(kernels("gfx942")["add64"])
    assert "v_addc_co_u32" in names(kernels("gfx90a")["add64"])


def test_a_remainder_by_a_variable_goes_through_a_float_reciprocal():
    assert "v_rcp_iflag_f32" in names(kernels("gfx950")["modulo"])
