"""Dense matrix operations equal NumPy's product, with elements placed by the published lane maps; EXEC is ignored.

Every dense form that the assembler has for a target runs there: names and register counts come from the ISA tables.
"""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.wave import WaveState
from kbserver.isa.table import TARGETS, instructions
from tests.emulator import matrices
from tests.emulator.harness import fresh_wave, run
from tests.emulator.matrices import A, B, C, D


def _count(name: str, operand: str) -> int:
    """Return how many registers the assembler wants for an operand."""
    one = instructions().get(name)
    assert one is not None
    word = next(word for word in one.forms[0].operands if word.startswith(operand))
    return int(word.partition(":")[2].partition("%")[0].lstrip("vac"))


def _dense() -> list[tuple[str, str]]:
    names = [name for name in instructions().names if name.startswith("v_mfma_") and "f8f6f4" not in name]
    found = [(name, instructions().get(name)) for name in names if "ld_scale" not in name]
    return [(name, arch) for name, one in found if one for arch in TARGETS if arch in one.targets]


class Problem:
    """Random matrices of one form, in registers."""

    def __init__(self, name: str, arch: str = "gfx950", exec_: int = 0x123) -> None:
        self.kind, self.m, self.n, self.k, self.a_kind, _ = matrices.parse(name)
        _, _, _, _, _, self.b_kind = matrices.parse(name)
        self.name, self.arch = name, arch
        self.result_dwords = _count(name, "vdst")
        self.blocks = 64 * self.result_dwords * 32 // matrices.BITS[self.kind] // (self.m * self.n)
        rng = np.random.default_rng(len(name))
        self.a = matrices.draw(rng, self.a_kind, (self.blocks, self.m, self.k), arch)
        self.b = matrices.draw(rng, self.b_kind, (self.blocks, self.n, self.k), arch)
        self.c = rng.integers(-99, 100, (self.blocks, self.m, self.n)) / (1 if self.kind == "i32" else 4)
        self.wave = fresh_wave(exec_=exec_)
        self.place("A", A, self.a, self.a_kind)
        self.place("B", B, self.b, self.b_kind)
        matrices.write_results(self.wave, C, self.c, self.kind)

    def place(self, side: str, register: int, matrix: np.ndarray, kind: str) -> None:
        codes = matrices.encode(matrix, kind, self.arch)
        where = matrices.along_k(matrix.shape[1], self.k, self.blocks)
        matrices.place(self.wave, register, codes, matrices.BITS[kind], where)

    def run(self, modifiers: str = "", c: str = "") -> np.ndarray:
        inputs = matrices.registers(A, _count(self.name, "src0")), matrices.registers(B, _count(self.name, "src1"))
        c = c or matrices.registers(C, self.result_dwords)
        d = matrices.registers(D, self.result_dwords)
        run(f"{self.name} {d}, {', '.join(inputs)}, {c} {modifiers}", self.wave, arch=self.arch)
        return matrices.read_results(self.wave, D, (self.blocks, self.m, self.n), self.kind)

    def product(self, a: np.ndarray | None = None, b: np.ndarray | None = None) -> np.ndarray:
        return np.einsum("bik,bjk->bij", self.a if a is None else a, self.b if b is None else b)


@pytest.mark.parametrize(("name", "arch"), _dense())
def test_every_dense_form_of_a_target_is_the_matrix_product(name: str, arch: str) -> None:
    problem = Problem(name, arch)
    assert np.array_equal(problem.run(), problem.product() + problem.c)


def test_the_forms_are_all_of_them() -> None:
    counts = {arch: sum(target == arch for _, target in _dense()) for arch in TARGETS}
    assert counts == {"gfx90a": 27, "gfx942": 32, "gfx950": 36}


def test_constant_accumulator_and_agprs() -> None:
    wave = fresh_wave(registers=512)
    ones = matrices.encode(np.ones((16, 4, 4)), "f16")
    for register in (A, 256 + 8):
        matrices.place(wave, register, ones, 16, matrices.along_k(4, 4, 16))
    run(f"v_mfma_f32_4x4x4_16b_f16 a[0:3], v[{A}:{A + 1}], a[8:9], 1.0", wave)
    assert (wave.vgprs[256:260].view(np.float32) == 5.0).all()


@pytest.mark.parametrize(
    ("name", "constant", "number"),
    [
        ("v_mfma_f32_16x16x16_f16", "-4.0", -4.0),
        ("v_mfma_f32_32x32x16_bf16", "0", 0.0),
        ("v_mfma_i32_16x16x32_i8", "-16", -16),
        ("v_mfma_f64_16x16x4_f64", "0.5", 0.5),
    ],
)
def test_an_inline_constant_stands_for_every_element_of_c(name: str, constant: str, number: float) -> None:
    problem = Problem(name)
    assert np.array_equal(problem.run(c=constant), problem.product() + number)


def test_results_may_replace_an_input() -> None:
    problem = Problem("v_mfma_f32_16x16x32_f16")
    expected = problem.product() + problem.c
    run(f"v_mfma_f32_16x16x32_f16 v[{A}:{A + 3}], v[{A}:{A + 3}], v[{B}:{B + 3}], v[{C}:{C + 3}]", problem.wave)
    assert np.array_equal(matrices.read_results(problem.wave, A, (1, 16, 16), "f32"), expected)


# Which block of A stands for which, from the examples in the calculator's documentation.
@pytest.mark.parametrize(
    ("name", "modifiers", "sources"),
    [
        ("v_mfma_f32_4x4x4_16b_f16", "cbsz:4 abid:13", [13] * 16),
        ("v_mfma_f32_4x4x1_16b_f32", "cbsz:1 abid:1", [1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15]),
        ("v_mfma_i32_4x4x4_16b_i8", "cbsz:2 abid:1", [1] * 4 + [5] * 4 + [9] * 4 + [13] * 4),
        ("v_mfma_f32_16x16x4_4b_bf16", "cbsz:2 abid:2", [2, 2, 2, 2]),
        ("v_mfma_f32_32x32x1_2b_f32", "cbsz:1", [0, 0]),
        ("v_mfma_f32_32x32x1_2b_f32", "cbsz:1 abid:1", [1, 1]),
    ],
)
def test_cbsz_and_abid_broadcast_blocks_of_a(name: str, modifiers: str, sources: list[int]) -> None:
    problem = Problem(name)
    assert np.array_equal(problem.run(modifiers), problem.product(a=problem.a[sources]) + problem.c)


def _moved(wave: WaveState, register: int, sources: list[int]) -> None:
    """Do by hand what blgp does: every lane gets another lane's B."""
    wave.vgprs[register : register + 2] = wave.vgprs[register : register + 2][:, sources]


@pytest.mark.parametrize(
    ("blgp", "sources"),
    [
        (1, [*range(32)] * 2),
        (2, [*range(32, 64)] * 2),
        (3, [*range(16, 64), *range(16)]),
        (4, [*range(16)] * 4),
        (5, [*range(16, 32)] * 4),
        (6, [*range(32, 48)] * 4),
        (7, [*range(48, 64)] * 4),
    ],
)
@pytest.mark.parametrize("name", ["v_mfma_f32_4x4x4_16b_f16", "v_mfma_f32_16x16x4_4b_f16", "v_mfma_f32_16x16x4_f32"])
def test_blgp_moves_lanes_of_b(name: str, blgp: int, sources: list[int]) -> None:
    moved, plain = Problem(name), Problem(name)
    _moved(plain.wave, B, sources)
    assert np.array_equal(moved.run(f"blgp:{blgp}"), plain.run())
    assert not np.array_equal(moved.run(f"blgp:{blgp}"), moved.run())


@pytest.mark.parametrize(
    ("negation", "signs"), [("neg:[1,0,0]", (-1, 1)), ("neg:[0,1,1]", (-1, -1)), ("neg:[1,1,1]", (1, -1))]
)
@pytest.mark.parametrize("name", ["v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"])
def test_f64_forms_negate_a_b_and_c(name: str, negation: str, signs: tuple[int, int]) -> None:
    problem = Problem(name)
    assert np.array_equal(problem.run(negation), signs[0] * problem.product() + signs[1] * problem.c)


@pytest.mark.parametrize(
    ("line", "arch", "why"),
    [
        ("v_mfma_f32_16x16x16_f16 v[80:83], v[4:5], v[20:21], v[80:83] cbsz:1", "gfx942", "has one block"),
        ("v_mfma_f32_32x32x4_2b_f16 v[80:111], v[4:5], v[20:21], v[80:111] cbsz:2", "gfx942", "does not fit 2 blocks"),
        ("v_mfma_f32_32x32x4_2b_f16 v[80:111], v[4:5], v[20:21], v[80:111] cbsz:1 abid:2", "gfx942", "does not fit"),
        ("v_mfma_f32_32x32x8_f16 v[80:95], v[4:5], v[20:21], v[80:95] blgp:1", "gfx942", "define no blgp"),
        ("v_mfma_f64_16x16x4f64 v[80:87], v[4:5], v[20:21], v[80:87] blgp:1", "gfx90a", "broadcast nothing"),
        ("v_mfma_f32_16x16x32_fp8_fp8 v[80:83], v[4:5], v[20:21], v[80:83]", "gfx90a", "no matrix operations on fp8"),
        ("v_mfma_f32_16x16x16_f16 v[80:83], v[4:5], v[20:22], v[80:83]", "gfx942", "2 consecutive VGPR"),
    ],
)
def test_what_is_not_defined_is_refused_by_name(line: str, arch: str, why: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=why):
        run(line, fresh_wave(), arch=arch)


def test_blgp_of_every_form_is_defined_on_gfx90a() -> None:
    moved, plain = (Problem("v_mfma_f32_32x32x8f16", "gfx90a") for _ in range(2))
    _moved(plain.wave, B, [*range(32)] * 2)
    assert np.array_equal(moved.run("blgp:1"), plain.run())


def test_xf32_reads_ten_bits_of_the_fraction() -> None:
    wave = fresh_wave()
    wave.vgprs[A : A + 2] = np.float32(1 + 2**-10 + 2**-11 + 2**-23).view(np.uint32)
    wave.vgprs[B : B + 2] = np.float32(1).view(np.uint32)
    run(f"v_mfma_f32_16x16x8_xf32 v[{D}:{D + 3}], v[{A}:{A + 1}], v[{B}:{B + 1}], 0", wave, arch="gfx942")
    assert (wave.vgprs[D : D + 4].view(np.float32) == np.float32(8 * (1 + 2**-10))).all()


# One code in every element: 32 products with the code of 1.
@pytest.mark.parametrize(
    ("arch", "kind", "code", "one", "expected"),
    [
        ("gfx950", "fp8", 0x38, 0x38, 32.0),
        ("gfx942", "fp8", 0x40, 0x40, 32.0),
        ("gfx950", "fp8", 0x7E, 0x38, 448.0 * 32),
        ("gfx942", "fp8", 0x7F, 0x40, 240.0 * 32),
        ("gfx950", "fp8", 0x01, 0x38, 2.0**-9 * 32),
        ("gfx942", "fp8", 0x01, 0x40, 2.0**-10 * 32),
        ("gfx950", "fp8", 0x7F, 0x38, np.nan),
        ("gfx942", "fp8", 0x80, 0x40, np.nan),
        ("gfx950", "bf8", 0x7B, 0x3C, 57344.0 * 32),
        ("gfx942", "bf8", 0x7F, 0x40, 57344.0 * 32),
        ("gfx950", "bf8", 0xFC, 0x3C, -np.inf),
        ("gfx950", "bf8", 0x7D, 0x3C, np.nan),
        ("gfx942", "bf8", 0x80, 0x40, np.nan),
    ],
)
def test_eight_bit_floats_are_those_of_the_target(arch: str, kind: str, code: int, one: int, expected: float) -> None:
    wave = fresh_wave()
    wave.vgprs[A : A + 2], wave.vgprs[B : B + 2] = code * 0x01010101, one * 0x01010101
    run(f"v_mfma_f32_16x16x32_{kind}_{kind} v[{D}:{D + 3}], v[{A}:{A + 1}], v[{B}:{B + 1}], 0", wave, arch=arch)
    assert np.array_equal(
        wave.vgprs[D : D + 4].view(np.float32), np.full((4, 64), expected, np.float32), equal_nan=True
    )


def test_integer_sums_wrap() -> None:
    wave = fresh_wave()
    wave.vgprs[A : A + 4] = wave.vgprs[B : B + 4] = 0x80808080
    wave.vgprs[C : C + 4] = 0x7FFFFFFF
    run(f"v_mfma_i32_16x16x64_i8 v[{D}:{D + 3}], v[{A}:{A + 3}], v[{B}:{B + 3}], v[{C}:{C + 3}]", wave)
    assert (wave.vgprs[D : D + 4] == (0x7FFFFFFF + 64 * 128 * 128) % 2**32).all()


def test_two_uses_with_different_controls_are_two_functions() -> None:
    problem = Problem("v_mfma_f32_16x16x4_4b_f16")
    first = problem.product(a=problem.a[[0, 0, 2, 2]]) + problem.c
    wide = matrices.registers(C, 16)
    line = f"v_mfma_f32_16x16x4_4b_f16 {wide}, v[{A}:{A + 1}], v[{B}:{B + 1}], {wide}"
    run(f"{line} cbsz:1\n{line} cbsz:1 abid:1", problem.wave)
    expected = first + problem.product(a=problem.a[[1, 1, 3, 3]])
    assert np.array_equal(matrices.read_results(problem.wave, C, (4, 16, 16), "f32"), expected)
