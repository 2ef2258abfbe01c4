"""A compiled kernel of one scaled matrix product: A, B, C and scales placed as the vendor's documents place them."""

from __future__ import annotations

import numpy as np

from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine
from kbserver.emulator.memory import Memory
from kbserver.toolchain.assembly import parse_assembly
from tests.emulator.matrices import minifloat
from tests.toolchain.clang import compile_hip, needs_clang

# A is 32 x 64 and B 64 x 32 by rows in FP8; scales of A 32 x 2 and of B 2 x 32, one for 32 k; C 32 x 32.
_KERNEL = """
typedef unsigned char byte;
typedef byte bytes __attribute__((ext_vector_type(32)));
typedef int dwords __attribute__((ext_vector_type(8)));
typedef float results __attribute__((ext_vector_type(16)));
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 64)))
void product(const byte *a, const byte *b, const byte *a_scale, const byte *b_scale, float *c) {
  const int lane = __builtin_amdgcn_workitem_id_x(), row = lane % 32, group = lane / 32;
  bytes left, right;
  for (int e = 0; e < 32; e++) {
    const int k = e / 16 * 32 + group * 16 + e % 16;
    left[e] = a[row * 64 + k];
    right[e] = b[k * 32 + row];
  }
  results sum = 0;
  sum = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(
      __builtin_bit_cast(dwords, left), __builtin_bit_cast(dwords, right), sum, 0, 0,
      0, a_scale[row * 2 + group], 0, b_scale[group * 32 + row]);
  for (int e = 0; e < 16; e++) c[(e / 4 * 8 + group * 4 + e % 4) * 32 + row] = sum[e];
}
"""


@needs_clang
def test_a_block_scaled_fp8_product_in_hip() -> None:
    compiled = compile_hip(_KERNEL, "gfx950")
    assert compiled.status == 0, compiled.diagnostics
    rng = np.random.default_rng(3)
    values = np.array([minifloat(code, 4, 3, 7) for code in range(256)])
    a, b = (rng.integers(0, 0x48, shape, np.uint8) for shape in ((32, 64), (64, 32)))
    a_scale, b_scale = (rng.integers(124, 131, shape, np.uint8) for shape in ((32, 2), (2, 32)))
    memory = Memory()
    inputs = {"a": a, "b": b, "a_scale": a_scale, "b_scale": b_scale}
    arguments = [memory.buffer(name, array) for name, array in inputs.items()]
    output = memory.output("c", (32, 32), np.float32)
    machine = Machine(load_kernel(parse_assembly(compiled.text)))
    machine.launch(memory, [*arguments, output], grid=(1, 1, 1), block=(64, 1, 1))
    factors = [2.0 ** (scale.astype(float) - 127) for scale in (a_scale, b_scale)]
    expected = sum(
        (values[a[:, 32 * g : 32 * g + 32]] * factors[0][:, g : g + 1])
        @ (values[b[32 * g : 32 * g + 32]] * factors[1][g : g + 1])
        for g in range(2)
    )
    assert machine.hazards == ()
    assert np.allclose(output.array.reshape(32, 32), expected, rtol=1e-6)
