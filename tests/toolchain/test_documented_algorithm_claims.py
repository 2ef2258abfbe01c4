"""What the pages on further algorithms and transposes say: bit operations, wide products, rays, loads in flight."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolchain.clang import assembles, needs_clang
from tests.toolchain.code_claims import instructions, names

pytestmark = needs_clang

ARCHES = pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
WORDS = "u32 a = p[LANE], b = p[64 + LANE], c = p[128 + LANE];"
TILE = """
#define AT(y, i) [long(y + 4 * i + LANE / 64) * n + x + LANE % 64]
#define EACH(i) _Pragma("unroll") for (u32 i = 0; i < 16; i++)
#define HEAD LDS float t[64][65]; \\
  u32 x = __builtin_amdgcn_workgroup_id_x() * 64, y = __builtin_amdgcn_workgroup_id_y() * 64
#define STORE SYNC(); EACH(i) o AT(y, i) = t[LANE % 64][4 * i + LANE / 64]
KERNEL void one_loop(const float *__restrict__ a, float *__restrict__ o, u32 n) { HEAD;
  EACH(i) t[4 * i + LANE / 64][LANE % 64] = a AT(y, i); STORE; }
#define CAPPED extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256), amdgpu_waves_per_eu(1, 7)))
CAPPED void one_loop_capped(const float *__restrict__ a, float *__restrict__ o, u32 n) { HEAD;
  EACH(i) t[4 * i + LANE / 64][LANE % 64] = a AT(y, i); STORE; }
#define SUM(how) float s = 0; how for (int i = LANE; i < n; i += step) s += a[i]; o[LANE] = s
KERNEL void rolled(const float *__restrict__ a, float *__restrict__ o, int n, int step) { SUM(); }
KERNEL void unrolled(const float *__restrict__ a, float *__restrict__ o, int n, int step) { SUM(_Pragma("unroll 4")); }
#define FOUR(k) _Pragma("unroll") for (int k = 0; k < 4; k++)
KERNEL void guarded(const float *__restrict__ a, float *__restrict__ o, int n, int step) {
  FOUR(k) if (int(LANE) + k * step < n) o[LANE + k * step] += a[LANE + k * step]; }
KERNEL void loads_first(const float *__restrict__ a, float *__restrict__ o, int step) { float x[4], y[4];
  FOUR(k) { x[k] = a[LANE + k * step]; y[k] = o[LANE + k * step]; } FOUR(k) o[LANE + k * step] = x[k] + y[k]; }
KERNEL void two_loops(const float *__restrict__ a, float *__restrict__ o, u32 n) { HEAD; float v[16];
  EACH(i) v[i] = a AT(y, i); __builtin_amdgcn_sched_barrier(0);
  EACH(i) t[4 * i + LANE / 64][LANE % 64] = v[i]; STORE; }
"""
SOURCE = f"""{TILE}
#define ROTATE(x, n) __builtin_rotateright32(x, n)
KERNEL void choose(u32 *p) {{ {WORDS} p[LANE] = (a & b) ^ (~a & c); }}
KERNEL void majority(u32 *p) {{ {WORDS} p[LANE] = (a & b) ^ (a & c) ^ (b & c); }}
KERNEL void short_majority(u32 *p) {{ {WORDS} u32 d = a ^ b; asm("" : "+v"(d)); p[LANE] = (d & c) ^ (~d & a); }}
KERNEL void rotate(u32 *p) {{ p[LANE] = ROTATE(p[LANE], 6); }}
KERNEL void sum(u32 *p) {{ {WORDS} p[LANE] = a + b + c; }}
KERNEL void parity(u32 *p) {{ {WORDS} p[LANE] = a ^ b ^ c; }}
KERNEL void wide(u64 *p, u32 *q) {{ p[LANE] += (u64)q[LANE] * q[64 + LANE]; }}
"""
EXPECTED = {
    "choose": ["v_bfi_b32"],
    "majority": ["v_xor_b32", "v_and_b32", "v_and_b32", "v_xor_b32"],
    "short_majority": ["v_xor_b32", "v_bfi_b32"],
    "rotate": ["v_alignbit_b32"],
    "sum": ["v_add3_u32"],
    "parity": ["v_xor_b32", "v_xor_b32"],
    "wide": ["v_mad_u64_u32"],
}


@ARCHES
@pytest.mark.parametrize("kernel", sorted(EXPECTED))
def test_bit_operations_take_the_instructions_that_the_page_names(arch: str, kernel: str) -> None:
    code = names(instructions(SOURCE, arch)[kernel])
    assert [name for name in code if name.startswith("v_") and "lshlrev" not in name] == EXPECTED[kernel]


BITOP3 = f"""{TILE}
KERNEL void plain(u32 *p) {{ {WORDS} p[LANE] = a ^ b ^ c; }}
KERNEL void parity(u32 *p) {{ {WORDS} p[LANE] = __builtin_amdgcn_bitop3_b32(a, b, c, 0x96); }}
KERNEL void majority(u32 *p) {{ {WORDS} p[LANE] = __builtin_amdgcn_bitop3_b32(a, b, c, 0xe8); }}
"""


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [("plain", ["v_xor_b32", "v_xor_b32"]), ("parity", ["v_bitop3_b32"]), ("majority", ["v_bitop3_b32"])],
)
def test_gfx950_has_any_function_of_three_bits_by_the_builtin(kernel: str, expected: list[str]) -> None:
    code = names(instructions(BITOP3, "gfx950")[kernel])
    assert [name for name in code if name.startswith("v_") and "lshlrev" not in name] == expected


@pytest.mark.parametrize(("arch", "source"), [("gfx90a", SOURCE), ("gfx942", SOURCE), ("gfx950", BITOP3)])
def test_a_tile_that_is_loaded_in_a_loop_of_its_own_has_all_loads_in_flight(arch: str, source: str) -> None:
    def before_the_first_wait(kernel: str) -> int:
        seen = [
            line for line in instructions(source, arch)[kernel] if line.startswith("global_load") or "vmcnt" in line
        ]
        return next(place for place, line in enumerate(seen) if "vmcnt" in line)

    assert before_the_first_wait("two_loops") == before_the_first_wait("one_loop_capped") == 16
    assert before_the_first_wait("one_loop") == (1 if arch == "gfx950" else 16)


def runs_of_loads(source: str, arch: str, kernel: str) -> list[int]:
    """How many loads are issued between two waits, for each such run."""
    events = "".join(
        "L" if line.startswith("global_load") else "w"
        for line in instructions(source, arch)[kernel]
        if line.startswith("global_load") or "vmcnt" in line
    )
    return [len(run) for run in events.split("w") if run]


@pytest.mark.parametrize(("arch", "source"), [("gfx90a", SOURCE), ("gfx942", SOURCE), ("gfx950", BITOP3)])
def test_rolled_and_guarded_loops_wait_for_each_load(arch: str, source: str) -> None:
    assert max(runs_of_loads(source, arch, "rolled")) == 1
    assert max(runs_of_loads(source, arch, "unrolled")) == 4
    assert runs_of_loads(source, arch, "guarded") == [2, 2, 2, 2]
    assert runs_of_loads(source, arch, "loads_first")[0] >= 7


@pytest.mark.parametrize(("arch", "accepted"), [("gfx942", False), ("gfx950", False), ("gfx1030", True)])
def test_the_ray_instruction_exists_on_rdna_only(arch: str, accepted: bool, tmp_path: Path) -> None:
    said = assembles("image_bvh_intersect_ray v[4:7], v[9:19], s[4:7]", arch, tmp_path)
    assert ("instruction not supported on this GPU" not in said) == accepted
