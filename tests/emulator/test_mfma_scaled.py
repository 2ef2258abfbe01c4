"""f8f6f4 forms: element places by format, E8M0 scales by block of 32 k, against NumPy's product in double."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from tests.emulator import matrices
from tests.emulator.harness import fresh_wave, run
from tests.emulator.matrices import A, B, C, D, X, Y

FORMATS = ("fp8", "bf8", "fp6", "bf6", "fp4")
DWORDS = {"fp8": 8, "bf8": 8, "fp6": 6, "bf6": 6, "fp4": 4}
SIZES = {16: "16x16x128", 32: "32x32x64"}


def _where(kind: str, outer: int, depth: int) -> matrices.Placing:
    """8-bit elements lie 16 from the lower and 16 from the upper half of K in a lane; narrower ones 32 in a row."""
    return matrices.in_halves(outer, depth, 16) if DWORDS[kind] == 8 else matrices.along_k(outer, depth, 1)


class Problem:
    """Random A, B, C of one size and two formats, in registers."""

    def __init__(self, size: int, a_kind: str, b_kind: str) -> None:
        self.size, self.kinds, self.k = size, (a_kind, b_kind), 2048 // size
        rng = np.random.default_rng(size)
        self.a, self.b = (matrices.draw(rng, kind, (1, size, self.k)) for kind in self.kinds)
        self.c = rng.integers(-99, 100, (1, size, size)) / 4
        self.wave = fresh_wave(exec_=0)
        for register, matrix, kind in ((A, self.a, a_kind), (B, self.b, b_kind)):
            codes = matrices.encode(matrix, kind)
            matrices.place(self.wave, register, codes, matrices.BITS[kind], _where(kind, size, self.k))
        matrices.write_results(self.wave, C, self.c, "f32")

    def run(self, scaled: bool, modifiers: str = "", c: str = "") -> np.ndarray:
        dwords = self.size * self.size // 64
        inputs = [matrices.registers(r, DWORDS[kind]) for r, kind in zip((A, B), self.kinds, strict=True)]
        name = f"v_mfma_{'scale_' if scaled else ''}f32_{SIZES[self.size]}_f8f6f4"
        operands = [matrices.registers(D, dwords), *inputs, c or matrices.registers(C, dwords)]
        operands += [f"v{X}", f"v{Y}"] if scaled else []
        selectors = "".join(
            f" {name}:{FORMATS.index(kind)}" if FORMATS.index(kind) else ""
            for name, kind in zip(("cbsz", "blgp"), self.kinds, strict=True)
        )
        run(f"{name} {', '.join(operands)} {modifiers}{selectors}", self.wave)
        return matrices.read_results(self.wave, D, (1, self.size, self.size), "f32")

    def scaled_product(self, a_scales: np.ndarray, b_scales: np.ndarray) -> np.ndarray:
        """Return the sum over blocks of 32 k, each with its own factors [row or column, block]."""
        shape = (1, self.size, self.k // 32, 32)
        a, b = self.a.reshape(shape), self.b.reshape(shape)
        return np.einsum("xigk,xjgk,ig,jg->xij", a, b, a_scales, b_scales)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("a_kind", FORMATS)
@pytest.mark.parametrize("b_kind", FORMATS)
def test_every_pair_of_formats_is_the_matrix_product(size: int, a_kind: str, b_kind: str) -> None:
    problem = Problem(size, a_kind, b_kind)
    assert np.array_equal(problem.run(scaled=False), np.einsum("xik,xjk->xij", problem.a, problem.b) + problem.c)


def _scales(rng: np.random.Generator, size: int, blocks: int) -> np.ndarray:
    return rng.integers(126, 129, (size, blocks))


def _write_scales(problem: Problem, register: int, codes: np.ndarray, byte: int) -> None:
    """Scale of row i and block g of K: lane g * size + i."""
    for (i, block), code in np.ndenumerate(codes):
        raw = problem.wave.vgprs.view(np.uint8).reshape(-1, 64, 4)
        raw[register, block * problem.size + i, byte] = code


# op_sel and op_sel_hi of clang 22 for __builtin_amdgcn_mfma_scale_* with these byte numbers.
@pytest.mark.parametrize(
    ("bytes_", "modifiers"),
    [
        ((0, 0), ""),
        ((0, 0), "op_sel_hi:[0,0,0]"),
        ((1, 0), "op_sel:[1,0,0] op_sel_hi:[0,0,0]"),
        ((2, 0), "op_sel_hi:[1,0,0]"),
        ((3, 1), "op_sel:[1,1,0] op_sel_hi:[1,0,0]"),
        ((0, 2), "op_sel_hi:[0,1,0]"),
    ],
)
@pytest.mark.parametrize(
    ("size", "kinds"), [(16, ("fp8", "fp8")), (16, ("fp4", "fp6")), (32, ("fp4", "fp4")), (32, ("bf8", "fp6"))]
)
def test_scales_come_from_the_chosen_byte_of_the_block_s_lane(
    size: int, kinds: tuple[str, str], bytes_: tuple[int, int], modifiers: str
) -> None:
    problem, rng = Problem(size, *kinds), np.random.default_rng(7)
    codes = [_scales(rng, size, problem.k // 32) for _ in range(2)]
    problem.wave.vgprs[X : Y + 1] = rng.integers(0, 2**32, (2, 64))
    for register, code, byte in zip((X, Y), codes, bytes_, strict=True):
        _write_scales(problem, register, code, byte)
    factors = [2.0 ** (code - 127.0) for code in codes]
    expected = (problem.scaled_product(*factors) + problem.c).astype(np.float32)
    assert np.array_equal(problem.run(scaled=True, modifiers=modifiers), expected)


@pytest.mark.parametrize("size", SIZES)
def test_scales_of_one_change_nothing(size: int) -> None:
    problem = Problem(size, "bf6", "fp8")
    problem.wave.vgprs[X : Y + 1] = 0x7F7F7F7F
    assert np.array_equal(problem.run(scaled=True), problem.run(scaled=False))


def test_constant_c() -> None:
    problem = Problem(16, "fp4", "fp4")
    expected = np.einsum("xik,xjk->xij", problem.a, problem.b) + 2.0
    assert np.array_equal(problem.run(scaled=False, c="2.0"), expected)


# One scale code everywhere on all-ones matrices, so that D = 128 * scale^2 in double, rounded to float32.
@pytest.mark.parametrize(
    ("code", "expected"), [(0, 0.0), (64, 128 * 2.0**-126), (127, 128.0), (188, 2.0**129), (254, np.inf), (255, np.nan)]
)
def test_the_ends_of_the_scale(code: int, expected: float) -> None:
    wave = fresh_wave()
    wave.vgprs[A : A + 4] = wave.vgprs[B : B + 4] = 0x22222222  # FP4 1.0
    wave.vgprs[X : Y + 1] = code
    operands = f"v[{D}:{D + 3}], v[{A}:{A + 3}], v[{B}:{B + 3}], 0, v{X}, v{Y}"
    run(f"v_mfma_scale_f32_16x16x128_f8f6f4 {operands} cbsz:4 blgp:4", wave)
    with np.errstate(over="ignore"):
        wanted = np.full((4, 64), np.float32(expected))
    assert np.array_equal(wave.vgprs[D : D + 4].view(np.float32), wanted, equal_nan=True)


# Each code of the narrow formats, from the OCP MX specification: magnitudes in order of code.
@pytest.mark.parametrize(
    ("number", "dwords", "bits", "magnitudes"),
    [
        (4, 4, 4, [0, 0.5, 1, 1.5, 2, 3, 4, 6]),
        (2, 6, 6, [*(n / 8 for n in range(16)), *(n / 4 for n in range(8, 16)), *(n / 2 for n in range(8, 16))]),
        (
            3, 6, 6,
            [0, 0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375, 0.5, 0.625, 0.75, 0.875, 1, 1.25, 1.5, 1.75, 2, 2.5,
             3, 3.5, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28],
        ),
    ],
)  # fmt: skip
def test_every_code_of_a_narrow_format(number: int, dwords: int, bits: int, magnitudes: list[float]) -> None:
    wave = fresh_wave()
    wave.vgprs[B : B + 4] = 0
    for lane in range(16):  # FP4 1.0 at k = 0 of every column
        wave.vgprs[B, lane] = 0x2
    wanted = [*magnitudes, *(-magnitude for magnitude in magnitudes)]
    found = []
    codes = [sign << (bits - 1) | code for sign in (0, 1) for code in range(len(magnitudes))]
    for start in range(0, len(codes), 16):
        wave.vgprs[A : A + dwords] = 0
        for row, code in enumerate(codes[start : start + 16]):
            wave.vgprs[A, row] = code
        text = f"v[{D}:{D + 3}], v[{A}:{A + dwords - 1}], v[{B}:{B + 3}], 0 cbsz:{number} blgp:4"
        run(f"v_mfma_f32_16x16x128_f8f6f4 {text}", wave)
        found += matrices.read_results(wave, D, (1, 16, 16), "f32")[0, :, 0].tolist()
    assert found[: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("line", "arch", "why"),
    [
        ("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3] cbsz:5", "gfx950", "cbsz:5 is no format"),
        ("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3] blgp:2", "gfx950", "6 consecutive VGPR"),
        ("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]", "gfx942", "has no f8f6f4 forms"),
        (
            "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3], s0, v2",
            "gfx950",
            "operand 4 must be 1 consecutive VGPR",
        ),
    ],
)
def test_what_is_not_defined_is_refused_by_name(line: str, arch: str, why: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=why):
        run(line, fresh_wave(), arch=arch)
