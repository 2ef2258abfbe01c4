"""Loads and stores: global, LDS, LDS-direct and scalar, with every width, and what an address out of range does."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.emulator.context import FINDING, FINDING_KINDS
from kbserver.emulator.memory import Memory
from kbserver.emulator.operands import M0
from kbserver.emulator.wave import WaveRunner, WaveState
from tests.emulator.both import differences
from tests.emulator.harness import ALL, fresh_wave, lanes, run

_BYTES = np.arange(1024).astype(np.uint8) ^ 0x85


def _with_addresses(exec_: int, address: np.ndarray) -> WaveState:
    wave = fresh_wave(exec_=exec_, lds_bytes=1024)
    wave.vgprs[2] = address.astype(np.uint64).astype(np.uint32)
    wave.vgprs[3] = (address.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)
    wave.vgprs[4:12] = 0xAAAAAAAA
    return wave


def _word(offset: int, size: int, *, signed: bool = False) -> int:
    return int.from_bytes(_BYTES[offset : offset + size].tobytes(), "little", signed=signed) & 0xFFFFFFFF


def _kinds(runner: WaveRunner) -> list[tuple[str, int]]:
    rows = runner.findings[: runner.finding_count]
    return [(FINDING_KINDS[int(row[FINDING["kind"]])], int(row[FINDING["lane"]])) for row in rows]


_LOADS = {
    # suffix -> (registers, expected registers for the bytes at an offset)
    "ubyte": lambda o: [_word(o, 1)],
    "sbyte": lambda o: [_word(o, 1, signed=True)],
    "ushort": lambda o: [_word(o, 2)],
    "sshort": lambda o: [_word(o, 2, signed=True)],
    "ubyte_d16": lambda o: [0xAAAA0000 | _word(o, 1)],
    "sbyte_d16": lambda o: [0xAAAA0000 | _word(o, 1, signed=True) & 0xFFFF],
    "ubyte_d16_hi": lambda o: [0xAAAA | _word(o, 1) << 16],
    "sbyte_d16_hi": lambda o: [0xAAAA | (_word(o, 1, signed=True) & 0xFFFF) << 16],
    "short_d16": lambda o: [0xAAAA0000 | _word(o, 2)],
    "short_d16_hi": lambda o: [0xAAAA | _word(o, 2) << 16],
    "dword": lambda o: [_word(o, 4)],
    "dwordx2": lambda o: [_word(o + 4 * n, 4) for n in range(2)],
    "dwordx3": lambda o: [_word(o + 4 * n, 4) for n in range(3)],
    "dwordx4": lambda o: [_word(o + 4 * n, 4) for n in range(4)],
}
_DS_NAMES = {
    "u8": "ubyte", "i8": "sbyte", "u16": "ushort", "i16": "sshort", "u8_d16": "ubyte_d16", "u8_d16_hi": "ubyte_d16_hi",
    "i8_d16": "sbyte_d16", "i8_d16_hi": "sbyte_d16_hi", "u16_d16": "short_d16", "u16_d16_hi": "short_d16_hi",
    "b32": "dword", "b64": "dwordx2", "b96": "dwordx3", "b128": "dwordx4",
}  # fmt: skip
_STORED_BYTES = {
    "byte": 1,
    "byte_d16_hi": 1,
    "short": 2,
    "short_d16_hi": 2,
    "dword": 4,
    "dwordx2": 8,
    "dwordx3": 12,
    "dwordx4": 16,
}
_DS_STORES = {
    "b8": "byte", "b8_d16_hi": "byte_d16_hi", "b16": "short", "b16_d16_hi": "short_d16_hi", "b32": "dword",
    "b64": "dwordx2", "b96": "dwordx3", "b128": "dwordx4",
}  # fmt: skip


def _operand(count: int) -> str:
    return "v4" if count == 1 else f"v[4:{3 + count}]"


@pytest.mark.parametrize("exec_", [ALL, 0x8000_0000_0000_0F05])
@pytest.mark.parametrize("suffix", _LOADS)
def test_global_load(suffix: str, exec_: int) -> None:
    memory = Memory()
    buffer = memory.buffer("data", _BYTES)
    offsets = np.arange(64) * 13 + 1  # misaligned on purpose: the hardware allows it
    wave = _with_addresses(exec_, buffer.address + offsets - 24)
    count = len(_LOADS[suffix](0))
    runner = run(f"global_load_{suffix} {_operand(count)}, v[2:3], off offset:24 sc0 nt", wave, memory=memory)
    for lane in range(64):
        want = _LOADS[suffix](int(offsets[lane])) if exec_ >> lane & 1 else [0xAAAAAAAA] * count
        assert [int(wave.vgprs[4 + n, lane]) for n in range(count)] == want, lane
    assert runner.finding_count == 0


@pytest.mark.parametrize("exec_", [ALL, 0xFF00_FFFF_7FFF_FF05])
@pytest.mark.parametrize("suffix", ["ubyte", "sbyte", "ushort", "sshort", "dword"])
def test_consecutive_elements_load_like_scattered_ones(suffix: str, exec_: int) -> None:
    memory = Memory()
    buffer = memory.buffer("data", _BYTES)
    size = {"ubyte": 1, "sbyte": 1, "ushort": 2, "sshort": 2, "dword": 4}[suffix]
    offsets = 3 + np.arange(64) * size
    offsets[20] += 1  # one lane out of step in its run
    wave = _with_addresses(exec_, buffer.address + offsets)
    run(f"global_load_{suffix} v4, v[2:3], off", wave, memory=memory)
    for lane in range(64):
        want = _LOADS[suffix](int(offsets[lane]))[0] if exec_ >> lane & 1 else 0xAAAAAAAA
        assert int(wave.vgprs[4, lane]) == want, lane


@pytest.mark.parametrize("exec_", [ALL, 0xFF00_FFFF_7FFF_FF05])
@pytest.mark.parametrize(("name", "size"), [("b8", 1), ("b16", 2), ("b32", 4)])
def test_consecutive_elements_store_like_scattered_ones(name: str, size: int, exec_: int) -> None:
    wave = _with_addresses(exec_, 8 + np.arange(64) * size)
    wave.lds[:] = _BYTES
    wave.vgprs[4] = np.random.default_rng(5).integers(0, 1 << 32, 64, dtype=np.uint32)
    run(f"ds_write_{name} v2, v4", wave)
    want = _BYTES.copy()
    for lane in range(64):
        if exec_ >> lane & 1:
            want[8 + lane * size : 8 + (lane + 1) * size] = wave.vgprs[4, lane : lane + 1].view(np.uint8)[:size]
    assert np.array_equal(wave.lds, want)


def test_global_load_adds_scalar_base_zero_extended_offset_and_immediate() -> None:
    memory = Memory()
    buffer = memory.buffer("data", _BYTES)
    wave = _with_addresses(ALL, np.zeros(64))
    wave.set_pair(6, buffer.address + 8)
    wave.vgprs[2] = lanes(0, 4, 900)
    run("global_load_dword v4, v2, s[6:7] offset:-8", wave, memory=memory)
    assert wave.vgprs[4, :3].tolist() == [_word(0, 4), _word(4, 4), _word(900, 4)]


@pytest.mark.parametrize("exec_", [ALL, 0x5])
@pytest.mark.parametrize("suffix", _STORED_BYTES)
def test_global_store(suffix: str, exec_: int) -> None:
    memory = Memory()
    buffer = memory.buffer("data", _BYTES, writable=True)
    wave = _with_addresses(exec_, buffer.address + np.arange(64) * 16 - 3)
    rng = np.random.default_rng(3)
    wave.vgprs[4:8] = rng.integers(0, 1 << 32, (4, 64), dtype=np.uint32)
    size = _STORED_BYTES[suffix]
    run(f"global_store_{suffix} v[2:3], {_operand(max(1, size // 4))}, off offset:3", wave, memory=memory)
    want = _BYTES.copy()
    for lane in range(64):
        if exec_ >> lane & 1:
            raw = wave.vgprs[4:8, lane].tobytes()
            start = 2 if suffix.endswith("hi") else 0
            want[lane * 16 : lane * 16 + size] = np.frombuffer(raw[start : start + size], np.uint8)
    assert np.array_equal(buffer.array, want)


@pytest.mark.parametrize("exec_", [ALL, 0x8000_0000_0000_0F05])
@pytest.mark.parametrize("name", _DS_NAMES)
def test_lds_read(name: str, exec_: int) -> None:
    wave = _with_addresses(exec_, np.arange(64) * 12)
    wave.lds[:] = _BYTES
    expected = _LOADS[_DS_NAMES[name]]
    count = len(expected(0))
    run(f"ds_read_{name} {_operand(count)}, v2 offset:40", wave)
    for lane in range(64):
        want = expected(lane * 12 + 40) if exec_ >> lane & 1 else [0xAAAAAAAA] * count
        assert [int(wave.vgprs[4 + n, lane]) for n in range(count)] == want, lane


def test_load_may_overwrite_its_own_address() -> None:
    wave = _with_addresses(ALL ^ 0x100, np.arange(64) * 4)
    wave.lds[:] = _BYTES
    wave.vgprs[2, 40:] = np.arange(40, 64)[::-1] * 4
    addresses = wave.vgprs[2].copy()
    run("ds_read_b32 v2, v2", wave)
    want = [int(a) if lane == 8 else _word(int(a), 4) for lane, a in enumerate(addresses)]
    assert wave.vgprs[2].tolist() == want


@pytest.mark.parametrize("name", _DS_STORES)
def test_lds_write(name: str) -> None:
    wave = _with_addresses(0xFF, np.arange(64) * 16)
    wave.lds[:] = _BYTES
    wave.vgprs[4:8] = np.random.default_rng(4).integers(0, 1 << 32, (4, 64), dtype=np.uint32)
    suffix = _DS_STORES[name]
    size = _STORED_BYTES[suffix]
    run(f"ds_write_{name} v2, {_operand(max(1, size // 4))} offset:16", wave)
    want = _BYTES.copy()
    for lane in range(8):
        start = 2 if suffix.endswith("hi") else 0
        raw = wave.vgprs[4:8, lane].tobytes()[start : start + size]
        want[lane * 16 + 16 : lane * 16 + 16 + size] = np.frombuffer(raw, np.uint8)
    assert np.array_equal(wave.lds, want)


@pytest.mark.parametrize(
    ("line", "offsets"),
    [
        ("ds_read2_b32 v[4:5], v2 offset0:1 offset1:3", [4, 12]),
        ("ds_read2_b32 v[4:5], v2 offset1:2", [0, 8]),
        ("ds_read2st64_b32 v[4:5], v2 offset0:1 offset1:2", [256, 512]),
        ("ds_read2_b64 v[4:7], v2 offset0:2 offset1:1", [16, 20, 8, 12]),
        ("ds_read2st64_b64 v[4:7], v2 offset1:1", [0, 4, 512, 516]),
    ],
)
def test_lds_read2_scales_offsets_by_the_element(line: str, offsets: list[int]) -> None:
    wave = _with_addresses(ALL, np.arange(64) * 4)
    wave.lds[:] = _BYTES
    run(line, wave)
    assert [int(wave.vgprs[4 + n, 9]) for n in range(len(offsets))] == [_word(36 + o, 4) for o in offsets]


@pytest.mark.parametrize("address", [4, 5])
def test_lds_read2_may_overwrite_its_address(address: int) -> None:
    wave = fresh_wave(lds_bytes=1024)
    wave.lds[:] = _BYTES
    wave.vgprs[address] = np.arange(64) * 4
    run(f"ds_read2_b32 v[4:5], v{address} offset0:1 offset1:2", wave)
    assert wave.vgprs[4:6, 10].tolist() == [_word(44, 4), _word(48, 4)]


@pytest.mark.parametrize(
    ("line", "places"),
    [
        ("ds_write2_b32 v2, v4, v5 offset0:1 offset1:3", {4: (4,), 12: (5,)}),
        ("ds_write2st64_b32 v2, v4, v5 offset1:1", {0: (4,), 256: (5,)}),
        ("ds_write2_b64 v2, v[4:5], v[6:7] offset1:4", {0: (4, 5), 32: (6, 7)}),
        ("ds_write2st64_b64 v2, v[4:5], v[6:7] offset1:1", {0: (4, 5), 512: (6, 7)}),
    ],
)
def test_lds_write2_scales_offsets_by_the_element(line: str, places: dict[int, tuple[int, ...]]) -> None:
    wave = _with_addresses(1 << 5, np.arange(64) * 8)
    wave.vgprs[4:8] = np.arange(4)[:, None] + 50
    run(line, wave)
    for offset, registers in places.items():
        words = wave.lds[40 + offset : 40 + offset + 4 * len(registers)].view(np.uint32)
        assert words.tolist() == [int(wave.vgprs[r, 5]) for r in registers]


def test_lds_direct_load_places_lanes_by_m0_and_lane_number() -> None:
    memory = Memory()
    buffer = memory.buffer("data", _BYTES)
    # Every lane reads the same place, lane 2 is off: its slot in LDS keeps what it had.
    wave = _with_addresses(ALL ^ 0b100, np.full(64, buffer.address))
    wave.lds[:] = 0x11
    wave.sgprs[M0] = 64
    run("global_load_lds_dword v[2:3], off offset:4", wave, memory=memory)
    words = wave.lds.view(np.uint32)
    start = (64 + 4) // 4
    assert words[start : start + 64].tolist() == [0x11111111 if n == 2 else _word(4, 4) for n in range(64)]
    assert words[start - 1] == words[start + 64] == 0x11111111


@pytest.mark.parametrize(
    ("line", "byte", "dwords"),
    [
        ("s_load_dword s16, s[4:5], 0x8", 8, 1),
        ("s_load_dwordx2 s[16:17], s[4:5], 0x0", 0, 2),
        ("s_load_dwordx4 s[16:19], s[4:5], s8", 12, 4),
        ("s_load_dwordx8 s[16:23], s[4:5], s8 offset:0x10", 28, 8),
        ("s_load_dwordx16 s[16:31], s[4:5], -0x4", -4, 16),
    ],
)
def test_scalar_load_runs_with_no_lane_active(line: str, byte: int, dwords: int) -> None:
    memory = Memory()
    buffer = memory.buffer("data", _BYTES)
    wave = fresh_wave(exec_=0)
    wave.set_pair(4, buffer.address + 16 + 2)  # the two low bits of the address do not count
    wave.sgprs[8] = 12
    run(line, wave, memory=memory)
    assert wave.sgprs[16 : 16 + dwords].tolist() == [_word(16 + byte + 4 * n, 4) for n in range(dwords)]


def test_global_access_out_of_range_is_stopped_and_recorded() -> None:
    memory = Memory()
    buffer = memory.buffer("data", _BYTES, writable=True)
    readable = memory.buffer("constants", _BYTES)
    address = np.full(64, buffer.address)
    address[1] = buffer.address + 1021  # three bytes past the end with a dword
    address[2] = 8
    address[3] = readable.address
    wave = _with_addresses(0b1111, address)
    wave.vgprs[4] = 0xDEADBEEF
    before = memory.buffers[0].whole.copy()
    runner = run("global_store_dword v[2:3], v4, off", wave, memory=memory)
    kind = "global write out of range"
    assert _kinds(runner) == [(kind, 1), (kind, 2), (kind, 3)]
    assert np.array_equal(readable.array, _BYTES)
    changed = np.flatnonzero(memory.buffers[0].whole != before)
    assert changed.size == 4

    runner = run("global_load_dword v5, v[2:3], off", wave, memory=memory)
    assert _kinds(runner) == [("global read out of range", 1), ("global read out of range", 2)]
    assert wave.vgprs[5, :5].tolist() == [0xDEADBEEF, 0, 0, _word(0, 4), 0xAAAAAAAA]


def test_lds_access_out_of_range_reads_zero_drops_writes_and_is_recorded() -> None:
    wave = _with_addresses(0b111, lanes(1020, 1021, 0xFFFFFFFC))
    wave.lds[:] = _BYTES
    runner = run("ds_read_b32 v4, v2", wave)
    assert _kinds(runner) == [("LDS read out of range", 1), ("LDS read out of range", 2)]
    assert wave.vgprs[4, :4].tolist() == [_word(1020, 4), 0, 0, 0xAAAAAAAA]
    runner = run("ds_write_b32 v2, v4 offset:4", wave)
    # The offset does not wrap around 32 bits: lane 2 stays out of range.
    assert _kinds(runner) == [("LDS write out of range", lane) for lane in range(3)]
    assert np.array_equal(wave.lds, _BYTES)


def test_scalar_load_may_reach_to_the_end_of_the_last_line_and_no_further() -> None:
    memory = Memory()
    buffer = memory.buffer("data", _BYTES[:36])
    wave = fresh_wave()
    wave.set_pair(4, buffer.address)
    assert run("s_load_dwordx4 s[16:19], s[4:5], 0x18", wave, memory=memory).finding_count == 0
    assert _kinds(run("s_load_dwordx4 s[16:19], s[4:5], 0x24", wave, memory=memory)) == [
        ("scalar read out of range", 0)
    ]
    assert wave.sgprs[16:20].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("exec_", [ALL, 0x8000_0000_0000_0F05])
@pytest.mark.parametrize("memory_kind", ["LDS", "global"])
def test_loads_agree_with_the_oracle(memory_kind: str, exec_: int) -> None:
    rng = np.random.default_rng(9)
    memory = Memory()
    buffer = memory.buffer("data", _BYTES)
    address = rng.integers(0, 900, 64) + (0 if memory_kind == "LDS" else buffer.address)
    wave = _with_addresses(exec_, address)
    wave.lds[:] = _BYTES
    wave.vgprs[10:100] = rng.integers(0, 1 << 32, (90, 64), dtype=np.uint32)
    names = _DS_NAMES if memory_kind == "LDS" else _LOADS
    lines = []
    for place, name in enumerate(names):
        count = len(_LOADS[_DS_NAMES.get(name, name)](0))
        target = f"v{10 + 4 * place}" if count == 1 else f"v[{10 + 4 * place}:{9 + 4 * place + count}]"
        form = f"ds_read_{name} {target}, v2" if memory_kind == "LDS" else f"global_load_{name} {target}, v[2:3], off"
        lines.append(f"{form} offset:24")
    assert differences(lines, wave, memory) == []
