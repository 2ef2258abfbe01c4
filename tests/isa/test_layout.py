"""Lane layouts of matrix instructions: AMD's calculator, published examples, and that every place is used once."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UsageError
from kbserver.isa.layout import ElementQuestion, PlaceQuestion, Shape, read_question
from kbserver.isa.table import instructions
from tests.isa.calculator import PLACES


def shape(name: str) -> Shape:
    """Return the shape of an instruction as its table row gives it."""
    one = instructions().get(name)
    assert one is not None
    result = next(word for word in one.forms[0].operands if word.startswith("vdst:"))
    found = Shape.of(name, int(result.partition(":")[2].partition("%")[0].lstrip("va")))
    assert found is not None
    return found


def dense() -> list[str]:
    return [name for name in instructions().names if name.startswith("v_mfma_") and "ld_scale" not in name]


@pytest.mark.parametrize("case", PLACES, ids=lambda case: f"{case[1]}-{case[2]}{case[3:6]}")
def test_elements_lie_where_amds_calculator_says(case: tuple) -> None:
    _, name, matrix, block, row, column, lane, register, registers, low_bit = case
    place = shape(name).place(matrix, row, column, block)
    assert (place.lane, place.register, place.registers, place.low_bit) == (lane, register, registers, low_bit)


@pytest.mark.parametrize(
    ("name", "element", "lane", "register"),
    [
        # 16x16x16 f16: A[i][k] in lane 16 * (k / 4) + i; f64 and f32 results differ (documents of the CDNA3 forms).
        ("v_mfma_f32_16x16x16_f16", ("A", 3, 9), 35, 0),
        ("v_mfma_f32_16x16x16_f16", ("B", 9, 3), 35, 0),
        ("v_mfma_f64_16x16x4_f64", ("D", 5, 3), 19, 2),
        ("v_mfma_f32_16x16x4_f32", ("D", 5, 3), 19, 1),
        ("v_mfma_f32_32x32x8_f16", ("C", 13, 7), 39, 5),
        ("v_mfma_f32_16x16x32_bf16", ("C", 5, 9), 25, 1),
        ("v_mfma_f32_16x16x32_bf16", ("A", 2, 31), 50, 3),
        ("v_mfma_f32_32x32x16_bf16", ("A", 4, 15), 36, 3),
    ],
)
def test_known_places(name: str, element: tuple[str, int, int], lane: int, register: int) -> None:
    place = shape(name).place(*element)
    assert (place.lane, place.register) == (lane, register)


@pytest.mark.parametrize("name", dense())
def test_every_bit_of_every_lane_holds_one_element(name: str) -> None:
    one = shape(name)
    for matrix in "ABC":
        if one.missing(matrix):
            continue
        rows, columns = one.rows(matrix)
        used = set()
        for block in range(one.blocks):
            for row in range(rows):
                for column in range(columns):
                    place = one.place(matrix, row, column, block)
                    used.add((place.lane, place.register, place.low_bit))
        assert len(used) == rows * columns * one.blocks
        assert {lane for lane, _, _ in used} == set(range(64))
        per_lane = rows * columns * one.blocks // 64
        assert max(register for _, register, _ in used) < max(1, per_lane * place.bits // 32)


@pytest.mark.parametrize("name", ["v_mfma_f32_32x32x4_2b_f16", "v_mfma_f64_16x16x4_f64", "v_mfma_i32_16x16x64_i8"])
def test_a_register_of_a_lane_leads_back_to_its_elements(name: str) -> None:
    one = shape(name)
    for matrix in "ABC":
        for lane in (0, 17, 63):
            for row, column, block in one.elements(matrix, lane, 0):
                place = one.place(matrix, row, column, block)
                assert (place.lane, place.register) == (lane, 0)


def test_runs_cover_the_whole_matrix_once() -> None:
    one = shape("v_mfma_f32_16x16x32_bf16")
    runs = one.runs("C")
    assert [(run.register, run.first_lane, run.last_lane) for run in runs[:2]] == [(0, 0, 15), (0, 16, 31)]
    assert sum(run.last_lane - run.first_lane + 1 for run in runs) == 256
    assert runs[1].first == ((4, 0, 0),)
    assert runs[1].last == ((4, 15, 0),)


@pytest.mark.parametrize(("name", "matrix"), [("v_smfmac_i32_16x16x128_i8", "A"), ("v_smfmac_i32_32x32x64_i8", "B")])
def test_a_layout_that_nobody_confirmed_is_not_given(name: str, matrix: str) -> None:
    one = shape(name)
    assert one.formula(matrix).startswith("unknown")
    with pytest.raises(UsageError, match="is not known"):
        one.place(matrix, 0, 0)


def test_the_layout_of_f8f6f4_needs_the_format() -> None:
    with pytest.raises(UsageError, match="say it behind the element"):
        shape("v_mfma_f32_16x16x128_f8f6f4").place("A", 0, 0)
    with pytest.raises(UsageError, match="in its name"):
        shape("v_mfma_f32_16x16x32_f16").in_format("fp8")


# From CK's register maps of MX operands (thread, register, bits) and the kernels of AMD's blog.
@pytest.mark.parametrize(
    ("name", "format_", "element", "lane", "register", "low_bit"),
    [
        ("v_mfma_scale_f32_16x16x128_f8f6f4", "fp8", ("A", 0, 64), 0, 4, 0),
        ("v_mfma_scale_f32_16x16x128_f8f6f4", "fp8", ("A", 15, 113), 63, 4, 8),
        ("v_mfma_scale_f32_16x16x128_f8f6f4", "bf8", ("B", 40, 2), 34, 2, 0),
        ("v_mfma_scale_f32_32x32x64_f8f6f4", "fp8", ("A", 5, 31), 37, 3, 24),
        ("v_mfma_scale_f32_32x32x64_f8f6f4", "fp8", ("A", 5, 48), 37, 4, 0),
        ("v_mfma_scale_f32_16x16x128_f8f6f4", "fp4", ("A", 3, 96), 51, 0, 0),
        ("v_mfma_scale_f32_16x16x128_f8f6f4", "fp4", ("A", 3, 63), 19, 3, 28),
        ("v_mfma_scale_f32_32x32x64_f8f6f4", "fp4", ("B", 35, 1), 33, 0, 12),
        ("v_mfma_scale_f32_32x32x64_f8f6f4", "fp6", ("A", 0, 37), 32, 0, 30),
    ],
)
def test_f8f6f4_elements_lie_where_amds_kernels_put_them(
    name: str, format_: str, element: tuple[str, int, int], lane: int, register: int, low_bit: int
) -> None:
    place = shape(name).in_format(format_).place(*element)
    assert (place.lane, place.register, place.low_bit) == (lane, register, low_bit)


def test_a_six_bit_element_may_take_two_registers() -> None:
    one = shape("v_mfma_f32_32x32x64_f8f6f4").in_format("bf6")
    place = one.place("A", 0, 5)
    assert (place.register, place.low_bit, place.registers) == (0, 30, 2)
    assert (0, 5, 0) in one.elements("A", 0, 0)
    assert (0, 5, 0) in one.elements("A", 0, 1)


# The calculator: A[2][31] of the 8-bit form is one of the pair in v1{18}.[31:16]. hip-fpsan: B[k][j] of 16x16x64 is in
# lane j + 16 * (k % 32 / 8), register (k % 8) / 2 + (4 from k = 32 on).
@pytest.mark.parametrize(
    ("name", "element", "lane", "register", "low_bit"),
    [
        ("v_smfmac_i32_16x16x64_i8", ("A", 2, 14), 18, 1, 16),
        ("v_smfmac_i32_16x16x64_i8", ("A", 2, 15), 18, 1, 24),
        ("v_smfmac_f32_16x16x64_f16", ("A", 1, 31), 49, 3, 16),
        ("v_smfmac_f32_16x16x64_f16", ("B", 45, 3), 19, 6, 16),
        ("v_smfmac_f32_16x16x64_f16", ("B", 31, 0), 48, 3, 16),
    ],
)
def test_sparse_operands(name: str, element: tuple[str, int, int], lane: int, register: int, low_bit: int) -> None:
    place = shape(name).place(*element)
    assert (place.lane, place.register, place.low_bit) == (lane, register, low_bit)


def test_scales_and_indices_have_their_rules() -> None:
    scale = shape("v_mfma_scale_f32_16x16x128_f8f6f4").extra_formulas()["the scale of B"]
    assert scale.startswith("column j, 32 k: lane 16 * (k / 32) + j of scale_src1, byte op_sel[1] + 2 * op_sel_hi[1]")
    assert "bits 2 * e + 1 : 2 * e" in shape("v_smfmac_f32_16x16x32_f16").extra_formulas()["the index of A"]


def test_elements_outside_the_matrix_are_refused() -> None:
    with pytest.raises(UsageError, match="outside"):
        shape("v_mfma_f32_16x16x32_bf16").place("C", 16, 0)
    with pytest.raises(UsageError, match="outside"):
        shape("v_mfma_f32_4x4x4_16b_f16").place("A", 0, 0, 16)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("C[5][9]", ElementQuestion("C", 5, 9, 0)),
        (" a[1] [2] ", ElementQuestion("A", 1, 2, 0)),
        ("D[3][1][2]", ElementQuestion("D", 1, 2, 3)),
        ("lane 19 register 1", PlaceQuestion("D", 19, 1)),
        ("A lane=3, v2", PlaceQuestion("A", 3, 2)),
        ("A[3][70] FP8", ElementQuestion("A", 3, 70, 0, "fp8")),
        ("B lane 5 register 2 fp4", PlaceQuestion("B", 5, 2, "fp4")),
    ],
)
def test_questions_about_elements_are_read(text: str, question: object) -> None:
    assert read_question(text) == question


@pytest.mark.parametrize("text", ["", "C", "E[1][2]", "C[1]", "C[-1][2]", "C[1][2][3][4]", "C[999999][1]", "x" * 9999])
def test_what_names_no_element_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_question(text)
