"""What the pages on inline assembly, device code and assembly kernels say about messages, settled by the compiler."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.toolchain.clang import needs_clang

pytestmark = needs_clang

CLANG = (sys.executable, "-m", "ziglang", "clang")
HIP = ("-x", "hip", "-nogpuinc", "-nogpulib", "--offload-arch=gfx942")
MARKS = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
"""


def clang(*arguments: str, text: str, folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    path = folder / name
    path.write_text(text)
    return subprocess.run((*CLANG, *arguments, str(path)), capture_output=True, text=True, timeout=120, check=False)


def device(text: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    arguments = (*HIP, "--cuda-device-only", "-O3", "-S", "-o", "-", *flags)
    return clang(*arguments, text=MARKS + text, folder=folder, name="kernel.hip")


def assembled(line: str, target: str, folder: Path) -> str:
    arguments = ("-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-c", "-o", str(folder / "k.o"))
    return clang(*arguments, text=line + "\n", folder=folder, name="kernel.s").stderr


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ('unsigned x; asm volatile("mov.u32 %0, %%laneid;" : "=r"(x)); o[0] = x;', "invalid instruction"),
        ('asm volatile("bar.sync 1, 128;");', "invalid instruction"),
        (
            'unsigned x; asm volatile("mov.u32 %0, %laneid;" : "=v"(x)); o[0] = x;',
            "invalid % escape in inline assembly string",
        ),
        ('asm volatile("prefetch.global.L2 [%0];" ::"l"(o));', "invalid input constraint 'l' in asm"),
        ('float f; asm volatile("ex2 %0, %0;" : "=f"(f)); o[0] = f;', "invalid output constraint '=f' in asm"),
    ],
)
def test_ptx_in_an_asm_block_is_refused_with_the_message_of_the_page(block: str, message: str, tmp_path: Path):
    text = MARKS + f'extern "C" __global__ void k(unsigned *o) {{ {block} }}'
    arguments = (*HIP, "--cuda-device-only", "-c", "-o", str(tmp_path / "k.o"))
    built = clang(*arguments, text=text, folder=tmp_path, name="kernel.hip")
    assert built.returncode != 0
    assert message in built.stderr


@pytest.mark.parametrize("marks", ["__host__", "__host__ __device__"])
def test_a_device_builtin_in_a_function_that_the_host_pass_emits_is_an_error(marks: str, tmp_path: Path):
    text = MARKS + f"{marks} int f(int x) {{ return __builtin_amdgcn_readfirstlane(x); }}"
    arguments = (*HIP, "--cuda-host-only", "-S", "-o", "-")
    built = clang(*arguments, text=text, folder=tmp_path, name="both.hip")
    expected = f"reference to __device__ function '__builtin_amdgcn_readfirstlane' in {marks} function"
    assert expected in built.stderr


def test_device_code_is_cpp17_by_default_and_takes_cpp20(tmp_path: Path):
    assert device("static_assert(__cplusplus == 201703L);", tmp_path).returncode == 0
    modern = """
    template <class T> concept Adds = requires(T a) { a + a; };
    template <Adds T> __device__ constexpr T twice(T a) { return a + a; }
    __device__ consteval int square(int a) { return a * a; }
    struct Point { int x = 0, y = 0; };
    __global__ void k(int *o) {
      Point p{.x = 3, .y = square(2)};
      auto add = []<class T>(T t) { return twice(t); };
      if constexpr (sizeof(int) == 4) o[0] = add(p.x) + p.y;
    }
    """
    assert device(modern, tmp_path, "-std=c++20").returncode == 0


def test_a_byte_written_with_op_sel_is_followed_by_one_wait_state_before_its_reader(tmp_path: Path):
    built = device(
        'extern "C" __global__ void k(int *o, float a) {'
        " int t = __builtin_amdgcn_workitem_id_x(), v = o[t];"
        " v = __builtin_amdgcn_cvt_sr_fp8_f32(a * t, v, v, 2); o[t] = v + 1; }",
        tmp_path,
    )
    assert re.search(r"v_cvt_sr_fp8_f32 .*op_sel.*\n\s*s_nop 0\n\s*v_add_u32", built.stdout)


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        (".amdhsa_accum_offset 8", ""),
        (".amdhsa_accum_offset 6", "accum_offset should be in range [4..256] in increments of 4"),
        (".amdhsa_accum_offset 260", "accum_offset should be in range [4..256] in increments of 4"),
        (".amdhsa_accum_offset 64", "accum_offset exceeds total VGPR allocation"),
        ("", ".amdhsa_accum_offset directive is required"),
    ],
)
def test_the_assembler_checks_the_form_of_accum_offset_only(directive: str, message: str, tmp_path: Path):
    text = f"""
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
k:
  v_accvgpr_write_b32 a3, v7
  s_endpgm
.rodata
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 12
  .amdhsa_next_free_sgpr 8
  {directive}
.end_amdhsa_kernel
"""
    said = assembled(text, "gfx942", tmp_path)
    assert message in said if message else said == ""


@pytest.mark.parametrize(
    ("target", "refused"), [("gfx908", False), ("gfx90a", True), ("gfx942", True), ("gfx950", True)]
)
def test_vgpr_tuples_start_at_an_even_register_from_gfx90a_on(target: str, refused: bool, tmp_path: Path):
    said = assembled("global_load_dwordx2 v[3:4], v[0:1], off", target, tmp_path)
    assert ("invalid operand for instruction" in said) is refused


def test_v_cmpx_names_its_mask_on_gfx9_and_not_on_rdna(tmp_path: Path):
    line = "v_cmpx_gt_f32_e32 vcc, v4, v8"
    assert assembled(line, "gfx942", tmp_path) == ""
    assert "operands are not valid for this GPU or mode" in assembled(line, "gfx1030", tmp_path)


def test_min_of_two_types_is_refused_with_the_message_of_the_page(tmp_path: Path):
    built = device(
        "template <class T> __device__ T low(T a, T b) { return a < b ? a : b; }"
        "__global__ void k(float *o, double d) { o[0] = low(o[0], d); }",
        tmp_path,
    )
    assert "deduced conflicting types for parameter 'T' ('float' vs. 'double')" in built.stderr


@pytest.mark.parametrize(("version", "first"), [("4", "hidden_global_offset_x"), ("5", "hidden_block_count_x")])
def test_hidden_arguments_of_code_object_4_begin_otherwise_than_those_of_5(version: str, first: str, tmp_path: Path):
    built = device(
        'extern "C" __global__ void k(int *o) {'
        " o[0] = *(const __attribute__((address_space(4))) int *)__builtin_amdgcn_implicitarg_ptr(); }",
        tmp_path,
        f"-mcode-object-version={version}",
    )
    assert re.findall(r"hidden_\w+", built.stdout)[0] == first


@pytest.mark.parametrize(("target", "waits"), [("gfx90a", False), ("gfx942", True), ("gfx950", True)])
def test_readfirstlane_of_a_register_just_written_waits_one_state_from_gfx942_on(
    target: str, waits: bool, tmp_path: Path
):
    built = device(
        'extern "C" __global__ void k(int *o, int k) {'
        " int t = __builtin_amdgcn_workitem_id_x(); __builtin_amdgcn_sched_barrier(0);"
        " int x = __builtin_amdgcn_update_dpp(0, t, 0x111, 0xf, 0xf, true);"
        " int s = __builtin_amdgcn_readfirstlane(x); __builtin_amdgcn_sched_barrier(0); if (s == k) o[0] = s; }",
        tmp_path,
        f"--offload-arch={target}",
        *(() if target == "gfx942" else ("--no-offload-arch=gfx942",)),
    )
    assert bool(re.search(r"v_mov_b32_dpp .*\n\s*s_nop 0\n\s*v_readfirstlane_b32", built.stdout)) is waits


def test_a_comment_by_asm_volatile_stands_in_the_assembly(tmp_path: Path):
    built = device(
        'extern "C" __global__ void k(float *o, const float *a, int n) { float s = 0; asm volatile("; LOOP BEGIN");'
        ' for (int i = 0; i < n; i++) s += a[i]; asm volatile("; LOOP END"); o[0] = s; }',
        tmp_path,
    )
    begin, end = built.stdout.index("; LOOP BEGIN"), built.stdout.index("; LOOP END")
    assert "s_cbranch_scc" in built.stdout[begin:end]
