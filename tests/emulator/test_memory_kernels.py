"""Whole compiled kernels on memory instructions: buffers, direct loads to LDS, atomics, permutes, transposed reads."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from kbserver.emulator.audit import audit_workgroup
from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine
from kbserver.emulator.memory import Buffer, Memory
from kbserver.toolchain.assembly import parse_assembly
from tests.toolchain.clang import compile_hip, needs_clang

SOURCE = r"""
#include <hip/hip_runtime.h>
#define LDS(p) ((__attribute__((address_space(3))) void *)(p))
typedef __amdgpu_buffer_rsrc_t rsrc;
static __device__ rsrc resource(const void *p, int bytes) {
  return __builtin_amdgcn_make_buffer_rsrc((void *)p, 0, bytes, 0x27000);
}

extern "C" __global__ __launch_bounds__(64) void scale(const unsigned *x, unsigned *y, unsigned *count, int n) {
  rsrc from = resource(x, n * 4), to = resource(y, n * 4), sums = resource(count, 32);
  int i = (blockIdx.x * 64 + threadIdx.x) * 4;
  // The last pieces reach past n: the range check of the resource is all that guards them.
  typedef unsigned four __attribute__((ext_vector_type(4)));
  four v = __builtin_amdgcn_raw_buffer_load_b128(from, i * 4, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b128(v * 3u + 1u, to, i * 4, 0, 0);
  __builtin_amdgcn_raw_ptr_buffer_atomic_add_i32(v.x, sums, (i / 4 & 15) * 4, 0, 0);
}

extern "C" __global__ __launch_bounds__(64) void direct(const unsigned *x, unsigned *y, int n) {
  __shared__ unsigned tile[2][64];
  int i = threadIdx.x;
  __builtin_amdgcn_raw_ptr_buffer_load_lds(resource(x, n * 4), LDS(tile[0]), 4, i * 4, 0, 0, 0);
  __builtin_amdgcn_global_load_lds(
      (__attribute__((address_space(1))) void *)(x + (63 - i)), LDS(tile[1]), 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  __syncthreads();
  y[i] = tile[0][63 - i] + 1000 * tile[1][63 - i];
}

extern "C" __global__ __launch_bounds__(256) void histogram(const unsigned char *x, unsigned *bins, float *sum, int n) {
  __shared__ unsigned local[16];
  __shared__ float total;
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    __hip_atomic_fetch_add(&local[x[i] & 15], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __hip_atomic_fetch_add(&total, 1.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  }
  __syncthreads();
  if (threadIdx.x < 16)
    __hip_atomic_fetch_add(&bins[threadIdx.x], local[threadIdx.x], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  unsigned long long most = (unsigned long long)n << 32 | threadIdx.x;
  if (threadIdx.x < 4)
    __hip_atomic_fetch_max((unsigned long long *)(bins + 16), most, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  if (threadIdx.x == 0) __hip_atomic_fetch_add(sum, total, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

extern "C" __global__ __launch_bounds__(64) void lanes(const int *x, int *y) {
  int i = threadIdx.x, v = x[i];
  int back = __builtin_amdgcn_ds_bpermute((i * 7 + 3) % 64 * 4, v);
  int sent = __builtin_amdgcn_ds_permute((63 - i) * 4, v);
  int turned = __builtin_amdgcn_ds_swizzle(v, 0x7C1F);  // lane ^ 31
  y[i] = back + 100 * sent + 10000 * turned;
}

#ifdef __gfx950__
typedef short four_shorts __attribute__((ext_vector_type(4)));
extern "C" __global__ __launch_bounds__(64) void transpose(const short *x, short *y) {
  __shared__ four_shorts tile[64];
  int i = threadIdx.x;
  tile[i] = ((const four_shorts *)x)[i];
  __syncthreads();
  auto from = (__attribute__((address_space(3))) four_shorts *)(&tile[i]);
  ((four_shorts *)y)[i] = __builtin_amdgcn_ds_read_tr16_b64_v4i16(from);
}
#endif
"""


@lru_cache(maxsize=32)
def _machine(name: str, arch: str, level: str = "-O3") -> Machine:
    compiled = compile_hip(SOURCE, arch, (level,))
    assert compiled.status == 0, compiled.diagnostics
    return Machine(load_kernel(parse_assembly(compiled.text), name))


def _names(machine: Machine) -> set[str]:
    return {d.name for d in machine.kernel.code}


def _agree(machine: Machine, memory: Memory, arguments: list[Buffer | int], block: int) -> None:
    shape = {"grid": (1, 1, 1), "block": (block, 1, 1)}
    assert audit_workgroup(machine, memory, arguments, workgroup=0, **shape) == []


@needs_clang
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_buffer_range_check_guards_the_tail(arch: str) -> None:
    machine = _machine("scale", arch)
    assert {"buffer_load_dwordx4", "buffer_store_dwordx4", "buffer_atomic_add"} <= _names(machine)
    n = 64 * 4 + 64 * 2 + 3  # the second workgroup's last lanes are out, one of them in part
    x = np.random.default_rng(1).integers(0, 1 << 32, n, dtype=np.uint32)
    memory = Memory()
    arguments = [
        memory.buffer("x", x),
        memory.output("y", (n,), np.uint32),
        memory.buffer("count", np.zeros(16, np.uint32), writable=True),
        n,
    ]
    outcome = machine.launch(memory, arguments, grid=(2, 1, 1), block=(64, 1, 1))
    assert outcome.finding_count == 0
    assert np.array_equal(memory.buffers[1].array, x * np.uint32(3) + np.uint32(1))
    first = np.zeros(128 * 4, np.uint32)
    first[:n] = x
    wanted = np.zeros(16, np.uint32)
    np.add.at(wanted, np.arange(128) & 15, first[::4])
    wanted[8:] = 0  # past the 32 bytes of their resource
    assert np.array_equal(memory.buffers[2].array, wanted)
    # 31 whole lanes and one in part, each loaded and stored; half of all 128 sums.
    assert outcome.clipped_lanes == 2 * 32 + 64
    memory.buffers[2].array[:] = 0
    _agree(machine, memory, arguments, 64)


@needs_clang
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_direct_loads_fill_the_tile_in_lane_order(arch: str) -> None:
    machine = _machine("direct", arch)
    assert "global_load_lds_dword" in _names(machine)
    assert any(d.name == "buffer_load_dword" and "lds" in d.modifiers for d in machine.kernel.code)
    x = np.arange(64, dtype=np.uint32) + 1
    memory = Memory()
    arguments = [memory.buffer("x", x), memory.output("y", (64,), np.uint32), 60]
    outcome = machine.launch(memory, arguments, grid=(1, 1, 1), block=(64, 1, 1))
    assert (outcome.finding_count, outcome.clipped_lanes) == (0, 4)
    bounded = np.where(np.arange(64) < 60, x, 0)
    assert np.array_equal(memory.buffers[1].array, bounded[::-1] + 1000 * x)
    _agree(machine, memory, arguments, 64)


@needs_clang
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("threads", [1, 2])
def test_histogram_counts_every_element_whatever_thread_runs_a_workgroup(arch: str, threads: int) -> None:
    machine = _machine("histogram", arch)
    assert any(name.startswith("ds_add") for name in _names(machine))
    x = np.random.default_rng(2).integers(0, 256, 5000, dtype=np.uint8)
    memory = Memory()
    bins = memory.buffer("bins", np.zeros(18, np.uint32), writable=True)
    total = memory.buffer("sum", np.zeros(1, np.float32), writable=True)
    arguments = [memory.buffer("x", x), bins, total, len(x)]
    outcome = machine.launch(memory, arguments, grid=(4, 1, 1), block=(256, 1, 1), threads=threads)
    assert outcome.finding_count == 0
    assert np.array_equal(bins.array[:16], np.bincount(x & 15, minlength=16))
    assert bins.array[16:].tolist() == [3, 5000]
    assert total.array.tolist() == [5000.0]


@needs_clang
@pytest.mark.parametrize("arch", ["gfx90a", "gfx950"])
def test_values_go_where_permutes_and_swizzles_send_them(arch: str) -> None:
    machine = _machine("lanes", arch)
    x = np.arange(64, dtype=np.int32) + 1
    memory = Memory()
    arguments = [memory.buffer("x", x), memory.output("y", (64,), np.int32)]
    machine.launch(memory, arguments, grid=(1, 1, 1), block=(64, 1, 1))
    lane = np.arange(64)
    wanted = x[(lane * 7 + 3) % 64] + 100 * x[63 - lane] + 10000 * x[lane ^ 31]
    assert np.array_equal(memory.buffers[1].array, wanted)
    _agree(machine, memory, arguments, 64)


@needs_clang
def test_transposed_read_turns_a_tile_of_four_rows() -> None:
    machine = _machine("transpose", "gfx950")
    assert "ds_read_b64_tr_b16" in _names(machine)
    tiles = np.random.default_rng(3).integers(-999, 999, (4, 4, 16)).astype(np.int16)
    memory = Memory()
    arguments = [memory.buffer("x", tiles), memory.output("y", (4, 16, 4), np.int16)]
    outcome = machine.launch(memory, arguments, grid=(1, 1, 1), block=(64, 1, 1))
    assert outcome.finding_count == 0
    assert np.array_equal(memory.buffers[1].array, tiles.transpose(0, 2, 1))
    _agree(machine, memory, arguments, 64)
