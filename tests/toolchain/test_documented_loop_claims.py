"""What the pages on prefetch loops, accumulators in AGPRs, merged LDS accesses and source that breaks say."""

from __future__ import annotations

import re

import pytest

from tests.toolchain.clang import compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, QUIET, WITHOUT_BOUND, instructions, names

pytestmark = needs_clang

LOOP_HEAD = """
typedef float f4 __attribute__((ext_vector_type(4)));
KERNEL void k(const f4 *__restrict__ a, f4 *o, int n) {
  const f4 *p = a + LANE;
  f4 cur = p[0], acc = {0, 0, 0, 0};
#pragma unroll 1
"""
ONE_SET = """
  for (int i = 1; i < n; ++i) { f4 nxt = p[i * 64]; HOLD acc = acc * cur + cur; acc = acc * acc + cur; cur = nxt; }
  o[LANE] = acc + cur;
}
"""
TWO_SETS = """
  for (int i = 1; i < n; i += 2) {
    f4 nxt = p[i * 64]; acc = acc * cur + cur; acc = acc * acc + cur;
    cur = p[i * 64 + 64]; acc = acc * nxt + nxt; acc = acc * acc + nxt;
  }
  o[LANE] = acc + cur;
}
"""
FOUR_STORES = """
KERNEL void k(float *o, int n) {
  extern __attribute__((shared)) ALIGNED float s[];
  float a = o[LANE], b = o[LANE + 64], c = o[LANE + 128], d = o[LANE + 192];
  float *p = s + 4 * LANE;
  unsigned x = XOR;
  p[0 ^ x] = a; p[1 ^ x] = b; p[2 ^ x] = c; p[3 ^ x] = d;
  __builtin_amdgcn_s_barrier();
  o[LANE] = s[LANE ^ n];
}
"""
ACCUMULATOR = """
typedef float f4 __attribute__((ext_vector_type(4)));
typedef __bf16 b8 __attribute__((ext_vector_type(8)));
KERNEL void k(const b8 *a, f4 *o, int n) {
  f4 acc = {0, 0, 0, 0};
  FIRST
  int i = 0;
  do {
    b8 x = a[i * 64 + LANE], y = a[i * 64 + LANE + 9000];
    asm volatile("v_mfma_f32_16x16x32_bf16 %0, %1, %2, %0" : "+a"(acc) : "v"(x), "v"(y));
  } while (++i < n);
  o[LANE] = acc;
}
"""


def assembly(source: str, *flags: str, arch: str = "gfx942") -> str:
    built = compile_hip(WITHOUT_BOUND + source, arch, (*QUIET, *flags))
    assert built.status == 0, built.diagnostics
    return built.text


def inner_loop(text: str) -> str:
    """The text from the label of the loop to the branch back to it."""
    label = re.search(r"^(\.LBB\d+_\d+):.*Loop Header", text, re.M)
    assert label
    back = re.search(rf"s_cbranch_\w+ {re.escape(label[1])}\b", text)
    assert back
    return text[label.end() : back.end()]


def test_a_prefetch_with_one_register_set_is_waited_for_in_full():
    loop = inner_loop(assembly(LOOP_HEAD + ONE_SET.replace("HOLD", "")))
    assert loop.index("v_pk_fma_f32") < loop.index("global_load_dwordx4")
    assert re.findall(r"s_waitcnt vmcnt\((\d+)\)", loop) == ["0"]


def test_a_prefetch_that_is_held_early_ends_in_a_wait_and_copies():
    loop = inner_loop(assembly(LOOP_HEAD + ONE_SET.replace("HOLD", "__builtin_amdgcn_sched_barrier(0);")))
    assert loop.index("global_load_dwordx4") < loop.index("v_pk_fma_f32")
    assert re.findall(r"s_waitcnt vmcnt\((\d+)\)", loop) == ["1", "0"]
    assert "v_mov_b64" in loop


def test_two_register_sets_keep_a_load_in_flight_without_copies():
    loop = inner_loop(assembly(LOOP_HEAD + TWO_SETS))
    assert re.findall(r"s_waitcnt vmcnt\((\d+)\)", loop) == ["1", "1"]
    assert "v_mov_b" not in loop


CLOBBER = """
KERNEL void k(const float *__restrict__ a, float *o, int n) {
  float s = 1;
#pragma unroll 1
  for (int i = 0; i < n; i++) { float x = a[i * 64 + LANE]; asm volatile("s_nop 7" ::: "memory"); s = s * s + x; }
  o[LANE] = s;
}
"""
STORED_VALUE = """
KERNEL void k(float *o, int n) {
  float s = o[LANE];
#pragma unroll 1
  for (int i = 0; i < n; i++) { o[i * 64 + LANE] = s; s = s * s + 1; }
}
"""


def test_neither_a_memory_clobber_nor_a_store_of_a_value_used_again_adds_a_wait():
    loop = inner_loop(assembly(CLOBBER))
    assert loop.index("global_load_dword") < loop.index("s_nop 7") < loop.index("s_waitcnt vmcnt(0)")
    assert "s_waitcnt" not in inner_loop(assembly(STORED_VALUE))


TILES = """
KERNEL void k(const h4 *a, f4 *c, int tiles, int steps) {
  for (int t = 0; t < tiles; t++) {
    f4 acc = {0, 0, 0, 0};
    for (int i = 0; i < steps; i++) {
      h4 x = a[(t * steps + i) * 512 + LANE], y = a[(t * steps + i) * 512 + 256 + LANE];
      acc = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, acc, 0, 0, 0);
    }
    c[t * 256 + LANE] = acc;
  }
}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_the_next_tile_clears_the_stored_accumulator_without_waiting_for_the_store(arch: str):
    text = assembly(TILES, arch=arch)
    store = re.search(r"global_store_dwordx4 v\[\d+:\d+\], v\[(\d+):\d+\], off", text)
    assert store
    cleared = re.search(rf"v_mov_b32_e32 v{store[1]}, 0\b", text[store.end() :])
    assert cleared
    between = text[store.end() : store.end() + cleared.start()]
    assert "s_waitcnt" not in between
    assert "v_mfma" not in between


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("aligned", "xor", "writes"),
    [
        ("__attribute__((aligned(16)))", "0", ["ds_write_b128"]),
        ("", "0", ["ds_write2_b32"] * 2),
        ("__attribute__((aligned(16)))", "LANE & 3", ["ds_write_b32"] * 4),
    ],
)
def test_the_known_alignment_decides_how_lds_stores_are_merged(arch: str, aligned: str, xor: str, writes: list[str]):
    text = assembly(FOUR_STORES.replace("ALIGNED", aligned).replace("XOR", xor), arch=arch)
    assert re.findall(r"ds_write\w*", text) == writes


@pytest.mark.parametrize(("first", "copies"), [("", 8), ('asm volatile("" : "+a"(acc));', 0)])
def test_an_accumulator_stays_in_agprs_once_it_has_been_put_there(first: str, copies: int):
    loop = inner_loop(assembly(ACCUMULATOR.replace("FIRST", first), arch="gfx950"))
    assert loop.count("v_accvgpr") == copies


@pytest.mark.parametrize(("flags", "uniform"), [((), True), (("-fno-offload-uniform-block",), False)])
def test_workgroups_are_taken_as_full_unless_the_flag_says_otherwise(flags: tuple[str, ...], uniform: bool):
    text = assembly("KERNEL void k(float *o) { o[LANE] = 1; }", *flags)
    assert (".uniform_work_group_size: 1" in text) is uniform


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ("SHARED float alignas(16) s[256];", "'alignas' attribute cannot be applied to types"),
        ("extern SHARED alignas(16) float s[];", "an attribute list cannot appear here"),
        ("SHARED alignas(16) float s[256];", ""),
        ("alignas(16) SHARED float s[256];", ""),
        ("SHARED __attribute__((aligned(16))) float s[256];", ""),
        ("extern SHARED __attribute__((aligned(16))) float s[];", ""),
    ],
)
def test_where_alignas_of_a_shared_array_may_stand(declaration: str, words: str):
    declaration = declaration.replace("SHARED", "__attribute__((shared))")
    built = compile_hip(
        WITHOUT_BOUND + f"KERNEL void k(float *o) {{ {declaration} s[LANE] = 1; o[LANE] = s[0]; }}", "gfx942"
    )
    assert (built.status == 0) is (words == "")
    assert words in built.diagnostics


FOUR_IN_A_ROW = "int i = LANE * 4; o[i] = a[i] * 2; o[i+1] = a[i+1] * 2; o[i+2] = a[i+2] * 2; o[i+3] = a[i+3] * 2;"
GUARDED = "int i = LANE * 4; float s = 0; for (int j = 0; j < 4; ++j) if (i + j < n) s += a[i + j]; o[LANE] = s;"


@pytest.mark.parametrize(
    ("restrict", "body", "loads"),
    [
        ("__restrict__", FOUR_IN_A_ROW, ["global_load_dwordx4"]),
        ("", FOUR_IN_A_ROW, ["global_load_dword"] * 4),
        ("__restrict__", GUARDED, ["global_load_dword"] * 4),
    ],
)
def test_four_neighbouring_loads_merge_without_aliases_and_conditions(restrict: str, body: str, loads: list[str]):
    text = assembly(f"KERNEL void k(const float *{restrict} a, float *{restrict} o, int n) {{ {body} }}")
    assert re.findall(r"global_load\w+", text) == loads


TRANSPOSE = """
KERNEL void k(const float *__restrict__ in, float *__restrict__ out, int rows, int cols) {
  static __attribute__((shared)) float tile[64][65];
  int x = __builtin_amdgcn_workgroup_id_x() * 64, y = __builtin_amdgcn_workgroup_id_y() * 64;
  int lane = LANE % 64, wave = LANE / 64;
#pragma unroll
  for (LOOP) tile[ROW][lane] = in[(u64)(y + ROW) * cols + x + lane];
  SYNC();
#pragma unroll
  for (LOOP) out[(u64)(x + ROW) * rows + y + lane] = tile[lane][ROW];
}
"""


@pytest.mark.parametrize(
    ("prelude", "loop", "row", "first_wait"),
    [
        (PRELUDE, "int i = 0; i < 16; ++i", "(4 * i + wave)", 15),
        (PRELUDE, "int r = wave; r < 64; r += 4", "r", 1),
        (WITHOUT_BOUND, "int i = 0; i < 16; ++i", "(4 * i + wave)", 0),
    ],
)
def test_loads_of_a_tile_overlap_with_a_constant_loop_and_a_declared_size(
    prelude: str, loop: str, row: str, first_wait: int
):
    source = TRANSPOSE.replace("LOOP", loop).replace("ROW", row)
    built = compile_hip(prelude + source, "gfx942", QUIET)
    assert re.search(r"vmcnt\((\d+)\)", built.text)[1] == str(first_wait)


SUM = """
KERNEL void k(float *p, const float *q, int n) {
  float s = 0;
  for (int i = 0; i < END; i++) s += q[i * 64 + LANE];
  p[LANE] = s;
}
"""


@pytest.mark.parametrize(
    ("flags", "loads"),
    [
        (("-O3",), (8, 16, 1)),
        (("-O2",), (8, 16, 1)),
        (("-O3", "-fno-unroll-loops"), (1, 1, 1)),
        (("-O1",), (1, 1, 1)),
        (("-Os",), (1, 1, 1)),
        (("-O3", "-mllvm", "-unroll-runtime=1"), (8, 16, 9)),
        (("-O3", "-mllvm", "-unroll-count=4"), (4, 4, 4)),
        (("-O3", "-funroll-loops"), (8, 16, 1)),
    ],
)
def test_options_turn_unrolling_off_or_on(flags: tuple[str, ...], loads: tuple[int, ...]):
    sources = [WITHOUT_BOUND + SUM.replace("END", end) for end in ("8", "512", "n")]
    texts = [compile_hip(source, "gfx942", (*QUIET, *flags)).text for source in sources]
    assert tuple(len(re.findall(r"\tglobal_load_dword", text)) for text in texts) == loads


WIDENED = """
KERNEL void scale(int n, float *__restrict__ a, const float *__restrict__ b) {
  for (int i = LANE; i < n; i += 256) a[i] = b[i] * 2;
}
KERNEL void whole_sum(int n, int *__restrict__ a, const int *__restrict__ b) {
  int s = 0; b += LANE * n; for (int i = 0; i < n; ++i) s += b[i]; a[LANE] = s;
}
KERNEL void float_sum(int n, float *__restrict__ a, const float *__restrict__ b) {
  float s = 0; b += LANE * n; for (int i = 0; i < n; ++i) s += b[i]; a[LANE] = s;
}
KERNEL void volatile_vector(volatile f4 *p, f4 *o) { o[LANE] = p[LANE]; }
"""


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("kernel", "loads"),
    [
        ("scale", ["global_load_dword"] * 3),
        ("whole_sum", ["global_load_dwordx2", "global_load_dword"]),
        ("float_sum", ["global_load_dword"]),
        ("volatile_vector", ["flat_load_dwordx4"]),
    ],
)
def test_run_time_loops_of_independent_iterations_are_widened_by_two(arch: str, kernel: str, loads: list[str]):
    """Two loads or one of two dwords a turn, and one for the odd rest; a float sum keeps its order and its one load."""
    code = names(instructions(WIDENED, arch)[kernel])
    assert [name for name in code if name.startswith(("global_load", "flat_load"))] == loads
