"""The GEMV and tiled matmul kernels of the GEMM pages, as they are printed there, compiled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.toolchain.clang import needs_clang
from tests.toolchain.code_claims import instructions, names

pytestmark = needs_clang

PAGES = Path("gpu_arch/optimization")
HEAD = """
#define __global__ __attribute__((global))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define __device__ __attribute__((device))
#define __shared__ LDS
#define __syncthreads() SYNC()
struct Index { u32 x, y; };
#define blockIdx Index{__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y()}
#define threadIdx Index{__builtin_amdgcn_workitem_id_x()}
__device__ inline float __shfl_xor(float v, int mask) {
  int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
  return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((lane ^ mask) * 4, __builtin_bit_cast(int, v)));
}
"""


def printed_kernel(page: str, name: str) -> str:
    """Return the code block of `page` that holds the kernel `name`."""
    blocks = re.findall(r"```cpp\n(.*?)```", (PAGES / page).read_text(), re.DOTALL)
    [block] = [code for code in blocks if f"void {name}(" in code]
    return HEAD + block.replace("__global__ ", 'extern "C" __global__ ')


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_the_printed_gemv_loads_sixteen_bytes_and_stays_in_registers(arch: str):
    lines = names(instructions(printed_kernel("small-gemm.md", "gemv"), arch)["gemv"])
    assert any(name == "global_load_dwordx4" for name in lines)
    assert not any(name.startswith(("scratch_", "buffer_")) for name in lines)
    assert not any(name in {"global_load_ushort", "global_load_short_d16"} for name in lines)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_the_printed_tiled_matmul_compiles_without_scratch_or_matrix_instructions(arch: str):
    lines = names(instructions(printed_kernel("gemm-speed.md", "matmul_tiled"), arch)["matmul_tiled"])
    assert lines.count("s_barrier") == 2
    assert any(name.startswith("ds_read") for name in lines)
    assert any(name in {"v_fmac_f32", "v_pk_fma_f32"} for name in lines)
    assert not any(name.startswith(("scratch_", "v_mfma")) for name in lines)
