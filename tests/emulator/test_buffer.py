"""Buffer memory: against the oracle around every bound, literal expectations, resources that are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.context import FINDING, FINDING_KINDS
from kbserver.emulator.effects import effects
from kbserver.emulator.memory import Memory
from kbserver.emulator.operands import M0
from kbserver.emulator.oracle.buffers import STEPS
from kbserver.emulator.runtime.direct import SUFFIXES
from kbserver.emulator.semantics.buffer_memory import ROWS
from kbserver.emulator.wait_check import missing_waits
from kbserver.emulator.wave import WaveRunner, WaveState
from tests.emulator.both import differences
from tests.emulator.harness import ALL, fresh_wave, lanes, load, run
from tests.toolchain.clang import assembles, needs_clang

SOME = 0x8000_0000_0000_0F05
FORMAT = 4 << 15
"""Data format 32, as every compiler sets it; 0 would mean that nothing is bound."""
_ADDRESSES = {"": "off", "offen": "v3", "idxen": "v2", "idxen offen": "v[2:3]"}


def _dwords(name: str) -> int:
    if "atomic" in name:
        return (2 if name.endswith(("_x2", "_f64")) else 1) * (2 if "cmpswap" in name else 1)
    return int(name[-1]) if name[-2:-1] == "x" else 1


def _line(name: str, form: str = "offen", rest: str = "") -> str:
    dwords = _dwords(name)
    data = "v4" if dwords == 1 else f"v[4:{3 + dwords}]"
    return f"{name} {data}, {_ADDRESSES[form]}, s[8:11], s3 {form} offset:16 {rest}".strip()


def _direct_line(suffix: str, form: str = "offen") -> str:
    return f"buffer_load_{suffix} {_ADDRESSES[form]}, s[8:11], s3 {form} offset:16 lds"


LINES = [
    *(_line(name) for name in ROWS),
    *(_line(name, "idxen offen", "sc0") for name in ROWS if "atomic" in name),
    *(_direct_line(suffix) for suffix in SUFFIXES),
]


def _resource(wave: WaveState, base: int, records: int, stride: int = 0, word3: int = FORMAT) -> None:
    wave.set_pair(8, base | stride << 48)
    wave.sgprs[10], wave.sgprs[11] = records, word3


def _scene(name: str, form: str, exec_: int, seed: int) -> tuple[WaveState, Memory]:
    """A buffer of 4096 bytes whose resource ends at 1024 (an odd number of dwords in one case), lanes on both sides."""
    rng = np.random.default_rng([seed, len(name), len(form)])
    memory = Memory()
    numbers = (rng.normal(size=1024) * 100).astype(np.float32).view(np.uint32)
    if "pk_add_f16" in name:
        numbers = (rng.normal(size=2048) * 100).astype(np.float16).view(np.uint32)
    elif "pk_add_bf16" in name:
        numbers = numbers & 0xFFFF0000 | numbers >> 16
    buffer = memory.buffer("data", numbers, writable=True)
    wave = fresh_wave(16, lds_bytes=2048, exec_=exec_)
    wave.vgprs[:] = rng.integers(0, 1 << 32, wave.vgprs.shape, dtype=np.uint32)
    wave.vgprs[4:8] = rng.choice(numbers, (4, 64))
    wave.sgprs[3] = 32
    wave.sgprs[M0] = 64
    step = 8 if "x2" in name or "f64" in name else 4
    records = 1028 if seed == 1 else 1024
    if "idxen" in form:
        wave.vgprs[2] = rng.integers(0, 24, 64)
        wave.vgprs[2, 7] = 0x80000000
        wave.vgprs[3] = rng.integers(0, 8, 64) * step
        _resource(wave, buffer.address, 12, stride=48)
    else:
        wave.vgprs[3] = np.clip(records - 16 + rng.integers(-16, 16, 64), 0, 4000) // step * step
        wave.vgprs[3, 9] = 0x80000000  # how Triton masks a lane off
        wave.vgprs[3, 10] = 0xFFFFFFF8
        _resource(wave, buffer.address, records)
    if "store" in name:  # lanes that store must not meet: their order is not told
        wave.vgprs[2] = rng.permutation(64)
        wave.vgprs[3] = rng.integers(0, 5, 64) * 4 if "idxen" in form else records - 520 + rng.permutation(64) * 16
    return wave, memory


@pytest.mark.parametrize("exec_", [ALL, SOME])
@pytest.mark.parametrize("form", ["offen", "idxen", "idxen offen"])
@pytest.mark.parametrize("name", ROWS)
def test_buffer_row_agrees_with_the_oracle(name: str, form: str, exec_: int) -> None:
    for seed in range(2):
        wave, memory = _scene(name, form, exec_, seed)
        assert differences([_line(name, form)], wave, memory) == []
        if "atomic" in name:
            wave, memory = _scene(name, form, exec_, seed)
            assert differences([_line(name, form, "sc0")], wave, memory) == []


@pytest.mark.parametrize("exec_", [ALL, SOME])
@pytest.mark.parametrize("form", ["offen", "idxen offen", ""])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_buffer_load_into_lds_agrees_with_the_oracle(suffix: str, form: str, exec_: int) -> None:
    wave, memory = _scene(f"buffer_load_{suffix}", "offen", exec_, 1)
    if "idxen" in form:
        wave, memory = _scene(f"buffer_load_{suffix}", form, exec_, 1)
    assert differences([_direct_line(suffix, form)], wave, memory) == []


def test_oracle_and_table_have_the_same_buffer_rows() -> None:
    assert STEPS.keys() == ROWS.keys()


def _kinds(runner: WaveRunner) -> list[tuple[str, int]]:
    found = runner.findings[: runner.finding_count]
    return [(FINDING_KINDS[int(row[FINDING["kind"]])], int(row[FINDING["lane"]])) for row in found]


def _words(memory: Memory, count: int = 64) -> tuple[WaveState, int]:
    buffer = memory.buffer("data", np.arange(count, dtype=np.uint32) + 100, writable=True)
    wave = fresh_wave(16, lds_bytes=1024)
    wave.vgprs[4:8] = 7
    return wave, buffer.address


def test_address_is_base_plus_scalar_plus_offsets() -> None:
    memory = Memory()
    wave, base = _words(memory)
    _resource(wave, base, 256)
    wave.sgprs[3] = 8
    wave.vgprs[2] = lanes(0, 4, 40)
    run("buffer_load_dword v4, v2, s[8:11], s3 offen offset:12", wave, memory=memory)
    assert wave.vgprs[4, :3].tolist() == [105, 106, 115]
    run("buffer_load_dword v4, off, s[8:11], 4 offset:12", wave, memory=memory)
    assert set(wave.vgprs[4].tolist()) == {104}


def test_index_counts_records_of_the_stride_and_comes_before_the_offset() -> None:
    memory = Memory()
    wave, base = _words(memory)
    _resource(wave, base, 3, stride=20)
    wave.vgprs[2], wave.vgprs[3] = lanes(0, 1, 2, 3), 8
    runner = run("buffer_load_dword v4, v[2:3], s[8:11], 0 idxen offen offset:4", wave, memory=memory)
    assert wave.vgprs[4, :4].tolist() == [103, 108, 113, 0]
    assert runner.finding_count == 0


def test_range_check_leaves_the_scalar_offset_out_and_goes_dword_by_dword() -> None:
    memory = Memory()
    wave, base = _words(memory)
    _resource(wave, base, 16)
    wave.sgprs[3] = 100
    wave.vgprs[2] = lanes(0, 4, 12, 16)
    runner = run("buffer_load_dwordx3 v[4:6], v2, s[8:11], s3 offen", wave, memory=memory)
    assert wave.vgprs[4:7, :4].T.tolist() == [[125, 126, 127], [126, 127, 128], [128, 0, 0], [0, 0, 0]]
    assert runner.clipped == 62


@pytest.mark.parametrize(("scalar", "disputed"), [(0, []), (4, [3]), (8, [2]), (100, [1])])
def test_a_lane_that_the_scalar_offset_would_put_out_of_range_is_told(scalar: int, disputed: list[int]) -> None:
    memory = Memory()
    wave, base = _words(memory)
    _resource(wave, base, 16)
    wave.set_pair(126, 0b11110)  # lane 0 is off, lane 4 out of range by every reading
    wave.sgprs[3] = scalar
    wave.vgprs[2] = lanes(12, 4, 8, 12, 16)
    runner = run("buffer_load_dword v4, v2, s[8:11], s3 offen", wave, memory=memory)
    assert _kinds(runner) == [("buffer access in range only without its SGPR offset", lane) for lane in disputed]
    assert wave.vgprs[4, 4] == 0


def test_store_out_of_range_is_dropped_and_atomic_is_all_or_nothing() -> None:
    memory = Memory()
    wave, base = _words(memory)
    _resource(wave, base, 12)
    wave.set_pair(126, 0b1)
    wave.vgprs[2], wave.vgprs[4:6] = 8, 1
    run("buffer_store_dwordx2 v[4:5], v2, s[8:11], 0 offen", wave, memory=memory)
    assert memory.buffers[0].array[:5].tolist() == [100, 101, 1, 103, 104]
    run("buffer_atomic_add_x2 v[4:5], v2, s[8:11], 0 offen sc0", wave, memory=memory)
    assert memory.buffers[0].array[:5].tolist() == [100, 101, 1, 103, 104]
    assert wave.vgprs[4:6, 0].tolist() == [0, 0]


def test_resource_that_reaches_past_the_buffers_is_found_before_the_access() -> None:
    memory = Memory()
    wave, base = _words(memory)
    _resource(wave, base, 0x7FFFFFFE)
    wave.vgprs[2] = lanes(0, 252, 256)
    wave.set_pair(126, 0b111)
    runner = run("buffer_load_dword v4, v2, s[8:11], 0 offen", wave, memory=memory)
    assert _kinds(runner) == [("global read out of range", 2)]
    assert wave.vgprs[4, :3].tolist() == [100, 163, 0]
    runner = run("buffer_store_dword v4, v2, s[8:11], 0 offen", wave, memory=memory)
    assert _kinds(runner) == [("global write out of range", 2)]


def test_dword_at_an_odd_address_is_recorded_and_not_made() -> None:
    memory = Memory()
    wave, base = _words(memory)
    _resource(wave, base, 256)
    wave.set_pair(126, 0b11)
    wave.vgprs[2] = lanes(2, 4)
    runner = run("buffer_store_dword v4, v2, s[8:11], 0 offen", wave, memory=memory)
    assert _kinds(runner) == [("buffer access not aligned", 0)]
    assert memory.buffers[0].array[:3].tolist() == [100, 7, 102]
    assert run("buffer_load_ushort v4, v2, s[8:11], 0 offen", wave, memory=memory).finding_count == 0


_RESOURCES = {
    "swizzled": (1 << 15, FORMAT, "offen"),
    "lane number added": (0, FORMAT | 1 << 23, "offen"),
    "of another type": (0, FORMAT | 1 << 30, "offen"),
    "nothing bound": (0, 0, "offen"),
    "index without stride": (0, FORMAT, "idxen"),
}


@pytest.mark.parametrize("why", _RESOURCES)
def test_resources_that_are_not_emulated_are_recorded_and_touch_nothing(why: str) -> None:
    stride, word3, form = _RESOURCES[why]
    memory = Memory()
    wave, base = _words(memory)
    _resource(wave, base, 256, stride, word3)
    wave.set_pair(126, 0b110)
    wave.vgprs[2:4] = 0
    runner = run(_line("buffer_store_dword", form), wave, memory=memory)
    assert _kinds(runner) == [("buffer resource of a kind that is not emulated", 1)]
    assert memory.buffers[0].array.tolist() == list(range(100, 164))


def test_cache_swizzle_and_stride_of_a_raw_buffer_change_nothing() -> None:
    memory = Memory()
    wave, base = _words(memory)
    _resource(wave, base, 256, stride=1 << 14 | 128)
    wave.vgprs[2] = 8
    assert run("buffer_load_dword v4, v2, s[8:11], 0 offen", wave, memory=memory).finding_count == 0
    assert set(wave.vgprs[4].tolist()) == {102}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("buffer_load_dwordx4 v2, s[8:11], 0 offen lds", "gfx942 has direct loads into LDS of a dword or less"),
        ("buffer_load_dwordx2 v2, s[8:11], 0 offen lds", "unknown modifier lds"),
        ("buffer_load_dword v4, v2, s[8:11], 0", "an address needs offen or idxen"),
        ("buffer_load_dword v4, v2, s[8:11], 0 idxen offen", "operand 1 must be 2 consecutive VGPR"),
        ("buffer_load_format_x v4, v2, s[8:11], 0 idxen", "not in the table|does not know|no semantics|unknown"),
    ],
)
def test_what_buffer_instructions_lack_is_said(line: str, why: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=why):
        run(line, fresh_wave(lds_bytes=2048), arch="gfx942")


@pytest.mark.parametrize(
    ("line", "reads", "writes"),
    [
        ("buffer_load_dwordx2 v[4:5], v2, s[8:11], s3 offen", ["v2", "s[8:11]", "s3"], ["v[4:5]"]),
        ("buffer_load_dword v2, s[8:11], 0 offen lds", ["v2", "s[8:11]"], []),
        ("buffer_store_dword v4, off, s[8:11], 0", ["v4", "s[8:11]"], []),
        ("buffer_atomic_add v4, v2, s[8:11], 0 offen", ["v4", "v2", "s[8:11]"], []),
        ("buffer_atomic_add v4, v2, s[8:11], 0 offen sc0", ["v4", "v2", "s[8:11]"], ["v4"]),
    ],
)
def test_effects(line: str, reads: list[str], writes: list[str]) -> None:
    kernel = load(line)
    found = effects(kernel.code[0], kernel.rows[0])
    assert ([str(r) for r in found.reads], [str(r) for r in found.writes]) == (reads, writes)
    assert found.counter == "vmcnt"


def test_lds_that_a_buffer_load_fills_needs_its_wait_and_a_barrier() -> None:
    direct = "buffer_load_dword v2, s[8:11], 0 offen lds"
    found = missing_waits(load(f"{direct}\nds_read_b32 v4, v5"))
    assert [(use.site, use.loader, use.counter, use.what) for use in found] == [(1, 0, "vmcnt", "LDS")]
    assert not list(missing_waits(load(f"{direct}\ns_waitcnt vmcnt(0)\ns_barrier\nds_read_b32 v4, v5")))


def _assembled() -> Iterator[tuple[str, str]]:
    for arch, bit in (("gfx950", "sc0"), ("gfx90a", "glc")):
        for form in _ADDRESSES:
            for name in ROWS:
                yield arch, _line(name, form, bit if "atomic" in name else "")
            for suffix in SUFFIXES:
                yield arch, _direct_line(suffix, form)


@needs_clang
def test_the_assembler_accepts_every_line_for_some_target(tmp_path: Path) -> None:
    refused: set[str] | None = None
    for arch in ("gfx950", "gfx90a"):
        lines = [line for target, line in _assembled() if target == arch]
        complaints = assembles("\n".join(lines) + "\n", arch, tmp_path)
        bad = {re.sub("sc0|glc", "", lines[int(n) - 1]) for n in re.findall(r"kernel\.s:(\d+):\d+: error", complaints)}
        refused = bad if refused is None else refused & bad
    assert refused == set()
