"""Questions about matrix layouts in words; lanes and registers as AMD's matrix instruction calculator prints them."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UsageError
from kbserver.isa.matrix_question import read_matrix_question
from kbserver.ops import instruction


@pytest.mark.parametrize(
    ("text", "arch", "expected"),
    [
        (
            "which lane and register holds C[5][9] of 16x16x32 bf16?",
            None,
            ("v_mfma_f32_16x16x32_bf16", "C[5][9]"),
        ),
        ("D lane 19 and register 1 of 16x16x16 fp16", None, ("v_mfma_f32_16x16x16_f16", "D lane 19 register 1")),
        ("A[0][3] of 16x16x16 bf16", "gfx90a", ("v_mfma_f32_16x16x16bf16_1k", "A[0][3]")),
        ("A[0][3] of 16x16x16 bf16", "gfx942", ("v_mfma_f32_16x16x16_bf16", "A[0][3]")),
        ("where is b[2][7] in V_MFMA_F32_32X32X8_F16", None, ("v_mfma_f32_32x32x8_f16", "b[2][7]")),
    ],
)
def test_an_element_and_a_shape_in_words_name_the_instruction(
    text: str, arch: str | None, expected: tuple[str, str]
) -> None:
    assert read_matrix_question(text, arch) == expected


@pytest.mark.parametrize(
    "text", ["v_mfma_f32_16x16x32_bf16", "v_fma_f32 v0, v1, v2, v3", "ds_read_b128 v[0:3], v4", "C[5][9]", ""]
)
def test_a_mnemonic_or_a_line_of_assembly_is_no_question(text: str) -> None:
    assert read_matrix_question(text) is None


def test_a_shape_that_several_data_types_have_is_refused_with_their_names() -> None:
    with pytest.raises(UsageError) as caught:
        read_matrix_question("A[0][5] of 16x16x32")
    assert "v_mfma_f32_16x16x32_bf16" in (caught.value.hint or "")
    assert "v_mfma_f32_16x16x32_f16" in (caught.value.hint or "")


def test_a_shape_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="no mfma instructions have shape 17x17x2"):
        read_matrix_question("C[1][1] of 17x17x2 bf16")


def test_the_operation_answers_the_question_with_the_place() -> None:
    answer = instruction("which lane and register holds C[5][9] of 16x16x32 bf16?", arch="gfx950")
    assert answer.matrix is not None
    assert answer.matrix.element is not None
    assert "lane 25, register 1" in answer.matrix.element.answer
