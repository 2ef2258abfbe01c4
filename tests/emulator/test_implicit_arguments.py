"""What a launch tells a kernel besides its arguments: grid and block, dispatch packet and queue, workgroup ids."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine
from kbserver.emulator.memory import Memory
from kbserver.toolchain.assembly import parse_assembly
from tests.toolchain.clang import compile_hip, needs_clang

SOURCE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void places(unsigned* out) {
  unsigned group = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned item = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[group * blockDim.x * blockDim.y * blockDim.z + item] = group * 1000 + item;
}
extern "C" __global__ void only_y(unsigned* out) { out[blockIdx.y * 64 + threadIdx.x] = blockIdx.y; }
extern "C" __global__ void only_z(unsigned* out) { out[blockIdx.z * 64 + threadIdx.x] = blockIdx.z; }
extern "C" __global__ void packet(unsigned* out) {
  const unsigned short* sizes = (const unsigned short*)__builtin_amdgcn_dispatch_ptr();
  const unsigned* items = (const unsigned*)__builtin_amdgcn_dispatch_ptr();
  unsigned i = threadIdx.x;
  out[i] = i < 3 ? sizes[2 + i] : i < 6 ? items[i] : i == 6 ? items[7] : 0;
}
extern "C" __global__ void implicit(unsigned* out) {
  const unsigned* words = (const unsigned*)__builtin_amdgcn_implicitarg_ptr();
  const unsigned short* halves = (const unsigned short*)__builtin_amdgcn_implicitarg_ptr();
  unsigned i = threadIdx.x;
  out[i] = i < 3 ? words[i] : i < 9 ? halves[3 + i] : i == 9 ? halves[32] : 0;
}
"""


def _run(name: str, arch: str, level: str, outputs: int, grid: tuple[int, int, int], block: tuple[int, int, int],
         **options: int) -> list[int]:  # fmt: skip
    compiled = compile_hip(SOURCE, arch, (level,))
    assert compiled.status == 0, compiled.diagnostics
    machine = Machine(load_kernel(parse_assembly(compiled.text), name))
    memory = Memory()
    out = memory.output("out", (outputs,), np.uint32)
    outcome = machine.launch(memory, [out], grid=grid, block=block, **options)
    assert outcome.finding_count == 0
    return out.array.tolist()


_BUILDS = pytest.mark.parametrize(
    ("arch", "level"), [("gfx90a", "-O0"), ("gfx90a", "-O3"), ("gfx942", "-O3"), ("gfx950", "-O0"), ("gfx950", "-O3")]
)


@needs_clang
@_BUILDS
def test_every_work_item_knows_its_place_in_three_dimensions(arch: str, level: str) -> None:
    found = _run("places", arch, level, 2 * 3 * 4 * 5 * 3 * 2, (2, 3, 4), (5, 3, 2))
    assert found == [group * 1000 + item for group in range(24) for item in range(30)]


@needs_clang
@_BUILDS
@pytest.mark.parametrize(("name", "grid"), [("only_y", (1, 3, 1)), ("only_z", (1, 1, 3))])
def test_workgroup_ids_come_one_by_one(name: str, grid: tuple[int, int, int], arch: str, level: str) -> None:
    assert _run(name, arch, level, 192, grid, (64, 1, 1)) == [group for group in range(3) for _ in range(64)]


@needs_clang
@_BUILDS
def test_the_dispatch_packet_holds_block_and_grid_in_work_items(arch: str, level: str) -> None:
    found = _run("packet", arch, level, 64, (2, 1, 3), (64, 1, 1), dynamic_lds_bytes=256)
    # hsa_kernel_dispatch_packet_t: workgroup_size_x to z at byte 4, grid_size_x to z at 12, group_segment_size at 28.
    assert found[:7] == [64, 1, 1, 128, 1, 3, 256]


@needs_clang
@_BUILDS
def test_implicit_arguments_hold_counts_sizes_remainders_and_dimensions(arch: str, level: str) -> None:
    found = _run("implicit", arch, level, 64, (2, 5, 1), (32, 2, 1))
    # block counts at byte 0, group sizes at 12, remainders at 18, dimensions at 64 (LLVM AMDGPU usage, code object V5)
    assert found[:10] == [2, 5, 1, 32, 2, 1, 0, 0, 0, 2]


@needs_clang
@pytest.mark.parametrize("arch", ["gfx90a", "gfx950"])
def test_a_kernel_that_asks_for_one_work_item_id_finds_nothing_beside_it(arch: str) -> None:
    # Code that uses threadIdx.x alone takes v0 as it is.
    assert _run("only_y", arch, "-O3", 64, (1, 1, 1), (32, 2, 1))[:33] == [*[0] * 32, 0xFFFFFFFF]
