"""Compile a small HIP kernel and check one launch of it: two workgroups of 128 threads, 1024 floats in, 4096 out."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from kbserver.emulator.checks.report import CheckReport
from kbserver.emulator.checks.run import Checker
from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.memory import Memory
from kbserver.toolchain.assembly import parse_assembly
from tests.toolchain.clang import compile_hip

HEAD = """#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 128))) void
kernel(const float *in, float *out) {
  const unsigned thread = threadIdx.x, index = blockIdx.x * 128 + thread;
"""
GROUPS = 2


@lru_cache(maxsize=64)
def checked(body: str, arch: str = "gfx950", level: str = "-O3", sample: int | None = None) -> CheckReport:
    """Return the report on a kernel with this body, which knows `in`, `out`, `thread` and `index`."""
    compiled = compile_hip(f"{HEAD}{body}\n}}\n", arch, (level, "-gline-tables-only"))
    assert compiled.status == 0, compiled.diagnostics
    memory = Memory()
    data = np.random.default_rng(5).standard_normal(1024).astype(np.float32)
    arguments = [memory.buffer("in", data), memory.output("out", (4096,), np.float32)]
    checker = Checker(load_kernel(parse_assembly(compiled.text)))
    report = checker.check(memory, arguments, grid=(GROUPS, 1, 1), block=(128, 1, 1), sample=sample)
    left = memory.buffers[-1].array.view(np.uint32)
    assert (left == 0xFFFFFFFF).all(), "the buffers hold what they held before"
    return report


def found(body: str, arch: str = "gfx950", level: str = "-O3") -> set[tuple[str, str]]:
    """Return (kind, severity) of what was found."""
    return {(one.kind, one.severity) for one in checked(body, arch, level).findings}
