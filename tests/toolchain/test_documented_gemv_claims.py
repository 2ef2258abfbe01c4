"""The GEMV kernel of the page on small GEMMs, as it is printed there, compiled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.toolchain.clang import needs_clang
from tests.toolchain.code_claims import instructions, names

pytestmark = needs_clang

PAGE = Path("gpu_arch/optimization/small-gemm.md")
HEAD = """
#define __global__ __attribute__((global))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define __device__ __attribute__((device))
struct Index { u32 x; };
#define blockIdx Index{__builtin_amdgcn_workgroup_id_x()}
#define threadIdx Index{__builtin_amdgcn_workitem_id_x()}
__device__ inline float __shfl_xor(float v, int mask) {
  int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
  return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((lane ^ mask) * 4, __builtin_bit_cast(int, v)));
}
"""


def printed_kernel() -> str:
    """Return the code block of the section on GEMV that holds a kernel."""
    [block] = [code for code in re.findall(r"```cpp\n(.*?)```", PAGE.read_text(), re.DOTALL) if "void gemv" in code]
    return HEAD + block.replace("void gemv", 'extern "C" void gemv').replace(
        '__global__ __launch_bounds__(256) extern "C" void', 'extern "C" __global__ __launch_bounds__(256) void'
    )


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_the_printed_gemv_loads_sixteen_bytes_and_stays_in_registers(arch: str):
    lines = names(instructions(printed_kernel(), arch)["gemv"])
    assert any(name == "global_load_dwordx4" for name in lines)
    assert not any(name.startswith(("scratch_", "buffer_")) for name in lines)
    assert not any(name in {"global_load_ushort", "global_load_short_d16"} for name in lines)
