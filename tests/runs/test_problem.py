"""Any problem can be written down: formats, sizes, fills, several outputs and launches; what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from kbserver.core.errors import ContentError
from kbserver.runs.acceptance import check_channel
from kbserver.runs.cases import FILLS, Case, Turn
from kbserver.runs.dtypes import find_dtype
from kbserver.runs.expression import number
from kbserver.runs.fills import filled, values
from kbserver.runs.problem import Fill, Problem, Tensor, Tolerance
from kbserver.runs.references.module import DenseChannel
from kbserver.runs.shapes import held_out
from kbserver.runs.slices import slicing_of
from kbserver.runs.stage import launches_of
from kbserver.runs.task import Task, load_task
from kbserver.runs.timing.run import one_launch

GENERAL = """
name: two_pass
title: Two launches over scratch
reference: transpose
problem:
  dtype: bf16
  constants: {eps: 0.001}
  tensors:
    x: {axes: MN, size: [M, N], role: input, fill: {kind: integers, low: 0, high: B}}
    partial: {axes: GB, size: ["G", B], role: scratch, dtype: u32}
    y: {axes: B, size: [B], role: output, dtype: u32, tolerance: {exact: true, rule: equal, reason: whole numbers}}
    z: {axes: NM, size: [N, M], role: inout}
derived: {G: "ceil(M * N / 256)", B: "G * 2"}
shapes: {tiny: {M: 16, N: 32}, large: {M: 1600, N: 3200}}
held_out: {M: [16, 64, 16], N: [32, 96, 32]}
tolerance: {rule: relative, relative: 0.01, reason: a sample}
main: twice
variants:
  - name: twice
    source: two.hip
    launches:
      - {entry: first, grid: [G, 1, 1], block: [256, 1, 1], arguments: [x, partial, "i32:M * N"], lds: "4 * B"}
      - {entry: second, grid: ["1", 1, 1], block: ["B", 1, 1], arguments: [partial, y, z, "f32:eps", "f64:1 / sqrt(4)"]}
    profiled: second
    arches: [gfx950]
    requires: ["M % 16 == 0"]
"""


def task_of(folder: Path, text: str = GENERAL, **changes: object) -> Task:
    (folder / "two.hip").write_text("// two kernels\n")
    data = {**yaml.safe_load(text), **changes}
    (folder / "task.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    return load_task(folder / "task.yaml")


def test_sizes_formats_and_launches_follow_from_a_shape(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    sizes = task.dimensions("tiny")
    assert dict(sizes) == {"M": 16, "N": 32, "G": 2, "B": 4}
    assert task.given(sizes) == {"M": 16, "N": 32}
    assert task.problem.shape("partial", sizes) == (2, 4)
    assert task.problem.results == ["y", "z"]
    # bf16 input once, u32 output once, bf16 inout twice; scratch is nobody's traffic but the kernel's.
    assert task.problem.nbytes(sizes) == 2 * 512 + 4 * 4 + 2 * 2 * 512
    variant = task.main_variant
    assert variant is not None and variant.entry == "second" and variant.entries == ["first", "second"]
    case = Case("tiny", sizes, (1,), (Turn("forward", True, FILLS[0]),))
    first, second = launches_of(task, variant, case, case.turns[0], 1, 1)
    assert (first.grid, first.block, first.dynamic_lds_bytes) == ((2, 1, 1), (256, 1, 1), 16)
    assert first.arguments == ("x", "partial", ("i32", 512))
    assert second.block == (4, 1, 1) and second.arguments[3:] == (("f32", 0.001), ("f64", 0.5))


def test_held_out_shapes_come_from_the_declared_ranges(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    variant = task.variants[0]
    found = [held_out(task, variant, task.dimensions("tiny"), seed) for seed in range(20)]
    assert {sizes["M"] for sizes in found if sizes} == {32, 48, 64}
    assert {sizes["N"] for sizes in found if sizes} == {64, 96}


def test_a_variant_of_several_launches_is_not_timed(tmp_path: Path) -> None:
    from kbserver.core.errors import UsageError
    from kbserver.runs.stage import Subject
    from kbserver.toolchain.sources import from_text

    task = task_of(tmp_path)
    with pytest.raises(UsageError, match="2 launches; timing measures one"):
        one_launch(Subject(task, task.variants[0], from_text("//"), "gfx950"))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("problem", "dtype"), "bf17", "unknown number format 'bf17'"),
        (("problem", "tensors", "x", "role"), "inptu", "unknown role 'inptu'"),
        (("problem", "tensors", "x", "fill"), "gaussian", "unknown fill 'gaussian'"),
        (("problem", "tensors", "x", "axes"), "MM", "one different letter"),
        (("problem", "tensors", "x", "slices"), "K", "no axis of MN"),
        (("problem", "tensors", "x", "size"), ["M", "N - 32"], "not all positive"),
        (("problem", "tensors", "x", "size"), ["M", "Q"], "unknown name 'Q'"),
        (("derived",), {"G": "M / 3", "B": "4"}, "not a whole number"),
        (("main",), "thrice", "main 'thrice' is no variant"),
        (("held_out",), {"M": [4]}, "held_out M"),
        (("shapes",), {"tiny": {"M": 16, "N": 32}, "other": {"M": 16}}, "same dimensions"),
    ],
)
def test_what_is_wrong_in_a_task_file_is_named(
    tmp_path: Path, place: tuple[str, ...], value: object, message: str
) -> None:
    data = yaml.safe_load(GENERAL)
    target = data
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    with pytest.raises((ContentError, ValueError), match=message):
        task_of(tmp_path, yaml.safe_dump(data, sort_keys=False)).dimensions("tiny")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"profiled": "third"}, "profiled 'third' is none of first, second"),
        ({"entry": "third"}, "belong into each of `launches`"),
        ({"layout": {"x": "MK"}}, "no permutation of x's axes"),
        ({"launches": []}, "needs entry, grid, block, arguments"),
        (
            {"launches": [{"entry": "a", "grid": [1, 1, 1], "block": [64, 1, 1], "arguments": ["u8:M"]}]},
            "types are i32",
        ),
    ],
)
def test_what_is_wrong_in_a_variant_is_named(tmp_path: Path, change: dict, message: str) -> None:
    data = yaml.safe_load(GENERAL)
    data["variants"][0].pop("profiled")
    data["variants"][0].update(change)
    with pytest.raises(ContentError, match=message):
        task_of(tmp_path, yaml.safe_dump(data, sort_keys=False))


def test_real_expressions_have_roots_and_logarithms() -> None:
    assert number("1 / sqrt(D)", {"D": 64}) == 0.125
    assert number("log2(N) * 2.5", {"N": 8}) == 7.5
    assert number("-1e-3", {}) == -0.001
    for wrong in ("1 / 0", "__import__('os')", "sqrt(-1)", "1e400"):
        with pytest.raises(ValueError):
            number(wrong, {})


@pytest.mark.parametrize(
    ("fill", "check"),
    [
        ({"kind": "integers", "low": 3, "high": 9}, lambda a: a.min() >= 3 and a.max() <= 8),
        ({"kind": "sorted", "low": 0, "high": 50}, lambda a: (np.diff(a, axis=-1) >= 0).all()),
        ({"kind": "permutation"}, lambda a: sorted(a.reshape(-1)) == list(range(a.size))),
        ({"kind": "uniform", "low": "-N", "high": "N"}, lambda a: np.abs(a).max() <= 64 and np.abs(a).max() > 32),
        ({"kind": "zero"}, lambda a: not a.any()),
        ({"kind": "spread"}, lambda a: np.abs(a).min() >= 2.0**-8 and np.abs(a).max() < 1),
        ({"kind": "whole"}, lambda a: set(np.unique(a)) <= set(range(-7, 8))),
    ],
)
def test_fills_are_what_they_say(fill: dict, check: object) -> None:
    made = values(Fill(**fill), (8, 64), np.random.default_rng(1), find_dtype("f32"), {"N": 64})
    assert made.shape == (8, 64) and check(made)  # type: ignore[operator]


def test_the_family_whole_makes_float_inputs_whole() -> None:
    problem = Problem(
        dtype="bf16",
        tensors={"a": Tensor(axes="K", size=(512,), role="input"), "c": Tensor(axes="K", size=(512,), role="output")},
    )
    made = filled(problem, {}, np.random.default_rng(2), "whole", {})["a"]
    numbers = find_dtype("bf16").decode(made)
    assert (numbers == np.round(numbers)).all() and np.abs(numbers).max() == 7


def test_slices_are_channels_rows_or_the_axis_that_is_named() -> None:
    conv = slicing_of(Tensor(axes="NCHW", size=(1, 4, 2, 3), role="output"), (1, 4, 2, 3))
    assert (conv.letter, conv.rest, conv.index(3, (1, 2))) == ("C", "HW", [0, 3, 1, 2])
    assert conv.view(np.zeros((1, 4, 2, 3))).shape == (4, 2, 3)
    rows = slicing_of(Tensor(axes="MN", size=(4, 5), role="output"), (4, 5))
    assert (rows.letter, rows.rest, rows.index(3, (1,))) == ("M", "N", [3, 1])
    heads = slicing_of(Tensor(axes="BHD", size=(2, 3, 4), role="output", slices="H"), (2, 3, 4))
    assert (heads.letter, heads.rest, heads.index(2, (1, 3))) == ("H", "BD", [1, 2, 3])
    assert slicing_of(Tensor(axes="N", size=(9,), role="output"), (9,)).letter is None


def test_whole_numbers_must_be_equal_and_floats_within_their_own_bound() -> None:
    equal = Tolerance(rule="equal", exact=True, reason="whole numbers")
    i32 = find_dtype("i32")
    exact = DenseChannel(np.array([1, -7, 2**31 - 1], np.int32), np.zeros(3))
    got = np.array([1, -7, 2**31 - 2], np.int32)
    check = check_channel(0, got, exact, equal, sums_exactly=False, fill=i32.fills[0], dtype=i32)
    assert (check.mismatches, check.worst[0].index, check.worst[0].got) == (1, (2,), 2**31 - 2)
    f16 = find_dtype("f16")
    half = Tolerance(rule="half an ulp", ulp_of_output=0.5, reason="one rounding")
    exact = DenseChannel(np.array([1.0, 1.0, 1.0]), np.ones(3))
    got = np.array([1.0, 1 + 2.0**-10, np.nan], np.float16)
    check = check_channel(0, got, exact, half, sums_exactly=False, fill=f16.fills[0], dtype=f16)
    assert (check.mismatches, check.nonfinite, check.max_ulp) == (2, 1, 1)
