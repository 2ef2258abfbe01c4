"""The interpreter, on rules written independently, does the same as the host code on whole kernels."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.emulator.audit import audit_workgroup
from kbserver.emulator.memory import Memory
from tests.emulator import conv
from tests.emulator.test_launch import machine
from tests.toolchain.clang import needs_clang


@needs_clang
@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("step1_naive", "gfx950"),
        ("step2_nhwc", "gfx942"),
        ("step3_nchw_lds", "gfx942"),
        ("step4_mfma", "gfx950"),
        ("step5_sgb", "gfx950"),
    ],
)
def test_interpreter_and_host_code_agree_on_a_workgroup(name: str, arch: str) -> None:
    memory, arguments, grid, block, _ = conv.prepare(name)
    assert audit_workgroup(conv.machine(name, arch), memory, arguments, grid=grid, block=block, workgroup=0) == []
    assert (memory.buffers[-1].array != 0xFFFF).any()


def test_audit_reports_a_difference() -> None:
    body = "\ts_load_dwordx2 s[6:7], s[0:1], 0x0\n\tv_mov_b32_e32 v1, 0\n\tglobal_store_dword v1, v0, s[6:7]"
    kernel = machine(body)
    memory = Memory()
    out = memory.output("out", (64,), np.uint32)
    assert audit_workgroup(kernel, memory, [out, 0], grid=(1, 1, 1), block=(1, 1, 1), workgroup=0) == []
    counts = kernel.translated.segments
    object.__setattr__(kernel.translated, "segments", (counts[0].__class__(0, 2), *counts[1:]))
    found = audit_workgroup(kernel, memory, [out, 0], grid=(1, 1, 1), block=(1, 1, 1), workgroup=0)
    assert found == [
        "line 6 `global_store_dword v1, v0, s[6:7]` ran 0 times, not 1",
        "line 7 `s_endpgm` ran 0 times, not 1",
    ]
