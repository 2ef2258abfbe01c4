"""What the pages on registers, LDS, placement and kernel entry say about code, settled by compiler and assembler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.toolchain.clang import assembles, compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, instructions, names, refused

pytestmark = needs_clang

VALUES = """
#define HOLD(NAME, ATTRIBUTES) extern "C" __attribute__((global)) ATTRIBUTES void NAME(float *o, const float *i) { \\
  float v[200]; \\
  _Pragma("unroll") for (int n = 0; n < 200; n++) v[n] = i[n * 256 + LANE]; \\
  __builtin_amdgcn_sched_barrier(0); \\
  _Pragma("unroll") for (int n = 0; n < 200; n++) o[n * 256 + LANE] = v[n] * v[(n * 7 + 3) % 200]; }
HOLD(bare, )
HOLD(one_wave, __attribute__((amdgpu_waves_per_eu(1, 1))))
HOLD(one_wave_256, __attribute__((amdgpu_waves_per_eu(1, 1), amdgpu_flat_work_group_size(1, 256))))
HOLD(wave, __attribute__((amdgpu_flat_work_group_size(64, 64))))
"""


def metadata(source: str, arch: str, *flags: str) -> dict[str, dict[str, int]]:
    """Return the numbers of the metadata of each kernel, by their keys."""
    built = compile_hip(PRELUDE + source, arch, flags)
    assert built.status == 0, built.diagnostics
    found = {}
    for part in built.text.split("amdhsa.kernels:")[1].split("\n  - .agpr_count:")[1:]:
        numbers = dict(re.findall(r"^\s+\.(\w+):\s+(\d+)$", part, re.M))
        found[re.search(r"\.name:\s+(\w+)", part)[1]] = {
            "agpr_count": int(part.split()[0]),
            **{key: int(number) for key, number in numbers.items()},
        }
    return found


def test_one_wave_is_asked_for_in_vain_while_the_workgroup_may_have_1024_work_items():
    found = metadata(VALUES, "gfx942")
    assert [
        (found[name]["vgpr_count"], found[name]["private_segment_fixed_size"] > 0) for name in ("bare", "one_wave")
    ] == [
        (128, True),
        (128, True),
    ]
    for name in ("one_wave_256", "wave"):
        assert (found[name]["vgpr_count"] > 200, found[name]["private_segment_fixed_size"]) == (True, 0)


def test_the_flag_for_threads_per_block_sets_the_default_of_all_kernels():
    found = metadata(VALUES, "gfx942", "--gpu-max-threads-per-block=256")
    assert (found["bare"]["max_flat_workgroup_size"], found["bare"]["private_segment_fixed_size"]) == (256, 0)


ARRAY = """
KERNEL void k(TYPE *o, const TYPE *i, const int *where, int n) {
  TYPE v[COUNT];
  _Pragma("unroll") for (int k = 0; k < COUNT; k++) v[k] = i[k * 256 + LANE];
  for (int k = 0; k < n; k++) v[where[k * 64 + LANE]] += i[k];
  _Pragma("unroll") for (int k = 0; k < COUNT; k++) o[k * 256 + LANE] = v[k]; }
"""


@pytest.mark.parametrize(
    ("kind", "count", "in_scratch"),
    [("double", 16, False), ("double", 17, True), ("float", 32, False), ("float", 33, True)],
)
def test_an_array_with_a_run_time_index_stays_in_registers_up_to_32_of_them(kind: str, count: int, in_scratch: bool):
    found = metadata(ARRAY, "gfx942", f"-DTYPE={kind}", f"-DCOUNT={count}")
    assert (found["k"]["private_segment_fixed_size"] > 0) == in_scratch


ACCUMULATORS = """
typedef float f16 __attribute__((ext_vector_type(16)));
typedef short s4 __attribute__((ext_vector_type(4)));
extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 256))) void k(float *o, const s4 *a, int n, float s) {
  f16 c[COUNT] = {};
  for (int i = 0; i < n; i++) {
    _Pragma("unroll") for (int j = 0; j < COUNT; j++)
      c[j] = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a[i * 512 + LANE], a[i * 512 + 64 * j + LANE], c[j], 0, 0, 0);
    _Pragma("unroll") for (int j = 0; j < COUNT; j++) c[j] *= s; }
  _Pragma("unroll") for (int j = 0; j < COUNT; j++)
    _Pragma("unroll") for (int e = 0; e < 16; e++) o[(j * 16 + e) * 64 + LANE] = c[j][e]; }
"""


@pytest.mark.parametrize(("count", "agprs", "scratch"), [(12, False, False), (20, True, False), (24, True, True)])
def test_registers_overflow_into_agprs_before_scratch(count: int, agprs: bool, scratch: bool):
    found = metadata(ACCUMULATORS, "gfx942", f"-DCOUNT={count}")["k"]
    assert (found["agpr_count"] > 0, found["private_segment_fixed_size"] > 0) == (agprs, scratch)
    code = names(instructions(ACCUMULATORS, "gfx942", f"-DCOUNT={count}")["k"])
    assert any(name.startswith("v_accvgpr") for name in code) == agprs


@pytest.mark.parametrize("value", ["0", "1"])
def test_the_option_for_the_vgpr_form_changes_nothing_where_that_form_is_the_default(value: str):
    plain = instructions(ACCUMULATORS, "gfx942", "-DCOUNT=20")["k"]
    assert instructions(ACCUMULATORS, "gfx942", "-DCOUNT=20", "-mllvm", f"-amdgpu-mfma-vgpr-form={value}")["k"] == plain


POINTERS = """
KERNEL void loaded(float *o, float **t) { float *p = t[0]; o[LANE] = p[LANE]; }
KERNEL void cast(float *o, float **t) {
  auto p = (__attribute__((address_space(1))) float *)t[0]; o[LANE] = p[LANE]; }
KERNEL void once(float *o, const float *i) {
  __builtin_nontemporal_store(__builtin_nontemporal_load(i + LANE), o + LANE); }
KERNEL void narrow(float *o, const float *i) {
  float v[16];
  _Pragma("unroll") for (int k = 0; k < 16; k++) v[k] = i[LANE * 16 + k];
  _Pragma("unroll") for (int k = 0; k < 16; k++) o[LANE * 16 + k] = v[k] + 1; }
"""


def test_a_flat_load_waits_on_both_counters_and_a_global_one_on_one():
    kernels = instructions(POINTERS, "gfx942")
    after = {
        name: lines[next(n for n, line in enumerate(lines) if line.startswith(load)) + 1]
        for name, load, lines in (("loaded", "flat_load", kernels["loaded"]), ("cast", "global_load", kernels["cast"]))
    }
    assert after == {"loaded": "s_waitcnt vmcnt(0) lgkmcnt(0)", "cast": "s_waitcnt vmcnt(0)"}


def test_sixteen_floats_of_a_work_item_become_four_wide_loads():
    found = [line for line in instructions(POINTERS, "gfx942")["narrow"] if "global_load" in line]
    assert [line.split()[0] for line in found] == ["global_load_dwordx4"] * 4
    assert [line.split("offset:")[1] for line in found[1:]] == ["16", "32", "48"]


@pytest.mark.parametrize(("arch", "hint"), [("gfx90a", "glc slc"), ("gfx942", "nt"), ("gfx950", "nt")])
def test_a_nontemporal_access_carries_the_hint_of_its_target(arch: str, hint: str):
    assert all(line.endswith(f" {hint}") for line in instructions(POINTERS, arch)["once"] if "global_" in line)


PLACE = """
KERNEL void k(u32 *o) {
  u32 cu = __builtin_amdgcn_s_getreg(4 | 8 << 6 | 3 << 11), se = __builtin_amdgcn_s_getreg(4 | 13 << 6 | 1 << 11);
  o[LANE] = __builtin_amdgcn_s_getreg(20 | 0 << 6 | 3 << 11) << 6 | se << 4 | cu; }
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_the_place_of_a_wavefront_is_read_from_hw_id_and_xcc_id(arch: str):
    read = [line.split(", ", 1)[1] for line in instructions(PLACE, arch)["k"] if "s_getreg" in line]
    assert sorted(read) == ["hwreg(HW_REG_HW_ID, 13, 2)", "hwreg(HW_REG_HW_ID, 8, 4)", "hwreg(HW_REG_XCC_ID, 0, 4)"]


LARGE = """
KERNEL void k(float *o) { LDS float s[24576]; s[LANE] = o[LANE]; SYNC(); o[LANE] = s[LANE * 7 % 1024]; }
"""


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_96_kilobytes_of_lds_are_refused_before_gfx950(arch: str):
    assert "local memory (98304) exceeds limit (65536)" in refused(LARGE, arch)


def test_96_kilobytes_of_lds_compile_for_gfx950():
    assert metadata(LARGE, "gfx950")["k"]["group_segment_fixed_size"] == 98304


ENTRY = """
KERNEL void ids(u32 *o) {
  o[LANE + __builtin_amdgcn_workitem_id_y() * 64] =
    __builtin_amdgcn_workgroup_id_x() + 3 * __builtin_amdgcn_workgroup_id_y(); }
KERNEL void size(u32 *o) { o[LANE] = __builtin_amdgcn_workgroup_size_x(); }
"""


@pytest.mark.parametrize(("arch", "pointer", "ids"), [("gfx90a", "s[4:5]", "s7"), ("gfx942", "s[0:1]", "s3")])
def test_arguments_and_workgroup_ids_arrive_where_the_page_says(arch: str, pointer: str, ids: str):
    lines = instructions(ENTRY, arch)["ids"]
    assert any(line.startswith("s_load_dwordx2") and f", {pointer}, 0x0" in line for line in lines)
    assert any(line.startswith("s_mul_i32") and f", {ids}, 3" in line for line in lines)


def test_the_block_size_is_a_hidden_argument_of_two_bytes():
    lines = instructions(ENTRY, "gfx942")["size"]
    assert any(line.startswith("s_load_dword ") and line.endswith("0x14") for line in lines)
    assert any("0xffff" in line for line in lines)


FOUR_FLOATS = """
struct loose { float x, y, z, w; };
struct alignas(16) tight { float x, y, z, w; };
KERNEL void whole(const loose *a, float *o) { loose v = a[LANE]; o[LANE] = v.x + v.y + v.z + v.w; }
KERNEL void adjacent(const float *a, float *o) {
  u32 i = 4 * LANE; o[LANE] = a[i] + a[i + 1] + a[i + 2] + a[i + 3]; }
KERNEL void tested(const float *a, float *o, int n) {
  float s = 0;
  _Pragma("unroll") for (int j = 0; j < 4; j++) if (4 * (int)LANE + j < n) s += a[4 * LANE + j];
  o[LANE] = s; }
#define BETWEEN(NAME, R) KERNEL void NAME(const float *R a, float *R o, float *R p) { \\
  u32 i = 4 * LANE; float s = a[i]; p[LANE] = s; s += a[i + 1]; p[LANE + 256] = s; \\
  s += a[i + 2]; p[LANE + 512] = s; s += a[i + 3]; o[LANE] = s; }
BETWEEN(aliased, )
BETWEEN(restricted, __restrict__)
KERNEL void shaky(const volatile loose *a, float *o) { auto v = a + LANE; o[LANE] = v->x + v->y + v->z + v->w; }
#define THROUGH(NAME, T) KERNEL void NAME(const T *a, T *o) { \\
  LDS T t[256]; t[LANE] = a[LANE]; SYNC(); o[LANE] = t[LANE ^ 1]; }
THROUGH(loose_lds, loose)
THROUGH(tight_lds, tight)
KERNEL void same(const float *a, float *o) { o[LANE] = a[__builtin_amdgcn_workgroup_id_x()] * 2; }
KERNEL void indirect(const float *a, const int *b, float *o) { o[LANE] = a[b[LANE] >> 8]; }
"""


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("kernel", "loads"),
    [
        ("whole", ["global_load_dwordx4"]),
        ("adjacent", ["global_load_dwordx4"]),
        ("tested", ["global_load_dword"] * 4),
        ("aliased", ["global_load_dword"] * 4),
        ("restricted", ["global_load_dwordx4"]),
        ("shaky", ["flat_load_dword"] * 4),
        ("loose_lds", ["global_load_dwordx4", "ds_read2_b32", "ds_read2_b32"]),
        ("tight_lds", ["global_load_dwordx4", "ds_read_b128"]),
        ("same", ["s_load_dword"]),
        ("indirect", ["global_load_dword"] * 2),
    ],
)
def test_four_floats_are_one_load_or_four(arch: str, kernel: str, loads: list[str]):
    code = names(instructions(FOUR_FLOATS, arch)[kernel])
    read = [name for name in code if "load" in name or "read" in name]
    assert [name for name in read if name not in {"s_load_dwordx2", "s_load_dwordx4"}][-len(loads) :] == loads
    assert sum(name.startswith(("global_load", "flat_load", "ds_read")) for name in read) == sum(
        not name.startswith("s_load") for name in loads
    )


CHAIN = """
KERNEL void chain(float *o, float a, float b) {
  float x = o[LANE];
  _Pragma("unroll") for (int n = 0; n < 16; n++) x = __builtin_fmaf(x, a, b);
  o[LANE] = x; }
"""


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_nothing_stands_between_dependent_multiply_adds(arch: str):
    code = names(instructions(CHAIN, arch)["chain"])
    fused = [place for place, name in enumerate(code) if name in {"v_fma_f32", "v_fmac_f32"}]
    assert len(fused) == 16
    assert not {"s_nop", "s_waitcnt"} & set(code[fused[0] : fused[-1]])


@pytest.mark.parametrize(
    ("instruction", "targets"),
    [
        ("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]", "gfx90a gfx942"),
        ("global_load_dword a0, v[2:3], off", "gfx90a gfx942"),
        ("ds_read_b32 a0, v1", "gfx90a gfx942"),
        ("v_mfma_f64_16x16x4f64 a[0:7], v[0:1], v[2:3], a[0:7]", "gfx90a gfx942"),
        ("v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]", "gfx90a gfx942"),
        ("v_mfma_f32_32x32x4bf16 a[0:15], v0, v1, a[0:15]", "gfx908 gfx90a"),
        ("v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]", "gfx908 gfx90a gfx942"),
        ("v_mfma_f32_32x32x8f16 v[0:15], v[20:21], v[22:23], v[0:15]", "gfx90a gfx942"),
        ("global_atomic_add_f64 v[0:1], v[2:3], off", "gfx90a gfx942"),
        ("global_atomic_add_f32 v[0:1], v2, off", "gfx908 gfx90a gfx942"),
        ("global_atomic_add_f32 v3, v[0:1], v2, off glc", "gfx90a"),
        ("ds_add_f64 v0, v[2:3]", "gfx90a gfx942"),
        ("image_sample v0, v1, s[0:7], s[8:11]", "gfx906 gfx908 gfx90a"),
    ],
)
def test_older_targets_assemble_what_the_page_on_generations_says(instruction: str, targets: str, tmp_path: Path):
    older = ("gfx906", "gfx908", "gfx90a", "gfx942")
    assert [arch for arch in older if not assembles(instruction + "\n", arch, tmp_path)] == targets.split()


@pytest.mark.parametrize(("arch", "waves"), [("gfx906", 4), ("gfx908", 4), ("gfx90a", 8), ("gfx942", 8)])
def test_64_registers_leave_half_the_waves_on_targets_before_gfx90a(arch: str, waves: int):
    source = VALUES.replace("200", "56") + "HOLD(sixty, __attribute__((amdgpu_flat_work_group_size(64, 64))))"
    built = compile_hip(PRELUDE + source, arch, ())
    found = re.findall(r"; (NumVgprs|Occupancy): (\d+)", built.text)[-2:]
    assert 48 < int(dict(found)["NumVgprs"]) <= 64
    assert int(dict(found)["Occupancy"]) == waves


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_spilled_registers_go_to_scratch_and_never_to_lds(arch: str):
    found = metadata(VALUES, arch)["bare"]
    assert found["vgpr_spill_count"] > 0
    assert found["private_segment_fixed_size"] > 0
    assert found["group_segment_fixed_size"] == 0
