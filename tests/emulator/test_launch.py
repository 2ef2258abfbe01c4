"""Grids, barriers, wave orders, counters, loop budgets, and launches that are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kbserver.core.errors import LaunchFailed, TimedOut, UnknownName, UnsupportedInstruction, UsageError
from kbserver.emulator import jit
from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine
from kbserver.emulator.memory import Memory
from kbserver.toolchain.assembly import parse_assembly

_KERNEL = """\t.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
\t.type\tk,@function
k:
{body}
\ts_endpgm
\t.amdhsa_kernel k
\t\t.amdhsa_group_segment_fixed_size {lds}
\t\t.amdhsa_kernarg_size 16
\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t\t.amdhsa_user_sgpr_count 2
\t\t.amdhsa_system_sgpr_workgroup_id_x 1
\t\t.amdhsa_system_sgpr_workgroup_id_y 1
\t\t.amdhsa_system_vgpr_workitem_id 2
\t\t.amdhsa_system_sgpr_workgroup_id_z 1
\t.end_amdhsa_kernel
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .max_flat_workgroup_size: 256
    .args:
      - {{.offset: 0, .size: 8, .value_kind: global_buffer}}
      - {{.offset: 8, .size: 4, .value_kind: by_value}}
...
\t.end_amdgpu_metadata
"""


def machine(body: str, *, arch: str = "gfx950", lds: int = 0, cache: Path | None = None) -> Machine:
    return Machine(load_kernel(parse_assembly(_KERNEL.format(body=body, arch=arch, lds=lds))), cache=cache)


# Every thread writes x | y << 4 | z << 8 of its workgroup and its packed work-item id to its own place.
_IDENTITY = """
\ts_load_dwordx2 s[6:7], s[0:1], 0x0
\ts_load_dword s8, s[0:1], 0x8
\tv_and_b32_e32 v1, 0x3ff, v0
\tv_bfe_u32 v2, v0, 10, 10
\tv_mul_u32_u24_e32 v2, 16, v2
\tv_add_u32_e32 v1, v1, v2
\ts_mul_i32 s9, s3, 3
\ts_add_i32 s9, s9, s2
\ts_mul_i32 s10, s4, 6
\ts_add_i32 s9, s9, s10
\ts_lshl_b32 s9, s9, 6
\tv_add_u32_e32 v1, s9, v1
\tv_lshlrev_b32_e32 v1, 2, v1
\tv_or_b32_e32 v0, s8, v0
\tglobal_store_dword v1, v0, s[6:7]
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_every_work_item_of_every_workgroup_runs_once(threads: int) -> None:
    memory = Memory()
    out = memory.output("out", (2, 2, 3, 4, 16), np.uint32)
    outcome = machine(_IDENTITY).launch(memory, [out, 0x40000000], grid=(3, 2, 2), block=(16, 4, 1), threads=threads)
    x, y = np.arange(16), np.arange(4)
    want = np.broadcast_to(x | y[:, None] << 10 | 0x40000000, out.array.shape)
    assert np.array_equal(out.array, want)
    assert outcome.finding_count == 0
    assert outcome.waves == 12


def test_part_of_a_grid_can_run() -> None:
    memory = Memory()
    out = memory.output("out", (12, 64), np.uint32)
    machine(_IDENTITY).launch(memory, [out, 0], grid=(3, 2, 2), block=(16, 4, 1), workgroups=range(4, 6))
    written = (out.array != 0xFFFFFFFF).any(axis=1)
    assert np.flatnonzero(written).tolist() == [4, 5]


# Wave w writes LDS[w], all wait, then each wave reads its neighbour's word; without the barrier the first reads poison.
_NEIGHBOUR = """
\ts_load_dwordx2 s[6:7], s[0:1], 0x0
\tv_lshrrev_b32_e32 v1, 6, v0
\tv_lshlrev_b32_e32 v2, 2, v1
\tds_write_b32 v2, v1
\ts_waitcnt lgkmcnt(0)
{barrier}
\tv_add_u32_e32 v3, 1, v1
\tv_and_b32_e32 v3, 3, v3
\tv_lshlrev_b32_e32 v3, 2, v3
\tds_read_b32 v4, v3
\ts_waitcnt lgkmcnt(0)
\tglobal_store_dword v2, v4, s[6:7]
"""


@pytest.mark.parametrize("order", ["forward", "reversed", "seeded"])
def test_barrier_orders_the_wavefronts(order: str) -> None:
    memory = Memory()
    out = memory.output("out", (4,), np.uint32)
    kernel = machine(_NEIGHBOUR.format(barrier="\ts_barrier"), lds=16)
    outcome = kernel.launch(memory, [out, 0], grid=(1, 1, 1), block=(256, 1, 1), order=order, seed=5)
    assert out.array.tolist() == [1, 2, 3, 0]
    assert outcome.divergent_rounds == 0


def test_missing_barrier_shows_as_poison_that_moves_with_the_order() -> None:
    kernel = machine(_NEIGHBOUR.format(barrier=""), lds=16)
    seen = {}
    for order in ("forward", "reversed"):
        memory = Memory()
        out = memory.output("out", (4,), np.uint32)
        kernel.launch(memory, [out, 0], grid=(1, 1, 1), block=(256, 1, 1), order=order)
        seen[order] = out.array.tolist()
    assert seen["forward"] == [0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0]
    assert seen["reversed"] == [1, 2, 3, 0xFFFFFFFF]


def test_divergence_at_a_barrier_is_counted() -> None:
    body = """
\tv_readfirstlane_b32 s5, v0
\ts_cmp_eq_u32 s5, 0
\ts_cbranch_scc1 .LBB0_2
\ts_barrier
.LBB0_2:
"""
    memory = Memory()
    out = memory.output("out", (1,), np.uint32)
    assert machine(body).launch(memory, [out, 0], grid=(2, 1, 1), block=(128, 1, 1)).divergent_rounds == 2


def test_counters_are_exact() -> None:
    # Wave 0 loops 3 times with lanes 0..9, wave 1 once with all lanes.
    body = """
\tv_readfirstlane_b32 s5, v0
\ts_mov_b32 s6, 1
\ts_cmp_lg_u32 s5, 0
\ts_cbranch_scc1 .LBB0_1
\ts_mov_b32 s6, 3
\ts_mov_b64 exec, 0x3ff
.LBB0_1:
\tv_add_u32_e32 v1, 1, v1
\ts_add_i32 s6, s6, -1
\ts_cmp_lg_u32 s6, 0
\ts_cbranch_scc1 .LBB0_1
"""
    kernel = machine(body)
    memory = Memory()
    out = memory.output("out", (1,), np.uint32)
    outcome = kernel.launch(memory, [out, 0], grid=(1, 1, 1), block=(128, 1, 1))
    executions, active = outcome.counts.per_instruction(len(kernel.kernel.code))
    by_name = {d.instruction.mnemonic: n for n, d in enumerate(kernel.kernel.code)}
    add = by_name["v_add_u32_e32"]
    assert (executions[add], active[add]) == (4, 3 * 10 + 64)
    assert executions[by_name["s_endpgm"]] == 2
    assert outcome.counts.wave_instructions == 2 * 4 + 2 + 4 * 4 + 2


def test_endless_loop_ends_with_the_budget() -> None:
    memory = Memory()
    out = memory.output("out", (1,), np.uint32)
    kernel = machine(".LBB0_1:\n\ts_nop 0\n\ts_branch .LBB0_1")
    with pytest.raises(TimedOut, match="wavefront 0 of workgroup 1 spent its loop budget"):
        kernel.launch(memory, [out, 0], grid=(2, 1, 1), block=(64, 1, 1), fuel=10_000, workgroups=range(1, 2))


def test_finding_names_line_lane_and_buffer() -> None:
    body = "\ts_load_dwordx2 s[6:7], s[0:1], 0x0\n\tv_mov_b32_e32 v1, 0x100\n\tglobal_store_dword v1, v0, s[6:7]"
    memory = Memory()
    out = memory.output("out", (16,), np.uint32)
    outcome = machine(body).launch(memory, [out, 0], grid=(1, 1, 1), block=(1, 1, 1))
    (finding,) = outcome.findings
    assert (finding.kind, finding.lane, finding.line) == ("global write out of range", 0, 6)
    assert finding.where == "192 bytes past the end of out (64 bytes)"
    assert finding.instruction == "global_store_dword v1, v0, s[6:7]"


@pytest.mark.parametrize(
    ("arch", "lds", "block", "grid", "words"),
    [
        ("gfx942", 65540, (64, 1, 1), (1, 1, 1), "65540 bytes of LDS; gfx942 has 65536"),
        ("gfx950", 163844, (64, 1, 1), (1, 1, 1), "163844 bytes of LDS; gfx950 has 163840"),
        ("gfx950", 0, (512, 1, 1), (1, 1, 1), "compiled for at most 256"),
        ("gfx950", 0, (64, 1, 1), (0, 1, 1), "has no workgroups"),
    ],
)
def test_launch_that_the_hardware_refuses(
    arch: str, lds: int, block: tuple[int, int, int], grid: tuple[int, int, int], words: str
) -> None:
    memory = Memory()
    out = memory.output("out", (1,), np.uint32)
    with pytest.raises(UsageError, match=words):
        machine("\ts_nop 0", arch=arch, lds=lds).launch(memory, [out, 0], grid=grid, block=block)


def test_wrong_arguments_are_refused() -> None:
    kernel = machine("\ts_nop 0")
    memory = Memory()
    out = memory.output("out", (1,), np.uint32)
    with pytest.raises(UsageError, match="takes 2 arguments, 1 were given"):
        kernel.launch(memory, [out], grid=(1, 1, 1), block=(64, 1, 1))
    with pytest.raises(UsageError, match="has 8 bytes where the kernel takes 4"):
        kernel.launch(memory, [out, np.int64(3)], grid=(1, 1, 1), block=(64, 1, 1))


def test_unknown_wave_order_and_target_are_refused() -> None:
    memory = Memory()
    out = memory.output("out", (1,), np.uint32)
    with pytest.raises(UnknownName, match="wave order"):
        machine("\ts_nop 0").launch(memory, [out, 0], grid=(1, 1, 1), block=(64, 1, 1), order="sideways")
    with pytest.raises(UsageError, match="not gfx1100"):
        machine("\ts_nop 0", arch="gfx1100")


def test_code_that_leaves_the_kernel_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match=r"no label \.LBB9_9"):
        machine("\ts_branch .LBB9_9")


def test_modes_that_flush_denormals_are_refused() -> None:
    text = _KERNEL.format(body="\ts_nop 0", arch="gfx950", lds=0)
    flushing = text.replace("\t.end_amdhsa_kernel", "\t\t.amdhsa_float_denorm_mode_32 0\n\t.end_amdhsa_kernel")
    with pytest.raises(UnsupportedInstruction, match="flush denormals"):
        load_kernel(parse_assembly(flushing))


def test_compiled_objects_are_cached(tmp_path: Path) -> None:
    body = "\ts_movk_i32 s5, 0x7b1\n\ts_nop 0"
    first = machine(body, cache=tmp_path)
    assert not first.code.cached
    (entry,) = (tmp_path / "emulator").iterdir()
    assert entry.suffix == ".o"
    jit.forget_loaded()
    assert machine(body, cache=tmp_path).code.cached


def test_cached_object_that_was_cut_short_is_built_again(tmp_path: Path) -> None:
    body = "\ts_movk_i32 s5, 0x7b2\n\ts_nop 0"
    machine(body, cache=tmp_path)
    (entry,) = (tmp_path / "emulator").iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2])
    jit.forget_loaded()
    again = machine(body, cache=tmp_path)
    assert not again.code.cached
    assert entry.read_bytes() == whole


def test_a_trap_fails_the_launch_and_names_its_place() -> None:
    body = "\ts_cmp_eq_u32 s2, 1\n\ts_cbranch_scc0 fine\n\ts_trap 2\nfine:\n"
    kernel = machine(body)
    memory = Memory()
    out = memory.output("out", (64,), np.uint32)
    kernel.launch(memory, [out, 0], grid=(1, 1, 1), block=(64, 1, 1))
    with pytest.raises(LaunchFailed, match="workgroup 1 stopped at `s_trap 2`") as caught:
        kernel.launch(memory, [out, 0], grid=(2, 1, 1), block=(64, 1, 1))
    assert str(caught.value.where) == "k, assembly line 6"


def test_a_debug_trap_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="a trap other than 2"):
        machine("\ts_trap 3")


def test_an_adaptive_machine_is_optimised_when_its_work_is_spent_and_computes_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = load_kernel(parse_assembly(_KERNEL.format(body=_IDENTITY, arch="gfx950", lds=0)))
    monkeypatch.setattr("kbserver.emulator.machine.QUICK_WORK", 20 * len(kernel.code))
    adaptive, optimised = Machine(kernel, adaptive=True), Machine(kernel)
    used, results = [], []
    for _ in range(3):  # 12 wavefronts a launch: the second exceeds what quickly compiled code may do
        memory = Memory()
        out = memory.output("out", (2, 2, 3, 4, 16), np.uint32)
        adaptive.launch(memory, [out, 7], grid=(3, 2, 2), block=(16, 4, 1))
        used.append(adaptive.code is optimised.code)
        results.append(out.array.tobytes())
    assert used == [False, True, True]
    assert len(set(results)) == 1
