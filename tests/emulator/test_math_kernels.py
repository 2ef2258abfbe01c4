"""Whole HIP kernels of the vector unit, compiled for the three targets: exact results are NumPy's to the bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest

from kbserver.emulator.audit import audit_workgroup
from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine
from kbserver.emulator.memory import Memory
from kbserver.emulator.oracle.fp8 import nearest, value
from kbserver.toolchain.assembly import parse_assembly
from tests.toolchain.clang import compile_hip, needs_clang

_COUNT = 256
_HEAD = '#include <hip/hip_runtime.h>\nextern "C" __global__ void k({arguments}) {{\n'
_INDEX = "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
_BUILDS = (("gfx90a", "-O3"), ("gfx942", "-O1"), ("gfx950", "-O3"))


@dataclass(frozen=True)
class Elementwise:
    """out[i] = expression of a[i] and b[i], and the same in NumPy."""

    type: str
    dtype: type
    expression: str
    numpy: Callable[[np.ndarray, np.ndarray], np.ndarray]

    @property
    def source(self) -> str:
        arguments = f"const {self.type}* p, const {self.type}* q, {self.type}* out"
        body = f"  {self.type} a = p[i], b = q[i];\n  out[i] = {self.expression};\n}}\n"
        return _HEAD.format(arguments=arguments) + _INDEX + body


def _truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """C's integer division, which rounds toward zero."""
    quotient = np.abs(a.astype(object)) // np.abs(b.astype(object))
    return np.where((a < 0) == (b < 0), quotient, -quotient).astype(a.dtype)


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a - _truncated(a, b) * b


def _counts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    texts = [format(int(x), "032b") for x in a]
    ones = [text.count("1") for text in texts]
    leading = [len(text) - len(text.lstrip("0")) for text in texts]
    trailing = [(len(text) - len(text.rstrip("0")) + 1) % 33 for text in texts]
    turned = [int(text[::-1], 2) for text in texts]
    return (np.array(ones) * 3 + np.array(leading) * 5 + np.array(trailing) * 7 + np.array(turned) + b).astype(
        np.uint32
    )


KERNELS = {
    "divide_f32": Elementwise("float", np.float32, "a / b", np.divide),
    "divide_f64": Elementwise("double", np.float64, "a / b", np.divide),
    "sqrt_f32": Elementwise("float", np.float32, "sqrtf(a)", lambda a, b: np.sqrt(a)),
    "sqrt_f64": Elementwise("double", np.float64, "sqrt(a)", lambda a, b: np.sqrt(a)),
    "fmod_f32": Elementwise("float", np.float32, "__builtin_fmodf(a, b)", np.fmod),
    "fmod_f64": Elementwise("double", np.float64, "__builtin_fmod(a, b)", np.fmod),
    "divide_i64": Elementwise("long long", np.int64, "a / b", _truncated),
    "remainder_i64": Elementwise("long long", np.int64, "a % b", _remainder),
    "divide_u64": Elementwise("unsigned long long", np.uint64, "a / b", lambda a, b: a // b),
    "divide_i32": Elementwise("int", np.int32, "a / b", _truncated),
    "remainder_u32": Elementwise("unsigned", np.uint32, "a % b", lambda a, b: a % b),
    "bits_u32": Elementwise(
        "unsigned", np.uint32, "__popc(a) * 3 + __clz((int)a) * 5 + __ffs((int)a) * 7 + __brev(a) + b", _counts
    ),
    "add_saturating_i32": Elementwise(
        "int", np.int32, "__builtin_elementwise_add_sat(a, b)",
        lambda a, b: np.clip(a.astype(np.int64) + b, -(2**31), 2**31 - 1),
    ),
    "subtract_saturating_u32": Elementwise(
        "unsigned", np.uint32, "__builtin_elementwise_sub_sat(a, b)",
        lambda a, b: np.clip(a.astype(np.int64) - b, 0, 2**32 - 1),
    ),
    "rounding_f32": Elementwise(
        "float", np.float32, "floorf(a) + ceilf(b) + truncf(a) - rintf(b)",
        lambda a, b: np.floor(a) + np.ceil(b) + np.trunc(a) - np.rint(b),
    ),
    "half": Elementwise("_Float16", np.float16, "a / b", lambda a, b: (a.astype(np.float64) / b).astype(np.float16)),
}  # fmt: skip


def _inputs(kernel: Elementwise) -> tuple[np.ndarray, np.ndarray]:
    """Return random bits, small numbers and special values; no zero among divisors of integers."""
    rng = np.random.default_rng(7)
    dtype, size = np.dtype(kernel.dtype), np.dtype(kernel.dtype).itemsize
    a, b = (rng.integers(0, 256, (_COUNT, size), np.uint8).view(dtype).ravel() for _ in range(2))
    if dtype.kind == "f":
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, np.finfo(dtype).tiny, np.finfo(dtype).max])
        small = np.finfo(dtype).smallest_subnormal * np.arange(1, 9)
        edges = np.concatenate([special, small]).astype(dtype)
        a[:128], b[:128] = np.repeat(edges, 8), np.tile(edges[:8], 16)
        a[128:160], b[128:160] = rng.standard_normal((2, 32)) * 100
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        a[:6], b[:6] = [0, 1, high, low, high, low], [high, high, 1, 1, low or 3, 3]
        b[64:128] >>= np.dtype(dtype).type(4 * size)
        b[b == 0] = 3
    return a, b


@lru_cache(maxsize=64)
def _machine(source: str, arch: str, level: str) -> Machine:
    compiled = compile_hip(source, arch, (level, "-Wno-pass-failed"))
    assert compiled.status == 0, compiled.diagnostics
    return Machine(load_kernel(parse_assembly(compiled.text)))


def _run(source: str, arch: str, level: str, arrays: list[np.ndarray], out: tuple[int, type]) -> np.ndarray:
    """Return the output of two workgroups of 128."""
    memory = Memory()
    arguments: list[object] = [memory.buffer(f"input {n}", array) for n, array in enumerate(arrays)]
    arguments.append(memory.output("output", (out[0],), out[1]))
    _machine(source, arch, level).launch(memory, arguments, grid=(_COUNT // 128, 1, 1), block=(128, 1, 1))
    return memory.buffers[-1].array


@needs_clang
@pytest.mark.parametrize(("arch", "level"), _BUILDS)
@pytest.mark.parametrize("name", sorted(KERNELS))
def test_results_are_exact(name: str, arch: str, level: str) -> None:
    kernel = KERNELS[name]
    a, b = _inputs(kernel)
    with np.errstate(all="ignore"):
        want = kernel.numpy(a, b).astype(kernel.dtype)
    got = _run(kernel.source, arch, level, [a, b], (_COUNT, kernel.dtype))
    bits = f"u{np.dtype(kernel.dtype).itemsize}"
    same = (got.view(bits) == want.view(bits)) | ((got != got) & (want != want))
    wrong = np.flatnonzero(~same)
    assert [(a[n], b[n], got[n], want[n]) for n in wrong[:4]] == []


@needs_clang
@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("divide_f64", "gfx942"),
        ("fmod_f32", "gfx950"),
        ("remainder_i64", "gfx90a"),
        ("bits_u32", "gfx942"),
        ("half", "gfx90a"),
        ("add_saturating_i32", "gfx942"),
    ],
)
def test_the_interpreter_agrees_on_whole_kernels(name: str, arch: str) -> None:
    kernel = KERNELS[name]
    memory = Memory()
    arguments: list[object] = [
        memory.buffer(text, array[:64]) for text, array in zip("ab", _inputs(kernel), strict=True)
    ]
    arguments.append(memory.output("output", (64,), kernel.dtype))
    machine = _machine(kernel.source, arch, "-O3")
    assert audit_workgroup(machine, memory, arguments, grid=(1, 1, 1), block=(64, 1, 1), workgroup=0) == []


@needs_clang
def test_the_interpreter_agrees_on_functions_of_the_wavefront() -> None:
    memory = Memory()
    a = np.random.default_rng(9).integers(-1000, 1000, 64).astype(np.int32)
    arguments: list[object] = [memory.buffer("a", a), memory.output("output", (64,), np.int32)]
    machine = _machine(_HEAD.format(arguments="const int* p, int* out") + _INDEX + _WAVE, "gfx942", "-O1")
    assert audit_workgroup(machine, memory, arguments, grid=(1, 1, 1), block=(64, 1, 1), workgroup=0) == []


# Lanes of a wavefront: sums, running sums, votes. Values are integers, so that no order of additions shows.
_WAVE = """  int a = p[i];
  int sum = a;
  for (int d = 32; d; d >>= 1) sum += __shfl_xor(sum, d);
  int running = a;
  for (int d = 1; d < 64; d <<= 1) { int below = __shfl_up(running, d); if ((i & 63) >= d) running += below; }
  unsigned long long vote = __ballot(a & 1);
  int lower = __builtin_amdgcn_mbcnt_hi((unsigned)(vote >> 32), __builtin_amdgcn_mbcnt_lo((unsigned)vote, 0));
  out[i] = sum * 3 + running * 5 + __popcll(vote) * 7 + lower * 11 + __shfl(a, 5) * 13 + __shfl_down(a, 1, 16);
}
"""


@needs_clang
@pytest.mark.parametrize(("arch", "level"), _BUILDS)
def test_wavefront_functions(arch: str, level: str) -> None:
    source = _HEAD.format(arguments="const int* p, int* out") + _INDEX + _WAVE
    a = np.random.default_rng(5).integers(-1000, 1000, _COUNT).astype(np.int32)
    waves = a.reshape(-1, 64)
    odd = waves & 1
    shifted = np.roll(waves.reshape(-1, 16), -1, axis=1)
    shifted[:, -1] = waves.reshape(-1, 16)[:, -1]
    want = waves.sum(1, keepdims=True) * 3 + waves.cumsum(1) * 5 + odd.sum(1, keepdims=True) * 7
    want = want + (odd.cumsum(1) - odd) * 11 + waves[:, 5:6] * 13 + shifted.reshape(-1, 64)
    assert _run(source, arch, level, [a], (_COUNT, np.int32)).tolist() == want.ravel().tolist()


# The hardware approximates these within about an ulp, and HIP's functions add to it.
_APPROXIMATE: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "exp": ("expf(a)", np.exp),
    "log": ("logf(fabsf(a) + 0.5f)", lambda a: np.log(np.abs(a) + 0.5)),
    "sin": ("sinf(a)", np.sin),
    "cos": ("cosf(a)", np.cos),
    "pow": ("powf(fabsf(a) + 0.5f, 1.7f)", lambda a: (np.abs(a) + 0.5) ** np.float64(np.float32(1.7))),
    "rsqrt": ("rsqrtf(fabsf(a) + 0.5f)", lambda a: 1 / np.sqrt(np.abs(a) + 0.5)),
    "tanh": ("tanhf(a)", np.tanh),
}


@needs_clang
@pytest.mark.parametrize("name", sorted(_APPROXIMATE))
def test_approximate_functions_are_near(name: str) -> None:
    expression, function = _APPROXIMATE[name]
    source = _HEAD.format(arguments="const float* p, float* out") + _INDEX
    source += f"  float a = p[i];\n  out[i] = {expression};\n}}\n"
    a = np.random.default_rng(6).uniform(-20, 20, _COUNT).astype(np.float32)
    want = function(a.astype(np.float64))
    np.testing.assert_allclose(_run(source, "gfx942", "-O3", [a], (_COUNT, np.float32)), want, rtol=3e-6, atol=3e-7)


# Two float32 to one byte each and back, through the formats of the target.
_EIGHT_BITS = """  int codes = __builtin_amdgcn_cvt_pk_fp8_f32(p[i], -p[i], 0, false);
  codes = __builtin_amdgcn_cvt_pk_bf8_f32(p[i], 0.5f, codes, true);
  out[i] = __builtin_amdgcn_cvt_f32_fp8(codes, 1) + 2.0f * __builtin_amdgcn_cvt_f32_bf8(codes, 2);
}
"""


@needs_clang
@pytest.mark.parametrize(("arch", "fnuz"), [("gfx942", True), ("gfx950", False)])
def test_eight_bit_floats_there_and_back(arch: str, fnuz: bool) -> None:
    a = np.random.default_rng(8).uniform(-200, 200, _COUNT).astype(np.float32)
    source = _HEAD.format(arguments="const float* p, float* out") + _INDEX + _EIGHT_BITS

    def through(number: float, name: str) -> float:
        return value(nearest(number, name, fnuz=fnuz), name, fnuz=fnuz)

    want = [through(-float(x), "fp8") + 2 * through(float(x), "bf8") for x in a]
    assert _run(source, arch, "-O3", [a], (_COUNT, np.float32)).tolist() == want
