"""`kb compile --compare BEFORE AFTER`: two builds side by side, for names, files and text."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import UnknownName, UsageError
from kbserver.ops import compile_kernel
from kbserver.render import render, render_plain

SMALL = 'extern "C" __global__ void __launch_bounds__(64) k(float *p) { p[threadIdx.x] = 1.0f; }\n'
LDS = """
extern "C" __global__ void __launch_bounds__(64) k(float *p) {
  __shared__ float tile[1024];
  tile[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
HEAD = "#include <hip/hip_runtime.h>\n"


def test_named_kernels_stand_side_by_side_and_the_one_after_is_the_result() -> None:
    report = compile_kernel(name="step5_sgb", compare="step3_nchw_lds", arch="gfx950")
    found = report.comparison
    assert found is not None
    assert (found.before, found.after, report.source) == ("step3_nchw_lds", "step5_sgb", "kernel:step5_sgb")
    own = compile_kernel(name="step3_nchw_lds", arch="gfx950")
    rows = {row.figure: row for row in found.figures}
    assert found.before_ref == f"build:{own.build_id}" and found.after_ref == f"build:{report.build_id}"
    assert own.kernels[0].vgprs is not None and own.kernels[0].agprs is not None
    assert rows["VGPRs + AGPRs"].before == own.kernels[0].vgprs + own.kernels[0].agprs
    assert rows["LDS bytes"].change_percent == 0.0
    text = render_plain(render(report))
    assert f"{found.verdict}: step5_sgb against step3_nchw_lds, resources" in text
    assert "not timed" in text and "faster" not in text.replace("tells which is faster", "")


def test_a_file_is_compared_with_a_file(tmp_path: Path) -> None:
    (tmp_path / "before.hip").write_text(HEAD + SMALL)
    (tmp_path / "after.hip").write_text(HEAD + LDS)
    found = compile_kernel(path=str(tmp_path / "after.hip"), compare=str(tmp_path / "before.hip")).comparison
    assert found is not None
    rows = {row.figure: (row.before, row.after) for row in found.figures}
    assert rows["LDS bytes"] == (0.0, 4096.0)
    assert "LDS bytes from 0" in found.reason


def test_several_kernels_without_a_name_cannot_be_compared(tmp_path: Path) -> None:
    path = tmp_path / "two.hip"
    path.write_text(HEAD + SMALL + SMALL.replace(" k(", " l("))
    with pytest.raises(UsageError, match="which kernel is to be compared"):
        compile_kernel(path=str(path), compare="step1_naive")


def test_an_unknown_kernel_to_compare_with_is_named() -> None:
    with pytest.raises(UnknownName, match="step9"):
        compile_kernel(name="step1_naive", compare="step9")
