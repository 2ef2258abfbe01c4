"""Private memory and flat addresses: every width against the oracle, forms of the address, literal expectations, what
is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.access_counts import private_lines
from kbserver.emulator.context import FINDING, FINDING_KINDS
from kbserver.emulator.effects import effects
from kbserver.emulator.jit import compile_ir
from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine
from kbserver.emulator.memory import Memory
from kbserver.emulator.observers.accesses import AccessRecorder, kind_name, make_trace, read_trace
from kbserver.emulator.oracle.interpreter import run_workgroup
from kbserver.emulator.oracle.private_memory import BUFFER_STEPS, STEPS
from kbserver.emulator.oracle.state import AddressSpace, Wavefront
from kbserver.emulator.semantics.private_memory import ROWS
from kbserver.emulator.translate import translate
from kbserver.emulator.wave import WaveRunner, WaveState
from kbserver.toolchain.assembly import parse_assembly
from tests.emulator.both import differences, private_memory
from tests.emulator.harness import ALL, fresh_wave, kernel_text, load, run
from tests.toolchain.clang import assembles, needs_clang

SOME = 0x8000_0000_0000_0F05
LDS, PRIVATE = 0x10000, 0x20000
"""Upper dwords of flat addresses, as the Linux driver sets the apertures (MAKE_LDS_APP_BASE_V9 and its like)."""
_PRIVATE_BYTES = 132
_LOADS = sorted(name for name in ROWS if "_load_" in name)
_STORES = sorted(name for name in ROWS if "_store_" in name)
_ATOMICS = sorted(name for name in ROWS if "_atomic_" in name)


def _operand(count: int, first: int = 4) -> str:
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


def _dwords(name: str) -> int:
    width = re.search(r"dwordx(\d)", name)
    return int(width[1]) if width else 1


def _line(name: str) -> str:
    """Data in v4 on, a scratch address in v2 and s3, a flat one in v[2:3]."""
    data = _operand(_dwords(name))
    if name.startswith("flat_load"):
        return f"{name} {data}, v[2:3] offset:5"
    if name.startswith("flat_store"):
        return f"{name} v[2:3], {data} offset:5"
    return f"{name} {data}, v2, s3 offset:-5" if "_load_" in name else f"{name} v2, {data}, s3 offset:-5"


def _filled(exec_: int, seed: int = 11) -> WaveState:
    """Return a wavefront whose registers, LDS and private memory hold random bytes."""
    rng = np.random.default_rng(seed)
    wave = fresh_wave(exec_=exec_, lds_bytes=2048)
    wave.vgprs[:] = rng.integers(0, 1 << 32, wave.vgprs.shape, dtype=np.uint32)
    wave.lds[:] = rng.integers(0, 256, len(wave.lds), dtype=np.uint8)
    return wave


def _flat(wave: WaveState, buffer_address: int, step: int) -> None:
    """Point a third of the lanes each at global memory, LDS and private memory: odd places, no two the same."""
    for lane in range(64):
        place = lane * step + 3
        address = [buffer_address + place, LDS << 32 | place, PRIVATE << 32 | lane][lane % 3]
        wave.vgprs[2, lane], wave.vgprs[3, lane] = address & 0xFFFFFFFF, address >> 32


def _kinds(runner: WaveRunner) -> list[tuple[str, int]]:
    rows = runner.findings[: runner.finding_count]
    return [(FINDING_KINDS[int(row[FINDING["kind"]])], int(row[FINDING["lane"]])) for row in rows]


def test_every_row_has_a_step_of_the_oracle() -> None:
    assert set(ROWS) == set(STEPS)


@pytest.mark.parametrize("exec_", [ALL, SOME])
@pytest.mark.parametrize("name", [*_LOADS, *_STORES])
def test_load_or_store_does_what_the_oracle_does(name: str, exec_: int) -> None:
    wave, memory = _filled(exec_), Memory()
    buffer = memory.buffer("data", np.random.default_rng(1).integers(0, 256, 2048, dtype=np.uint8), writable=True)
    if name.startswith("flat"):
        _flat(wave, buffer.address, 18)
    else:
        wave.vgprs[2], wave.sgprs[3] = np.arange(64) * 3 % 97, 6
    assert differences([_line(name)], wave, memory, private_bytes=_PRIVATE_BYTES) == []


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize("name", _ATOMICS)
def test_flat_atomic_does_what_the_oracle_does(name: str, returns: bool, arch: str) -> None:
    wide = name.endswith(("_x2", "f64"))
    size, data = 8 if wide else 4, (2 if wide else 1) * (2 if "cmpswap" in name else 1)
    wave, memory = _filled(SOME), Memory()
    buffer = memory.buffer("data", np.arange(512, dtype=np.float32), writable=True)
    wave.lds[:] = np.arange(512, dtype=np.float32).view(np.uint8)
    wave.vgprs[4:8] = np.arange(256).reshape(4, 64).astype(np.float32).view(np.uint32)
    for lane in range(64):
        address = [buffer.address, LDS << 32][lane % 2] + lane // 4 * size  # two lanes of each kind meet
        wave.vgprs[2, lane], wave.vgprs[3, lane] = address & 0xFFFFFFFF, address >> 32
    bit = "glc" if arch == "gfx90a" else "sc0"
    old, end = (f"{_operand(2 if wide else 1, 12)}, ", f" offset:{size} {bit}") if returns else ("", f" offset:{size}")
    assert differences([f"{name} {old}v[2:3], {_operand(data)}{end}"], wave, memory, arch) == []


@pytest.mark.parametrize("exec_", [ALL, SOME])
@pytest.mark.parametrize("name", sorted(BUFFER_STEPS))
def test_private_memory_through_the_resource_of_gfx90a_does_what_the_oracle_does(name: str, exec_: int) -> None:
    head = kernel_text("", "gfx90a", private_bytes=64).replace(
        ".amdhsa_group", ".amdhsa_user_sgpr_private_segment_buffer 1\n\t\t.amdhsa_group"
    )
    data = _operand(_dwords(name))
    body = f"{name} {data}, v2, s[0:3], s4 offen offset:5\n{name} {data}, off, s[0:3], 0 offset:8"
    kernel = load_kernel(parse_assembly(head.replace("k:\n", f"k:\n{body}\n")))
    code = translate(kernel)
    for seed in (1, 2):
        wave = _filled(exec_, seed)
        wave.vgprs[2], wave.sgprs[4] = np.arange(64) * 5 % 31, 256
        wave.sgprs[:4] = 0, 1 << 31, 0xFFFFFFFF, 1 << 23
        private = private_memory(wave, kernel)
        twin = Wavefront(wave.vgprs.tolist(), wave.sgprs.tolist(), bytearray(), AddressSpace([]))
        twin.private = [bytearray(row.tobytes()) for row in private]
        run_workgroup(kernel, [twin])
        runner = WaveRunner(compile_ir(code.ir, None), len(code.segments))
        assert runner.resume(wave) == -1
        assert runner.finding_count == 0
        assert wave.vgprs[: kernel.vgpr_slots].tolist() == twin.vgprs[: kernel.vgpr_slots]
        assert [row.tobytes() for row in private] == [bytes(row) for row in twin.private]


@needs_clang
def test_lines_of_these_tests_are_what_the_assembler_takes(tmp_path: Path) -> None:
    lines = [_line(name) for name in (*_LOADS, *_STORES)]
    lines += [
        "scratch_load_dword v4, off, s3",
        "scratch_store_dword off, v4, off offset:8",
        "flat_atomic_add v[2:3], v4",
    ]
    assert assembles("\n".join(lines) + "\n", "gfx942", tmp_path) == ""


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("off, off offset:12", 12),
        ("off, s3 offset:8", 108),
        ("v2, off", 20),
        ("v2, s3 offset:-4", 116),
        ("v2, s3", 120),
    ],
)
def test_private_address_is_the_sum_of_its_parts(address: str, place: int) -> None:
    wave = _filled(1 << 7)
    wave.vgprs[2], wave.sgprs[3] = 20, 100
    line = f"scratch_load_dword v4, {address}"
    private = private_memory(wave, load(line, private_bytes=128))
    private[7, place : place + 4] = [1, 2, 3, 4]
    run(line, wave, private_bytes=128)
    assert int(wave.vgprs[4, 7]) == 0x04030201


def test_a_lane_sees_its_own_private_memory_only() -> None:
    wave = _filled(ALL)
    wave.vgprs[4] = np.arange(64) + 1000
    run("scratch_store_dword off, v4, off offset:4\nscratch_load_dword v5, off, off offset:4", wave, private_bytes=8)
    assert wave.vgprs[5].tolist() == list(range(1000, 1064))


def test_private_access_out_of_range_is_stopped_and_recorded() -> None:
    wave = _filled(0b1111)
    wave.vgprs[2, :4] = [60, 61, 0xFFFFFFFC, 64]
    body = "scratch_load_dword v4, v2, off\nscratch_store_dword v2, v5, off"
    before = private_memory(wave, load(body, private_bytes=64)).copy()
    runner = run(body, wave, private_bytes=64)
    kind = "scratch access out of range"
    assert _kinds(runner) == [(kind, 1), (kind, 2), (kind, 3)] * 2
    assert wave.vgprs[4, :4].tolist() == [int.from_bytes(before[0, 60:64].tobytes(), "little"), 0, 0, 0]
    after = private_memory(wave, load(body, private_bytes=64))
    assert np.argwhere(after != before)[:, 0].tolist().count(0) == len(np.argwhere(after != before))


def test_flat_access_is_checked_where_its_aperture_leads() -> None:
    wave, memory = _filled(0b111), Memory()
    buffer = memory.buffer("data", np.zeros(16, np.uint8))
    for lane, address in enumerate([buffer.address + 13, LDS << 32 | 2045, PRIVATE << 32 | 61]):
        wave.vgprs[2, lane], wave.vgprs[3, lane] = address & 0xFFFFFFFF, address >> 32
    runner = run("flat_load_dword v4, v[2:3]", wave, memory=memory, private_bytes=64)
    assert sorted(_kinds(runner)) == [
        ("LDS read out of range", 1),
        ("global read out of range", 0),
        ("scratch access out of range", 2),
    ]
    assert wave.vgprs[4, :3].tolist() == [0, 0, 0]


def test_flat_atomic_on_private_memory_changes_nothing_and_is_recorded() -> None:
    wave = _filled(0b10)
    wave.vgprs[2], wave.vgprs[3] = 4, PRIVATE
    line = "flat_atomic_add v[2:3], v4"
    before = wave.vgprs.copy()
    assert _kinds(run(line, wave, private_bytes=64)) == [("flat atomic on private memory", 1)]
    assert np.array_equal(before, wave.vgprs)


@pytest.mark.parametrize(
    ("line", "reads", "writes", "counter"),
    [
        ("flat_load_dword v4, v[2:3]", ["v[2:3]"], ["v4"], "vmcnt and lgkmcnt"),
        ("flat_store_dwordx2 v[2:3], v[4:5]", ["v[2:3]", "v[4:5]"], [], "vmcnt and lgkmcnt"),
        ("flat_atomic_add v4, v[2:3], v5 sc0", ["v[2:3]", "v5"], ["v4"], "vmcnt and lgkmcnt"),
        ("scratch_load_dword v4, off, s32", ["s32"], ["v4"], "vmcnt"),
        ("scratch_store_dword off, v4, s32", ["v4", "s32"], [], "vmcnt"),
    ],
)
def test_effects(line: str, reads: list[str], writes: list[str], counter: str) -> None:
    kernel = load(line)
    found = effects(kernel.code[0], kernel.rows[0])
    assert ([str(r) for r in found.reads], [str(r) for r in found.writes], found.counter) == (reads, writes, counter)


@pytest.mark.parametrize(
    ("wait", "proves"),
    [
        ("vmcnt(0) lgkmcnt(0)", True),
        ("vmcnt(0)", False),
        ("lgkmcnt(0)", False),
        ("vmcnt(1) lgkmcnt(0)", False),
    ],
)
def test_a_flat_load_is_waited_for_with_both_counters(wait: str, proves: bool) -> None:
    from kbserver.emulator.wait_check import missing_waits

    kernel = load(f"flat_load_dword v4, v[2:3]\nglobal_load_dword v6, v[2:3], off\ns_waitcnt {wait}\nv_mov_b32 v5, v4")
    assert [use.site for use in missing_waits(kernel)] == ([] if proves else [3])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("scratch_load_dword v4, s2, off", "no vector part of a private address"),
        ("scratch_load_dword v4, off, s[2:3]", "no scalar part of a private address"),
        ("flat_load_dword v4, v2", "2 consecutive VGPR"),
        ("flat_atomic_add v4, v[2:3], v5", "exactly when sc0"),
    ],
)
def test_a_form_that_does_not_exist_is_refused(line: str, why: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=why):
        run(line, fresh_wave())


# Profiles: the hardware keeps dword n of all lanes side by side (256 bytes, 2 lines of 128), and then dword n + 1.


@pytest.mark.parametrize(
    ("first", "stride", "width", "line", "lines"),
    [
        (8, 0, 4, 128, 2),
        (8, 0, 4, 64, 4),
        (8, 0, 16, 128, 8),
        (10, 0, 4, 128, 4),  # a dword that straddles two
        (11, 0, 1, 128, 2),
        (0, 4, 4, 128, 64),  # every lane another dword
    ],
)
def test_lines_of_a_private_access(first: int, stride: int, width: int, line: int, lines: int) -> None:
    addresses = (first + stride * np.arange(64)).reshape(1, 64)
    active = np.ones((1, 64), bool)
    assert private_lines(addresses, active, width, line).tolist() == [lines]
    assert private_lines(addresses, ~active, width, line).tolist() == [0]


def test_flat_access_is_recorded_as_what_its_lanes_reach() -> None:
    body = """s_mov_b64 s[2:3], src_private_base
v_mov_b32 v2, 4
v_mov_b32 v3, s3
scratch_store_dwordx2 off, v[2:3], off offset:8
flat_load_dword v4, v[2:3]
s_mov_b64 s[2:3], src_shared_base
v_mov_b32 v3, s3
flat_load_dword v4, v[2:3]"""
    machine = Machine(load(body, lds_bytes=64, private_bytes=16), observers=[AccessRecorder()])
    table = make_trace(8)
    machine.launch(Memory(), [], grid=(1, 1, 1), block=(64, 1, 1), trace=table)
    accesses, lost = read_trace(table)
    kinds = [kind_name(kind) for kind in accesses.kinds]
    assert (lost, kinds) == (0, ["scratch access", "scratch access", "LDS read"])
    assert accesses.bytes.tolist() == [8, 4, 4]
    assert accesses.addresses[:, 63].tolist() == [8, 4, 4]
