"""Code objects and assembly text run like the compiler's own text: the same bits, the same counts."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine, Outcome
from kbserver.emulator.memory import Memory
from kbserver.toolchain.assembly import parse_assembly
from kbserver.toolchain.elf import read_code_object
from kbserver.toolchain.link import code_object
from kbserver.toolchain.ready import as_assembly, build_ready, open_ready
from tests.emulator.conv import NAMES, compiled_text, machine, prepare
from tests.toolchain.clang import compile_hip, needs_clang
from tests.toolchain.code_objects import SCALE, SCALE_DUMP, SCALE_TEXT, needs_objdump

QUICK = (("step2_nhwc", "gfx942"), ("step5_sgb", "gfx950"))


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_WORKSPACE", str(tmp_path / "workspace"))


def _scale(text: str) -> tuple[np.ndarray, Outcome]:
    """Run the fixture kernel on three workgroups, of whose 192 work-items 150 store."""
    memory = Memory()
    output = memory.output("out", (192,), np.uint32)
    output.array[:] = 7
    outcome = Machine(load_kernel(parse_assembly(text))).launch(
        memory, [output, np.int32(150)], grid=(3, 1, 1), block=(64, 1, 1)
    )
    return output.array, outcome


def _check_scale(text: str) -> None:
    output, outcome = _scale(text)
    item = np.arange(192)
    assert np.array_equal(output, np.where(item < 150, 5 * (item // 64 + 3), 7))
    # 4 instructions, a loop of 4 that is run 3, 4 and 5 times, 6, a store with its address where lanes store, the end.
    assert outcome.counts.wave_instructions == sum(4 + 4 * rounds + 6 + 2 + 1 for rounds in (3, 4, 5))
    assert outcome.finding_count == 0


def test_recorded_disassembly_runs() -> None:
    _check_scale(as_assembly(read_code_object(SCALE.read_bytes(), "scale.co"), SCALE_DUMP.read_text()))


@needs_clang
def test_assembly_text_with_macros_runs() -> None:
    snapshot, arch = open_ready(SCALE_TEXT, None)
    _check_scale(build_ready(snapshot, arch or "").assembly_text)


@needs_clang
@needs_objdump
@pytest.mark.parametrize(
    ("name", "arch"),
    [
        pytest.param(name, arch, marks=[] if (name, arch) in QUICK else pytest.mark.slow)
        for name, arch in itertools.product(NAMES, ("gfx942", "gfx950"))
    ],
)
def test_a_code_object_runs_as_the_text_that_it_was_made_of(name: str, arch: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.co"
    path.write_bytes(code_object(compiled_text(name, arch), arch))
    snapshot, found = open_ready(path, None)
    assert found == arch
    kernel = load_kernel(parse_assembly(build_ready(snapshot, arch).assembly_text))
    of_text = machine(name, arch)
    assert kernel.entry == of_text.kernel.entry
    assert [d.name for d in kernel.code] == [d.name for d in of_text.kernel.code]
    outputs, counts = [], []
    for one in (of_text, Machine(kernel)):
        memory, arguments, grid, block, _ = prepare(name)
        outcome = one.launch(memory, arguments, grid=grid, block=block)
        outputs.append(memory.buffers[-1].array.copy())
        counts.append(outcome.counts.per_instruction(len(kernel.code)))
        assert outcome.finding_count == 0
    assert np.array_equal(*outputs)
    assert np.array_equal(counts[0], counts[1])


TABLES = """
#include <hip/hip_runtime.h>
__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int variable[4] = {10, 20, 30, 40};
__device__ const int* pointer = table + 2;
__device__ int zeros[16];
__device__ __noinline__ int called(int x) { return x * 3 + variable[x & 3]; }
extern "C" __global__ void tables(int* out) {
  int t = threadIdx.x;
  zeros[t & 15] += t;
  out[t] = table[t & 7] + pointer[t & 3] + called(t) + (zeros[15] > 1000);
}
"""


@needs_clang
@needs_objdump
@pytest.mark.parametrize("flags", [("-O3",), ("-O0",)])
def test_constants_variables_pointers_and_calls_of_a_code_object(flags: tuple[str, ...], tmp_path: Path) -> None:
    compiled = compile_hip(TABLES, "gfx942", flags)
    path = tmp_path / "tables.co"
    path.write_bytes(code_object(compiled.text, "gfx942"))
    snapshot, arch = open_ready(path, None)
    kernel = load_kernel(parse_assembly(build_ready(snapshot, arch or "").assembly_text), "tables")
    memory = Memory()
    output = memory.output("out", (64,), np.int32)
    outcome = Machine(kernel).launch(memory, [output], grid=(1, 1, 1), block=(64, 1, 1))
    t, table = np.arange(64), np.array([3, 1, 4, 1, 5, 9, 2, 6])
    expected = table[t & 7] + table[2 + (t & 3)] + 3 * t + np.array([10, 20, 30, 40])[t & 3]
    assert np.array_equal(output.array, expected)
    assert outcome.finding_count == 0
