"""Counts of whole launches: literal figures worked out by hand, and nothing that depends on how the run was divided."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.emulator.access_counts import distinct_lines
from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine
from kbserver.emulator.measurement import Measurement
from kbserver.emulator.memory import Memory
from kbserver.emulator.observers.accesses import AccessRecorder, make_trace, read_trace
from kbserver.emulator.profiling import choose_workgroups, profile
from kbserver.toolchain.assembly import parse_assembly
from tests.emulator import conv
from tests.emulator.harness import load
from tests.toolchain.clang import compile_hip

LANES = np.arange(64)


def profile_conv(name: str, **options: int) -> Measurement:
    extra, grid, threads, last = conv._LAUNCH[name]
    x, w = conv.inputs()
    if last:
        x, w = x.transpose(1, 2, 3, 0), w.transpose(1, 2, 3, 0)
    memory = Memory()
    output = memory.output("output", (conv.OUT_D, conv.H, conv.W, conv.C), np.uint16)
    arguments = [memory.buffer("input", x), memory.buffer("weight", w), output, *extra]
    machine = conv.machine(name, "gfx950")
    return profile(machine, memory, arguments, grid=grid, block=(threads, 1, 1), **options)


def executed(measured: Measurement, name: str, mnemonic: str) -> float:
    """Return executions per wavefront of all instructions of this name."""
    code = conv.machine(name, "gfx950").kernel.code
    return sum(n for d, n in zip(code, measured.executions, strict=True) if d.name == mnemonic) / measured.waves


def lds(measured: Measurement, field: str) -> float:
    return sum(getattr(site, field) for site in measured.sites if site.is_lds) / measured.waves


# The tile [3][13][24] takes 936 stores: 15 wave instructions of a workgroup. 27 rows are loaded by four wavefronts. 90
# pairs of outputs are two wave iterations: 45 reads, 150 fmac and two stores each. Four wavefronts a workgroup.
@pytest.mark.parametrize("name", ["step3_nchw_lds", "step5_sgb"])
def test_step_3_and_5_execute_what_their_loops_say(name: str) -> None:
    measured = profile_conv(name)
    assert measured.waves == 64
    assert executed(measured, name, "ds_write_b16") == 15 / 4
    assert executed(measured, name, "global_load_lds_dword") == 27 / 4
    assert executed(measured, name, "ds_read_b32") == 2 * 45 / 4
    assert executed(measured, name, "v_fmac_f32") == 2 * 150 / 4
    assert executed(measured, name, "global_store_short") == 2 * 2 / 4


def test_lds_passes_of_step_3_follow_from_its_pitch() -> None:
    # Pitch 12 dwords, 10 pairs a row. Each half of the first wavefront spans more than 32 dwords and comes back to one
    # bank; the 26 lanes of the second span 30. So 2 conflict passes a read; 2 passes without conflicts for each access.
    measured = profile_conv("step3_nchw_lds")
    assert lds(measured, "conflict_passes") == 2 * 45 / 4
    assert lds(measured, "ideal_passes") == 2 * (2 * 45 + 15) / 4
    assert lds(measured, "misaligned") == 0


def test_every_matrix_instruction_of_step_4_is_counted() -> None:
    # 5 filter rows, 5 groups of 4 output columns, 8 input columns each in two instructions: 50 in a loop over 3 planes.
    measured = profile_conv("step4_mfma")
    static = sum(d.name.startswith("v_mfma") for d in conv.machine("step4_mfma", "gfx950").kernel.code)
    mfma = sum(
        n
        for d, n in zip(conv.machine("step4_mfma", "gfx950").kernel.code, measured.executions, strict=True)
        if d.name.startswith("v_mfma")
    )
    assert mfma / measured.waves == 3 * static == 3 * 5 * 5 * 2


@pytest.mark.parametrize("name", conv.NAMES)
def test_counts_do_not_depend_on_threads_orders_or_the_sample(name: str) -> None:
    whole = profile_conv(name)
    divided = profile_conv(name, threads=3, sample=2)
    assert divided.executions == whole.executions
    assert divided.lanes == whole.lanes
    assert whole.sampled_executions == whole.executions
    for order in ("reversed", "seeded"):
        outcome = conv.run(name, "gfx950", order=order, seed=7).outcome
        executions, lanes = outcome.counts.per_instruction(len(whole.executions))
        assert tuple(executions.tolist()) == whole.executions
        assert tuple(lanes.tolist()) == whole.lanes


def test_workgroups_of_a_sample_are_spread_over_the_grid() -> None:
    assert choose_workgroups(10, None) == [range(10)]
    assert choose_workgroups(4, 4) == [range(4)]
    assert [r.start for r in choose_workgroups(101, 5)] == [0, 25, 50, 75, 100]
    assert choose_workgroups(9, 1) == [range(4, 5)]


# Accesses of a hand-written kernel: 64 lanes, one workgroup


def record(body: str, arch: str, lds_bytes: int) -> tuple[object, int]:
    machine = Machine(load(body, arch, lds_bytes=lds_bytes), observers=[AccessRecorder()])
    table = make_trace(8)
    machine.launch(Memory(), [], grid=(1, 1, 1), block=(64, 1, 1), trace=table)
    return read_trace(table)


def test_recorded_addresses_hold_offset_and_active_lanes() -> None:
    accesses, lost = record(
        """\tv_lshlrev_b32_e32 v1, 3, v0
\ts_mov_b64 exec, 0xf0
\tds_write_b32 v1, v0 offset:4
\ts_waitcnt lgkmcnt(0)
\tds_read2_b32 v[2:3], v1 offset0:1 offset1:3""",
        "gfx950",
        1024,
    )
    assert lost == 0
    assert accesses.sites.tolist() == [2, 4, 4]
    assert accesses.bytes.tolist() == [4, 4, 4]
    assert accesses.active.sum(axis=1).tolist() == [4, 4, 4]
    assert accesses.addresses[0].tolist() == (LANES * 8 + 4).tolist()
    assert accesses.addresses[2].tolist() == (LANES * 8 + 12).tolist()


def test_records_past_the_table_are_counted_and_not_written() -> None:
    body = "\tv_lshlrev_b32_e32 v1, 2, v0\n" + "\tds_write_b32 v1, v0\n" * 11
    accesses, lost = record(body, "gfx942", 256)
    assert (len(accesses.sites), lost) == (8, 3)


def test_a_kernel_with_a_recorder_runs_without_a_table() -> None:
    machine = Machine(load("\tv_mov_b32_e32 v1, 0\n\tds_write_b32 v1, v0", lds_bytes=64), observers=[AccessRecorder()])
    assert machine.launch(Memory(), [], grid=(1, 1, 1), block=(64, 1, 1)).finding_count == 0


# Cache lines of known strides


@pytest.mark.parametrize(
    ("start", "stride", "width", "line", "lines"),
    [
        (0, 4, 4, 128, 2),
        (64, 4, 4, 128, 3),
        (0, 4, 4, 64, 4),
        (0, 16, 16, 128, 8),
        (0, 128, 4, 128, 64),
        (0, 0, 4, 128, 1),
        (126, 0, 4, 128, 2),  # one dword across a line's end
        (0, 256, 4, 128, 64),
    ],
)
def test_a_wave_instruction_touches_these_lines(start: int, stride: int, width: int, line: int, lines: int) -> None:
    addresses = (0x7000_0000_0000 + start + LANES * stride).reshape(1, 64)
    active = np.ones((1, 64), bool)
    assert distinct_lines(addresses, active, width, line).tolist() == [lines]
    assert distinct_lines(addresses, ~active, width, line).tolist() == [0]


STRIDED = """#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(64) copy(const float* a, float* b, int stride) {
  b[threadIdx.x] = a[threadIdx.x * stride];
}
"""


@pytest.mark.parametrize(
    ("arch", "stride", "lines"), [("gfx950", 1, 2), ("gfx950", 2, 4), ("gfx90a", 2, 8), ("gfx942", 32, 64)]
)
def test_lines_per_request_of_a_strided_load(arch: str, stride: int, lines: int, tmp_path: object) -> None:
    source = tmp_path / "strided.hip"  # type: ignore[operator]
    source.write_text(STRIDED, encoding="utf-8")
    compiled = compile_hip(source, arch)
    assert compiled.status == 0, compiled.diagnostics
    memory = Memory()
    data = memory.buffer("a", np.arange(64 * 32, dtype=np.float32))
    result = memory.output("b", (64,), np.float32)
    machine = Machine(load_kernel(parse_assembly(compiled.text)))
    measured = profile(machine, memory, [data, result, np.int32(stride)], grid=(1, 1, 1), block=(64, 1, 1))
    (load_site,) = [site for site in measured.sites if site.kind == "global read"]
    assert (load_site.records, load_site.lines, load_site.lanes * load_site.width) == (1, lines, 256)
    assert np.array_equal(result.array, data.array[::stride][:64])


def test_a_measurement_travels_as_json() -> None:
    measured = profile_conv("step3_nchw_lds")
    assert Measurement.from_json(measured.to_json()) == measured
