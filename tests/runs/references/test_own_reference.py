"""A reference that somebody wrote in one file: it judges their kernel, and what is wrong in it is said."""

from __future__ import annotations

import textwrap
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kbserver.core.errors import ContentError, TimedOut
from kbserver.runs.references import find_reference
from kbserver.runs.references.foreign import ForeignReference
from kbserver.runs.task import load_task
from kbserver.toolchain.sandbox import landlock_abi

TASK = """
name: scaled
title: y = a * x, and where x is positive
reference: ./reference.py
problem:
  dtype: f32
  constants: {a: 2.5}
  tensors:
    x: {axes: RN, size: [R, N], role: input}
    y: {axes: RN, size: [R, N], role: output}
    positive: {axes: RN, size: [R, N], role: output, dtype: i32}
shapes: {tiny: {R: 5, N: 30}, large: {R: 50, N: 300}}
tolerance: {rule: one rounding, ulp_of_output: 0.5, reason: one product}
variants:
  - name: scaled
    source: scaled.hip
    entry: scaled
    block: [64, 1, 1]
    grid: ["ceil(R * N / 64)", 1, 1]
    arguments: [x, y, positive, "f32:a", "i32:R * N"]
    arches: [gfx950]
"""
GOOD = """
def exact(inputs, sizes):
    x = inputs["x"]
    return {"y": (sizes["a"] * x, abs(sizes["a"] * x)), "positive": (x > 0).astype(int)}
"""


def opened(folder: Path, source: str, call_s: float = 20.0) -> ForeignReference:
    (folder / "scaled.hip").write_text("// a kernel\n")
    (folder / "task.yaml").write_text(TASK)
    (folder / "reference.py").write_text(textwrap.dedent(source))
    return ForeignReference(load_task(folder / "task.yaml"), call_s)


def test_a_file_beside_the_task_gives_inputs_and_exact_results(tmp_path: Path) -> None:
    with closing(opened(tmp_path, GOOD)) as reference:
        task = load_task(tmp_path / "task.yaml")
        sizes = task.dimensions("tiny")
        inputs = reference.inputs(task.problem, sizes, 7, "drawn")
        again = reference.inputs(task.problem, sizes, 7, "drawn")
        results = reference.results(task.problem, sizes, inputs)
    assert inputs["x"].dtype == np.float32 and inputs["x"].shape == (5, 30)
    np.testing.assert_array_equal(inputs["x"], again["x"])
    channel = results.channel("y", 3)
    np.testing.assert_array_equal(channel.exact, 2.5 * inputs["x"][3].astype(np.float64))
    np.testing.assert_array_equal(channel.magnitude(np.array([4])), [abs(2.5 * float(inputs["x"][3, 4]))])
    np.testing.assert_array_equal(results.channel("positive", 0).exact, inputs["x"][0] > 0)


def test_inputs_of_its_own_replace_the_fills(tmp_path: Path) -> None:
    source = GOOD + (
        "FAMILIES = ('ramp', 'drawn')\n"
        "def inputs(sizes, generator, family):\n"
        "    import numpy as np\n"
        "    shape = (sizes['R'], sizes['N'])\n"
        "    return {'x': np.arange(150.0).reshape(shape)} if family == 'ramp' else {}\n"
        "def flops(sizes):\n"
        "    return sizes['R'] * sizes['N']\n"
    )
    with closing(opened(tmp_path, source)) as reference:
        task = load_task(tmp_path / "task.yaml")
        sizes = task.dimensions("tiny")
        assert reference.families == ("ramp", "drawn")
        assert reference.inputs(task.problem, sizes, 7, "ramp")["x"][4, 29] == 149
        assert reference.inputs(task.problem, sizes, 7, "drawn")["x"][4, 29] != 149
        assert reference.flops(task.problem, sizes) == 150


@pytest.mark.parametrize(
    ("source", "message", "where"),
    [
        ("def exact(inputs, sizes:\n", "SyntaxError", "reference.py:1"),
        ("x = 1\n", r"needs a function exact\(inputs, sizes\)", "reference.py"),
        ("exact = 3\n", "exact is no function", "reference.py"),
        ("import torch_that_is_not_there\n", "ModuleNotFoundError", "reference.py:1"),
        ("import os\nos._exit(3)\n", "process of the reference died", "reference.py"),
        ("raise SystemExit(0)\n", "SystemExit", "reference.py:1"),
        ("FAMILIES = 3\ndef exact(i, s): pass\n", "FAMILIES is a tuple", "reference.py"),
    ],
)
def test_a_file_that_does_not_load_is_named_with_its_line(
    tmp_path: Path, source: str, message: str, where: str
) -> None:
    with pytest.raises(ContentError, match=message) as error:
        opened(tmp_path, source)
    assert error.value.where == where


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return {'y': x}", "returns a dict of y, positive; it returned y"),
        ("return None", "it returned NoneType"),
        ("return {'y': x[:2], 'positive': x > 0}", r"has the shape \(2, 30\), not \(5, 30\)"),
        ("return {'y': x / 0 * 0, 'positive': x > 0}", "holds nan at"),
        ("return {'y': x.astype('float32'), 'positive': x > 0}", "computes in float64"),
        ("return {'y': x, 'positive': x}", "has numbers that i32 does not have"),
        ("return {'y': (x, -abs(x)), 'positive': x > 0}", "a magnitude is negative"),
        ("return {'y': 0 * x, 'positive': x > 0}", "everywhere: any kernel that writes this would pass"),
        ("return {'y': x.astype(str), 'positive': x > 0}", "not numbers"),
        ("return {'y': x[99], 'positive': x > 0}", "IndexError"),
        ("return exact(inputs, sizes)", "RecursionError"),
    ],
)
def test_results_that_cannot_judge_a_kernel_are_refused(tmp_path: Path, body: str, message: str) -> None:
    source = (
        f"import numpy as np\nnp.seterr(all='ignore')\ndef exact(inputs, sizes):\n    x = inputs['x']\n    {body}\n"
    )
    with closing(opened(tmp_path, source)) as reference:
        task = load_task(tmp_path / "task.yaml")
        sizes = task.dimensions("tiny")
        with pytest.raises(ContentError, match=message) as error:
            reference.results(task.problem, sizes, reference.inputs(task.problem, sizes, 1, "drawn"))
        assert "reference.py" in (error.value.where or "")


@pytest.mark.skipif(not landlock_abi(), reason="this kernel has no Landlock")
def test_a_reference_reads_no_files_of_ours(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    source = f"def exact(inputs, sizes):\n    return open({str(tmp_path / 'secret')!r}).read()\n"
    with closing(opened(tmp_path, source)) as reference:
        task = load_task(tmp_path / "task.yaml")
        sizes = task.dimensions("tiny")
        with pytest.raises(ContentError, match="PermissionError") as error:
            reference.results(task.problem, sizes, reference.inputs(task.problem, sizes, 1, "drawn"))
        assert error.value.where == "reference.py:2"


def test_nothing_is_read_or_imported_from_the_folder_that_the_user_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What an untrusted download could hold: a module that Python would import before the process is confined.
    (tmp_path / "numpy.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w').write('x')\n")
    (tmp_path / "secret").write_text("abc")
    monkeypatch.chdir(tmp_path)
    with closing(opened(tmp_path, GOOD)) as reference:
        task = load_task(tmp_path / "task.yaml")
        sizes = task.dimensions("tiny")
        reference.inputs(task.problem, sizes, 7, "drawn")
    assert not (tmp_path / "owned").exists()
    if landlock_abi() < 1:
        return
    source = f"def exact(inputs, sizes):\n    return open({str(tmp_path / 'secret')!r}).read()\n"
    with closing(opened(tmp_path, source)) as reference:
        inputs = reference.inputs(task.problem, sizes, 7, "drawn")
        with pytest.raises(ContentError, match="PermissionError"):
            reference.results(task.problem, sizes, inputs)


def test_a_slow_reference_is_stopped(tmp_path: Path) -> None:
    with closing(opened(tmp_path, "def exact(inputs, sizes):\n    while True: pass\n", call_s=0.5)) as reference:
        task = load_task(tmp_path / "task.yaml")
        sizes = task.dimensions("tiny")
        inputs = reference.inputs(task.problem, sizes, 1, "drawn")
        with pytest.raises(TimedOut, match=r"reference reference.py took more than 0.5 s for exact"):
            reference.results(task.problem, sizes, inputs)


def test_a_reference_outside_the_tasks_folder_is_refused(tmp_path: Path) -> None:
    opened(tmp_path, GOOD).close()
    (tmp_path / "task.yaml").write_text(TASK.replace("./reference.py", "../reference.py"))
    with pytest.raises(ContentError):
        find_reference(load_task(tmp_path / "task.yaml"))
    (tmp_path / "task.yaml").write_text(TASK.replace("./reference.py", "./none.py"))
    with pytest.raises(ContentError, match="cannot read the reference"):
        find_reference(load_task(tmp_path / "task.yaml"))
