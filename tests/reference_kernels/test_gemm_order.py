"""Order of workgroups of the GEMM kernels: each tile once, each XCD a contiguous block of them, for any tile count."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine
from kbserver.emulator.memory import Memory
from kbserver.toolchain.assembly import parse_assembly
from tests.toolchain.clang import compile_hip, needs_clang

ORDER = Path(__file__).resolve().parents[2] / "reference_kernels" / "gemm_bf16" / "order.h"
KERNEL = r"""
extern "C" __global__ __launch_bounds__(64) void places(int* out, int rows, int columns, int xcds) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= rows * columns) return;
  gemm::Place tile = gemm::tile_of(i, rows, columns, xcds);
  out[2 * i] = tile.row, out[2 * i + 1] = tile.column;
}
"""
BAND = 8
RESIDENT = 512
"""Workgroups that 256 CUs hold at one time, two each."""


@lru_cache(maxsize=1)
def machine() -> Machine:
    compiled = compile_hip(ORDER.read_text("utf-8").replace("#pragma once", "") + KERNEL, "gfx950", ("-O3",))
    assert compiled.status == 0, compiled.diagnostics
    return Machine(load_kernel(parse_assembly(compiled.text), "places"))


def places(rows: int, columns: int, xcds: int) -> list[tuple[int, int]]:
    """Return the tile (row, column) of every workgroup, as the kernels' own code computes it."""
    count, memory = rows * columns, Memory()
    arguments = [memory.output("out", (count, 2), np.int32), rows, columns, xcds]
    machine().launch(memory, arguments, grid=(-(-count // 64), 1, 1), block=(64, 1, 1))
    return [(int(row), int(column)) for row, column in memory.buffers[0].array]


@needs_clang
@pytest.mark.parametrize(
    ("rows", "columns", "xcds"),
    [
        (1, 1, 8),
        (3, 3, 8),
        (1, 13, 8),
        (13, 1, 8),
        (8, 8, 8),
        (9, 8, 8),
        (17, 5, 6),
        (32, 33, 4),
        (19, 19, 8),
        (7, 3, 1),
    ],
)
def test_every_tile_has_one_workgroup_and_an_xcd_a_contiguous_run_of_a_band(rows: int, columns: int, xcds: int) -> None:
    found = places(rows, columns, xcds)
    by_bands = [
        (row, column)
        for first in range(0, rows, BAND)
        for column in range(columns)
        for row in range(first, min(rows, first + BAND))
    ]
    assert sorted(found) == sorted(by_bands)
    # XCD x gets workgroups x, x + xcds, ...: put one after the other, they walk through the bands.
    assert [tile for xcd in range(xcds) for tile in found[xcd::xcds]] == by_bands


def stripes(tiles: list[tuple[int, int]]) -> int:
    """Return how many stripes of A and B the tiles of the XCD that reads most read, of those that run at one time."""
    at_once = [tiles[:RESIDENT][xcd::8] for xcd in range(8)]
    return max(len({row for row, _ in mine}) + len({column for _, column in mine}) for mine in at_once)


@needs_clang
@pytest.mark.parametrize(
    ("rows", "columns", "plain", "ordered"),
    [(32, 32, 20, 16), (33, 33, 49, 17), (48, 36, 24, 16), (64, 64, 16, 16), (56, 40, 18, 24)],
)
def test_the_stripes_that_an_xcd_reads_at_one_time_are_those_of_the_readme(
    rows: int, columns: int, plain: int, ordered: int
) -> None:
    assert stripes([(row, column) for row in range(rows) for column in range(columns)]) == plain
    assert stripes(places(rows, columns, 8)) == ordered
    line = f"| {rows} x {columns} | {plain} | {ordered} |"
    assert line in ORDER.with_name("README.md").read_text("utf-8").splitlines()
