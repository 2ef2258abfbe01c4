"""The emulator as a device: what a kernel or the engine does wrong stays in the child process and has a name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from kbserver.core.errors import EngineCrashed, TimedOut, UnknownName, UnsupportedInstruction, UsageError
from kbserver.devices import emulator as device_module
from kbserver.devices import find_device
from kbserver.devices.buffers import Layout, SharedBuffer
from kbserver.devices.interface import Code, Launch, Loaded
from kbserver.toolchain.build import build
from kbserver.toolchain.sandbox import landlock_abi
from kbserver.toolchain.sources import from_text

pytest.importorskip("llvmlite")

SOURCE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(64) twice(const int *from, int *to, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) to[i] = from[i] * 2;
}
extern "C" __global__ void __launch_bounds__(64) past_the_end(const int *from, int *to, int n) {
  to[threadIdx.x + n] = from[(int)threadIdx.x - 1];
}
extern "C" __global__ void __launch_bounds__(64) into_the_input(int *from, int *to, int n) { from[threadIdx.x] = n; }
extern "C" __global__ void __launch_bounds__(64) for_ever(const int *from, int *to, int n) {
  for (int i = 0; i < n;) asm volatile("" : "+v"(i));
}
extern "C" __global__ void __launch_bounds__(64) sum_in_lds(const int *from, int *to, int n) {
  __shared__ float sum;
  sum = 0;
  __hip_atomic_fetch_add(&sum, from[threadIdx.x] + 0.5f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  to[threadIdx.x] = sum;
}
extern "C" __global__ void __launch_bounds__(64) by_resource(const int *from, int *to, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  auto read = __builtin_amdgcn_make_buffer_rsrc((void *)from, 0, n * 4, 0x27000);
  auto write = __builtin_amdgcn_make_buffer_rsrc((void *)to, 0, n * 4, 0x27000);
  int x = __builtin_amdgcn_raw_buffer_load_b32(read, i * 4, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(x * 2, write, i * 4, 0, 0);
}
"""


@pytest.fixture
def assembly() -> str:
    return build(from_text(SOURCE), "gfx950").assembly_text


def load(assembly: str, entry: str, wall_s: float = 60.0) -> Loaded:
    return find_device().device.load(Code(assembly, entry, "gfx950"), buffer_bytes=1 << 20, wall_s=wall_s)


@pytest.fixture
def buffers() -> Iterator[list[SharedBuffer]]:
    made = [SharedBuffer(Layout("from", "int32", (100,), False)), SharedBuffer(Layout("to", "int32", (100,), True))]
    made[0].array[:] = np.arange(100)
    made[1].array[:] = -1
    yield made
    for buffer in made:
        buffer.close()


def launch(fuel: int = 1 << 20, grid: int = 2, block: int = 64) -> Launch:
    return Launch(("from", "to", ("i32", 100)), (grid, 1, 1), (block, 1, 1), fuel=fuel)


def test_a_kernel_runs_and_its_results_are_in_our_buffer(assembly: str, buffers: list[SharedBuffer]) -> None:
    with closing(load(assembly, "twice")) as loaded:
        assert loaded.info.arguments == 3
        assert loaded.info.support.supported == loaded.info.support.instructions > 5
        report = loaded.launch(launch(), buffers)
    assert report.findings == ()
    assert report.waves == 2
    assert buffers[1].array.tolist() == [2 * i for i in range(100)]


def test_accesses_out_of_range_are_stopped_and_told(assembly: str, buffers: list[SharedBuffer]) -> None:
    with closing(load(assembly, "past_the_end")) as loaded:
        report = loaded.launch(launch(grid=1), buffers)
    found = {finding.kind: finding for finding in report.findings}
    assert set(found) == {"global read out of range", "global write out of range"}
    read, write = found["global read out of range"], found["global write out of range"]
    assert (read.count, write.count) == (1, 64)
    assert "4 bytes before from" in read.message and "lane 0" in read.message
    assert "past the end of to (400 bytes)" in write.message
    assert write.where and write.where.startswith("source.hip:8")
    assert all(buffer.guards_changed() == 0 for buffer in buffers)


@pytest.mark.parametrize(("entry", "atomic"), [("sum_in_lds", True), ("by_resource", False)])
def test_loading_tells_whether_the_kernel_has_atomics_also_of_the_lds(assembly: str, entry: str, atomic: bool) -> None:
    with closing(load(assembly, entry)) as loaded:
        assert loaded.info.has_atomics == atomic


def test_lanes_that_a_buffer_resource_stops_are_a_note(assembly: str, buffers: list[SharedBuffer]) -> None:
    with closing(load(assembly, "by_resource")) as loaded:
        (found,) = loaded.launch(launch(), buffers).findings
    # 28 lanes of 128 are past the 100 elements, at the load and at the store.
    assert (found.kind, found.count, found.severity) == ("lanes outside a buffer resource", 2 * 28, "note")
    assert buffers[1].array.tolist() == [2 * i for i in range(100)]


def test_a_write_to_an_input_is_a_finding_of_its_own(assembly: str, buffers: list[SharedBuffer]) -> None:
    with closing(load(assembly, "into_the_input")) as loaded:
        report = loaded.launch(launch(grid=1), buffers)
    assert [finding.kind for finding in report.findings] == ["write to an input"]
    assert buffers[0].array.tolist() == list(range(100))


def test_an_endless_loop_spends_its_budget_and_the_process_lives_on(assembly: str, buffers: list[SharedBuffer]) -> None:
    with closing(load(assembly, "for_ever")) as loaded:
        for _ in range(2):
            with pytest.raises(TimedOut, match="loop budget") as caught:
                loaded.launch(launch(fuel=10_000), buffers)
            assert "limit" not in caught.value.details


def test_the_wall_clock_limit_ends_the_process(assembly: str, buffers: list[SharedBuffer]) -> None:
    with closing(load(assembly, "for_ever", wall_s=3.0)) as loaded:
        process = loaded._process  # type: ignore[attr-defined]
        with pytest.raises(TimedOut) as caught:
            loaded.launch(launch(fuel=1 << 60), buffers)
        assert caught.value.details == {"limit": "wall"}
        assert process.poll() == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_dead_engine_is_an_error_that_says_how_it_died(
    assembly: str, buffers: list[SharedBuffer], number: signal.Signals
) -> None:
    with closing(load(assembly, "twice")) as loaded:
        os.kill(loaded._process.pid, number)  # type: ignore[attr-defined]
        with pytest.raises(EngineCrashed, match=f"died of {number.name}") as caught:
            loaded.launch(launch(), buffers)
    assert caught.value.exit_status == 3


def test_too_little_memory_is_an_engine_error(assembly: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "MEMORY_BYTES", 64 << 20)
    with pytest.raises(EngineCrashed):
        load(assembly, "twice")


def test_a_launch_that_hardware_would_refuse_is_refused(assembly: str, buffers: list[SharedBuffer]) -> None:
    with closing(load(assembly, "twice")) as loaded:
        with pytest.raises(UsageError, match="128 threads"):
            loaded.launch(launch(block=128), buffers)
        assert loaded.launch(launch(), buffers).findings == ()


def test_an_unknown_instruction_is_named_with_what_else_is_missing(assembly: str) -> None:
    broken = assembly.replace("s_endpgm", "v_frobnicate_b32 v0, v1\n\ts_endpgm", 1)
    with pytest.raises(UnsupportedInstruction, match="v_frobnicate_b32 v0, v1") as caught:
        load(broken, "twice")
    support = caught.value.details["support"]
    assert support["instructions"] == support["supported"] + 1
    assert support["missing"][0]["mnemonic"] == "v_frobnicate_b32"
    assert support["missing"][0]["count"] == 1
    assert caught.value.details["operands"] == ["v0", "v1"]


def test_an_unknown_entry_has_near_names(assembly: str) -> None:
    with pytest.raises(UnknownName) as caught:
        load(assembly, "twise")
    assert "twice" in (caught.value.hint or "")


def test_closing_leaves_no_process(assembly: str) -> None:
    loaded = load(assembly, "twice")
    process = loaded._process  # type: ignore[attr-defined]
    loaded.close()
    assert process.poll() is not None


def test_the_process_cannot_read_the_users_files(tmp_path: object) -> None:
    if not landlock_abi():
        pytest.skip("SKIPPED LOUDLY: this kernel has no Landlock")
    code = (
        "from kbserver.devices.worker import confine\n"
        "assert confine(None)\n"
        "try:\n    open('/etc/hostname').read()\n"
        "except PermissionError:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "refused", done.stderr


def test_auto_says_why_it_took_the_emulator() -> None:
    choice = find_device()
    assert choice.device.name == "emulator"
    assert choice.decided_by.startswith("auto: ")
    assert find_device("emulator").decided_by == "--device"
    with pytest.raises(UnknownName):
        find_device("vulkan")
