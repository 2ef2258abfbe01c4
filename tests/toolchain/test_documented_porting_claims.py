"""What the pages on porting, timers and run-time modules say about code, settled by the compiler."""

from __future__ import annotations

import pytest

from tests.toolchain.clang import compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, QUIET, instructions, names

pytestmark = needs_clang

ARCHS = ["gfx90a", "gfx942", "gfx950"]
WORDS = "KERNEL void {0}(u32 *p) {{ u32 a = p[LANE], b = p[LANE + 64], c = p[LANE + 128]; p[LANE] = (u32)({1}); }}\n"
FLOATS = "KERNEL void {0}(float *p) {{ float a = p[LANE], b = p[LANE + 64]; p[LANE] = {1}; }}\n"
INTEGERS = {
    "byte_perm": ("__builtin_amdgcn_perm(a, b, c)", "v_perm_b32"),
    "funnel_shift": ("__builtin_amdgcn_alignbit(a, b, c)", "v_alignbit_b32"),
    "bfe": ("__builtin_amdgcn_ubfe(a, 3, 5)", "v_bfe_u32"),
    "dp4a_signed": ("__builtin_amdgcn_sdot4(a, b, c, false)", "v_dot4c_i32_i8"),
    "dp4a_unsigned": ("__builtin_amdgcn_udot4(a, b, c, false)", "v_dot4_u32_u8"),
    "sad": ("__builtin_amdgcn_sad_u8(a, b, c)", "v_sad_u8"),
    "popc": ("__builtin_popcount(a) + b", "v_bcnt_u32_b32"),
    "brev": ("__builtin_bitreverse32(a)", "v_bfrev_b32"),
    "or3": ("a | b | c", "v_or3_b32"),
    "and_or": ("(a & b) | c", "v_and_or_b32"),
    "add3": ("a + b + c", "v_add3_u32"),
    "mulhi": ("((u64)a * b) >> 32", "v_mul_hi_u32"),
    "mul24": ("(a & 0xffffff) * (b & 0xffffff)", "v_mul_u32_u24"),
    "min3": ("__builtin_elementwise_min(__builtin_elementwise_min(a, b), c)", "v_min3_u32"),
}
RAW_FLOATS = {
    "ex2": ("__builtin_amdgcn_exp2f(a)", "v_exp_f32"),
    "lg2": ("__builtin_amdgcn_logf(a)", "v_log_f32"),
    "rcp": ("__builtin_amdgcn_rcpf(a)", "v_rcp_f32"),
    "rsq": ("__builtin_amdgcn_rsqf(a)", "v_rsq_f32"),
    "root": ("__builtin_amdgcn_sqrtf(a)", "v_sqrt_f32"),
    "sine": ("__builtin_amdgcn_sinf(a)", "v_sin_f32"),
    "clamp": ("__builtin_amdgcn_fmed3f(a, 0.f, b)", "v_med3_f32"),
}
INTRINSICS = "".join(WORDS.format(name, text) for name, (text, _) in INTEGERS.items())
INTRINSICS += "".join(FLOATS.format(name, text) for name, (text, _) in RAW_FLOATS.items())
INTRINSICS += WORDS.format("select_bits", "(a & c) | (b & ~c)")


@pytest.mark.parametrize("arch", ARCHS)
def test_an_intrinsic_of_cuda_becomes_the_documented_instruction(arch: str):
    found = instructions(INTRINSICS, arch)
    for name, (_, instruction) in (INTEGERS | RAW_FLOATS).items():
        assert instruction in names(found[name]), name
    # CDNA4 has an instruction for any function of three operands.
    assert ("v_bitop3_b32" if arch == "gfx950" else "v_bfi_b32") in names(found["select_bits"])


PAIRS = """
typedef unsigned short us2 __attribute__((ext_vector_type(2)));
typedef short s2 __attribute__((ext_vector_type(2)));
KERNEL void sums(u32 *p) {
    p[LANE] = __builtin_bit_cast(u32, __builtin_bit_cast(us2, p[LANE]) + __builtin_bit_cast(us2, p[LANE + 64]));
}
KERNEL void greater(u32 *p) {
    s2 a = __builtin_bit_cast(s2, p[LANE]), b = __builtin_bit_cast(s2, p[LANE + 64]);
    p[LANE] = __builtin_bit_cast(u32, __builtin_elementwise_max(a, b));
}
KERNEL void saturated(u32 *p) {
    us2 a = __builtin_bit_cast(us2, p[LANE]), b = __builtin_bit_cast(us2, p[LANE + 64]);
    p[LANE] = __builtin_bit_cast(u32, __builtin_elementwise_add_sat(a, b));
}
KERNEL void trapped(u32 *p) {
    if (p[0] == 7) __builtin_trap();
    p[LANE] = 1;
}
KERNEL void bytes_shifted(u32 *p) {
    u32 a = p[LANE], b = p[LANE + 64], sum = p[LANE + 128];
    for (int i = 0; i < 4; i++) sum += ((a >> (8 * i)) & 255) * ((b >> (8 * i)) & 255);
    p[LANE] = sum;
}
KERNEL void bytes_as_elements(const char *a, const char *b, int *p) {
    int sum = 0;
    for (int i = 0; i < 16; i++) sum += a[i + 16 * LANE] * b[i + 16 * LANE];
    p[LANE] = sum;
}
KERNEL void two_shorts(const s2 *a, const s2 *b, int *p) {
    s2 x = a[LANE], y = b[LANE];
    p[LANE] += (int)x.x * y.x + (int)x.y * y.y;
}
KERNEL void two_halves(const h2 *a, const h2 *b, float *p) {
    h2 x = a[LANE], y = b[LANE];
    p[LANE] += (float)x.x * (float)y.x + (float)x.y * (float)y.y;
}
KERNEL void two_halves_fused(const h2 *a, const h2 *b, float *p) {
    h2 x = a[LANE], y = b[LANE];
    p[LANE] = __builtin_fmaf((float)x.x, (float)y.x, __builtin_fmaf((float)x.y, (float)y.y, p[LANE]));
}
KERNEL void size_of_long_double(int *p) { p[0] = sizeof(long double); }
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_two_shorts_take_one_instruction(arch: str):
    found = instructions(PAIRS, arch)
    assert "v_pk_add_u16" in names(found["sums"])
    assert "v_pk_max_i16" in names(found["greater"])
    assert any(line.startswith("v_pk_add_u16") and line.endswith("clamp") for line in found["saturated"])
    assert "s_trap 2" in found["trapped"]


@pytest.mark.parametrize("arch", ARCHS)
def test_plain_c_becomes_a_dot_product_in_a_few_spellings_only(arch: str):
    found = instructions(PAIRS, arch)
    assert "v_dot4_u32_u8" in names(found["bytes_shifted"])
    assert "v_dot2_i32_i16" in names(found["two_shorts"])
    assert "v_dot2c_f32_f16" in names(found["two_halves_fused"])
    for name in ("bytes_as_elements", "two_halves"):
        assert not [line for line in found[name] if line.startswith("v_dot")], name


def test_long_double_has_8_bytes_in_device_code():
    assert any(
        line.startswith("v_mov_b32") and line.endswith(", 8")
        for line in instructions(PAIRS, "gfx942")["size_of_long_double"]
    )


STREAMING = """
KERNEL void streaming(u32 *p) {
    __builtin_nontemporal_store(__builtin_nontemporal_load(p + LANE), p + LANE + 64);
}
KERNEL void fenced(u32 *p) {
    p[LANE] = 1;
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    p[LANE + 64] = 2;
}
KERNEL void added_where_memory_is_known(float *p, float v) {
    [[clang::atomic(no_remote_memory, no_fine_grained_memory)]] {
        __hip_atomic_fetch_add(p + LANE, v, __ATOMIC_RELAXED, AGENT);
    }
}
KERNEL void added_where_denormals_do_not_count(float *p, float v) {
    [[clang::atomic(no_remote_memory, no_fine_grained_memory, ignore_denormal_mode)]] {
        __hip_atomic_fetch_add(p + LANE, v, __ATOMIC_RELAXED, AGENT);
    }
}
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_streaming_accesses_and_device_fences(arch: str):
    found = instructions(STREAMING, arch)
    bits = " glc slc" if arch == "gfx90a" else " nt"
    accesses = [line for line in found["streaming"] if line.startswith("global_")]
    assert len(accesses) == 2
    assert all(bits in line for line in accesses)
    fences = {line for line in found["fenced"] if line.startswith("buffer_")}
    assert fences == ({"buffer_wbinvl1_vol"} if arch == "gfx90a" else {"buffer_wbl2 sc1", "buffer_inv sc1"})


@pytest.mark.parametrize("arch", ARCHS)
def test_a_native_float_atomic_of_gfx90a_needs_to_know_that_denormals_do_not_count(arch: str):
    found = instructions(STREAMING, arch)
    assert "global_atomic_add_f32" in names(found["added_where_denormals_do_not_count"])
    needed = "global_atomic_cmpswap" if arch == "gfx90a" else "global_atomic_add_f32"
    assert needed in names(found["added_where_memory_is_known"])


TIMED = """
KERNEL void bare(float *p, u64 *t, float a) {
    u64 start = __builtin_amdgcn_s_memrealtime();
    float x = p[0];
    for (int i = 0; i < 32; i++) x = x * a + 1.f;
    u64 stop = __builtin_amdgcn_s_memrealtime();
    t[0] = stop - start;
    p[1] = x;
}
KERNEL void fixed(float *p, u64 *t, float a) {
    u64 start = __builtin_amdgcn_s_memrealtime();
    __builtin_amdgcn_sched_barrier(0);
    float x = p[0];
    for (int i = 0; i < 32; i++) x = x * a + 1.f;
    asm volatile("" :: "v"(x));
    __builtin_amdgcn_sched_barrier(0);
    u64 stop = __builtin_amdgcn_s_memrealtime();
    t[0] = stop - start;
    p[1] = x;
}
"""


def timed_work(lines: list[str]) -> int:
    """Return how many of the multiply-adds stand between the two reads of the clock."""
    found = names(lines)
    start = found.index("s_memrealtime")
    stop = found.index("s_memrealtime", start + 1)
    return sum(name.startswith(("v_fma", "v_fmac")) for name in found[start:stop])


@pytest.mark.parametrize("arch", ARCHS)
def test_work_leaves_a_timed_span_unless_it_is_held(arch: str):
    found = instructions(TIMED, arch)
    assert timed_work(found["bare"]) < 32
    assert timed_work(found["fixed"]) == 32


VARIABLES = """
__attribute__((constant)) int kept[4];
static __attribute__((constant)) int dropped[4];
static __attribute__((constant, used)) int held[4];
KERNEL void idle(int *p) { p[0] = 1; }
"""


def test_only_a_static_variable_that_nobody_reads_is_dropped():
    text = compile_hip(PRELUDE + VARIABLES, "gfx942", QUIET).text
    assert "\nkept:" in text
    assert "held:" in text
    assert "dropped" not in text


DEVICE_MACROS = """
#if defined(__CUDA_ARCH__) || defined(__CUDACC__)
#error "a macro of CUDA"
#endif
#if !defined(__HIP_DEVICE_COMPILE__) || !defined(__HIPCC__) || !defined(__GFX9__) || !defined(__ARCH__)
#error "a macro of HIP is missing"
#endif
KERNEL void nothing(float *p) { p[LANE] = 1; }
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_the_device_pass_defines_the_target_and_no_compute_capability(arch: str):
    assert instructions(DEVICE_MACROS.replace("__ARCH__", f"__{arch}__"), arch)["nothing"]
    other = DEVICE_MACROS.replace("__ARCH__", "__gfx908__")
    assert "a macro of HIP is missing" in compile_hip(PRELUDE + other, arch, QUIET).diagnostics


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("asked", ["amdgpu_flat_work_group_size(1, 2048)", "launch_bounds(2048)"])
def test_asking_for_2048_work_items_is_accepted_and_the_metadata_still_say_1024(arch: str, asked: str):
    built = compile_hip(f"__attribute__((global, {asked})) void k(float *p) {{ *p = 1; }}", arch, QUIET)
    assert (built.status, built.diagnostics) == (0, "")
    assert built.figure("max_flat_workgroup_size") == 1024


@pytest.mark.parametrize("arch", ARCHS)
def test_a_cu_file_is_refused_as_cuda_and_compiles_as_hip(arch: str, tmp_path):
    source = tmp_path / "k.cu"
    source.write_text("__attribute__((global)) void k(float *p) { p[0] = 1.f; }", "utf-8")
    assert compile_hip(source, arch, QUIET).status == 0
    refused = compile_hip(source, arch, (*QUIET, "-x", "cuda"))
    assert f"unsupported CUDA gpu architecture: {arch}" in refused.diagnostics


BLOCKS = """
#include <hip/hip_runtime.h>
#define KERNEL extern "C" __global__
KERNEL void plain(float *p) { p[blockIdx.x * blockDim.x + threadIdx.x] *= 2.f; }
KERNEL __launch_bounds__(256) void bounded(float *p) { p[blockIdx.x * blockDim.x + threadIdx.x] *= 2.f; }
KERNEL __attribute__((amdgpu_flat_work_group_size(256, 256))) void flat(float *p) {
    p[blockIdx.x * blockDim.x + threadIdx.x] *= 2.f;
}
KERNEL __launch_bounds__(256) void constant(float *p) { p[blockIdx.x * 256 + threadIdx.x] *= 2.f; }
KERNEL void assumed(float *p) {
    unsigned n = blockDim.x;
    __builtin_assume(n == 256);
    p[blockIdx.x * n + threadIdx.x] *= 2.f;
}
KERNEL __launch_bounds__(256) void loop(float *p) {
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) p[i] *= 2.f;
}
KERNEL __launch_bounds__(256) void constant_loop(float *p) {
    for (unsigned i = threadIdx.x; i < 1024; i += 256) p[i] *= 2.f;
}
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_launch_bounds_do_not_make_the_block_size_a_constant(arch: str):
    found = {name: len(lines) for name, lines in instructions(BLOCKS, arch).items()}
    assert found["plain"] == found["bounded"] == found["flat"]
    assert found["constant"] == found["assumed"] == found["plain"] - 3
    assert found["constant_loop"] * 2 < found["loop"]
    if arch == "gfx942":
        assert (found["plain"], found["constant"]) == (13, 10)


DEPENDENT = """
template <class T> struct A { template <int N> __attribute__((device)) int get() { return N; } typedef int type; };
template <class T> __attribute__((device)) int first(A<T> a) { return a.get<3>(); }
template <class T> __attribute__((device)) int second() { A<T>::type x = 3; return x; }
__attribute__((global)) void k(int *p) { *p = first(A<int>()) + second<int>(); }
"""


def test_a_dependent_name_without_its_keyword_is_refused_with_the_documented_words():
    said = compile_hip(DEPENDENT, "gfx942", QUIET).diagnostics
    assert "missing 'template' keyword prior to dependent template name 'get'" in said
    assert "missing 'typename' prior to dependent type name 'A<int>::type'" in said


HALVES = """
#include <hip/hip_fp16.h>
KERNEL void fused(__half2 *p) { p[0] = __hfma2(p[1], p[2], p[3]); }
KERNEL void product(__half2 *p) { p[0] = p[1] * p[2]; }
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_half2_arithmetic_is_one_packed_instruction(arch: str):
    found = instructions(HALVES, arch)
    assert names(found["fused"]).count("v_pk_fma_f16") == 1
    assert names(found["product"]).count("v_pk_mul_f16") == 1


@pytest.mark.parametrize("arch", ARCHS)
def test_a_store_of_an_uninitialised_variable_is_deleted(arch: str):
    source = "KERNEL void idle(float *p) { float x; p[LANE] = x; }"
    assert names(instructions(source, arch, "-Wno-uninitialized")["idle"]) == ["s_endpgm"]
    assert "is uninitialized when used here" in compile_hip(PRELUDE + source, arch, QUIET).diagnostics


@pytest.mark.parametrize("arch", ARCHS)
def test_launch_bounds_take_two_arguments_and_the_bare_attribute_does_nothing(arch: str):
    head = '#include <hip/hip_runtime.h>\nextern "C" __global__ void __launch_bounds__'
    body = " k(float *p) { p[0] = 1.f; }"
    assert compile_hip(f"{head}(256, 2){body}", arch, QUIET).figure("max_flat_workgroup_size") == 256
    assert "expected unqualified-id" in compile_hip(f"{head}(256, 2, 4){body}", arch, QUIET).diagnostics
    bare = compile_hip(f"__attribute__((global, launch_bounds(256))) void{body}", arch, QUIET)
    assert (bare.status, bare.figure("max_flat_workgroup_size")) == (0, 1024)
