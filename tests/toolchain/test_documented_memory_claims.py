"""What the pages on atomics, scopes, widths, buffers and scalar loads say about code, settled by the compiler."""

from __future__ import annotations

import re

import pytest

from tests.toolchain.clang import compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, instructions, names, refused

pytestmark = needs_clang

ATOMICS = """
KERNEL void add(float *o) { __hip_atomic_fetch_add(o + LANE, 1.5f, __ATOMIC_RELAXED, AGENT); }
KERNEL void add_used(float *o) { o[LANE + 512] = __hip_atomic_fetch_add(o + LANE, 1.5f, __ATOMIC_RELAXED, AGENT); }
KERNEL void add_system(float *o) { __hip_atomic_fetch_add(o + LANE, 1.5f, __ATOMIC_RELAXED, SYSTEM); }
KERNEL void add_double(double *o) { __hip_atomic_fetch_add(o + LANE, 1.5, __ATOMIC_RELAXED, AGENT); }
KERNEL void greatest(float *o) { __hip_atomic_fetch_max(o + LANE, 1.5f, __ATOMIC_RELAXED, AGENT); }
KERNEL void greatest_double(double *o) { __hip_atomic_fetch_max(o + LANE, 1.5, __ATOMIC_RELAXED, AGENT); }
KERNEL void count(int *o) { __hip_atomic_fetch_add(o, 1, __ATOMIC_RELAXED, AGENT); }
KERNEL void sum(int *o, int *p) { __hip_atomic_fetch_add(o, p[LANE], __ATOMIC_RELAXED, AGENT); }
KERNEL void in_lds(float *o, int i) { LDS float b[256]; b[LANE] = o[LANE]; SYNC();
  __hip_atomic_fetch_add(b + (i ^ LANE) % 256, o[LANE + 9], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); SYNC();
  o[LANE] = b[LANE]; }
"""


@pytest.mark.parametrize(
    ("arch", "flags", "native"),
    [("gfx90a", (), False), ("gfx90a", ("-munsafe-fp-atomics",), True), ("gfx942", (), True), ("gfx950", (), True)],
)
def test_adding_a_float_atomically_is_a_loop_on_gfx90a_without_the_flag(arch: str, flags: tuple, native: bool):
    found = names(instructions(ATOMICS, arch, *flags)["add"])
    assert ("global_atomic_add_f32" in found, "global_atomic_cmpswap" in found) == (native, not native)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_the_greatest_float_is_a_loop_and_the_greatest_double_native(arch: str):
    kernels = instructions(ATOMICS, arch, "-munsafe-fp-atomics")
    assert "global_atomic_cmpswap" in names(kernels["greatest"])
    assert "global_atomic_max_f64" in names(kernels["greatest_double"])
    assert "global_atomic_add_f64" in names(kernels["add_double"])


def test_a_used_result_sets_sc0_and_system_scope_sc1():
    kernels = instructions(ATOMICS, "gfx942")
    modifiers = {name: [x.split()[-1] for x in kernels[name] if "atomic" in x] for name in ("add_used", "add_system")}
    assert modifiers == {"add_used": ["sc0"], "add_system": ["sc1"]}
    old = instructions(ATOMICS, "gfx90a", "-munsafe-fp-atomics")["add_used"]
    assert any("atomic" in line and line.endswith("glc") for line in old)


def test_lanes_that_add_one_value_to_one_address_issue_one_atomic():
    kernels = instructions(ATOMICS, "gfx942")
    assert {"s_bcnt1_i32_b64", "v_mbcnt_hi_u32_b32", "global_atomic_add"} <= set(names(kernels["count"]))
    assert {"s_ff1_i32_b64", "v_readlane_b32", "s_add_i32"} <= set(names(kernels["sum"]))


@pytest.mark.parametrize(("flags", "native"), [((), True), (("-fatomic-fine-grained-memory",), False)])
def test_doubles_are_added_natively_on_gfx90a_unless_memory_may_be_fine_grained(flags: tuple, native: bool):
    found = names(instructions(ATOMICS, "gfx90a", *flags)["add_double"])
    assert ("global_atomic_add_f64" in found, "global_atomic_cmpswap_x2" in found) == (native, not native)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_adding_a_float_in_lds_is_native_without_a_flag(arch: str):
    assert "ds_add_f32" in names(instructions(ATOMICS, arch)["in_lds"])


SCOPES = """
KERNEL void acquire(int *o) { o[LANE + 9] = __hip_atomic_load(o, __ATOMIC_ACQUIRE, AGENT) + o[LANE + 77]; }
KERNEL void acquire_system(int *o) { o[LANE + 9] = __hip_atomic_load(o, __ATOMIC_ACQUIRE, SYSTEM) + o[LANE + 77]; }
KERNEL void publish(int *o) { o[LANE + 9] = 3; __hip_atomic_store(o, 1, __ATOMIC_RELEASE, AGENT); }
KERNEL void publish_system(int *o) { o[LANE + 9] = 3; __hip_atomic_store(o, 1, __ATOMIC_RELEASE, SYSTEM); }
KERNEL void through_l1(int *o) { o[LANE + 9] = __hip_atomic_load(o + LANE, __ATOMIC_RELAXED, AGENT); }
KERNEL void old_flag(volatile int *o) { o[LANE + 9] = o[LANE]; }
KERNEL void bare(float *o) { LDS float b[256]; b[LANE] = o[LANE]; __builtin_amdgcn_s_barrier();
  o[LANE] = b[LANE ^ 64]; }
KERNEL void fenced(float *o) { LDS float b[256]; b[LANE] = o[LANE]; SYNC(); o[LANE] = b[LANE ^ 64]; }
"""

CACHE_OPERATIONS = ("buffer_wbl2", "buffer_inv", "buffer_wbinvl1_vol", "buffer_invl2")


@pytest.mark.parametrize(
    ("arch", "kernel", "operations"),
    [
        ("gfx90a", "publish", []),
        ("gfx90a", "publish_system", ["buffer_wbl2"]),
        ("gfx90a", "acquire", ["buffer_wbinvl1_vol"]),
        ("gfx90a", "acquire_system", ["buffer_invl2", "buffer_wbinvl1_vol"]),
        ("gfx942", "publish", ["buffer_wbl2 sc1"]),
        ("gfx942", "publish_system", ["buffer_wbl2 sc0 sc1"]),
        ("gfx942", "acquire", ["buffer_inv sc1"]),
        ("gfx942", "acquire_system", ["buffer_inv sc0 sc1"]),
        ("gfx950", "publish", ["buffer_wbl2 sc1"]),
        ("gfx950", "acquire", ["buffer_inv sc1"]),
    ],
)
def test_acquire_and_release_become_the_documented_cache_operations(arch: str, kernel: str, operations: list[str]):
    lines = instructions(SCOPES, arch)[kernel]
    assert [line for line in lines if line.startswith(CACHE_OPERATIONS)] == operations


def test_a_relaxed_load_at_agent_scope_carries_sc1_or_glc():
    for arch, bit in (("gfx90a", "glc"), ("gfx942", "sc1"), ("gfx950", "sc1")):
        (load,) = [line for line in instructions(SCOPES, arch)["through_l1"] if line.startswith("global_load")]
        assert load.endswith(bit)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_a_volatile_pointer_is_accessed_flat(arch: str):
    lines = instructions(SCOPES, arch)["old_flag"]
    assert {"flat_load_dword", "flat_store_dword"} <= set(names(lines))
    loaded = next(line for line in lines if line.startswith("flat_load_dword"))
    assert loaded.endswith(" glc" if arch == "gfx90a" else " sc0 sc1")


def test_a_bare_barrier_waits_for_no_lds_write():
    for kernel, waits in (("bare", False), ("fenced", True)):
        lines = instructions(SCOPES, "gfx942")[kernel]
        before = lines[lines.index("s_barrier") - 1]
        assert (before == "s_waitcnt lgkmcnt(0)") is waits, kernel


ACCESSES = """
#define RSRC(p, n) __builtin_amdgcn_make_buffer_rsrc((void *)(p), 0, n, 0x00020000)
struct three { float x, y, z; };
struct argument { float *o; const float *i; int n; };
KERNEL void raw(f4 *o, const float *i, u32 n, u32 s) {
  u4 v = __builtin_amdgcn_raw_buffer_load_b128(RSRC(i, n), LANE * 16 + 64, s, 17);
  o[LANE] = __builtin_bit_cast(f4, v); }
KERNEL void divergent(float *o, const float **i, u32 n) {
  o[LANE] = __builtin_bit_cast(float, __builtin_amdgcn_raw_buffer_load_b32(RSRC(i[LANE], n), LANE * 4, 0, 0)); }
KERNEL void triple(float *o, const three *i) { three v = i[LANE]; o[LANE] = v.x + v.y + v.z; }
KERNEL void either(float *o, float *p, int c) { LDS float b[256]; b[LANE] = o[LANE]; SYNC();
  float *q = c ? b : p; o[LANE] = q[LANE]; }
KERNEL void pointers(float **o) { o[LANE][0] = 1; }
KERNEL void by_value(argument a) { if (LANE < (u32)a.n) a.o[LANE] = a.i[LANE]; }
KERNEL void wrapping(float *o, const float *__restrict__ i, u32 b) { o[LANE] = i[b + LANE] + i[b + LANE + 64]; }
KERNEL void plain(float *o, const float *__restrict__ i, int b) { int t = LANE; o[LANE] = i[b + t] + i[b + t + 64]; }
KERNEL void aliased(float *o, const float *i) { for (int k = 0; k < 4; k++) o[k * 256 + LANE] = i[k * 256 + LANE] * 2; }
KERNEL void apart(float *__restrict__ o, const float *__restrict__ i) {
  for (int k = 0; k < 4; k++) o[k * 256 + LANE] = i[k * 256 + LANE] * 2; }
KERNEL void uniform(float *o, const float *__restrict__ w) { o[LANE] = w[3] + w[4]; }
KERNEL void after_store(float *o, const float *w) { o[1000 + LANE] = 1; SYNC(); o[LANE] = w[3]; }
KERNEL void by_wave(float *o, const float *__restrict__ w) { o[LANE] = w[LANE / 64]; }
KERNEL void by_wave_said(float *o, const float *__restrict__ w) {
  o[LANE] = w[__builtin_amdgcn_readfirstlane(LANE / 64)]; }
KERNEL void scalars(float *o, const float *__restrict__ i, int n, float s) { if ((int)LANE < n) o[LANE] = i[LANE] * s; }
"""


def test_a_raw_buffer_load_folds_its_constant_offset_and_takes_scope_bits_from_aux():
    (load,) = [line for line in instructions(ACCESSES, "gfx942")["raw"] if line.startswith("buffer_load")]
    assert load.startswith("buffer_load_dwordx4") and load.endswith("offen offset:64 sc0 sc1")


def test_a_divergent_descriptor_costs_a_loop_over_lanes():
    found = names(instructions(ACCESSES, "gfx942")["divergent"])
    assert found.count("v_readfirstlane_b32") == 4 and "s_cbranch_execnz" in found


def test_three_floats_are_one_load_of_96_bits():
    assert "global_load_dwordx3" in names(instructions(ACCESSES, "gfx942")["triple"])


def test_lost_address_spaces_give_flat_accesses_and_a_struct_argument_does_not():
    kernels = instructions(ACCESSES, "gfx942")
    assert "flat_load_dword" in names(kernels["either"])
    assert "flat_store_dword" in names(kernels["pointers"])
    assert not any(name.startswith("flat_") for name in names(kernels["by_value"]))


def test_a_signed_index_folds_the_second_offset_and_an_unsigned_one_does_not():
    kernels = instructions(ACCESSES, "gfx942")
    assert any(line.startswith("global_load") and line.endswith("offset:256") for line in kernels["plain"])
    assert not any("offset:256" in line for line in kernels["wrapping"])


def test_restrict_lets_four_loads_go_before_the_first_wait():
    for kernel, in_flight in (("aliased", 1), ("apart", 4)):
        lines = instructions(ACCESSES, "gfx942")[kernel]
        first = next(n for n, line in enumerate(lines) if line.startswith("s_waitcnt vmcnt"))
        assert sum(line.startswith("global_load") for line in lines[:first]) == in_flight


def test_uniform_reads_are_scalar_only_when_nothing_may_have_written_them():
    kernels = instructions(ACCESSES, "gfx942")
    assert "global_load_dword" not in names(kernels["uniform"])
    assert "global_load_dword" in names(kernels["after_store"])
    assert "global_load_dword" in names(kernels["by_wave"])
    assert "global_load_dword" not in names(kernels["by_wave_said"])
    assert "v_readfirstlane_b32" in names(kernels["by_wave_said"])


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_preloading_arguments_works_for_scalars_and_not_for_a_struct(arch: str):
    without, with_it = (
        instructions(ACCESSES, arch),
        instructions(ACCESSES, arch, "-mllvm", "-amdgpu-kernarg-preload-count=8"),
    )
    assert with_it["by_value"] == without["by_value"]
    assert "s_branch" in names(with_it["scalars"]) and "s_branch" not in names(without["scalars"])


DIRECT = """
typedef __attribute__((address_space(1))) void *global;
typedef IN_LDS void *local;
KERNEL void loop(f4 *o, const float *i, int n) { LDS float b[2][1024]; f4 s = 0;
  int w = __builtin_amdgcn_readfirstlane(LANE / 64);
  for (int k = 0; k < n; k++) {
    __builtin_amdgcn_global_load_lds((global)(i + k * 1024 + 4 * LANE), (local)(b[k & 1] + 256 * w), 16, 0, 0);
    SYNC(); s += *(f4 *)(b[k & 1] + 4 * (255 - LANE)); SYNC(); }
  o[LANE] = s; }
"""


def test_the_compiler_drains_direct_to_lds_loads_before_a_barrier():
    lines = instructions(DIRECT, "gfx950")["loop"]
    load = next(n for n, line in enumerate(lines) if line.startswith("global_load_lds_dwordx4"))
    barrier = lines.index("s_barrier", load)
    assert any("vmcnt(0)" in line for line in lines[load:barrier])


TRANSPOSED = """
typedef {0} t4 __attribute__((ext_vector_type(4)));
KERNEL void transposed(t4 *o) {{ LDS t4 b[256]; b[LANE] = o[LANE]; SYNC();
  auto v = __builtin_amdgcn_ds_read_tr16_b64_v4f16((IN_LDS t4 *)(b + LANE)); __builtin_memcpy(o + LANE, &v, 8); }}
"""


def test_the_transposed_read_wants_the_other_half_type():
    assert "ds_read_b64_tr_b16" in names(instructions(TRANSPOSED.format("__fp16"), "gfx950")["transposed"])
    assert "cannot initialize a parameter" in refused(TRANSPOSED.format("_Float16"), "gfx950")


STENCIL = """
KERNEL void stencil(double *__restrict__ o, const double *__restrict__ a, int nx, int ny) {
    int i = LANE + __builtin_amdgcn_workgroup_id_x() * 256;
    o[i] = a[i] * -6.0 + a[i - 1] + a[i + 1] + a[i - nx] + a[i + nx] + a[i - ny] + a[i + ny];
}
"""


@pytest.mark.parametrize(("arch", "without"), [("gfx90a", 17), ("gfx942", 16)])
def test_code_that_may_be_replayed_after_a_page_fault_takes_more_registers(arch: str, without: int):
    built = [compile_hip(PRELUDE + STENCIL, arch + mode) for mode in ("", ":xnack+", ":xnack-")]
    assert [each.figure("vgpr_count") for each in built] == [24, 24, without]
    assert len({sum(map(len, each.blocks)) for each in built}) == 1


WORKGROUP = """
KERNEL void sync(float *o) { LDS float b[256]; b[LANE] = o[LANE]; SYNC(); o[LANE] = b[255 - LANE] + o[LANE + 256]; }
KERNEL void fence(float *o, int *f) { o[LANE] = 1.f; __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  f[LANE] = 1; }
KERNEL void row_of_65(f4 *o, float *p, int r) { LDS float t[64 * 65]; t[LANE] = p[LANE]; SYNC();
  o[LANE] = *(IN_LDS f4 *)&t[LANE % 64 * 65 + 4 * r]; }
KERNEL void row_of_68(f4 *o, float *p, int r) { LDS float t[64 * 68] __attribute__((aligned(16))); t[LANE] = p[LANE];
  SYNC(); o[LANE] = *(IN_LDS f4 *)&t[LANE % 64 * 68 + 4 * r]; }
#define HALO(i) int y = y0 - 1 + (i) / 66, x = x0 - 1 + (i) % 66
#define CLAMP(v, n) ((v) < 0 ? 0 : (v) < (n) ? (v) : (n) - 1)
KERNEL void halo_behind_tests(float *o, const float *__restrict__ in, int nx, int ny, int x0, int y0) {
  LDS float t[1280];
  _Pragma("unroll") for (int k = 0; k < 5; k++) { int i = LANE + 256 * k; HALO(i);
    if (i < 1188) t[i] = (u32(y) < u32(ny) && u32(x) < u32(nx)) ? in[long(y) * nx + x] : 0.f; }
  SYNC(); o[LANE] = t[LANE * 3]; }
KERNEL void halo_clamped(float *o, const float *__restrict__ in, int nx, int ny, int x0, int y0) { LDS float t[1280];
  float v[5];
  _Pragma("unroll") for (int k = 0; k < 5; k++) { HALO(int(LANE) + 256 * k); int yc = CLAMP(y, ny), xc = CLAMP(x, nx);
    float f = in[long(yc) * nx + xc]; v[k] = ((yc == y) & (xc == x)) ? f : 0.f; }
  _Pragma("unroll") for (int k = 0; k < 5; k++) t[LANE + 256 * k] = v[k];
  SYNC(); o[LANE] = t[LANE * 3]; }
"""


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_a_barrier_and_a_workgroup_fence_touch_no_cache(arch: str):
    kernels = instructions(WORKGROUP, arch)
    assert "s_barrier" in names(kernels["sync"])
    for name in ("sync", "fence"):
        assert not [line for line in kernels[name] if line.startswith(("buffer_inv", "buffer_wb"))]
    stores = [i for i, line in enumerate(kernels["fence"]) if line.startswith("global_store")]
    assert not [line for line in kernels["fence"][stores[0] : stores[1]] if line.startswith("s_waitcnt")]


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_rows_of_65_floats_split_a_float4_read_and_rows_of_68_do_not(arch: str):
    kernels = instructions(WORKGROUP, arch)
    assert names(kernels["row_of_65"]).count("ds_read2_b32") == 2
    assert names(kernels["row_of_68"]).count("ds_read_b128") == 1


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_halo_loads_behind_bounds_tests_are_waited_for_one_by_one_and_clamped_ones_together(arch: str):
    kernels = instructions(WORKGROUP, arch)
    events = {
        name: [line.split()[0] for line in kernels[name] if line.startswith("global_load") or "vmcnt" in line]
        for name in ("halo_behind_tests", "halo_clamped")
    }
    assert events["halo_behind_tests"][:4] == ["global_load_dword", "s_waitcnt"] * 2
    assert events["halo_clamped"][:6] == ["global_load_dword"] * 5 + ["s_waitcnt"]


def test_gfx90a_loads_directly_to_lds_in_the_old_spelling():
    source = """
KERNEL void global(float *o) { LDS float b[256];
  __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void *)(o + LANE), (IN_LDS void *)b, 4, 0, 0);
  SYNC(); o[LANE] = b[LANE]; }
KERNEL void buffer(float *o) { LDS float b[256];
  __builtin_amdgcn_raw_ptr_buffer_load_lds(__builtin_amdgcn_make_buffer_rsrc(o, 0, 1024, 0x20000), (IN_LDS void *)b,
    4, LANE * 4, 0, 0, 0); SYNC(); o[LANE] = b[LANE]; }
"""
    kernels = instructions(source, "gfx90a")
    assert "global_load_dword v0, s[0:1] lds" in kernels["global"]
    assert "buffer_load_dword v0, s[0:3], 0 offen lds" in kernels["buffer"]


def test_two_tiles_in_lds_need_one_barrier_in_the_loop_and_load_ahead_of_the_use():
    source = """
KERNEL void twice(f4 *o, const f4 *__restrict__ src, int n) { LDS f4 tile[2][256]; u32 t = LANE; f4 sum = 0;
  f4 next = src[t]; tile[0][t] = next; SYNC();
  _Pragma("unroll 1") for (int k = 0; k < n; k++) {
    if (k + 1 < n) next = src[(k + 1) * 256 + t];
    for (int j = 0; j < 8; j++) sum += tile[k & 1][(t + 37 * j) % 256];
    if (k + 1 < n) tile[(k + 1) & 1][t] = next;
    SYNC(); }
  o[t] = sum; }
"""
    found = names(instructions(source, "gfx942")["twice"])
    assert found.count("s_barrier") == 2, "one before the loop, one in it"
    loop = found[found.index("s_barrier") :]
    assert loop.index("global_load_dwordx4") < loop.index("ds_read_b128") < loop.index("ds_write_b128")


PARAMETERS = """
struct Weights { float w[16]; };
struct __attribute__((packed)) Packed { char c; float f; };
KERNEL void uniform(float *o, Weights p, int i) { o[LANE] = p.w[i]; }
KERNEL void each(float *o, Weights p) { o[LANE] = p.w[LANE % 16]; }
KERNEL void written(float *o, Weights p, int i) { p.w[i & 15] = 3.f; float s = 0;
  for (int k = 0; k < 16; k++) s += p.w[(k + i) & 15];
  o[LANE] = s; }
KERNEL void four(f4 *o, const f4 *__restrict__ c) { o[LANE] = c[3] * o[LANE]; }
KERNEL void packed(float *o, const Packed *__restrict__ p) { o[LANE] = p[LANE].f; }
KERNEL void unused(float *o, const float *__restrict__ p) { float x = p[LANE + 4096]; o[LANE] = 1.f; }
KERNEL void kept(float *o, const float *__restrict__ p) { float x = p[LANE + 4096]; asm volatile("" :: "v"(x));
  o[LANE] = 1.f; }
KERNEL void through_buffer(u32 *o, u32 *p, int i) { auto r = __builtin_amdgcn_make_buffer_rsrc(p, 0, 4096, 0x20000);
  o[LANE] = __builtin_amdgcn_raw_buffer_load_b32(r, i * 4, 0, 0); }
"""


def test_an_array_in_a_parameter_goes_to_scratch_only_when_it_is_written():
    kernels = {name: names(lines) for name, lines in instructions(PARAMETERS, "gfx942").items()}
    assert "s_load_dword" in kernels["uniform"] and "global_load_dword" not in kernels["uniform"]
    assert "global_load_dword" in kernels["each"]
    assert kernels["written"].count("scratch_store_dwordx4") == 4
    assert not [name for kernel in ("uniform", "each") for name in kernels[kernel] if name.startswith("scratch")]
    old = {name: names(lines) for name, lines in instructions(PARAMETERS, "gfx90a").items()}
    assert "buffer_store_dword" in old["written"] and "buffer_store_dword" not in old["each"]


def test_uniform_float4_packed_floats_unused_loads_and_uniform_buffer_offsets():
    kernels = instructions(PARAMETERS, "gfx942")
    assert names(kernels["four"]).count("s_load_dwordx4") == 2, "the pointers and the value"
    assert any(re.match(r"global_load_dword .*offset:1$", line) for line in kernels["packed"])
    assert "global_load_dword" not in names(kernels["unused"])
    assert "global_load_dword" in names(kernels["kept"])
    assert "buffer_load_dword" in names(kernels["through_buffer"])
    assert "undeclared" in refused(
        "KERNEL void k(int *o, __amdgpu_buffer_rsrc_t r) { o[0] = __builtin_amdgcn_s_buffer_load_i32(r, 0, 0); }",
        "gfx942",
    )


STREAMS = """
typedef _Float16 h8 __attribute__((ext_vector_type(8)));
struct Float4 { float x, y, z, w; };
KERNEL void floats(f4 *o, const float *p) {
  __builtin_nontemporal_store(__builtin_nontemporal_load((const f4 *)p + LANE), o + LANE); }
KERNEL void halves(h8 *o, const _Float16 *p) {
  __builtin_nontemporal_store(__builtin_nontemporal_load((const h8 *)p + LANE), o + LANE); }
KERNEL void half(_Float16 *o, const _Float16 *p) { o[LANE] = __builtin_nontemporal_load(p + LANE); }
"""


def test_nontemporal_accesses_take_vectors_of_the_compiler_and_no_classes():
    kernels = instructions(STREAMS, "gfx942")
    for kernel in ("floats", "halves"):
        found = [line for line in kernels[kernel] if line.startswith("global_")]
        assert [line.split()[0] for line in found] == ["global_load_dwordx4", "global_store_dwordx4"]
        assert all(line.endswith(" nt") for line in found)
    assert any(line.startswith("global_load_ushort") and line.endswith(" nt") for line in kernels["half"])
    wrong = (
        STREAMS + "KERNEL void wrong(Float4 *o, const Float4 *p) { o[LANE] = __builtin_nontemporal_load(p + LANE); }"
    )
    assert "address argument to nontemporal builtin must be a pointer to integer, float, pointer" in refused(
        wrong, "gfx942"
    )


SHARED = """
struct __attribute__((packed)) Two { f2 v; };
struct __attribute__((packed)) Four { f4 v; };
KERNEL void two(f2 *o, int i) { LDS char b[4096]; b[LANE] = i; SYNC(); o[LANE] = ((Two *)(b + LANE * 9 + i))->v; }
KERNEL void four(f4 *o, int i) { LDS char b[4096]; b[LANE] = i; SYNC(); o[LANE] = ((Four *)(b + LANE * 9 + i))->v; }
typedef float f4_by_8 __attribute__((ext_vector_type(4), aligned(8)));
KERNEL void into(f4 *o, int i) { LDS char b[8192]; ((Four *)(b + LANE * 17 + i))->v = o[LANE]; SYNC();
  o[LANE] = b[LANE]; }
KERNEL void into_by_8(f4 *o, int i) { LDS double b[1024]; *(f4_by_8 *)(b + LANE * 3 + i) = o[LANE]; SYNC();
  o[LANE] = b[LANE]; }
KERNEL void wide(u64 *o) { LDS u64 b[16]; b[LANE % 16] = 0; SYNC();
  __hip_atomic_fetch_max(b + LANE % 16, o[LANE], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_min(b + LANE % 8, o[LANE + 512], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_max((long long *)b + LANE % 4, (long long)o[LANE + 768], __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_add(b + LANE % 16, o[LANE + 256], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); SYNC();
  o[LANE] = b[LANE % 16]; }
KERNEL void acquiring(int *f, int *o) {
  while (__hip_atomic_load(f, __ATOMIC_ACQUIRE, AGENT) == 0) ;
  o[LANE] += 1; }
KERNEL void polling(int *f, int *o) {
  while (__hip_atomic_load(f, __ATOMIC_RELAXED, AGENT) == 0) __builtin_amdgcn_s_sleep(2);
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  o[LANE] += 1; }
"""


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_misaligned_lds_reads_stay_whole_and_64_bit_lds_atomics_are_native(arch: str):
    kernels = {name: names(lines) for name, lines in instructions(SHARED, arch).items()}
    assert kernels["two"].count("ds_read_b64") == 1 and "ds_read_b128" in kernels["four"]
    assert "ds_write_b128" in kernels["into"] and "ds_write2_b64" in kernels["into_by_8"]
    assert {"ds_max_u64", "ds_min_u64", "ds_max_i64", "ds_add_u64"} <= set(kernels["wide"])


def test_a_relaxed_poll_leaves_the_invalidation_behind_the_loop():
    kernels = instructions(SHARED, "gfx942")
    for kernel, inside in (("acquiring", True), ("polling", False)):
        lines = kernels[kernel]
        back = max(at for at, line in enumerate(lines) if line.startswith("s_cbranch"))
        assert lines.count("buffer_inv sc1") == 1
        assert (lines.index("buffer_inv sc1") < back) == inside
    assert "s_sleep 2" in kernels["polling"]


def test_dynamic_lds_of_two_types_under_one_name_is_refused():
    template = """template <class T> __attribute__((global)) void k(T *o) { extern __attribute__((shared)) T buf[];
      o[LANE] = buf[LANE]; }
    template __attribute__((global)) void k<float>(float *);
    template __attribute__((global)) void k<double>(double *);"""
    assert "redeclaration of 'buf' with a different type: 'double[]' vs 'float[]'" in refused(template, "gfx942")
    cast = """template <class T> __attribute__((global)) void k(T *o) {
      extern __attribute__((shared)) __attribute__((aligned(16))) char bytes[];
      T *buf = reinterpret_cast<T *>(bytes); o[LANE] = buf[LANE]; }
    template __attribute__((global)) void k<float>(float *);
    template __attribute__((global)) void k<double>(double *);"""
    assert compile_hip(PRELUDE + cast, "gfx942", ()).status == 0


TILE = """
KERNEL void tile(u4 *o, const _Float16 *__restrict__ p, int ld, int row0) { LDS u4 tile[128 * 4];
  const int row = LANE / 4, part = LANE % 4;
  for (int i = 0; i < 2; i++)
    tile[(row + 64 * i) * 4 + part] = *(const u4 *)(p + (row0 + row + 64 * i) * (long)ld + 8 * part);
  SYNC(); o[LANE] = tile[511 - LANE]; }
"""


def test_a_cooperative_tile_load_is_one_wide_load_and_one_wide_write_a_turn():
    found = names(instructions(TILE, "gfx942")["tile"])
    assert found.count("global_load_dwordx4") == 2 and found.count("ds_write_b128") == 2
    assert found.index("ds_write_b128") > max(i for i, name in enumerate(found) if name == "global_load_dwordx4")


def test_there_is_no_builtin_for_typed_buffer_loads_and_six_floats_are_two_loads():
    call = "__builtin_amdgcn_raw_buffer_load_format_v4f32(r, 0, 0, 0)"
    typed = f"KERNEL void k(f4 *o, __amdgpu_buffer_rsrc_t r) {{ *o = {call}; }}"
    assert "undeclared identifier" in refused(typed, "gfx942")
    six = """struct Six { float a[6]; };
    KERNEL void k(float *o, const Six *__restrict__ p) { Six s = p[LANE];
      o[LANE] = s.a[0] + s.a[1] + s.a[2] + s.a[3] + s.a[4] + s.a[5]; }"""
    loads = [name for name in names(instructions(six, "gfx942")["k"]) if name.startswith("global_load")]
    assert loads == ["global_load_dwordx4", "global_load_dwordx2"]
