"""The tables of the page on LDS swizzles, recounted from the lane groups and banks of the facts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from kbserver.core.yamlio import load_yaml

ROOT = Path(__file__).resolve().parents[2]
FACTS = load_yaml(ROOT / "gpu_arch" / "facts" / "lds.yaml")["facts"]
PAGE = (ROOT / "gpu_arch" / "general" / "lds-swizzles.md").read_text("utf-8")
Address = Callable[[int], int]


def lane_groups(arch: str, instruction: str) -> list[list[int]]:
    groups = []
    for text in FACTS[f"{arch}.lds.{instruction}_lane_groups"]["value"]:
        lanes: list[int] = []
        for part in str(text).split(","):
            first, _, last = part.partition("-")
            lanes += range(int(first), int(last or first) + 1)
        groups.append(lanes)
    return groups


def passes(arch: str, instruction: str, width: int, address: Address) -> int:
    """Return the sum over lane groups of the most different dwords that one bank must serve."""
    return served(lane_groups(arch, instruction), FACTS[f"{arch}.lds.banks"]["value"], width, address)


def served(groups: list[list[int]], banks: int, width: int, address: Address) -> int:
    total = 0
    for lanes in groups:
        wanted = defaultdict(set)
        for lane in lanes:
            for part in range(width // 4):
                dword = address(lane) // 4 + part
                wanted[dword % banks].add(dword)
        total += max(len(dwords) for dwords in wanted.values())
    return total


def tile(rows: int, pitch: int, chunk: int, swizzle: Callable[[int, int], int] = lambda row, column: column) -> Address:
    """Lane l reads row l % rows, chunk l / rows; `swizzle` says where that chunk of the row lives."""
    return lambda lane: (lane % rows) * pitch + swizzle(lane % rows, lane // rows) * chunk


def layouts(rows: int, chunk: int) -> dict[str, Callable[[int], Address]]:
    return {
        "plain": lambda pitch: tile(rows, pitch, chunk),
        "16 B of padding": lambda pitch: tile(rows, pitch + 16, chunk),
        "8 B of padding": lambda pitch: tile(rows, pitch + 8, chunk),
        "chunk ^ (row % 4)": lambda pitch: tile(rows, pitch, chunk, lambda row, column: column ^ row % 4),
        "chunk ^ (row / 2 % 4)": lambda pitch: tile(rows, pitch, chunk, lambda row, column: column ^ row // 2 % 4),
        "chunk ^ (row % 8)": lambda pitch: tile(rows, pitch, chunk, lambda row, column: column ^ row % 8),
        "chunk ^ (row % 16)": lambda pitch: tile(rows, pitch, chunk, lambda row, column: column ^ row % 16),
        "8-byte chunk ^ (row % 16)": lambda pitch: tile(rows, pitch, chunk, lambda row, column: column ^ row % 16),
    }


def table(heading: str) -> list[tuple[int, str, int, int]]:
    section = PAGE.split(f"## {heading}")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\d+) B, ([^|]+) \| (\d+) \| (\d+) \|$", section, re.M)
    return [(int(pitch), layout.strip(), int(old), int(new)) for pitch, layout, old, new in rows]


@pytest.mark.parametrize(
    ("heading", "count", "rows", "instruction", "width"),
    [
        ("MFMA operand of a 16-row tile", 9, 16, "ds_read_b128", 16),
        ("MFMA operand of a 32-row tile", 8, 32, "ds_read_b128", 16),
        ("8-byte operands", 7, 16, "ds_read_b64", 8),
    ],
)
def test_a_table_of_the_page_is_what_lane_groups_and_banks_give(
    heading: str, count: int, rows: int, instruction: str, width: int
):
    shown = table(heading)
    assert len(shown) == count
    for pitch, layout, old, new in shown:
        address = layouts(rows, width)[layout](pitch)
        counted = tuple(passes(arch, instruction, width, address) for arch in ("gfx942", "gfx950"))
        assert counted == (old, new), (pitch, layout)


def test_row_paddings_of_a_tile_of_128_halves_need_the_passes_that_the_page_says():
    section = PAGE.split("## fp16 or bf16 K tile")[1].split("\n## ")[0]
    columns = [("ds_read_b64", 8, 16), ("ds_read_b128", 16, 16), ("ds_read_b128", 16, 32)]
    shown = re.findall(r"^\| (\d+) \([^)]*\) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", section, re.M)
    assert [int(pitch) for pitch, *_ in shown] == [128, 132, 136, 144]
    for pitch, *cells in shown:
        for cell, (instruction, width, rows) in zip(cells, columns, strict=True):
            if int(pitch) * 2 % width:
                assert cell == "not aligned"
                continue
            address = tile(rows, int(pitch) * 2, width)
            counted = [passes(arch, instruction, width, address) for arch in ("gfx942", "gfx950")]
            assert cell == f"{counted[0]}, {counted[1]}", (pitch, instruction, rows)


def test_the_widths_of_keys_on_the_page_need_the_passes_that_it_says():
    section = PAGE.split("## How many bits should the XOR key")[1].split("\n## ")[0]
    shown = re.findall(r"^\| `(ds_read_b\d+)`, (\d+) \| row % (\d+) \| (\d+) \| (\d+) \|$", section, re.M)
    assert len(shown) == 6
    for instruction, rows, key, old, new in shown:
        width = int(instruction.removeprefix("ds_read_b")) // 8
        address = tile(int(rows), 256, width, lambda row, column, key=int(key): column ^ row % key)
        counted = [passes(arch, instruction, width, address) for arch in ("gfx942", "gfx950")]
        assert counted == [int(old), int(new)], (instruction, rows, key)


@pytest.mark.parametrize(("pitch", "old", "new"), [(32, 64, 32), (64, 64, 64), (33, 2, 1), (65, 2, 1), (66, 4, 2)])
def test_column_reads_need_the_passes_that_the_page_says(pitch: int, old: int, new: int):
    def column(lane: int) -> int:
        return lane * pitch * 4

    assert passes("gfx942", "ds_read_b32", 4, column) == old
    # gfx950 by the counters, two halves on 32 banks as the fact says, and by the timing, one phase on 64 banks.
    assert served(lane_groups("gfx950", "ds_read_b32"), 32, 4, column) == old
    assert served([list(range(64))], 64, 4, column) == new


def test_float4_reads_of_padded_rows_need_the_passes_that_the_page_says():
    page = (ROOT / "gpu_arch" / "general" / "lds-access-cases.md").read_text("utf-8")
    section = page.split("## float4 in shared memory")[1].split("\n## ")[0]
    shown = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \|$", section, re.M)
    assert len(shown) == 5
    for pitch, old, new in shown:
        counted = [
            passes(arch, "ds_read_b128", 16, lambda lane, row=int(pitch) * 4: lane * row)
            for arch in ("gfx942", "gfx950")
        ]
        assert counted == [int(old), int(new)], pitch
