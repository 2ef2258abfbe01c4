"""What the pages on the compiler, inline assembly and code objects say, settled by the compiler of the pip package."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from tests.toolchain.clang import Compiled, compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, QUIET, WITHOUT_BOUND, instructions, names, refused

pytestmark = needs_clang

ROOT = Path(__file__).resolve().parents[2]
CLANG = (sys.executable, "-m", "ziglang", "clang")

LIVE_VALUES = """
KERNEL ATTRIBUTES void k(float *p, const float *q, int n) {
  float a[200];
#pragma unroll
  for (int i = 0; i < 200; i++) a[i] = q[i * 64 + LANE];
  for (int j = 0; j < n; j++) {
#pragma unroll
    for (int i = 0; i < 200; i++) a[i] = a[i] * p[j] + a[(i + 1) % 200];
  }
  float s = 0;
#pragma unroll
  for (int i = 0; i < 200; i++) s += a[i];
  p[LANE] = s;
}
"""
HUNDRED_VALUES = """
KERNEL ATTRIBUTES void k(const float *__restrict__ a, float *__restrict__ o, int n) {
  float v[100];
  for (int i = 0; i < 100; ++i) v[i] = a[LANE + i * 256];
  for (int t = 0; t < n; ++t) {
    float f = a[t];
#pragma unroll
    for (int i = 0; i < 100; ++i) v[i] = v[i] * f + v[(i + 37) % 100];
  }
  for (int i = 0; i < 100; ++i) o[LANE + i * 256] = v[i];
}
"""
PRIVATE_ARRAY = """
KERNEL __attribute__((amdgpu_flat_work_group_size(THREADS, THREADS) MORE)) void k(float *p, const int *ix) {
  float a[SIZE];
#pragma unroll
  for (int i = 0; i < SIZE; i++) a[i] = 0;
  a[ix[0]] = 1; a[ix[1]] = 2;
  p[LANE] = a[ix[2]];
}
"""


def compiled(source: str, *flags: str, arch: str = "gfx942") -> Compiled:
    built = compile_hip(WITHOUT_BOUND + source, arch, (*QUIET, *flags))
    assert built.status == 0, built.diagnostics
    return built


@lru_cache(maxsize=16)
def budget(attributes: str, *flags: str) -> tuple[int, bool]:
    """VGPRs of the kernel with 200 live values, and whether it needs scratch."""
    built = compiled(f"#define ATTRIBUTES {attributes}\n{LIVE_VALUES}", *flags)
    return built.figure("vgpr_count"), built.figure("private_segment_fixed_size") > 0


def test_without_a_bound_a_kernel_stops_at_128_registers_and_spills():
    assert budget("") == (128, True)
    assert budget("__attribute__((amdgpu_flat_work_group_size(1, 64)))") == (254, False)
    assert budget("", "--gpu-max-threads-per-block=256") == (254, False)


@pytest.mark.parametrize(
    ("waves", "registers", "spilled", "scratch"),
    [(1, 132, 0, 0), (3, 132, 0, 0), (4, 128, 2, 12), (5, 96, 48, 108), (6, 80, 134, 252), (8, 64, 208, 388)],
)
def test_each_more_wave_takes_registers_until_the_kernel_spills(waves: int, registers: int, spilled: int, scratch: int):
    attributes = f"__attribute__((amdgpu_flat_work_group_size(1, 256), amdgpu_waves_per_eu({waves})))"
    built = compiled(f"#define ATTRIBUTES {attributes}\n{HUNDRED_VALUES}")
    got = [built.figure(n) for n in ("vgpr_count", "vgpr_spill_count", "private_segment_fixed_size")]
    assert got == [registers, spilled, scratch]


@pytest.mark.parametrize("attribute", ["amdgpu_waves_per_eu(1, 2)", "amdgpu_waves_per_eu(1, 1)", "launch_bounds(64)"])
def test_an_attribute_below_the_workgroups_minimum_changes_nothing(attribute: str):
    assert budget(f"__attribute__(({attribute}))") == (128, True)


@pytest.mark.parametrize(
    ("threads", "more", "flags", "lds", "scratch"),
    [
        (64, ", amdgpu_waves_per_eu(1, 1)", (), 10240, 0),
        (256, ", amdgpu_waves_per_eu(1, 1)", (), 40960, 0),
        (256, "", (), 0, 176),
        (64, ", amdgpu_waves_per_eu(1, 1)", ("-mllvm", "-disable-promote-alloca-to-lds"), 0, 176),
    ],
)
def test_a_private_array_may_be_moved_to_lds(threads: int, more: str, flags: tuple, lds: int, scratch: int):
    defines = f"#define THREADS {threads}\n#define MORE {more}\n#define SIZE 40\n"
    built = compiled(defines + PRIVATE_ARRAY, *flags)
    assert (built.figure("group_segment_fixed_size"), built.figure("private_segment_fixed_size")) == (lds, scratch)


@pytest.mark.parametrize(("size", "scratch"), [(32, False), (33, True)])
def test_an_indexed_private_array_stays_in_registers_up_to_32(size: int, scratch: bool):
    built = compiled(f"#define THREADS 256\n#define MORE\n#define SIZE {size}\n" + PRIVATE_ARRAY)
    assert (built.figure("private_segment_fixed_size") > 0) == scratch


POINTERS = "float *{0} o; const float *{0} a; const float *{0} s;"
PARAMETERS = POINTERS.replace("; c", ", c").rstrip(";")
LOOP = "for (int i = 0; i < n; ++i) o[i * 256 + LANE] = a[i * 256 + LANE] * s[0];"
STRUCT = f"struct A {{ {POINTERS.format('__restrict__')} }};\nKERNEL void k(A x, int n) "
LOCALS = "float *__restrict__ o = x.o; const float *__restrict__ a = x.a, *__restrict__ s = x.s;"
RESTRICTED = PARAMETERS.format("__restrict__")


@pytest.mark.parametrize(
    ("source", "hoisted"),
    [
        (f"KERNEL void k({PARAMETERS.format('')}, int n) {{ {LOOP} }}", False),
        (f"KERNEL void k({RESTRICTED}, int n) {{ {LOOP} }}", True),
        (f"{STRUCT} {{ {LOOP.replace('o[', 'x.o[').replace('a[', 'x.a[').replace('s[', 'x.s[')} }}", False),
        (f"{STRUCT} {{ {LOCALS} {LOOP} }}", False),
        (f"{STRUCT} {{ auto f = [n]({RESTRICTED}) {{ {LOOP} }}; f(x.o, x.a, x.s); }}", True),
        (
            f"__attribute__((device)) void f({RESTRICTED}, int n) {{ {LOOP} }}\n{STRUCT} {{ f(x.o, x.a, x.s, n); }}",
            True,
        ),
        (f"KERNEL void k({PARAMETERS.format('')}, int n) {{ float v = s[0]; {LOOP.replace('s[0]', 'v')} }}", True),
    ],
)
def test_restrict_counts_on_parameters_and_not_in_a_struct(source: str, hoisted: bool):
    lines = instructions(source, "gfx942", "-fno-unroll-loops")["k"]
    assert ("s_load_dword" in names(lines)[names(lines).index("s_waitcnt") :]) == hoisted


LONG = "v = v * v + 1; v = v * v + 3; " * 5
SWITCH = "switch (n) { case 0: v = p[1]; break; case 1: v = v * v; break; case 2: v = 7 / v; break; "
SWITCH += "case 3: p[9] = 0; break; case 4: v -= 3; break; case 5: v += 8; break; }"
BRANCHES = [
    ("if (v > 0) v = v * 3 + 1;", {"v_cndmask_b32"}),
    ("if (__builtin_expect(v > 0, 0)) v = v * 3 + 1;", {"s_and_saveexec_b64", "s_cbranch_execnz"}),
    ('if (v > 0) { v = v * 3 + 1; asm volatile(""); }', {"s_and_saveexec_b64", "s_cbranch_execz"}),
    (f"if (v > 0) {{ {LONG} }}", {"s_and_saveexec_b64", "s_cbranch_execz"}),
    ("if (v > 0) v = q[LANE];", {"s_and_saveexec_b64", "s_cbranch_execz"}),
    ("if (n > 0) v = v * 3 + 1;", {"s_cselect_b64", "v_cndmask_b32"}),
    (f"if (n > 0) {{ {LONG} }}", {"s_cbranch_scc1"}),
    ("if (__builtin_amdgcn_ballot_w64(v > 0)) { if (v > 0) v = v * 3 + 1; }", {"s_cselect_b64", "v_cndmask_b32"}),
]
KINDS = {
    "v_cndmask_b32",
    "s_and_saveexec_b64",
    "s_cbranch_execz",
    "s_cbranch_execnz",
    "s_cbranch_scc1",
    "s_cselect_b64",
}


@pytest.mark.parametrize(("body", "expected"), BRANCHES)
def test_an_if_becomes_a_select_or_a_branch(body: str, expected: set):
    source = f"KERNEL void k(float *p, const float *__restrict__ q, int n) {{ float v = p[LANE]; {body} p[LANE] = v; }}"
    assert KINDS & set(names(instructions(source, "gfx942")["k"])) == expected


@pytest.mark.parametrize(("value", "chosen"), [("m", "s_cmp_"), ("((const int *)p)[LANE + 256]", "s_and_saveexec_b64")])
def test_a_switch_has_no_jump_table(value: str, chosen: str):
    body = f"float v = p[LANE]; int n = {value}; {SWITCH} p[LANE] = v;"
    source = f"KERNEL void k(float *p, int m) {{ {body} }}"
    got = names(instructions(source, "gfx942")["k"])
    assert not {"s_setpc_b64", "s_getpc_b64"} & set(got)
    assert any(name.startswith(chosen) for name in got)


@pytest.mark.parametrize(("index", "load", "count"), [("n", "s_load_dword", 2), ("p[LANE]", "global_load_dword", 2)])
def test_a_constant_local_array_is_one_load(index: str, load: str, count: int):
    source = f"KERNEL void k(int *p, int n) {{ const int t[6] = {{17, 99, 3, 55, 7, 1234}}; p[LANE] = t[{index}]; }}"
    assert names(instructions(source, "gfx942")["k"]).count(load) == count


ASM = "KERNEL void k(u4 *d, u64 x, unsigned char c, int n) { u4 v = d[LANE]; u32 y = 0; ASM; d[LANE] = v + y; }"
COMPLAINTS = [
    ('asm volatile("; %0" :: "{s[1:2]}"(x))', "couldn't allocate input reg for constraint '{s[1:2]}'"),
    ('asm volatile("; %0" :: "{s[2:5]}"(v))', "couldn't allocate input reg for constraint '{s[2:5]}'"),
    ('asm volatile("; %0" :: "{v[1:4]}"(v))', "couldn't allocate input reg for constraint '{v[1:4]}'"),
    ('asm volatile("; %0" :: "v"(c))', "couldn't allocate input reg for constraint 'v'"),
    ('struct { u32 a, b, c; } s = {1, 2, 3}; asm volatile("; %0" :: "v"(s))', "indirect register inputs"),
    ('asm volatile("s_nop 0" ::: "s[6:7]")', "unknown register name 's[6:7]' in asm"),
    ('asm volatile("; %0" :: "I"(65))', "value '65' out of range for constraint 'I'"),
    ('asm volatile("; %0" :: "n"(n))', "constraint 'n' expects an integer constant expression"),
    ('asm volatile("v_mov_b32 %0, %L1" : "=v"(y) : "v"(x))', "invalid operand in inline asm"),
]


@pytest.mark.parametrize(("block", "complaint"), COMPLAINTS)
def test_an_asm_block_is_refused_with_the_documented_words(block: str, complaint: str):
    assert complaint in refused(ASM.replace("ASM", block), "gfx942")


@pytest.mark.parametrize("registers", ["{s[2:3]}", "{s[4:5]}"])
def test_an_even_pair_of_sgprs_is_accepted(registers: str):
    compiled(ASM.replace("ASM", f'asm volatile("; %0" :: "{registers}"(x))'))


def test_r_is_a_scalar_register_and_the_letter_s_moves_nothing():
    kernels = instructions(
        'KERNEL void r(u32 *d) { u32 v; asm volatile("v_mov_b32 %0, 1" : "=r"(v)); d[LANE] = v; }\n'
        'KERNEL void s(u4 *d, f4 *p) { u4 r = d[LANE]; f4 v; asm volatile("buffer_load_dwordx4 %0, %1, %2, 0 offen"\n'
        ' : "=&v"(v) : "v"(LANE), "s"(r)); p[LANE] = v; }',
        "gfx942",
    )
    assert any(re.match(r"v_mov_b32 s\d+, 1", line) for line in kernels["r"])
    assert not any("readfirstlane" in line for line in kernels["s"])


def test_a_label_in_an_asm_block_needs_a_name_of_its_own():
    code = (
        'static inline __attribute__((device, always_inline)) void f() { asm volatile("LABEL:\\n s_nop 0" :); }\n'
        "KERNEL void k(u32 *d) { f(); f(); d[0] = 1; }"
    )
    labels = re.findall(r"(loop\d+):", compiled(code.replace("LABEL", "loop%=")).text)
    assert len(labels) == len(set(labels)) == 2
    assert compiled(code.replace("LABEL", "loop")).text.count("loop:") == 2


def assembled(text: str, folder: Path, *flags: str) -> tuple[str, Path]:
    source, made = folder / "k.s", folder / "k.o"
    source.write_text(text, "utf-8")
    command = [*CLANG, "-x", "assembler", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942", *flags, "-c", str(source)]
    done = subprocess.run([*command, "-o", str(made)], capture_output=True, text=True, timeout=60, check=False)
    return done.stderr, made


def test_a_semicolon_hides_the_rest_of_the_line(tmp_path: Path):
    complaints, _ = assembled("v_mov_b32 v0, 1; this is no instruction\n", tmp_path)
    assert complaints == ""


def test_the_assembly_kernel_of_the_page_assembles_and_needs_its_accum_offset(tmp_path: Path):
    page = (ROOT / "gpu_arch/compiler/assembling-kernels.md").read_text("utf-8")
    (listing,) = [block for block in re.findall(r"```\n(.*?)```", page, re.S) if ".amdhsa_kernel" in block]
    complaints, _ = assembled(listing, tmp_path)
    assert complaints == ""
    without = "\n".join(line for line in listing.splitlines() if "accum_offset" not in line)
    complaints, _ = assembled(without, tmp_path)
    assert ".amdhsa_accum_offset directive is required" in complaints


@pytest.mark.parametrize(("version", "abi"), [(4, 2), (5, 3), (6, 4)])
def test_the_elf_header_names_the_code_object_version(version: int, abi: int, tmp_path: Path):
    complaints, made = assembled("s_endpgm\n", tmp_path, f"-mcode-object-version={version}")
    assert complaints == ""
    assert made.read_bytes()[8] == abi


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_the_number_of_the_xcd_is_a_register_of_gfx942_and_gfx950_only(arch: str, tmp_path: Path):
    complaints, _ = assembled("s_getreg_b32 s0, hwreg(HW_REG_HW_ID)\n", tmp_path, f"-mcpu={arch}")
    assert complaints == ""
    complaints, _ = assembled("s_getreg_b32 s0, hwreg(HW_REG_XCC_ID)\n", tmp_path, f"-mcpu={arch}")
    assert ("invalid hardware register" in complaints) is (arch == "gfx90a")


def test_macros_of_the_host_pass_do_not_tell_it_from_the_device_pass():
    def macros(side: str) -> set[str]:
        words = f"-x hip {side} -nogpuinc -nogpulib --offload-arch=gfx942 -dM -E -"
        done = subprocess.run(
            [*CLANG, *words.split()], input="", capture_output=True, text=True, timeout=60, check=True
        )
        return set(re.findall(r"#define (\w+)", done.stdout))

    host, device = macros("--cuda-host-only"), macros("--cuda-device-only")
    assert {"__AMDGCN__", "__AMDGPU__", "__HIP__"} <= host & device
    assert {"__HIP_DEVICE_COMPILE__", "__gfx942__", "__GFX9__"} <= device - host


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--maxrregcount=64", "unknown argument"),
        ("--use_fast_math", "unknown argument"),
        ("-dlto", "argument unused during compilation: '-dlto'"),
        ("-fsanitize=address", "Use it with an offload arch containing 'xnack+' instead"),
        ("-fsanitize=thread", "not currently supported for target"),
        ("-mcode-object-version=3", "invalid integral value '3'"),
        ("--amdgpu-target=gfx942", "unknown argument"),
    ],
)
def test_the_driver_answers_a_flag_with_the_documented_words(flag: str, words: str):
    assert words in compile_hip(PRELUDE + "KERNEL void k(u32 *d) { d[0] = 1; }", "gfx942", (flag,)).diagnostics


@pytest.mark.parametrize("arch", ["gfx942:xnack", "gfx942:foo+"])
def test_a_target_id_without_sign_or_with_an_unknown_feature_is_refused(arch: str):
    assert "invalid target ID" in compile_hip(PRELUDE, arch).diagnostics


RULES = [
    ("void f(); KERNEL void k() { f(); }", "call to __host__ function from __global__ function"),
    (
        "static int g = 1; KERNEL void k(int *d) { d[0] = g; }",
        "reference to __host__ variable 'g' in __global__ function",
    ),
    ("KERNEL void k(int *d) { LDS int z = 3; d[0] = z; }", "initialization is not supported for __shared__ variables"),
    ("KERNEL void k(int n) { if (n) throw 1; }", "cannot use 'throw' in __global__ function"),
    ("KERNEL int k() { return 1; }", "must have void return type"),
    ("KERNEL void k(); KERNEL void m() { k<<<1, 1>>>(); }", "device-side kernel call/launch is not supported"),
    ("KERNEL void k(int n) { __builtin_amdgcn_s_setprio(n); }", "must be a constant integer"),
    ("KERNEL void k(unsigned __int128 *d) { d[1] = __atomic_load_n(d, 0); }", "large atomic operation may incur"),
    ("KERNEL void k(float *d) { d[0] = __builtin_amdgcn_update_dpp(0.f, d[1], 0x200, 15, 15, false); }", "dpp_ctrl"),
    ("KERNEL void k(int *d, int n) { int a[40000]; a[n] = 1; d[0] = a[d[1]]; }", "exceeds limit (131056)"),
]


@pytest.mark.parametrize(("source", "words"), RULES)
def test_device_code_that_breaks_a_rule_is_refused_with_the_documented_words(source: str, words: str):
    assert words in refused(source, "gfx942")


def test_an_unused_load_goes_and_an_empty_asm_block_keeps_it():
    kernels = instructions(
        "KERNEL void gone(const float *q, int n) { for (int i = 0; i < n; i++) \n"
        "{ float v = q[i * 64 + LANE]; (void)v; } }\n"
        "KERNEL void kept(const float *q, int n) { for (int i = 0; i < n; i++) { float v = q[i * 64 + LANE];\n"
        ' asm volatile("" :: "v"(v)); } }',
        "gfx942",
    )
    assert "global_load_dword" not in names(kernels["gone"])
    assert "global_load_dword" in names(kernels["kept"])


def test_a_pointer_read_from_memory_is_generic_until_it_is_cast():
    kernels = instructions(
        "typedef __attribute__((address_space(1))) float global_float;\n"
        "KERNEL void generic(float **d) { d[0][LANE] = 1; }\n"
        "KERNEL void cast(float **d) { ((global_float *)d[0])[LANE] = 1; }",
        "gfx942",
    )
    assert "flat_store_dword" in names(kernels["generic"])
    assert "global_store_dword" in names(kernels["cast"])


def test_the_warning_of_a_loop_that_cannot_be_unrolled():
    loop = "KERNEL void k(float *p, const float *q, int n) { float s = 0;\n#pragma unroll\n LOOP p[LANE] = s; }"
    rolled = "for (int i = LANE; i < n; i += 64) { s += q[i]; if (s > 3) break; }"
    fixed = "for (int j = 0; j < 16; j++) { int i = LANE + j * 64; if (i < n) s += q[i]; }"
    assert "loop not unrolled" in compile_hip(PRELUDE + loop.replace("LOOP", rolled), "gfx942").diagnostics
    assert "loop not unrolled" not in compile_hip(PRELUDE + loop.replace("LOOP", fixed), "gfx942").diagnostics


CALL_THROUGH_A_POINTER = """
__attribute__((device, HOW)) void heavy(float *p, int n) {
  float a[180];
#pragma unroll
  for (int i = 0; i < 180; i++) a[i] = p[i * 64];
  for (int j = 0; j < n; j++) {
#pragma unroll
    for (int i = 0; i < 180; i++) a[i] = a[i] * p[j] + a[(i + 1) % 180];
  }
#pragma unroll
  for (int i = 0; i < 180; i++) p[i * 64] = a[i];
}
KERNEL void caller(float *p, float (*f)(float)) { p[0] = f(p[1]); }
KERNEL void plain(float *p) { p[0] = p[1]; }
KERNEL void user(float *p, int n) { heavy(p, n); }
"""


@pytest.mark.parametrize(("how", "registers"), [("always_inline", 41), ("noinline", 512)])
def test_a_call_through_a_pointer_costs_the_registers_of_any_function_of_the_file(how: str, registers: int):
    built = compile_hip(PRELUDE + CALL_THROUGH_A_POINTER, "gfx942", (*QUIET, f"-DHOW={how}"))
    assert built.status == 0, built.diagnostics
    counts = dict(re.findall(r"\.name: +(\w+)\n(?:.*\n)*?.*\.vgpr_count: +(\d+)", built.text))
    assert (counts["caller"], counts["plain"]) == (str(registers), "2")


def test_an_operand_of_128_bits_is_four_registers():
    block = 'KERNEL void k(TYPE *p) { TYPE x = p[LANE]; asm volatile("; operand %0" :: "v"(x)); }'
    for name in ("f4", "__int128"):
        text = compile_hip(PRELUDE + block, "gfx942", (*QUIET, f"-DTYPE={name}")).text
        assert re.search(r"; operand v\[0:3\]", text)
