"""The HIP path up to the C ABI: the same ctypes code that drives a GPU, over a library that stands in for ROCm's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from kbserver.core.errors import LaunchFailed, NoDevice, TimedOut, ToolFailure, UsageError
from kbserver.devices import find_device, find_gpu, gpu
from kbserver.devices.buffers import Layout, SharedBuffer
from kbserver.devices.gpu import Gpu
from kbserver.devices.interface import Code, Launch
from kbserver.ops import verify_kernel
from kbserver.toolchain.build import build
from kbserver.toolchain.ready import build_ready, open_ready
from kbserver.toolchain.sources import from_text
from tests.devices.fakehip import FakeHip
from tests.toolchain.code_objects import SCALE, needs_objdump

SOURCE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(64) twice(const int *from, int *to, int n, double unused, short s) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) to[i] = from[i] * 2 + s;
}
extern "C" __global__ void __launch_bounds__(64) far_away(const int *from, int *to, int n, double unused, short s) {
  to[threadIdx.x + (1 << 28)] = n;
}
"""
ARGUMENTS = ("from", "to", ("i32", 100), ("f64", 2.5), ("i32", 3))


@pytest.fixture
def buffers() -> Iterator[list[SharedBuffer]]:
    made = [SharedBuffer(Layout("from", "int32", (100,), False)), SharedBuffer(Layout("to", "int32", (100,), True))]
    made[0].array[:] = np.arange(100)
    made[1].array[:] = -1
    yield made
    for buffer in made:
        buffer.close()


def code(entry: str = "twice", arch: str = "gfx950") -> Code:
    return Code(build(from_text(SOURCE), arch).assembly_text, entry, arch)


def launch() -> Launch:
    return Launch(ARGUMENTS, (2, 1, 1), (64, 1, 1))


def test_the_device_is_identified_by_its_driver(fakehip: FakeHip) -> None:
    fakehip.configure(arch="gfx942:sramecc+:xnack-", name="AMD Instinct MI300X")
    identity = Gpu("hip").identity
    assert (identity.name, identity.arch, identity.features) == ("AMD Instinct MI300X", "gfx942", "sramecc+:xnack-")
    assert identity.driver == "HIP 7.0.51831"
    assert identity.memory_bytes == 288 << 30
    assert identity.compute_units == 256
    assert identity.library == str(fakehip.rocm / "lib" / "libamdhip64.so")


def test_a_launch_runs_with_arguments_at_their_places(fakehip: FakeHip, buffers: list[SharedBuffer]) -> None:
    fakehip.duration = lambda entry, number: 0.75
    with closing(find_device("hip").device.load(code(), buffer_bytes=1 << 20, wall_s=60)) as loaded:
        assert loaded.info.arguments == 5
        report = loaded.launch(launch(), buffers)
        assert report.waves == 2
        assert report.wall_s == pytest.approx(0.00075)
        assert buffers[1].array.tolist() == [2 * i + 3 for i in range(100)]
        buffers[0].array[:] = 7
        loaded.launch(launch(), buffers)
    assert set(buffers[1].array.tolist()) == {17}
    assert all(buffer.guards_changed() == 0 for buffer in buffers)


@needs_objdump
def test_a_code_object_that_was_given_is_loaded_as_it_is(fakehip: FakeHip) -> None:
    snapshot, arch = open_ready(SCALE, None)
    built = build_ready(snapshot, arch or "")
    assert Gpu("hip").image(Code(built.assembly_text, "scale", "gfx950", built.image)) == SCALE.read_bytes()


def test_code_for_another_target_is_refused_before_it_is_launched(fakehip: FakeHip) -> None:
    fakehip.configure(arch="gfx942:sramecc+:xnack-", name="AMD Instinct MI300X")
    with pytest.raises(UsageError) as caught:
        find_device("hip").device.load(code(arch="gfx950"), buffer_bytes=0, wall_s=60)
    assert "gfx950" in caught.value.message and "gfx942 (AMD Instinct MI300X)" in caught.value.message
    assert fakehip.launches == []


def test_a_machine_without_a_gpu_is_no_device(fakehip: FakeHip) -> None:
    fakehip.configure(mode="no_device")
    with pytest.raises(NoDevice, match=r"hipErrorNoDevice \(100\)") as caught:
        find_gpu("hip")
    assert caught.value.exit_status == 3


def test_a_driver_that_refuses_the_code_says_its_error(fakehip: FakeHip) -> None:
    fakehip.configure(mode="no_function")
    with pytest.raises(ToolFailure, match=r"hipErrorInvalidDeviceFunction \(98\)"):
        find_device("hip").device.load(code(), buffer_bytes=0, wall_s=60)


def test_a_refused_launch_is_a_usage_error_and_a_failed_one_a_launch_error(
    fakehip: FakeHip, buffers: list[SharedBuffer]
) -> None:
    for mode, error, text in (
        ("launch_refused", UsageError, r"refused the launch: .*hipErrorInvalidValue \(1\)"),
        ("launch_failure", LaunchFailed, r"failed on the device: .*hipErrorLaunchFailure \(719\)"),
        ("abort", LaunchFailed, r"died of SIGABRT: Memory access fault by GPU node-1"),
    ):
        fakehip.configure(mode=mode)
        with (
            closing(find_device("hip").device.load(code(), buffer_bytes=0, wall_s=60)) as loaded,
            pytest.raises(error, match=text),
        ):
            loaded.launch(launch(), buffers)
    assert buffers[1].array.tolist() == [-1] * 100


def test_an_access_outside_every_allocation_fails_the_launch(fakehip: FakeHip, buffers: list[SharedBuffer]) -> None:
    with (
        closing(find_device("hip").device.load(code("far_away"), buffer_bytes=0, wall_s=60)) as loaded,
        pytest.raises(LaunchFailed, match="719"),
    ):
        loaded.launch(launch(), buffers)
    assert set(fakehip.faults) == {"global write out of range"}


def test_a_hung_kernel_is_killed_and_the_error_says_that_the_device_may_have_to_recover(
    fakehip: FakeHip, buffers: list[SharedBuffer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "LAUNCH_LIMIT_S", 0.2)
    fakehip.configure(mode="hang")
    with closing(find_device("hip").device.load(code(), buffer_bytes=0, wall_s=60)) as loaded:
        with pytest.raises(TimedOut, match=r"had not finished after 0\.2 s") as caught:
            loaded.launch(launch(), buffers)
        assert "recover" in (caught.value.hint or "")
        assert caught.value.details == {"limit": "launch", "process_killed": True}


def test_no_memory_on_the_device_is_said(fakehip: FakeHip, buffers: list[SharedBuffer]) -> None:
    fakehip.configure(mode="no_memory")
    with (
        closing(find_device("hip").device.load(code(), buffer_bytes=0, wall_s=60)) as loaded,
        pytest.raises(ToolFailure, match=r"hipErrorOutOfMemory \(2\)"),
    ):
        loaded.launch(launch(), buffers)


@pytest.mark.parametrize("kernel", ["step1_naive", "step3_nchw_lds", "step4_mfma"])
def test_verification_passes_on_the_stand_in(fakehip: FakeHip, kernel: str) -> None:
    report = verify_kernel(name=kernel, device="hip", seeds=[1, 2], threads=1)
    assert (report.verdict, report.arch, report.decided_by) == ("PASS", "gfx950", "the device")
    assert report.device.startswith("hip on AMD Instinct MI355X")
    assert report.orders == ["hardware"]
    assert len(fakehip.launches) == 12


def test_a_failed_launch_fails_the_verification(fakehip: FakeHip) -> None:
    fakehip.configure(mode="launch_failure")
    report = verify_kernel(name="step1_naive", device="hip", seeds=[1], threads=1)
    assert report.verdict == "FAIL"
    assert [finding.check for finding in report.findings] == ["launch_failed"]
    assert "719" in report.findings[0].message
