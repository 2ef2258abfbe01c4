"""What the pages say about LDS-only barriers, scheduling masks and asm constraints, proven with the pip compiler."""

from __future__ import annotations

import pytest

from tests.toolchain.clang import Compiled, compile_hip, needs_clang

pytestmark = needs_clang

DEVICE = '__attribute__((device)) __attribute__((shared)) float tile[1024];\nextern "C" __attribute__((global)) void k'
FENCED = (
    '__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local"); __builtin_amdgcn_s_barrier();'
    '__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");'
)
KEPT_BELOW = FENCED + "__builtin_amdgcn_sched_barrier(0);"
IN_ASSEMBLY = 'asm volatile("s_waitcnt lgkmcnt(0)\\n\\ts_barrier" ::: "memory");'
STORE = "tile[i] = now;"
ASM_STORE = 'asm volatile("ds_write_b32 %0, %1" :: "v"(4 * i), "v"(now) : "memory");'


def prefetching(store: str, barrier: str, arch: str) -> list[str]:
    """Instructions of a loop that loads the next value before the barrier and copies it at the end of the turn."""
    built = compile_hip(
        f"""{DEVICE}(const float *p, float *o, int n) {{
  unsigned i = __builtin_amdgcn_workitem_id_x();
  float now = p[i], sum = 0;
#pragma clang loop unroll(disable)
  for (int j = 1; j < n; j++) {{
    float next = p[i + j * 256];
    {store}
    {barrier}
    sum += tile[(i * 7) & 255];
    now = next;
  }}
  o[i] = sum;
}}""",
        arch,
    )
    assert built.status == 0, built.diagnostics
    loop = built.text.split(".LBB0_2:")[1].split("s_cbranch")[0]
    return [line.split(";")[0].strip() for line in loop.splitlines() if line.startswith(("\t", " "))]


def before_the_barrier(lines: list[str]) -> list[str]:
    return lines[: lines.index("s_barrier")]


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_the_copy_of_a_prefetched_value_waits_above_an_lds_only_barrier(arch: str):
    assert "s_waitcnt vmcnt(0)" in before_the_barrier(prefetching(STORE, FENCED, arch))


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("barrier", [KEPT_BELOW, IN_ASSEMBLY])
def test_two_forms_of_the_barrier_leave_the_prefetched_load_in_flight(arch: str, barrier: str):
    lines = prefetching(STORE, barrier, arch)
    assert "s_waitcnt vmcnt(0)" not in before_the_barrier(lines)
    assert "s_waitcnt lgkmcnt(0)" in before_the_barrier(lines)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_a_fence_does_not_wait_for_an_lds_store_of_inline_assembly(arch: str):
    assert "s_waitcnt lgkmcnt(0)" not in before_the_barrier(prefetching(ASM_STORE, FENCED, arch))


def small(body: str, arch: str = "gfx942") -> Compiled:
    return compile_hip(f'extern "C" __attribute__((global)) void k(unsigned *o, float c) {{ {body} }}', arch)


LANE = "unsigned i = __builtin_amdgcn_workitem_id_x(); unsigned x = o[i];"


def test_constraint_r_is_refused_for_a_value_that_differs_by_lane_and_v_taken():
    assert "illegal VGPR to SGPR copy" in small(LANE + 'asm volatile("" : "+r"(x)); o[i] = x;').diagnostics
    assert small(LANE + 'asm volatile("" : "+v"(x)); o[i] = x;').status == 0


def test_memory_and_foreign_constraints_fail_in_the_documented_words():
    memory = small(LANE + 'asm volatile("; %0" : "+m"(x)); o[i] = x;')
    assert memory.status != 0 and "Could not match memory address" in memory.diagnostics
    assert "invalid output constraint '+f' in asm" in small('asm volatile("" : "+f"(c)); o[0] = c;').diagnostics


def crossing(mask: str) -> tuple[int, int]:
    """Loads above the first barrier and VALU FMAs below the last one, of one kernel with two barriers of this mask."""
    wide = "float4_ __attribute__((ext_vector_type(4)))"
    built = compile_hip(
        f"""typedef float {wide};
extern "C" __attribute__((global)) void k(const float4_ *p, const float4_ *q, float *o, float c) {{
  unsigned i = __builtin_amdgcn_workitem_id_x();
  float z = c * (float)i, y = z;
  float4_ a = p[i];
  __builtin_amdgcn_sched_barrier({mask});
  z = z * z + 1.f; z = z * z + c; y = y * z + 3.f;
  float4_ b = q[i];
  __builtin_amdgcn_sched_barrier({mask});
  float4_ r = a * b; r = r * y + z;
  o[i] = r.x + r.y + r.z + r.w;
}}""",
        "gfx942",
    )
    assert built.status == 0, built.diagnostics
    first, _, rest = built.text.partition("; sched_barrier mask")
    last = rest.rpartition("; sched_barrier mask")[2]
    return first.count("global_load_dwordx4"), last.count("\tv_fma_f32") + last.count("\tv_fmaak_f32")


@pytest.mark.parametrize(("mask", "loads", "fmas"), [("0", 1, 0), ("0x3FC", 2, 0), ("~0x2", 0, 3)])
def test_all_but_valu_is_the_sum_of_the_other_bits_and_no_negated_mask(mask: str, loads: int, fmas: int):
    assert crossing(mask) == (loads, fmas)


def test_op_sel_picks_the_source_byte_of_a_conversion_from_fp4():
    builtin = "__builtin_amdgcn_cvt_scalef32_pk_f32_fp4(x, c, {})"
    lines = []
    for byte in range(4):
        text = small(LANE + f"auto r = {builtin.format(byte)}; o[i] = (unsigned)(r[0] + r[1]);", "gfx950").text
        lines += [line.strip() for line in text.splitlines() if "v_cvt_scalef32_pk_f32_fp4" in line]
    assert [line.partition(" op_sel:")[2] for line in lines] == ["", "[1,0,0]", "[0,1,0]", "[1,1,0]"]


@pytest.mark.parametrize(("control", "words"), [("0x142", "broadcasts"), ("0x138", "wavefront shifts")])
def test_dpp_broadcasts_and_wavefront_shifts_are_refused_from_gfx10_on(control: str, words: str):
    body = LANE + f"o[i] = __builtin_amdgcn_update_dpp(0, (int)x, {control}, 0xf, 0xf, true);"
    assert small(body, "gfx942").status == 0
    assert f"Invalid dpp_ctrl value: {words} are not supported on GFX10+" in small(body, "gfx1100").diagnostics
