"""The tables of the page on LDS accesses, recounted by the LDS model from the addresses that the page describes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kbserver.emulator.lds_model import passes

PAGE = (Path(__file__).resolve().parents[2] / "gpu_arch" / "general" / "lds-access-cases.md").read_text("utf-8")
LANES = np.arange(64)
ARCHES = ("gfx942", "gfx950")


def rows(pattern: str) -> list[tuple[str, ...]]:
    found = re.findall(pattern, PAGE, re.M)
    assert found, pattern
    return found


def test_consecutive_accesses_take_the_passes_that_the_page_says():
    shown = rows(r"^\| (\d+) bytes at \1 x lane \| `(\w+)` \| (\d+) of (\d+) \| (\d+) of (\d+) \|$")
    assert len(shown) == 5
    for width, instruction, *figures in shown:
        counted = [passes(arch, instruction, int(width) * LANES) for arch in ARCHES]
        assert [int(figure) for figure in figures] == [n for c in counted for n in (c.passes, c.ideal)], instruction


def test_strides_take_the_passes_that_the_page_says():
    shown = rows(r"^\| ((?:\d+, )*\d+) \| (\d+) \|$")
    assert len(shown) == 6
    for strides, figure in shown:
        for stride in map(int, strides.split(", ")):
            for arch in ARCHES:
                assert passes(arch, "ds_read_b32", 4 * stride * LANES).passes == int(figure), (stride, arch)


@pytest.mark.parametrize("arch", ARCHES)
def test_tiles_take_the_passes_that_the_page_says(arch: str):
    shown = rows(r"^\| `tile\[\d+\]\[(\d+)\]` \| (\d+) \| (\d+) \| (\d+) \|$")
    assert len(shown) == 6
    for pitch, width, column, row in (map(int, line) for line in shown):
        x, y = LANES % width, LANES // width
        assert passes(arch, "ds_read_b32", 4 * (x * pitch + y)).passes == column, pitch
        assert passes(arch, "ds_read_b32", 4 * (y * pitch + x)).passes == row, pitch


@pytest.mark.parametrize("arch", ["gfx90a", *ARCHES])
def test_columns_of_halves_take_the_passes_that_the_page_says(arch: str):
    shown = rows(r"^\| (\d+) halves \| (\d+) \|$")
    assert len(shown) == 6
    for pitch, figure in (map(int, line) for line in shown):
        assert passes(arch, "ds_read_u16", 2 * pitch * LANES).passes == figure, pitch
        assert passes(arch, "ds_write_b16", 2 * pitch * LANES).passes == figure, pitch


def test_the_calculator_of_the_page_agrees_with_the_model():
    code = re.search(r"^```python\n(def both.*?)^print", PAGE, re.M | re.S)
    assert code
    found: dict = {}
    exec(code[1], found)
    assert len(found["RULES"]) == 10
    for target, instruction in found["RULES"]:
        width = found["RULES"][target, instruction][0]
        for pitch in (width, 64, 128, 144, 256, 272):
            shown = found["passes"](
                target, instruction, lambda lane, row=pitch, w=width: lane % 16 * row + lane // 16 * w
            )
            counted = passes(target, instruction, LANES % 16 * pitch + LANES // 16 * width)
            assert shown == (counted.passes, counted.ideal), (target, instruction, pitch)
