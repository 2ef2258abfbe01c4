"""Matrix operations equal NumPy's product, with elements placed by the published lane maps; EXEC is ignored.

The maps here are written from AMD's matrix calculator: which lane and register hold an element, per shape.
"""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.emulator.wave import WaveState
from tests.emulator.harness import fresh_wave, run

# mnemonic -> (M, N, K, blocks, input type, result type)
_SHAPES = {
    "v_mfma_f32_32x32x1_2b_f32": (32, 32, 1, 2, "f32", "f32"),
    "v_mfma_f32_16x16x1_4b_f32": (16, 16, 1, 4, "f32", "f32"),
    "v_mfma_f32_4x4x1_16b_f32": (4, 4, 1, 16, "f32", "f32"),
    "v_mfma_f32_32x32x2_f32": (32, 32, 2, 1, "f32", "f32"),
    "v_mfma_f32_16x16x4_f32": (16, 16, 4, 1, "f32", "f32"),
    "v_mfma_f32_32x32x4_2b_f16": (32, 32, 4, 2, "f16", "f32"),
    "v_mfma_f32_16x16x4_4b_f16": (16, 16, 4, 4, "f16", "f32"),
    "v_mfma_f32_4x4x4_16b_f16": (4, 4, 4, 16, "f16", "f32"),
    "v_mfma_f32_32x32x8_f16": (32, 32, 8, 1, "f16", "f32"),
    "v_mfma_f32_16x16x16_f16": (16, 16, 16, 1, "f16", "f32"),
    "v_mfma_f32_4x4x4_16b_bf16": (4, 4, 4, 16, "bf16", "f32"),
    "v_mfma_f32_16x16x16_bf16": (16, 16, 16, 1, "bf16", "f32"),
    "v_mfma_f32_32x32x8_bf16": (32, 32, 8, 1, "bf16", "f32"),
    "v_mfma_f32_16x16x32_bf16": (16, 16, 32, 1, "bf16", "f32"),
    "v_mfma_f32_32x32x16_f16": (32, 32, 16, 1, "f16", "f32"),
    "v_mfma_i32_32x32x16_i8": (32, 32, 16, 1, "i8", "i32"),
    "v_mfma_i32_16x16x32_i8": (16, 16, 32, 1, "i8", "i32"),
    "v_mfma_f64_16x16x4_f64": (16, 16, 4, 1, "f64", "f64"),
    "v_mfma_f64_4x4x4_4b_f64": (4, 4, 4, 4, "f64", "f64"),
}
_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i8": 1, "i32": 4}
_A, _B, _C, _D = 4, 20, 40, 80


def _encode(values: np.ndarray, kind: str) -> np.ndarray:
    """Return the bytes of every value along a new last axis."""
    if kind == "bf16":
        raw = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        raw = values.astype({"f64": "f8", "f32": "f4", "f16": "f2", "i8": "i1", "i32": "i4"}[kind])
    return raw.view(np.uint8).reshape(*values.shape, _BYTES[kind])


def _place_inputs(wave: WaveState, register: int, matrix: np.ndarray, kind: str) -> None:
    """Place matrix[block, outer, k]: K is cut into runs; each run of K goes to the next 64-lane share of lanes."""
    blocks, outer, depth = matrix.shape
    shares = max(1, 64 // (outer * blocks))
    run_length = depth // shares
    data = _encode(matrix, kind)
    for block in range(blocks):
        for row in range(outer):
            for share in range(shares):
                lane = share * outer * blocks + block * outer + row
                packed = data[block, row, share * run_length : (share + 1) * run_length].reshape(-1)
                wave.vgprs[register : register + max(1, packed.size // 4), lane] = packed.view(np.uint32)


def _result_place(block: int, i: int, j: int, m: int, n: int, kind: str) -> tuple[int, int]:
    """Return (lane, element) of D[i][j], case by case as the calculator prints them."""
    if kind == "f64":
        return (i * 16 + block * 4 + j, 0) if m == 4 else (i % 4 * 16 + j, i // 4)
    if m == 4:
        return block * 4 + j, i
    if m == 16:  # four rows to a quarter of the lanes; a block takes four registers
        return i // 4 * 16 + j, block * 4 + i % 4
    return i // 4 % 2 * 32 + j, block * 16 + i // 8 * 4 + i % 4


def _read(wave: WaveState, m: int, n: int, blocks: int, kind: str) -> np.ndarray:
    out = np.zeros((blocks, m, n), np.float64 if kind != "i32" else np.int64)
    words = _BYTES[kind] // 4
    for block in range(blocks):
        for i in range(m):
            for j in range(n):
                lane, element = _result_place(block, i, j, m, n, kind)
                raw = wave.vgprs[_D + element * words : _D + (element + 1) * words, lane].copy()
                out[block, i, j] = raw.view({"f64": "f8", "f32": "f4", "i32": "i4"}[kind])[0]
    return out


def _write_c(wave: WaveState, matrix: np.ndarray, kind: str) -> None:
    blocks, m, n = matrix.shape
    words = _BYTES[kind] // 4
    data = _encode(matrix, kind)
    for block in range(blocks):
        for i in range(m):
            for j in range(n):
                lane, element = _result_place(block, i, j, m, n, kind)
                wave.vgprs[_C + element * words : _C + (element + 1) * words, lane] = data[block, i, j].view(np.uint32)


def _operand(register: int, dwords: int) -> str:
    return f"v{register}" if dwords == 1 else f"v[{register}:{register + dwords - 1}]"


@pytest.mark.parametrize("name", _SHAPES)
def test_matrix_product(name: str) -> None:
    m, n, k, blocks, source, kind = _SHAPES[name]
    rng = np.random.default_rng(len(name))
    # Small integers over four: every product and sum is exact in every format, whatever the order.
    scale = 1 if source == "i8" else 4
    a, b = (rng.integers(-15, 16, (blocks, outer, k)) / scale for outer in (m, n))
    c = rng.integers(-99, 100, (blocks, m, n)) / scale
    wave = fresh_wave(exec_=0x123)
    _place_inputs(wave, _A, a, source)
    _place_inputs(wave, _B, b, source)
    _write_c(wave, c, kind)
    per_lane = k // max(1, 64 // (m * blocks)) * _BYTES[source] // 4
    result_dwords = m * n * blocks // 64 * _BYTES[kind] // 4
    inputs = [_operand(r, max(1, per_lane)) for r in (_A, _B)]
    run(f"{name} {_operand(_D, result_dwords)}, {', '.join(inputs)}, {_operand(_C, result_dwords)}", wave)
    assert np.array_equal(_read(wave, m, n, blocks, kind), np.einsum("bik,bjk->bij", a, b) + c)


def test_constant_accumulator_and_agprs() -> None:
    wave = fresh_wave(registers=512)
    a = np.ones((16, 4, 4))
    _place_inputs(wave, _A, a, "f16")
    _place_inputs(wave, 256 + 8, a, "f16")
    run(f"v_mfma_f32_4x4x4_16b_f16 a[0:3], v[{_A}:{_A + 1}], a[8:9], 1.0", wave)
    assert (wave.vgprs[256:260].view(np.float32) == 5.0).all()


def test_gfx90a_spelling_is_the_same_operation() -> None:
    results = []
    for name in ("v_mfma_f32_16x16x16f16", "v_mfma_f32_16x16x16_f16"):
        wave = fresh_wave()
        wave.vgprs[:100] = np.random.default_rng(1).integers(0, 0x3C00, (100, 64))
        run(f"{name} v[80:83], v[4:5], v[20:21], v[40:43]", wave, arch="gfx90a")
        results.append(wave.vgprs[80:84].copy())
    assert np.array_equal(*results)
