"""A problem of several launches, with workspace, dynamic LDS, whole numbers and a tensor that changes in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import UsageError
from kbserver.ops import profile_kernel, verify_kernel

pytest.importorskip("llvmlite")

TASK = """
name: bins
title: Numbers counted by bin, in two launches
reference: ./reference.py
problem:
  dtype: i32
  tensors:
    x: {axes: N, size: [N], role: input, fill: {kind: integers, low: 0, high: B}}
    partial: {axes: GB, size: [G, B], role: scratch, dtype: u32}
    total: {axes: B, size: [B], role: inout, dtype: u64, fill: {kind: integers, low: 0, high: 9}}
    share: {axes: B, size: [B], role: output, dtype: f64}
shapes: {tiny: {N: 1000, B: 16}, large: {N: 100000, B: 64}}
derived: {G: "ceil(N / 512)"}
held_out: {N: [500, 1500], B: [2, 60]}
tolerance: {exact: true, rule: "equal; shares are one division", reason: whole numbers}
main: bins
variants:
  - name: bins
    source: bins.hip
    launches:
      - {entry: count, grid: [G, 1, 1], block: [256, 1, 1], arguments: [x, partial, "i32:N", "i32:B"], lds: "4 * B"}
      - {entry: add, grid: [1, 1, 1], block: [64, 1, 1],
         arguments: [partial, total, share, "i32:G", "i32:B", "f64:N"]}
    arches: [gfx942, gfx950]
    requires: ["B <= 64"]
"""
REFERENCE = """
import numpy as np


def exact(inputs, sizes):
    found = np.bincount(inputs["x"], minlength=sizes["B"])
    return {"total": inputs["total"] + found.astype(np.uint64), "share": found / sizes["N"]}
"""
KERNEL = """
#include <hip/hip_runtime.h>

extern "C" __global__ __launch_bounds__(256) void count(const int* x, unsigned* partial, int n, int bins) {
    extern __shared__ unsigned mine[];
    for (int i = threadIdx.x; i < bins; i += 256) mine[i] = 0;
    __syncthreads();
    const int end = min(n, int(blockIdx.x + 1) * 512);
    for (int i = blockIdx.x * 512 + threadIdx.x; i < end; i += 256) atomicAdd(mine + x[i], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += 256) partial[blockIdx.x * bins + i] = mine[i];
}

extern "C" __global__ __launch_bounds__(64) void add(const unsigned* partial, unsigned long long* total, double* share,
                                                     int groups, int bins, double n) {
    const int bin = threadIdx.x;
    if (bin >= bins) return;
    unsigned sum = 0;
    for (int i = 0; i < groups; ++i) sum += partial[i * bins + bin];
    total[bin] += sum;
    share[bin] = sum / n;
}
"""


def written(folder: Path, kernel: str = KERNEL) -> dict[str, str]:
    (folder / "task.yaml").write_text(TASK)
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "bins.hip").write_text(kernel)
    return {"path": str(folder / "bins.hip"), "task": str(folder / "task.yaml")}


def test_launches_run_in_order_over_the_same_buffers(tmp_path: Path) -> None:
    report = verify_kernel(**written(tmp_path), threads=1)
    assert report.verdict == "PASS", (report.reason, report.findings)
    assert report.elements > 8 * 32 and set(report.shapes) == {"tiny", "held-out"}
    assert report.shapes["tiny"] == {"N": 1000, "B": 16}


@pytest.mark.parametrize(
    ("change", "output"),
    [
        (("partial[i * bins + bin]", "partial[i * bins + (bin ^ 1)]"), "total"),
        (("total[bin] += sum", "total[bin] = sum"), "total"),
        (("i < bins; i += 256) mine[i] = 0", "i < bins; i += 256) mine[i] = i == 3"), "total"),
        (("i < groups; ++i", "i <= groups; ++i"), None),
        (("share[bin] = sum / n", "share[bin] = float(sum) / float(n)"), "share"),
    ],
)
def test_what_is_wrong_in_any_launch_or_output_is_found(
    tmp_path: Path, change: tuple[str, str], output: str | None
) -> None:
    assert change[0] in KERNEL
    report = verify_kernel(**written(tmp_path, KERNEL.replace(*change)), threads=1)
    assert report.verdict == "FAIL"
    checks = {finding.check for finding in report.findings}
    assert "wrong_result" in checks if output else "out_of_range" in checks
    if output:
        assert any(finding.where == f"tiny, {output}" for finding in report.findings)


def test_a_profile_counts_one_launch_and_says_so(tmp_path: Path) -> None:
    where = written(tmp_path)
    report = profile_kernel(**where, threads=1)
    assert report.grid == [2, 1, 1] and report.lds is not None
    assert "bins is 2 launches (count, add); this is count" in report.notes
    with pytest.raises(UsageError, match="2 launches"):
        profile_kernel(**where, compare=where["path"], threads=1)
