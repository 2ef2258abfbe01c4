"""A copy of doubles beside AMD's record of the same work: where both count one thing, they must agree to the digit.

The record: 16,384 wavefronts, one contiguous load and store of 8 bytes a lane each (rocprof-compute-test-data,
dispatch_0 and vcopy). Counts below are its sums.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.ops import profile_kernel
from kbserver.render import render, render_plain
from kbserver.runs.profile_report import ProfileReport

WAVES = 16_384
HEADER = "Dispatch_Id,Kernel_Name,Grid_Size,Workgroup_Size,Counter_Name,Counter_Value\n"
KERNEL = """#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(256) vecCopy(const double* a, double* b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) b[i] = a[i];
}
"""
TASK = """name: copy
title: copy of doubles
reference: ./reference.py
problem:
  dtype: f64
  tensors:
    a: {axes: N, size: [N], role: input}
    b: {axes: N, size: [N], role: output}
shapes:
  tiny: {N: 1024}
tolerance: {exact: true, rule: "equal", reason: nothing is computed}
variants:
  - {name: copy, source: copy.hip, entry: vecCopy, block: [256, 1, 1], grid: ["ceil(N / 256)", 1, 1],
     arguments: [a, b, "i32:N"], arches: [gfx90a, gfx942, gfx950]}
"""


def beside(folder: Path, arch: str, counters: dict[str, float]) -> ProfileReport:
    """Count the copy and put a profile with these sums of AMD's launch beside it."""
    (folder / "copy.hip").write_text(KERNEL)
    (folder / "task.yaml").write_text(TASK)
    (folder / "reference.py").write_text("def exact(inputs, sizes):\n    return {'b': inputs['a']}\n")
    name = '"vecCopy(double*, double*, double*, int, int) [clone .kd]"'
    rows = "".join(f"1,{name},1048576,256,{counter},{value}\n" for counter, value in counters.items())
    (folder / "p.csv").write_text(HEADER + rows)
    return profile_kernel(
        path=str(folder / "copy.hip"), task=str(folder / "task.yaml"), arch=arch, sample="all", threads=1,
        from_path=str(folder / "p.csv"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arch", "requests", "lines"),
    [("gfx90a", 131_072, 8), ("gfx942", 65_536, 4), ("gfx950", 65_536, 4)],  # MI200, MI300X, MI350
)
def test_read_requests_to_l2_are_the_lines_that_loads_touch(
    arch: str, requests: int, lines: int, tmp_path: Path
) -> None:
    pytest.importorskip("llvmlite")
    report = beside(tmp_path, arch, {"SQ_WAVES": WAVES, "TCP_TCC_READ_REQ_sum": requests})
    assert report.imported is not None
    (found,) = [one for one in report.imported.compared if one.counter == "TCP_TCC_READ_REQ_sum"]
    assert (found.imported, found.emulated, found.ratio) == (lines, lines, 1.0)
    assert "cache lines that loads touch; the emulator counts what wavefronts ask for" in (found.remark or "")


def test_lookups_of_l1_are_not_compared_and_why_is_said(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    counters = {"SQ_WAVES": WAVES, "SQ_INSTS_VMEM": 32_768, "TCP_TOTAL_CACHE_ACCESSES_sum": 524_288}
    report = beside(tmp_path, "gfx942", counters)
    assert report.imported is not None
    assert {one.counter: one.ratio for one in report.imported.compared} == {"SQ_INSTS_VMEM": 1.0}
    text = render_plain(render(report))
    assert (
        "note: TCP_TOTAL_CACHE_ACCESSES_sum: not compared: it counts lookups, 16 for a contiguous instruction" in text
    )


@pytest.mark.parametrize(
    ("arch", "counters", "said"),
    [
        # 65,640 requests of 128 bytes, as versions before 2026 count them on gfx950 and as later ones do.
        ("gfx950", {"FETCH_SIZE": 4102.5, "TCC_EA0_RDREQ_sum": 65_640}, True),
        ("gfx950", {"FETCH_SIZE": 8205, "TCC_EA0_RDREQ_sum": 65_640}, False),
        ("gfx90a", {"FETCH_SIZE": 8192.5, "TCC_EA_RDREQ_sum": 131_080}, False),  # MI200 has no requests of 128 bytes
    ],
)
def test_a_ratio_of_bytes_that_may_be_half_says_so(
    arch: str, counters: dict[str, float], said: bool, tmp_path: Path
) -> None:
    pytest.importorskip("llvmlite")
    report = beside(tmp_path, arch, {"SQ_WAVES": WAVES, **counters})
    assert report.imported is not None
    (found,) = [one for one in report.imported.compared if one.counter == "FETCH_SIZE"]
    assert found.emulated == 512 and found.imported == round(counters["FETCH_SIZE"] * 1024 / WAVES, 4)
    assert ("may be half" in (found.remark or "")) == said
