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
def turns(name: str, arch: str) -> list[list[Instruction]]:
    """Return the instructions of a kernel, cut after every barrier."""
    task, variant = find_kernel(name)
    case = plan(task, variant, task.smallest_shape, [1], ["seeded"])[0]
    built = build_case(Subject(task, variant, from_file(task.source(variant)), arch), case)
    parts: list[list[Instruction]] = [[]]
    for item in parse_assembly(built.assembly_text).functions[variant.entry].instructions:
        parts[-1].append(item)
        if item.mnemonic == "s_barrier":
            parts.append([])
    return parts


@needs_clang
def test_no_turn_waits_for_its_direct_loads_before_the_barrier_that_ends_it() -> None:
    loading = [part for part in turns("gemm_bf16", "gfx950") if any("load_lds" in item.mnemonic for item in part)]
    assert len(loading) == 3  # the first stage's, and one turn for each of the two stages
    for part in loading:
        last = max(place for place, item in enumerate(part) if "load_lds" in item.mnemonic)
        rest = part[last:]
        waits = [place for place, item in enumerate(rest) if any("vmcnt" in word for word in words(item))]
        first_after = next((place for place, item in enumerate(rest) if item.mnemonic == "s_barrier"), len(rest))
        assert all(place >= first_after - 1 for place in waits), [rest[place].text for place in waits]


def words(item: Instruction) -> tuple[str, ...]:
    return (*item.operands, *item.modifiers)


@needs_clang
def test_the_next_steps_operands_are_read_one_by_one_between_products() -> None:
    for part in turns("gemm_bf16", "gfx950")[1:]:
        kinds = [{"ds_read_b128": "r", "v_mfma_f32_16x16x32_bf16": "m"}.get(item.mnemonic, "") for item in part]
        assert "".join(kinds) == "r" * 8 + "mmr" * 8 + "m" * 16


@needs_clang
def test_on_gfx942_a_stage_is_written_to_lds_after_the_products_that_cover_its_loads() -> None:
    loop = turns("gemm_bf16_gfx942", "gfx942")[1]
    kinds = [item.mnemonic.split("_")[0] + item.mnemonic.split("_")[1] for item in loop]
    text = " ".join(kind for kind in kinds if kind in ("globalload", "vmfma", "dswrite"))
    assert text == " ".join(["globalload"] * 4 + ["vmfma"] * 32 + ["dswrite"] * 4)


@pytest.mark.parametrize(
    ("name", "free"), [("gemm_bf16", True), ("gemm_bf16_gfx942", True), ("gemm_bf16_tiled", False)]
)
def test_the_swizzle_leaves_no_conflict(name: str, free: bool) -> None:
    task, _ = find_kernel(name)
    (run,) = load_measured(task.folder)["runs"]
    assert (run["counts"][name]["lds_conflicts"] == 0) is free
