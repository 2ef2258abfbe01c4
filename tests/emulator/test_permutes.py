"""DS permutes, swizzles and transposing reads: which lane's value arrives where, and what inactive lanes give."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.context import FINDING, FINDING_KINDS
from kbserver.emulator.wave import WaveRunner
from tests.emulator.both import differences
from tests.emulator.harness import ALL, fresh_wave, run
from tests.toolchain.clang import assembles, needs_clang

LANES = np.arange(64)
VALUES = (LANES * 7 + 1000).astype(np.uint32)
SOME = ALL ^ 0b110 ^ 1 << 40


def _active(exec_: int) -> np.ndarray:
    return np.array([exec_ >> lane & 1 for lane in range(64)], bool)


@pytest.mark.parametrize("exec_", [ALL, SOME, 0])
def test_bpermute_reads_by_lane_and_gets_0_from_inactive_ones(exec_: int) -> None:
    wave = fresh_wave(exec_=exec_)
    source = (LANES * 5 + 3) % 64
    # The two low bits and those above bit 7 do not count; the offset is added first.
    wave.vgprs[1] = source * 4 - 8 + 3 + 256 * (LANES % 3 + 1)
    wave.vgprs[2], wave.vgprs[5] = VALUES, 77
    run("ds_bpermute_b32 v5, v1, v2 offset:8", wave)
    active = _active(exec_)
    want = np.where(active, np.where(active[source], VALUES[source], 0), 77)
    assert wave.vgprs[5].tolist() == want.tolist()


@pytest.mark.parametrize("exec_", [ALL, SOME])
def test_permute_sends_to_lanes_the_highest_sender_wins_and_the_rest_get_0(exec_: int) -> None:
    wave = fresh_wave(exec_=exec_)
    wave.vgprs[1] = LANES // 2 * 8  # lanes 2n and 2n + 1 send to lane 2n
    wave.vgprs[2], wave.vgprs[5] = VALUES, 77
    run("ds_permute_b32 v5, v1, v2", wave)
    want = [0 if lane % 2 else int(VALUES[lane + 1]) for lane in range(64)]
    if exec_ == SOME:
        want[0], want[1], want[2], want[40] = int(VALUES[0]), 77, 77, 77
    assert wave.vgprs[5].tolist() == want


@pytest.mark.parametrize("line", ["ds_bpermute_b32 v{}, v1, v2", "ds_permute_b32 v{}, v1, v2"])
@pytest.mark.parametrize("result", [1, 2])
def test_permute_may_overwrite_its_operands(line: str, result: int) -> None:
    wave = fresh_wave()
    wave.vgprs[1], wave.vgprs[2] = (63 - LANES) * 4, VALUES
    run(line.format(result), wave)
    assert wave.vgprs[result].tolist() == VALUES[::-1].tolist()


SWIZZLES = {
    "offset:0x1f": lambda lane: lane,
    "": lambda lane: lane & 32,
    "offset:0x401f": lambda lane: lane ^ 16,
    "offset:0x0c70": lambda lane: lane & 32 | ((lane & 16 | 3) ^ 3),
    "offset:0x801b": lambda lane: lane & ~3 | 3 - lane % 4,
    "offset:swizzle(QUAD_PERM,1,1,3,0)": lambda lane: lane & ~3 | (1, 1, 3, 0)[lane % 4],
    "offset:swizzle(SWAP,16)": lambda lane: lane ^ 16,
    "offset:swizzle(SWAP,1)": lambda lane: lane ^ 1,
    "offset:swizzle(REVERSE,8)": lambda lane: lane // 8 * 8 + 7 - lane % 8,
    "offset:swizzle(BROADCAST,8,5)": lambda lane: lane // 8 * 8 + 5,
    "offset:swizzle(BROADCAST,32,1)": lambda lane: lane // 32 * 32 + 1,
    'offset:swizzle(BITMASK_PERM,"01pip")': lambda lane: lane & 32 | 8 | lane & 4 | (lane & 2 ^ 2) | lane & 1,
}


@pytest.mark.parametrize("exec_", [ALL, SOME])
@pytest.mark.parametrize("offset", SWIZZLES)
def test_swizzle(offset: str, exec_: int) -> None:
    wave = fresh_wave(exec_=exec_)
    wave.vgprs[1], wave.vgprs[5] = VALUES, 77
    run(f"ds_swizzle_b32 v5, v1 {offset}", wave)
    want = []
    for lane in range(64):
        source = SWIZZLES[offset](lane)
        given = int(VALUES[source]) if exec_ >> source & 1 else 0
        want.append(given if exec_ >> lane & 1 else 77)
    assert wave.vgprs[5].tolist() == want


# Rows of the CDNA4 manual's list, whose numbers start at 1: 0x00 and 0x10.
_BUTTERFLIES = {
    0x00: "1,11,9,19,5,15,d,1d,3,13,b,1b,7,17,f,1f,2,12,a,1a,6,16,e,1e,4,14,c,1c,8,18,10,20",
    0x10: "1,9,5,d,3,b,7,f,2,a,6,e,4,c,8,10,11,19,15,1d,13,1b,17,1f,12,1a,16,1e,14,1c,18,20",
}


@pytest.mark.parametrize("mask", _BUTTERFLIES)
def test_butterfly_reads_the_lanes_that_the_manual_lists(mask: int) -> None:
    wave = fresh_wave()
    wave.vgprs[1] = LANES
    run(f"ds_swizzle_b32 v5, v1 offset:swizzle(FFT,{mask})", wave)
    half = [int(lane, 16) - 1 for lane in _BUTTERFLIES[mask].split(",")]
    assert wave.vgprs[5].tolist() == half + [lane + 32 for lane in half]


@pytest.mark.parametrize("exec_", [ALL, SOME, 0x8000_0000_0000_0F05])
def test_permutes_and_swizzles_agree_with_the_oracle(exec_: int) -> None:
    rng = np.random.default_rng(5)
    offsets = [*rng.integers(0, 0x8000, 12), *(0x8000 + rng.integers(0, 256, 6)), *(0xE000 + np.arange(32))]
    lines = [f"ds_swizzle_b32 v{10 + place}, v1 offset:{offset:#x}" for place, offset in enumerate(offsets)]
    lines += [f"ds_swizzle_b32 v{72 + place}, v1 {pattern}" for place, pattern in enumerate(SWIZZLES)]
    lines += ["ds_bpermute_b32 v70, v3, v2 offset:65532", "ds_permute_b32 v71, v3, v2 offset:12"]
    wave = fresh_wave(96, exec_=exec_)
    wave.vgprs[:] = rng.integers(0, 1 << 32, wave.vgprs.shape, dtype=np.uint32)
    assert differences(lines, wave) == []


_TRANSPOSES = {"b64_tr_b16": (16, 8, 8), "b64_tr_b8": (8, 8, 8), "b64_tr_b4": (4, 8, 8), "b96_tr_b6": (6, 12, 16)}
"""Suffix -> bits of an element, bytes a lane, alignment."""


def _transposing_line(suffix: str) -> str:
    return f"ds_read_{suffix} v[4:{3 + _TRANSPOSES[suffix][1] // 4}], v2 offset:16"


@pytest.mark.parametrize("suffix", _TRANSPOSES)
def test_transposing_read_agrees_with_the_oracle(suffix: str) -> None:
    rng = np.random.default_rng(6)
    wave = fresh_wave(16, lds_bytes=4096)
    wave.lds[:] = rng.integers(0, 256, 4096, dtype=np.uint8)
    wave.vgprs[:] = rng.integers(0, 1 << 32, wave.vgprs.shape, dtype=np.uint32)
    wave.vgprs[2] = rng.integers(0, 200, 64) * _TRANSPOSES[suffix][2]
    assert differences([_transposing_line(suffix)], wave) == []


@pytest.mark.parametrize("suffix", _TRANSPOSES)
def test_transposing_read_gives_each_lane_its_column_of_a_matrix(suffix: str) -> None:
    # A matrix of 16 columns, stored row by row in `width` bits: 16 lanes read its rows in order, and lane i gets
    # column i. Each group of 16 lanes has a matrix of its own.
    width, size, step = _TRANSPOSES[suffix]
    rows = size * 8 // width
    matrices = np.random.default_rng(8).integers(0, 1 << width, (4, rows, 16))
    wave = fresh_wave(16, lds_bytes=16 + 64 * step)
    for lane in range(64):
        flat = matrices[lane // 16].reshape(-1)[lane % 16 * rows : (lane % 16 + 1) * rows]
        bits = sum(int(value) << width * place for place, value in enumerate(flat))
        wave.lds[16 + lane * step : 16 + lane * step + size] = np.frombuffer(bits.to_bytes(size, "little"), np.uint8)
    wave.vgprs[2] = LANES * step
    run(_transposing_line(suffix), wave)
    for lane in range(64):
        got = sum(int(wave.vgprs[4 + place, lane]) << 32 * place for place in range(size // 4))
        column = [got >> width * row & (1 << width) - 1 for row in range(rows)]
        assert column == matrices[lane // 16, :, lane % 16].tolist(), lane


def _kinds(runner: WaveRunner) -> list[tuple[str, int]]:
    found = runner.findings[: runner.finding_count]
    return [(FINDING_KINDS[int(row[FINDING["kind"]])], int(row[FINDING["lane"]])) for row in found]


@pytest.mark.parametrize("suffix", _TRANSPOSES)
def test_transposing_read_wants_all_lanes_and_aligned_addresses(suffix: str) -> None:
    step = _TRANSPOSES[suffix][2]
    wave = fresh_wave(16, lds_bytes=4096, exec_=ALL ^ 0b1000)
    wave.vgprs[2] = LANES * step
    wave.vgprs[2, 5] += step // 2
    kind = "LDS transposing read"
    assert _kinds(run(_transposing_line(suffix), wave)) == [
        (f"{kind} without all lanes", 3),
        (f"{kind} not aligned", 5),
    ]


@pytest.mark.parametrize("offset", ["0xc020", "0xe020", "0x8155", "swizzle(QUAD_PERM,1,2)", "swizzle(ROTATE,0,1)"])
def test_an_unknown_swizzle_is_refused(offset: str) -> None:
    with pytest.raises(UnsupportedInstruction, match="does not know the swizzle"):
        run(f"ds_swizzle_b32 v5, v1 offset:{offset}", fresh_wave())


def test_transposing_read_turns_four_by_four_blocks_over_16_lanes() -> None:
    # Each 16 lanes read a matrix of 16 rows of 4 halves (row = lane): numbers say where an element came from.
    wave = fresh_wave(lds_bytes=16 + 512)
    halves = wave.lds[16:].view(np.uint16)
    halves[:] = np.arange(256)
    wave.vgprs[2] = LANES * 8
    run("ds_read_b64_tr_b16 v[4:5], v2 offset:16", wave)
    got = np.stack([wave.vgprs[4] & 0xFFFF, wave.vgprs[4] >> 16, wave.vgprs[5] & 0xFFFF, wave.vgprs[5] >> 16], axis=1)
    assert got[0].tolist() == [0, 16, 32, 48]
    assert got[1].tolist() == [1, 17, 33, 49]
    assert got[6].tolist() == [6, 22, 38, 54]
    assert got[15].tolist() == [15, 31, 47, 63]
    assert got[16:32].tolist() == (got[:16] + 64).tolist()
    assert got[48:].tolist() == (got[:16] + 192).tolist()


def test_transposing_read_gives_0_for_inactive_sources_and_keeps_inactive_lanes() -> None:
    wave = fresh_wave(exec_=ALL ^ 0b10001, lds_bytes=512)
    wave.lds.view(np.uint16)[:] = np.arange(256) + 1
    wave.vgprs[2], wave.vgprs[4], wave.vgprs[5] = LANES * 8, 77, 78
    run("ds_read_b64_tr_b16 v[4:5], v2", wave)
    assert wave.vgprs[4:6, 0].tolist() == [77, 78]
    # Lane 1: elements 1 of lanes 0, 4, 8, 12.
    assert wave.vgprs[4:6, 1].tolist() == [0, 34 | 50 << 16]


def test_transposing_read_exists_on_gfx950_only() -> None:
    with pytest.raises(UnsupportedInstruction, match="gfx942 has no transposing read"):
        run("ds_read_b64_tr_b16 v[4:5], v2", fresh_wave(lds_bytes=512), arch="gfx942")


@needs_clang
def test_the_assembler_accepts_these_lines(tmp_path: Path) -> None:
    lines = [f"ds_swizzle_b32 v5, v1 {offset}" for offset in SWIZZLES]
    lines += [
        "ds_bpermute_b32 v5, v1, v2 offset:8",
        "ds_permute_b32 v5, v1, v2",
        *(_transposing_line(suffix) for suffix in _TRANSPOSES),
        "ds_cmpst_rtn_b32 v8, v2, v4, v5",
        "ds_cmpst_b32 v2, v4, v5",
        "ds_wrxchg_rtn_b32 v8, v2, v4",
        "ds_add_rtn_f32 v8, v2, v4",
        "global_atomic_cmpswap v8, v[2:3], v[4:5], off sc0",
        "global_atomic_cmpswap_x2 v[8:9], v[2:3], v[4:7], off sc0",
        "global_atomic_add_f32 v8, v[2:3], v4, off sc0",
        "global_atomic_smin v2, v4, s[6:7] offset:4",
    ]
    complaints = assembles("\n".join(lines) + "\n", "gfx950", tmp_path)
    assert [lines[int(n) - 1] for n in re.findall(r"kernel\.s:(\d+):\d+: error", complaints)] == []
