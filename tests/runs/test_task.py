"""Task files are read strictly; the shipped one is whole."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kbserver.core.errors import ContentError, UnknownName, UsageError
from kbserver.core.paths import Roots, use_roots
from kbserver.runs.expression import evaluate
from kbserver.runs.task import find_kernel, load_task, tasks

ROOT = Path(__file__).resolve().parents[2]


def test_the_case_study_has_its_five_kernels_their_plain_forms_steps_6_and_7_and_shapes() -> None:
    task = tasks()["depthwise_conv3d"]
    assert [variant.name for variant in task.variants] == [
        "step1_naive", "step2_nhwc", "step3_nchw_lds", "step4_mfma", "step5_sgb", "step3_plain", "step5_plain",
        "step6_dot2", "step6_packed", "step7_toeplitz",
    ]  # fmt: skip
    assert dict(task.dimensions("paper")) == {"C": 512, "D": 61, "H": 45, "W": 80, "OD": 59, "OH": 45, "OW": 80}
    assert {"tiny", "paper"} <= set(task.shapes)


def test_expressions_of_a_variant_are_evaluated_for_a_shape() -> None:
    task, variant = find_kernel("step3_nchw_lds")
    assert task.defines(variant, "paper") == {"KB_DEPTH": "61", "KB_HEIGHT": "45", "KB_WIDTH": "80"}
    assert variant.workgroup == 256
    assert [evaluate(part, task.dimensions("paper")) for part in variant.grid] == [59, 512, 1]


def test_an_unknown_kernel_or_shape_has_near_names() -> None:
    with pytest.raises(UnknownName) as error:
        find_kernel("step3_nchw_ldz")
    assert "step3_nchw_lds" in (error.value.hint or "")
    task, variant = find_kernel("step1_naive")
    with pytest.raises(UnknownName, match="unknown shape 'papper'"):
        task.defines(variant, "papper")


def base() -> dict:
    return yaml.safe_load(
        """
name: sample
title: A sample
reference: sample
problem:
  dtype: f32
  accumulate: f32
  tensors: {x: {axes: N, size: [N], role: input}, y: {axes: N, size: [N], role: output}}
shapes: {tiny: {N: 64}, large: {N: 4096}}
tolerance: {against: float64, rule: "exact", relative: 0.0, absolute: 0.0, reason: "copies"}
variants:
  - name: copy
    source: copy.hip
    entry: copy
    layout: {x: N, y: N}
    block: [64, 1, 1]
    grid: ["ceil(N / 64)", "1", "1"]
    defines: {SIZE: N}
    arguments: [x, y, "i32:N"]
    arches: [gfx950]
    requires: ["N % 64 == 0"]
"""
    )


def write(folder: Path, data: object, source: str = "copy.hip") -> Path:
    (folder / source).write_text("// a kernel\n")
    (folder / "task.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    return folder / "task.yaml"


def test_a_well_made_task_loads_without_published_figures(tmp_path: Path) -> None:
    task = load_task(write(tmp_path, base()))
    assert task.published_shape == "large"
    assert task.defines(task.variant("copy"), "tiny") == {"SIZE": "64"}


def changed(path: str, value: object) -> dict:
    data = base()
    *parents, last = path.split(".")
    target = data
    for key in parents:
        target = target[int(key)] if key.isdigit() else target[key]
    target[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("extra", 1, "extra"),
        ("variants.0.blok", 1, r"variants\.copy\.blok"),
        ("variants.0.block", [64, 1], r"variants\.copy\.block"),
        ("variants.0.grid", ["ceil(M / 64)", "1", "1"], "unknown name 'M'"),
        ("variants.0.grid", ["N / 3", "1", "1"], "not a whole number"),
        ("variants.0.defines", {"SIZE": "__import__('os')"}, "not allowed"),
        ("variants.0.requires", ["N ** 9999999 == 0"], "not allowed"),
        ("variants.0.source", "gone.hip", "no source file"),
        ("variants.0.source", "../secret.hip", "not a path inside"),
        ("variants.0.arches", ["gfx9999"], "unknown arch"),
        ("variants.0.layout", {"z": "N"}, "unknown tensors z"),
        ("variants.0.arguments", ["x", "z"], "unknown tensors z"),
        ("variants.0.published", {"source": "s", "arch": "gfx950", "figures": {"vgpr": 1}}, "figures.vgpr"),
        ("variants.0.published", {"source": "s", "arch": "gfx950", "figures": {}, "per_wave": {"A": "x"}}, "A must be"),
        ("variants", [], "needs shapes and variants"),
        ("shapes", {}, "needs shapes and variants"),
        ("folder", "/etc", "expected a mapping"),
    ],
)
def test_what_is_wrong_is_an_error_that_names_file_and_entry(
    tmp_path: Path, path: str, value: object, message: str
) -> None:
    with pytest.raises(ContentError, match=message) as error:
        load_task(write(tmp_path, changed(path, value)))
    assert "task.yaml" in (error.value.where or "")


def test_two_variants_of_one_name_are_refused(tmp_path: Path) -> None:
    data = base()
    data["variants"] += base()["variants"]
    with pytest.raises(ContentError, match="different names"):
        load_task(write(tmp_path, data))


def test_a_shape_that_a_variant_cannot_do_is_refused(tmp_path: Path) -> None:
    task = load_task(write(tmp_path, changed("shapes", {"odd": {"N": 65}})))
    with pytest.raises(UsageError, match="needs N % 64 == 0"):
        task.defines(task.variant("copy"), "odd")


def test_reference_kernels_are_found_by_folder_task_and_variant(tmp_path: Path, roots: Roots) -> None:
    for part in ("kernels", "gpu_arch"):
        (tmp_path / part).symlink_to(roots.content / part)
    (tmp_path / "reference_kernels" / "sample").mkdir(parents=True)
    write(tmp_path / "reference_kernels" / "sample", base())
    with use_roots(Roots(tmp_path, roots.workspace, "test")):
        assert find_kernel("copy")[1] == find_kernel("sample")[1]
        assert find_kernel("step1_naive")[0].name == "depthwise_conv3d"


@pytest.mark.parametrize(
    ("expression", "value"),
    [("ceil(7 / 2)", 4), ("floor(7 / 2)", 3), ("N * (M - 1) // 2", 12), ("-N + 9", 1), ("N % 4 == 0", True),
     ("max(N, M) >= 8", True), (5, 5), ("min(N, M)", 4)],
)  # fmt: skip
def test_expressions_are_exact_whole_numbers(expression: str | int, value: int | bool) -> None:
    assert evaluate(expression, {"N": 8, "M": 4}) == value


@pytest.mark.parametrize(
    "expression",
    ["", "N +", "N.real", "f(N)", "[N]", "N if N else 0", "lambda: 1", "1 / 0", "'a'", "ceil()", "N == 1 == 1",
     "(" * 101 + "1" + ")" * 101, "1 +" * 70 + "1", "True", "N = 2"],
)  # fmt: skip
def test_anything_else_is_refused(expression: str) -> None:
    with pytest.raises(ValueError):
        evaluate(expression, {"N": 8})
