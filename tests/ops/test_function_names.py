"""A C++ kernel is called by its C++ name in every operation that takes one; no `extern "C"` is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import UsageError
from kbserver.ops import compile_kernel, inspect_assembly, profile_kernel, verify_kernel
from kbserver.ops.compile_compare import compare_builds

KERNELS = """#include <hip/hip_runtime.h>
namespace ns {
template <typename T, int N> __global__ void __launch_bounds__(256) scale(const T* a, T* b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) b[i] = a[i] * N;
}
}
template __global__ void ns::scale<float, 4>(const float*, float*, int);
#ifdef TWO
template __global__ void ns::scale<double, 4>(const double*, double*, int);
#endif
__device__ __attribute__((noinline)) float helper(float x) { return x * x + 1; }
__global__ void bfi(unsigned* p) { p[threadIdx.x] = (p[0] & 0xff) | (p[1] & ~0xff); }
__global__ void calls(float* p) { p[threadIdx.x] = helper(p[0]); }
"""
SCALE = "_ZN2ns5scaleIfLi4EEEvPKT_PS1_i"
TASK = """name: scale
title: four times
reference: ./reference.py
problem:
  dtype: f32
  tensors:
    a: {{axes: N, size: [N], role: input}}
    b: {{axes: N, size: [N], role: output}}
shapes:
  tiny: {{N: 1000}}
tolerance: {{exact: true, rule: "equal", reason: a power of two}}
variants:
  - {{name: fourfold, source: k.hip, entry: "{entry}", block: [256, 1, 1], grid: ["ceil(N / 256)", 1, 1],
     arguments: [a, b, "i32:N"], arches: [gfx942, gfx950], defines: {{{defines}}}}}
"""


def files(folder: Path, entry: str, defines: str = "") -> dict[str, str]:
    (folder / "k.hip").write_text(KERNELS)
    (folder / "task.yaml").write_text(TASK.format(entry=entry, defines=defines))
    (folder / "reference.py").write_text("def exact(inputs, sizes):\n    return {'b': 4 * inputs['a']}\n")
    return {"path": str(folder / "k.hip"), "task": str(folder / "task.yaml")}


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("bfi", "_Z3bfiPj"), ("_Z3bfiPj", "_Z3bfiPj"), ("helper", "_Z6helperf"), ("calls", "_Z5callsPf"),
        ("scale", SCALE), ("ns::scale", SCALE),
    ],
)  # fmt: skip
def test_assembly_of_a_function_is_found_by_its_name(name: str, symbol: str, tmp_path: Path) -> None:
    path = files(tmp_path, "scale")["path"]
    found = inspect_assembly(path=path, kernel=name)
    assert found.kernel == symbol
    assert found.total == inspect_assembly(path=path, kernel=symbol).total > 0


def test_instances_that_share_a_name_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "k.hip"
    path.write_text("#define TWO\n" + KERNELS)
    with pytest.raises(UsageError, match="2 functions are called 'scale'") as caught:
        inspect_assembly(path=str(path), kernel="scale")
    assert SCALE in (caught.value.hint or "") and "_ZN2ns5scaleIdLi4EEEvPKT_PS1_i" in (caught.value.hint or "")


@pytest.mark.parametrize("entry", ["scale", "ns::scale", SCALE])
def test_a_task_names_its_kernel_as_the_source_does(entry: str, tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    given = files(tmp_path, entry)
    verified = verify_kernel(**given, threads=1)
    assert (verified.verdict, verified.findings) == ("PASS", [])
    report = profile_kernel(**given, threads=1)
    assert (report.kernel, report.waves) == ("fourfold", 16)
    assert report.global_ is not None and report.global_.bytes_written == 4 * 1000 / 16


def test_an_entry_of_several_kernels_is_refused_with_their_symbols(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    given = files(tmp_path, "scale", defines="TWO: '1'")
    with pytest.raises(UsageError, match="2 kernels are called 'scale'") as caught:
        profile_kernel(**given, threads=1)
    assert SCALE in (caught.value.hint or "")


PROFILE = "Dispatch_Id,Kernel_Name,Grid_Size,Workgroup_Size,Counter_Name,Counter_Value\n"
NAME = '"void ns::scale<float, 4>(float const*, float*, int) [clone .kd]"'
OTHER = '"void ns::scale<double, 4>(double const*, double*, int) [clone .kd]"'


@pytest.mark.parametrize("entry", ["scale", SCALE])
@pytest.mark.parametrize("name", [NAME, f"{SCALE}.kd"])  # as rocprofv3 writes it, and with -M
def test_a_profile_knows_the_kernel_under_either_name(entry: str, name: str, tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    (tmp_path / "p.csv").write_text(PROFILE + f"1,{name},1024,256,SQ_INSTS_VMEM,32\n")
    report = profile_kernel(**files(tmp_path, entry), threads=1, from_path=str(tmp_path / "p.csv"))
    assert report.imported is not None
    assert {one.counter: one.ratio for one in report.imported.compared} == {
        "SQ_INSTS_VMEM": 1.0
    }  # a load and a store in 16 wavefronts


def test_instances_in_a_profile_are_told_apart_by_the_symbol_or_refused(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    rows = f"1,{OTHER},1024,256,SQ_INSTS_VMEM,64\n2,{NAME},1024,256,SQ_INSTS_VMEM,32\n"
    (tmp_path / "p.csv").write_text(PROFILE + rows)
    with pytest.raises(UsageError, match="the profile has 2 kernels called scale"):
        profile_kernel(**files(tmp_path, "scale"), threads=1, from_path=str(tmp_path / "p.csv"))


@pytest.mark.parametrize("entry", ["scale", SCALE, "ns::scale"])
def test_the_command_lines_of_a_measurement_name_the_demangled_kernel(entry: str, tmp_path: Path) -> None:
    report = profile_kernel(**files(tmp_path, entry), threads=1, device="hip")
    assert report.profiler is not None
    assert "--kernel-include-regex '.*(scale).*'" in report.profiler.passes[1].command
    assert f'"slot": "{SCALE}"' in Path(report.profiler.folder, "launch.json").read_text()


def test_two_builds_are_compared_by_a_kernels_name(tmp_path: Path) -> None:
    report = compile_kernel(path=files(tmp_path, "scale")["path"])
    assert len(report.kernels) == 3
    compared = compare_builds(report, report, ("scale", SCALE))
    code = next(one for one in compared.figures if one.figure == "instructions in the code")
    (scale,) = [one for one in report.kernels if one.name == SCALE]
    assert (code.before, code.after) == (scale.instructions, scale.instructions)
    with pytest.raises(UsageError, match="which kernel is to be compared"):
        compare_builds(report, report, (None, "scale"))
