"""What the page on build and link problems says, settled by the compiler of the pip package."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.toolchain.clang import needs_clang

pytestmark = needs_clang

CLANG = (sys.executable, "-m", "ziglang", "clang", "-x", "hip", "-nogpuinc", "-nogpulib", "--offload-arch=gfx942")

KERNELS = """
#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
typedef struct stream *hipStream_t;
typedef int hipError_t;
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, hipStream_t);
extern "C" hipError_t __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, hipStream_t = 0);
extern "C" hipError_t __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, hipStream_t *);
__global__ void plain(float *p) { p[0] = 1; }
inline __global__ void marked(float *p) { p[0] = 1; }
static __global__ void own(float *p) { p[0] = 1; }
namespace { __global__ void unnamed(float *p) { p[0] = 1; } }
template <class T> __global__ void generic(T *p) { p[0] = 1; }
void launch(float *p) {
  dim3 one{1, 1, 1};
  plain<<<one, one>>>(p); marked<<<one, one>>>(p); own<<<one, one>>>(p);
  unnamed<<<one, one>>>(p); generic<<<one, one>>>(p);
}
"""


def clang(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run((*CLANG, *arguments), capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "kernels.hip"
    path.write_text(KERNELS)
    return str(path)


def test_a_plain_kernel_is_a_global_symbol_and_a_template_a_weak_one(source: str):
    built = clang("--cuda-host-only", "-O1", "-S", "-o", "-", source)
    assert built.returncode == 0, built.stderr
    assert "ignored 'inline' attribute on kernel function 'marked' [-Wcuda-compat]" in built.stderr
    shown = {name: kind for kind, name in re.findall(r"\.(globl|weak)\s+(\S*__device_stub__\S*)", built.stdout)}
    assert shown == {
        "_Z20__device_stub__plainPf": "globl",
        "_Z21__device_stub__markedPf": "weak",
        "_Z22__device_stub__genericIfEvPT_": "weak",
    }


def test_the_id_of_an_object_is_a_hash_of_path_and_options(source: str):
    def identity(*options: str) -> str:
        built = clang("--cuda-host-only", "-S", "-o", "-", *options, source)
        return re.findall(r"\.globl\s+__hip_cuid_(\w*)", built.stdout)[0]

    assert identity() == identity()
    assert identity() != identity("-O2")
    assert identity("-fuse-cuid=random") != identity("-fuse-cuid=random")
    assert identity("-fuse-cuid=none") == ""


@pytest.mark.parametrize(
    ("flags", "device", "host"),
    [
        (("-Xarch_device", "-O1"), ["-O1", "-O1"], "-O3"),
        (("-Xarch_host", "-O0"), ["-O3", "-O3"], "-O0"),
        (("-Xarch_gfx942", "-O2"), ["-O2", "-O3"], "-O3"),
    ],
)
def test_a_flag_can_be_given_to_some_passes_only(source: str, flags: tuple[str, str], device: list[str], host: str):
    shown = clang("--offload-arch=gfx950", "-O3", *flags, "-###", "-c", source).stderr
    passes = [line for line in shown.splitlines() if '"-cc1"' in line]
    levels = [re.findall(r'"(-O\d)"', line)[0] for line in passes]
    assert levels == [*device, host]


def test_there_is_no_target_that_means_all(source: str):
    refused = clang("--offload-arch=all", "-c", source)
    assert "unsupported HIP gpu architecture: all" in refused.stderr


def test_without_a_target_clang_compiles_for_an_old_one_and_without_a_level_at_o0(source: str):
    words = ("-x", "hip", "-nogpuinc", "-nogpulib", "--cuda-device-only", "-c", "-###", source)
    shown = subprocess.run((*CLANG[:4], *words), capture_output=True, text=True, timeout=120, check=False).stderr
    assert '"-target-cpu" "gfx906"' in shown
    assert '"-O' not in shown.split('"-cc1"')[1].split("\n")[0]


def test_device_code_of_several_files_is_linked_with_lto(source: str):
    shown = clang("-fgpu-rdc", "--hip-link", "-O3", "-###", source).stderr
    assert '"-plugin-opt=O3"' in shown
    assert '"-plugin-opt=-amdgpu-internalize-symbols"' in shown


def test_the_number_of_device_threads_has_another_flag_than_amds():
    assert "unknown argument" in clang("-parallel-jobs=2", "-###", "-c", "k.hip").stderr
    assert "unknown argument" not in clang("--offload-jobs=2", "-###", "-c", "k.hip").stderr


def test_address_sanitizer_moves_lds_arrays_into_poisoned_global_memory(tmp_path: Path):
    path = tmp_path / "lds.hip"
    path.write_text(
        'extern "C" __attribute__((global)) void k(int *p, int n) {\n'
        "  __attribute__((shared)) static int s[64];\n"
        "  s[__builtin_amdgcn_workitem_id_x()] = p[0];\n"
        "  p[1] = s[n];\n"
        "}\n"
    )
    words = ("-x", "hip", "-nogpuinc", "-nogpulib", "--cuda-device-only", "-O3", "-fsanitize=address", "-S", "-o", "-")
    target = "--offload-arch=gfx942:xnack+"
    built = subprocess.run((*CLANG[:4], *words, target, str(path)), capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    assert {"__asan_malloc_impl", "__asan_poison_region"} <= set(re.findall(r"__asan_\w+", built.stdout))
    left = [int(size) for size in re.findall(r"\.amdhsa_group_segment_fixed_size (\d+)", built.stdout)]
    assert 0 < max(left) < 64 * 4
