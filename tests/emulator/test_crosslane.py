"""Values between lanes and scalars."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.oracle.special import steps
from kbserver.emulator.oracle.state import AddressSpace, Wavefront
from tests.emulator.harness import ALL, fresh_wave, load, run

_LANES = np.arange(64).astype(np.uint32) * 3 + 1


@pytest.mark.parametrize(("exec_", "want"), [(ALL, 1), (0b11000, 10), (1 << 63, 190), (0, 1)])
def test_readfirstlane_takes_the_lowest_active_lane_or_lane_0(exec_: int, want: int) -> None:
    wave = fresh_wave(exec_=exec_)
    wave.vgprs[1] = _LANES
    run("v_readfirstlane_b32 s4, v1", wave)
    assert int(wave.sgprs[4]) == want


@pytest.mark.parametrize(("lane", "want"), [("5", 16), ("s3", 31)])
def test_readlane_ignores_exec_and_masks_the_lane_number(lane: str, want: int) -> None:
    wave = fresh_wave(exec_=1)
    wave.vgprs[1] = _LANES
    wave.sgprs[3] = 64 + 10
    run(f"v_readlane_b32 s4, v1, {lane}", wave)
    assert int(wave.sgprs[4]) == want


def test_writelane_ignores_exec_and_changes_one_lane() -> None:
    wave = fresh_wave(exec_=0)
    wave.vgprs[1] = _LANES
    wave.sgprs[3], wave.sgprs[5] = 77, 62
    run("v_writelane_b32 v1, s3, s5", wave)
    assert np.flatnonzero(wave.vgprs[1] != _LANES).tolist() == [62]
    assert int(wave.vgprs[1, 62]) == 77


def test_mbcnt_counts_mask_bits_below_the_lane() -> None:
    wave = fresh_wave()
    wave.sgprs[2], wave.sgprs[3] = 0xFFFF00FF, 0x80000001
    run("v_mbcnt_lo_u32_b32 v0, s2, 0\nv_mbcnt_hi_u32_b32 v1, s3, v0\nv_mbcnt_lo_u32_b32 v2, -1, 7", wave)
    assert [int(wave.vgprs[0, lane]) for lane in (0, 8, 16, 17, 32, 63)] == [0, 8, 8, 9, 24, 24]
    assert [int(wave.vgprs[1, lane]) for lane in (31, 32, 33, 63)] == [23, 24, 25, 25]
    assert [int(wave.vgprs[2, lane]) for lane in (0, 31, 40)] == [7, 38, 39]


def test_swap_exchanges_the_active_lanes() -> None:
    wave = fresh_wave(exec_=0b101)
    wave.vgprs[0], wave.vgprs[1] = _LANES, 7
    run("v_swap_b32 v0, v1", wave)
    assert wave.vgprs[0, :4].tolist() == [7, 4, 7, 10]
    assert wave.vgprs[1, :4].tolist() == [1, 7, 7, 7]


# The destination keeps its lower rows and gets the source's lower rows above them; the source gets the rest.
@pytest.mark.parametrize("exec_", [ALL, 0, 0xF0F0])
@pytest.mark.parametrize("stride", [16, 32])
def test_permlane_swap_exchanges_halves_whatever_exec_is(stride: int, exec_: int) -> None:
    wave = fresh_wave(exec_=exec_)
    wave.vgprs[0], wave.vgprs[1] = _LANES, _LANES + 1000
    body = f"v_permlane{stride}_swap_b32_e32 v0, v1"
    oracle = Wavefront(wave.vgprs.tolist(), wave.sgprs.tolist(), bytearray(), AddressSpace([]))
    run(body, wave)
    rows = np.arange(64).reshape(-1, stride)
    lower, upper = rows[::2].ravel(), rows[1::2].ravel()
    assert wave.vgprs[0, lower].tolist() == _LANES[lower].tolist()
    assert wave.vgprs[0, upper].tolist() == (_LANES[lower] + 1000).tolist()
    assert wave.vgprs[1, lower].tolist() == _LANES[upper].tolist()
    assert wave.vgprs[1, upper].tolist() == (_LANES[upper] + 1000).tolist()
    steps()[f"v_permlane{stride}_swap_b32"](oracle, load(body).code[0])
    assert wave.vgprs[:2].tolist() == oracle.vgprs[:2]


def test_what_inactive_lanes_give_to_permlane_swap_is_not_guessed() -> None:
    with pytest.raises(UnsupportedInstruction, match="unknown modifier"):
        run("v_permlane16_swap_b32_e64 v0, v1 fi:1", fresh_wave())
