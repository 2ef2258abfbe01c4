"""LDS addressed by lane number: direct loads from global memory, and DS instructions without an address register."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.context import FINDING, FINDING_KINDS
from kbserver.emulator.memory import Memory
from kbserver.emulator.operands import M0
from kbserver.emulator.oracle.direct import WIDTHS
from kbserver.emulator.wave import WaveRunner, WaveState
from tests.emulator.both import differences
from tests.emulator.harness import ALL, fresh_wave, run

SOME = 0x8000_0000_0000_0F05


def _kinds(runner: WaveRunner) -> list[tuple[str, int]]:
    found = runner.findings[: runner.finding_count]
    return [(FINDING_KINDS[int(row[FINDING["kind"]])], int(row[FINDING["lane"]])) for row in found]


def _wave(memory: Memory, exec_: int, seed: int = 0, lds_bytes: int = 2048) -> WaveState:
    rng = np.random.default_rng(seed)
    data = memory.buffer("data", rng.integers(0, 256, 4096, dtype=np.uint8))
    wave = fresh_wave(16, lds_bytes=lds_bytes, exec_=exec_)
    wave.lds[:] = 0x11
    address = (data.address + rng.integers(0, 4000, 64)).astype(np.uint64)
    wave.vgprs[2], wave.vgprs[3] = address.astype(np.uint32), (address >> np.uint64(32)).astype(np.uint32)
    wave.vgprs[4] = rng.integers(0, 1 << 32, 64, dtype=np.uint32)
    return wave


@pytest.mark.parametrize("exec_", [ALL, SOME, 0])
@pytest.mark.parametrize("suffix", WIDTHS)
def test_direct_load_agrees_with_the_oracle(suffix: str, exec_: int) -> None:
    for seed, m0 in enumerate((0, 67, 256)):  # the two low bits of M0 do not count
        memory = Memory()
        wave = _wave(memory, exec_, seed)
        wave.sgprs[M0] = m0
        assert differences([f"global_load_lds_{suffix} v[2:3], off offset:8 sc0"], wave, memory) == []


@pytest.mark.parametrize(("suffix", "dwords"), [("dword", 1), ("dwordx3", 3), ("dwordx4", 4)])
def test_pieces_of_three_and_four_dwords_stand_16_bytes_apart(suffix: str, dwords: int) -> None:
    memory = Memory()
    words = np.arange(256, dtype=np.uint32) + 1000
    data = memory.buffer("data", words)
    wave = fresh_wave(16, lds_bytes=1024 + 16)
    wave.lds[:] = 0
    wave.sgprs[M0] = 16
    wave.set_pair(6, data.address)
    wave.vgprs[2] = np.arange(64)[::-1] * 16  # lane 0 reads the last four words
    run(f"global_load_lds_{suffix} v2, s[6:7]", wave, memory=memory)
    lds = wave.lds.view(np.uint32)[4:]
    step = 1 if dwords == 1 else 4
    for lane in (0, 1, 63):
        got = lds[lane * step : lane * step + step].tolist()
        first = 1000 + (63 - lane) * 4
        assert got == [first + n if n < dwords else 0 for n in range(step)]
    assert not wave.lds[:16].any()


def test_sub_dword_direct_loads_fill_a_dword_each() -> None:
    memory = Memory()
    data = memory.buffer("data", np.array([0x80, 0x7F], np.uint8))
    wave = fresh_wave(16, lds_bytes=8, exec_=0b11)
    wave.lds[:] = 0x11
    wave.set_pair(6, data.address)
    wave.vgprs[2] = np.arange(64) % 2
    run("global_load_lds_sbyte v2, s[6:7]", wave, memory=memory)
    assert wave.lds.view(np.uint32).tolist() == [0xFFFFFF80, 0x7F]


def test_lanes_whose_place_is_outside_the_lds_do_not_load_and_are_recorded() -> None:
    memory = Memory()
    wave = _wave(memory, 0b1111, lds_bytes=28)
    wave.sgprs[M0] = 16
    runner = run("global_load_lds_dword v[2:3], off", wave, memory=memory)
    assert _kinds(runner) == [("LDS write out of range", 3)]
    assert (wave.lds[:16] == 0x11).all()
    assert (wave.lds[16:28].reshape(3, 4) != 0x11).any(axis=1).all()


@pytest.mark.parametrize("suffix", ["dwordx3", "dwordx4"])
def test_wide_direct_loads_are_refused_before_gfx950(suffix: str) -> None:
    with pytest.raises(UnsupportedInstruction, match="gfx942 has direct loads into LDS of a dword or less"):
        run(f"global_load_lds_{suffix} v[2:3], off", fresh_wave(lds_bytes=2048), arch="gfx942")


@pytest.mark.parametrize("exec_", [ALL, SOME])
def test_ds_by_lane_number_agrees_with_the_oracle(exec_: int) -> None:
    memory = Memory()
    wave = _wave(memory, exec_)
    wave.lds[:] = np.random.default_rng(3).integers(0, 256, 2048, dtype=np.uint8)
    wave.sgprs[M0] = 0x30000 + 12
    lines = ["ds_read_addtid_b32 v6 offset:20", "ds_write_addtid_b32 v4 offset:1040"]
    assert differences(lines, wave, memory) == []


def test_ds_by_lane_number_adds_m0_offset_and_four_times_the_lane() -> None:
    wave = fresh_wave(16, lds_bytes=1024, exec_=1 << 5)
    wave.lds.view(np.uint32)[:] = np.arange(256)
    wave.sgprs[M0] = 40
    run("ds_read_addtid_b32 v6 offset:8", wave)
    assert wave.vgprs[6, 5] == (40 + 8 + 20) // 4
    wave.vgprs[4] = 777
    run("ds_write_addtid_b32 v4 offset:0", wave)
    assert np.flatnonzero(wave.lds.view(np.uint32) == 777).tolist() == [(40 + 20) // 4]


@pytest.mark.parametrize("line", ["ds_write2_b32 v2, v4, v5 offset0:3 offset1:3", "ds_write2_b32 v2, v4, v5"])
def test_two_writes_to_one_address_are_one_write_of_the_first_value(line: str) -> None:
    wave = fresh_wave(16, lds_bytes=1024)
    wave.vgprs[2], wave.vgprs[4], wave.vgprs[5] = np.arange(64) * 4, 4, 5
    assert differences([line], wave) == []
    assert set(wave.lds.view(np.uint32).tolist()) == {0, 4}
