"""What the README of the GEMM kernels says about their machine code and their counts."""

from __future__ import annotations

from functools import lru_cache

import pytest

from kbserver.runs.cases import plan
from kbserver.runs.measured import load_measured
from kbserver.runs.stage import Subject, build_case
from kbserver.runs.task import find_kernel
from kbserver.toolchain.assembly import Instruction, parse_assembly
from kbserver.toolchain.sources import from_file
from tests.toolchain.clang import needs_clang


@lru_cache(maxsize=4)
def code(name: str, arch: str) -> list[Instruction]:
    """Return the instructions of a kernel."""
    task, variant = find_kernel(name)
    case = plan(task, variant, task.smallest_shape, [1], ["seeded"])[0]
    built = build_case(Subject(task, variant, from_file(task.source(variant)), arch), case)
    return list(parse_assembly(built.assembly_text).functions[variant.entry].instructions)


def letters(name: str, arch: str, kinds: dict[str, str]) -> str:
    """Return a letter for each instruction whose name starts with a key of `kinds`."""
    return "".join(
        letter for item in code(name, arch) for start, letter in kinds.items() if item.mnemonic.startswith(start)
    )


@needs_clang
@pytest.mark.parametrize("name", ["gemm_bf16", "gemm_bf16_256"])
def test_direct_loads_are_waited_for_at_the_barrier_and_nowhere_else(name: str) -> None:
    items = code(name, "gfx950")
    assert sum("load_lds" in item.mnemonic for item in items) == 8 * 3  # the first stage, and both of the loop
    waits = [place for place, item in enumerate(items) if any("vmcnt" in word for word in item.operands)]
    assert [items[place + 1].mnemonic for place in waits] == ["s_barrier"] * 2


@needs_clang
@pytest.mark.parametrize(("name", "operands"), [("gemm_bf16", 8), ("gemm_bf16_256", 12)])
def test_the_next_steps_operands_are_read_one_by_one_between_products(name: str, operands: int) -> None:
    order = letters(name, "gfx950", {"ds_read_b128": "r", "v_mfma": "m"})
    stage = "r" * operands + "mmr" * operands
    rest = 2 * operands_products(operands) - 2 * operands
    assert order == (stage + "m" * rest) * 2


def operands_products(operands: int) -> int:
    """Return the products of a step: 4 operands of B and the others of A, each with each."""
    return 4 * (operands - 4)


@needs_clang
def test_on_gfx942_a_stage_is_written_to_lds_after_the_products_that_cover_its_loads() -> None:
    order = letters(
        "gemm_bf16_gfx942", "gfx942", {"global_load": "g", "v_mfma": "m", "ds_write": "w", "s_barrier": "b"}
    )
    assert order == "ggggwwww" + "b" + "gggg" + "m" * 32 + "wwww" + "b" + "m" * 32


@pytest.mark.parametrize(
    ("name", "free"),
    [("gemm_bf16", True), ("gemm_bf16_256", True), ("gemm_bf16_gfx942", True), ("gemm_bf16_tiled", False)],
)
def test_the_swizzle_leaves_no_conflict(name: str, free: bool) -> None:
    task, _ = find_kernel(name)
    (run,) = load_measured(task.folder)["runs"]
    assert (run["counts"][name]["lds_conflicts"] == 0) is free
