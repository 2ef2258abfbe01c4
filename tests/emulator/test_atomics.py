"""Atomics on LDS and global memory: against the oracle with random operands, literal expectations, what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.context import FINDING, FINDING_KINDS
from kbserver.emulator.effects import effects
from kbserver.emulator.memory import Memory
from kbserver.emulator.oracle.atomics import STEPS
from kbserver.emulator.semantics.atomics import ROWS
from kbserver.emulator.wait_check import missing_waits
from kbserver.emulator.wave import WaveRunner, WaveState
from tests.emulator.both import differences
from tests.emulator.harness import ALL, fresh_wave, lanes, load, run
from tests.toolchain.clang import assembles, needs_clang

SOME = 0x8000_0000_0000_0F05
_TWO_OPERANDS = ("ds_mskor", "ds_cmpst", "ds_wrap", "ds_wrxchg2")
_LDS_NAMES = sorted(name for name in ROWS if name.startswith("ds_"))
_GLOBAL_NAMES = sorted(name for name in ROWS if name.startswith("global_"))


def _bits(name: str) -> int:
    return 64 if name.endswith(("64", "_x2")) else 32


def _vector(first: int, dwords: int) -> str:
    return f"v{first}" if dwords == 1 else f"v[{first}:{first + dwords - 1}]"


def _lds_line(name: str) -> str:
    """Old value to v8 on, address in v2, operands in v4 on and v12 on."""
    dwords = _bits(name) // 32
    parts = [_vector(8, dwords * (2 if "wrxchg2" in name else 1))] if "_rtn_" in name else []
    parts += ["v2", _vector(4, dwords)]
    if name.startswith(_TWO_OPERANDS):
        parts.append(_vector(12, dwords))
    offsets = "offset0:3 offset1:1" if "wrxchg2" in name else "offset:8"
    return f"{name} {', '.join(parts)} {offsets}"


def _global_line(name: str, bit: str = "") -> str:
    dwords = _bits(name) // 32
    width = dwords * (2 if "cmpswap" in name else 1)
    result = f"{_vector(8, dwords)}, " if bit else ""
    return f"{name} {result}v[2:3], {_vector(4, width)}, off offset:16 {bit}"


def _numbers(name: str, rng: np.random.Generator, count: int) -> np.ndarray:
    """Return operands, [count, 2] dwords: for floats numbers that round and now and then a zero or an infinity; for
    integers few different small ones, so that comparisons meet equal values, or any."""
    size = _bits(name)
    if "f64" in name or "f32" in name:
        values = (rng.normal(size=count) * 10.0 ** rng.integers(-2, 3, count)).astype(f"f{size // 8}")
        special = rng.random(count) < 0.3
        values[special] = rng.choice([0.0, -0.0, 1.5, np.inf, 1e-40 if size == 32 else 1e-310], special.sum())
        if "min" in name or "max" in name:
            words = values.view(f"u{size // 8}")
            one = np.float32(np.inf).view(np.uint32) if size == 32 else np.float64(np.inf).view(np.uint64)
            words[rng.random(count) < 0.1] = one + 1  # signaling
            words[rng.random(count) < 0.1] = one + (1 << (22 if size == 32 else 51)) + 5
        return values.view(np.uint32).reshape(count, size // 32).repeat(64 // size, axis=1)
    if "bf16" in name:
        return (rng.normal(size=(count, 4)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)
    if "f16" in name:
        return (rng.normal(size=(count, 4)) * 100).astype(np.float16).view(np.uint32)
    any_ = rng.integers(0, 1 << 32, (count, 2), dtype=np.uint32)
    few = rng.integers(0, 4, (count, 2), dtype=np.uint32)
    few[:, 1] = 0
    return few if rng.random() < 0.5 else any_


def _fill(wave: WaveState, name: str, rng: np.random.Generator) -> None:
    wave.vgprs[:] = rng.integers(0, 1 << 32, wave.vgprs.shape, dtype=np.uint32)
    for first in (4, 12):
        wave.vgprs[first : first + 2] = _numbers(name, rng, 64).T
    if "cmpswap" in name:
        after = 4 + _bits(name) // 32
        wave.vgprs[after : after + 2] = _numbers(name, rng, 64).T


@pytest.mark.parametrize("exec_", [ALL, SOME, 0])
@pytest.mark.parametrize("name", _LDS_NAMES)
def test_lds_atomic_agrees_with_the_oracle(name: str, exec_: int) -> None:
    size = _bits(name) // 8
    for seed in range(3):
        rng = np.random.default_rng([seed, len(name)])
        wave = fresh_wave(32, lds_bytes=8192, exec_=exec_)
        _fill(wave, name, rng)
        wave.lds.view(np.uint32)[:] = _numbers(name, rng, 1024).reshape(-1)
        # Few places, so that many lanes meet; in the pair forms none does, because their order is not told.
        apart = rng.permutation(64) * (1 if "st64" in name else 4)
        wave.vgprs[2] = (apart if "wrxchg2" in name else rng.integers(0, 12, 64)) * size
        assert differences([_lds_line(name)], wave) == []


@pytest.mark.parametrize("bit", ["", "sc0"])
@pytest.mark.parametrize("exec_", [ALL, SOME, 0])
@pytest.mark.parametrize("name", _GLOBAL_NAMES)
def test_global_atomic_agrees_with_the_oracle(name: str, exec_: int, bit: str) -> None:
    size = _bits(name) // 8
    for seed in range(3):
        rng = np.random.default_rng([seed, len(name)])
        memory = Memory()
        buffer = memory.buffer("data", _numbers(name, rng, 64), writable=True)
        wave = fresh_wave(32, exec_=exec_)
        _fill(wave, name, rng)
        address = (buffer.address + rng.integers(0, 12, 64) * size).astype(np.uint64)
        wave.vgprs[2], wave.vgprs[3] = address.astype(np.uint32), (address >> np.uint64(32)).astype(np.uint32)
        assert differences([_global_line(name, bit)], wave, memory) == []


def test_oracle_and_table_have_the_same_atomics() -> None:
    assert STEPS.keys() == ROWS.keys()


# Each line: what memory holds, first operand, second operand, what memory holds then. From the manual's pseudocode.
_LITERAL = [
    ("ds_inc_rtn_u32", 5, 9, 0, 6),
    ("ds_inc_rtn_u32", 9, 9, 0, 0),
    ("ds_inc_rtn_u32", 12, 9, 0, 0),
    ("ds_dec_rtn_u32", 5, 9, 0, 4),
    ("ds_dec_rtn_u32", 0, 9, 0, 9),
    ("ds_dec_rtn_u32", 10, 9, 0, 9),
    ("ds_rsub_rtn_u32", 5, 9, 0, 4),
    ("ds_sub_rtn_u32", 5, 9, 0, 0xFFFFFFFC),
    ("ds_mskor_rtn_b32", 0xABCD, 0x0FF0, 0x0120, 0xA12D),
    ("ds_wrap_rtn_b32", 7, 5, 100, 2),
    ("ds_wrap_rtn_b32", 3, 5, 100, 103),
    ("ds_cmpst_rtn_b32", 7, 7, 100, 100),
    ("ds_cmpst_rtn_b32", 7, 8, 100, 7),
    ("ds_cmpst_rtn_f32", 0x80000000, 0x00000000, 100, 100),  # -0 equals +0
    ("ds_cmpst_rtn_f32", 0x7FC00000, 0x7FC00000, 100, 0x7FC00000),  # NaN equals nothing
    ("ds_min_rtn_i32", 1, 0xFFFFFFFF, 0, 0xFFFFFFFF),
    ("ds_min_rtn_u32", 1, 0xFFFFFFFF, 0, 1),
    ("ds_min_rtn_f32", 0x3F800000, 0xBF800000, 0, 0xBF800000),
    ("ds_min_rtn_f32", 0x3F800000, 0x7FC00000, 0, 0x3F800000),  # a quiet NaN loses, wherever it is
    ("ds_max_rtn_f32", 0x7FC00000, 0x3F800000, 0, 0x3F800000),
    ("ds_min_rtn_f32", 0x3F800000, 0x7F800001, 0, 0x7FC00001),  # a signaling NaN becomes quiet
    ("ds_max_rtn_f32", 0x7F800001, 0x3F800000, 0, 0x7FC00001),
    ("ds_min_rtn_f32", 0x00000000, 0x80000000, 0, 0x80000000),  # -0 is below +0
    ("ds_max_rtn_f32", 0x80000000, 0x00000000, 0, 0x00000000),
    ("ds_min_rtn_f32", 0xC0000000, 0xBF800000, 0, 0xC0000000),
    ("ds_max_rtn_f32", 0x00000002, 0x00000001, 0, 0x00000002),
    ("ds_add_rtn_f32", 0x00000001, 0x00000001, 0, 0x00000002),  # denormals count
    ("ds_pk_add_rtn_f16", 0x3C00_0001, 0x3C00_0001, 0, 0x4000_0002),
    ("ds_pk_add_rtn_bf16", 0x3F80_4000, 0x3B80_BF80, 0, 0x3F80_3F80),  # 1 + 2^-8 is half way: to even
    ("ds_pk_add_rtn_bf16", 0x3F81_7F80, 0x3B80_FF80, 0, 0x3F82_7FC0),
]


@pytest.mark.parametrize(("name", "held", "first", "second", "then"), _LITERAL)
def test_one_lane_of_an_lds_atomic(name: str, held: int, first: int, second: int, then: int) -> None:
    wave = fresh_wave(32, lds_bytes=16, exec_=0b10)
    wave.lds.view(np.uint32)[:] = held
    wave.vgprs[2], wave.vgprs[4], wave.vgprs[12] = 0, first, second
    run(_lds_line(name).replace("offset:8", ""), wave)
    got = wave.lds.view(np.uint32).tolist()
    if "bf16" in name and then & 0xFFFF == 0x7FC0:
        got[0] &= 0x7FFFFFFF | 0xFFFF << 16 & ~0x8000
        assert got[0] >> 16 == 0x3F82
        assert got[0] & 0x7FFF > 0x7F80
    else:
        assert got == [then, held, held, held]
    assert wave.vgprs[8, :3].tolist() == [0, held, 0]


@pytest.mark.parametrize("returns", [False, True])
def test_lanes_take_their_turns_in_ascending_order(returns: bool) -> None:
    wave = fresh_wave(32, lds_bytes=4, exec_=0b11100)
    wave.vgprs[2], wave.vgprs[4], wave.vgprs[5], wave.vgprs[8] = 0, 0, np.arange(64), 77
    wave.lds[:] = 0
    run("ds_cmpst_rtn_b32 v8, v2, v4, v5" if returns else "ds_cmpst_b32 v2, v4, v5", wave)
    assert wave.lds.view(np.uint32).tolist() == [2]
    assert wave.vgprs[8, :6].tolist() == ([77, 77, 0, 2, 2, 77] if returns else [77] * 6)


def _global_wave(memory: Memory, words: np.ndarray, offsets: np.ndarray, exec_: int) -> tuple[WaveState, np.ndarray]:
    buffer = memory.buffer("data", words, writable=True)
    address = buffer.address + offsets.astype(np.uint64)
    wave = fresh_wave(exec_=exec_)
    wave.vgprs[2] = address.astype(np.uint32)
    wave.vgprs[3] = (address >> np.uint64(32)).astype(np.uint32)
    wave.vgprs[8:10] = 0xAAAAAAAA
    return wave, buffer.array


@pytest.mark.parametrize(
    ("held", "data", "then"),
    [(0x00000001, 0x00000001, 0), (0x80000001, 0x80000001, 0x80000000), (0x00800000, 0x807FFFFF, 0x00800000)],
)
def test_f32_sum_in_memory_flushes_denormals_that_come_in(held: int, data: int, then: int) -> None:
    memory = Memory()
    wave, content = _global_wave(memory, np.array([held], np.uint32), np.zeros(64), 1)
    wave.vgprs[4] = data
    run("global_atomic_add_f32 v[2:3], v4, off", wave, memory=memory)
    assert content.tolist() == [then]


def test_global_atomic_takes_a_scalar_base() -> None:
    memory = Memory()
    wave, content = _global_wave(memory, np.arange(64, dtype=np.uint32), np.zeros(64), ALL)
    wave.set_pair(6, int(wave.vgprs[2, 0]) | int(wave.vgprs[3, 0]) << 32)
    wave.vgprs[2], wave.vgprs[4] = np.arange(64)[::-1] * 4, np.arange(64) * 100
    run("global_atomic_add v5, v2, v4, s[6:7] sc0", wave, memory=memory)
    assert content.tolist() == [lane + (63 - lane) * 100 for lane in range(64)]
    assert wave.vgprs[5].tolist() == list(range(63, -1, -1))


@pytest.mark.parametrize("suffix", ["", "_x2"])
def test_global_compare_comes_after_the_new_value(suffix: str) -> None:
    kind = np.uint64 if suffix else np.uint32
    memory = Memory()
    step = np.dtype(kind).itemsize
    wave, content = _global_wave(memory, (np.arange(64) % 2).astype(kind), np.arange(64) * step, ALL)
    wave.vgprs[4:8] = 0
    wave.vgprs[4], wave.vgprs[6 if suffix else 5] = np.arange(64) + 100, 1
    data, result = ("v[4:7]", "v[8:9]") if suffix else ("v[4:5]", "v8")
    run(f"global_atomic_cmpswap{suffix} {result}, v[2:3], {data}, off sc0", wave, memory=memory)
    assert content.tolist() == [lane + 100 if lane % 2 else 0 for lane in range(64)]
    assert wave.vgprs[8].tolist() == [lane % 2 for lane in range(64)]


@pytest.mark.parametrize("result", ["v2", "v4"])
def test_result_may_overwrite_address_or_data(result: str) -> None:
    wave = fresh_wave(lds_bytes=256)
    wave.lds.view(np.uint32)[:] = np.arange(64) + 7
    wave.vgprs[2], wave.vgprs[4] = np.arange(64) * 4, 1000
    run(f"ds_add_rtn_u32 {result}, v2, v4", wave)
    assert wave.vgprs[int(result[1])].tolist() == list(range(7, 71))
    assert wave.lds.view(np.uint32).tolist() == list(range(1007, 1071))


def test_two_exchanges_whose_result_would_destroy_their_operands_are_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="would overwrite what the second exchange reads"):
        run("ds_wrxchg2_rtn_b32 v[2:3], v2, v4, v5 offset1:1", fresh_wave(lds_bytes=16))


def test_two_exchanges_at_one_address_are_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="both exchanges have one address"):
        run("ds_wrxchg2_rtn_b32 v[8:9], v2, v4, v5 offset0:1 offset1:1", fresh_wave(lds_bytes=16))


def _kinds(runner: WaveRunner) -> list[tuple[str, int]]:
    rows = runner.findings[: runner.finding_count]
    return [(FINDING_KINDS[int(row[FINDING["kind"]])], int(row[FINDING["lane"]])) for row in rows]


def test_lds_atomic_out_of_range_or_not_aligned_changes_nothing_and_is_recorded() -> None:
    wave = fresh_wave(exec_=0b1111, lds_bytes=16)
    wave.lds[:] = 0
    wave.vgprs[2], wave.vgprs[4], wave.vgprs[8] = lanes(0, 16, 5, 12), 9, 0xAAAAAAAA
    runner = run("ds_add_rtn_u32 v8, v2, v4", wave)
    assert _kinds(runner) == [("LDS atomic out of range", 1), ("LDS atomic not aligned", 2)]
    assert wave.lds.view(np.uint32).tolist() == [9, 0, 0, 9]
    assert wave.vgprs[8, :5].tolist() == [0, 0, 0, 0, 0xAAAAAAAA]


def test_lds_atomic_of_64_bits_at_a_multiple_of_4_is_not_aligned() -> None:
    wave = fresh_wave(exec_=0b11, lds_bytes=32)
    wave.lds[:] = 0
    wave.vgprs[2], wave.vgprs[4], wave.vgprs[5] = lanes(0, 8), 9, 0
    runner = run("ds_add_u64 v2, v[4:5] offset:4", wave)
    assert _kinds(runner) == [("LDS atomic not aligned", 0), ("LDS atomic not aligned", 1)]
    assert not wave.lds.any()


def test_global_atomic_out_of_range_read_only_or_not_aligned_is_recorded() -> None:
    memory = Memory()
    constants = memory.buffer("constants", np.zeros(4, np.uint32))
    wave, content = _global_wave(memory, np.zeros(4, np.uint32), np.array([0, 16, 2, *[12] * 61]), 0b11111)
    wave.vgprs[2, 4], wave.vgprs[3, 4] = constants.address & 0xFFFFFFFF, constants.address >> 32
    wave.vgprs[4] = 3
    kind = "global atomic out of range"
    runner = run("global_atomic_or v[2:3], v4, off", wave, memory=memory)
    assert _kinds(runner) == [(kind, 1), (kind, 4), ("global atomic not aligned", 2)]
    assert content.tolist() == [3, 0, 0, 3]
    assert constants.array.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("line", "arch"),
    [
        ("global_atomic_add v8, v[2:3], v4, off", "gfx950"),
        ("global_atomic_add v[2:3], v4, off sc0", "gfx950"),
        ("global_atomic_add v8, v[2:3], v4, off glc", "gfx942"),
        ("global_atomic_add v8, v[2:3], v4, off sc0", "gfx90a"),
    ],
)
def test_a_result_and_its_bit_go_together(line: str, arch: str) -> None:
    with pytest.raises(UnsupportedInstruction, match="returned exactly when sc0"):
        run(line, fresh_wave(), arch=arch)


@pytest.mark.parametrize(
    ("line", "reads", "writes", "counter"),
    [
        ("global_atomic_add v[2:3], v4, off", ["v[2:3]", "v4"], [], "vmcnt"),
        ("global_atomic_add v8, v2, v4, s[0:1] sc0", ["v2", "v4", "s[0:1]"], ["v8"], "vmcnt"),
        ("ds_add_u32 v2, v4", ["v2", "v4"], [], "lgkmcnt"),
        ("ds_cmpst_rtn_b32 v8, v2, v4, v5", ["v2", "v4", "v5"], ["v8"], "lgkmcnt"),
    ],
)
def test_effects(line: str, reads: list[str], writes: list[str], counter: str) -> None:
    kernel = load(line)
    found = effects(kernel.code[0], kernel.rows[0])
    assert ([str(r) for r in found.reads], [str(r) for r in found.writes]) == (reads, writes)
    assert found.counter == counter


def test_an_lds_atomic_needs_the_wait_for_a_direct_load_into_lds() -> None:
    direct = "global_load_lds_dword v[2:3], off"
    found = missing_waits(load(f"{direct}\nds_add_u32 v4, v5"))
    assert [(use.site, use.loader, use.counter, use.what) for use in found] == [(1, 0, "vmcnt", "LDS")]
    assert not list(missing_waits(load(f"{direct}\ns_waitcnt vmcnt(0)\ns_barrier\nds_add_u32 v4, v5")))


@needs_clang
def test_the_assembler_accepts_every_atomic_for_some_target(tmp_path: Path) -> None:
    refused: set[str] | None = None
    for arch in ("gfx950", "gfx90a"):
        bit = "glc" if arch == "gfx90a" else "sc0"
        lines = [_lds_line(name) for name in _LDS_NAMES]
        lines += [_global_line(name, way) for name in _GLOBAL_NAMES for way in ("", bit)]
        complaints = assembles("\n".join(lines) + "\n", arch, tmp_path)
        bad = {lines[int(n) - 1].split()[0] for n in re.findall(r"kernel\.s:(\d+):\d+: error", complaints)}
        refused = bad if refused is None else refused & bad
    assert refused == set()
