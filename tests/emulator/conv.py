"""The five convolution kernels on a tiny problem, and the same problem in float64."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine, Outcome
from kbserver.emulator.memory import Memory
from kbserver.toolchain.assembly import parse_assembly
from tests.toolchain.clang import ROOT, compile_hip

C, D, H, W = 8, 4, 9, 20
OUT_D = D - 2
NAMES = ("step1_naive", "step2_nhwc", "step3_nchw_lds", "step4_mfma", "step5_sgb")
_SIZES = (C, D, H, W)
# name -> (extra arguments, grid, threads of a workgroup, channels last)
_LAUNCH = {
    "step1_naive": (_SIZES, (-(-C * OUT_D * H * W // 256), 1, 1), 256, False),
    "step2_nhwc": (_SIZES, (-(-OUT_D * H * W * (C // 8) // 256), 1, 1), 256, True),
    "step3_nchw_lds": ((), (OUT_D, C, 1), 256, False),
    "step4_mfma": ((C, D, H), (-(-H // 4), OUT_D, 1), 64, False),
    "step5_sgb": ((), (OUT_D, C, 1), 256, False),
}


@dataclass(frozen=True, eq=False)
class Result:
    """Output [C, OUT_D, H, W] as float64, and how the launch went."""

    output: np.ndarray
    bits: np.ndarray
    outcome: Outcome


def from_bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


@lru_cache(maxsize=1)
def inputs() -> tuple[np.ndarray, np.ndarray]:
    """Return input [C, D, H, W] and weight [C, 3, 5, 5] as bfloat16 bits."""
    rng = np.random.default_rng(20)
    arrays = (rng.standard_normal((C, D, H, W)), rng.standard_normal((C, 3, 5, 5)))
    a, b = ((array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for array in arrays)
    return a, b


@lru_cache(maxsize=1)
def expected() -> tuple[np.ndarray, np.ndarray]:
    """Return the exact result and the sum of the magnitudes that went into it."""
    x, w = map(from_bf16, inputs())
    padded = np.zeros((C, D, H + 4, W + 4))
    padded[:, :, 2:-2, 2:-2] = x
    total, magnitude = np.zeros((2, C, OUT_D, H, W))
    for z in range(3):
        for y in range(5):
            for k in range(5):
                part = padded[:, z : z + OUT_D, y : y + H, k : k + W] * w[:, z, y, k][:, None, None, None]
                total += part
                magnitude += np.abs(part)
    return total, magnitude


def compiled_text(name: str, arch: str) -> str:
    """Return the assembly text of a kernel with the tiny problem's sizes."""
    sizes = (f"-DKB_DEPTH={D}", f"-DKB_HEIGHT={H}", f"-DKB_WIDTH={W}", "-gline-tables-only")
    compiled = compile_hip(ROOT / "kernels" / f"{name}.hip", arch, sizes)
    assert compiled.status == 0, compiled.diagnostics
    return compiled.text


@lru_cache(maxsize=16)
def machine(name: str, arch: str) -> Machine:
    return Machine(load_kernel(parse_assembly(compiled_text(name, arch))))


def prepare(name: str) -> tuple[Memory, list[object], tuple[int, int, int], tuple[int, int, int], bool]:
    """Return (memory, arguments, grid, block, channels last) of one kernel over the whole tiny problem."""
    extra, grid, threads, last = _LAUNCH[name]
    x, w = inputs()
    if last:
        x, w = x.transpose(1, 2, 3, 0), w.transpose(1, 2, 3, 0)
    memory = Memory()
    arguments = [memory.buffer("input", x), memory.buffer("weight", w)]
    arguments.append(memory.output("output", (OUT_D, H, W, C) if last else (C, OUT_D, H, W), np.uint16))
    return memory, [*arguments, *extra], grid, (threads, 1, 1), last


def run(name: str, arch: str, *, order: str = "forward", seed: int = 0) -> Result:
    """Run one kernel."""
    memory, arguments, grid, block, last = prepare(name)
    outcome = machine(name, arch).launch(memory, arguments, grid=grid, block=block, order=order, seed=seed)
    output = memory.buffers[-1].array
    bits = output.transpose(3, 0, 1, 2) if last else output
    return Result(from_bf16(bits), bits, outcome)
