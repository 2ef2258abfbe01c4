"""Number formats: exact values of patterns, one rounding from float64, distances, fills."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.core.errors import UnknownName
from kbserver.runs.dtypes import DTYPES, find_dtype
from kbserver.runs.formats import BITS


def test_every_format_gives_back_what_it_holds() -> None:
    for name, dtype in DTYPES.items():
        patterns = (
            np.arange(256, dtype=np.uint8) if dtype.bits == 8 else np.arange(0, 2**15, 7).astype(f"u{dtype.bits // 8}")
        )
        stored = patterns.view(dtype.storage)
        stored = stored[dtype.is_finite(stored)]
        values = dtype.decode(stored)
        again = dtype.decode(dtype.encode(values))
        np.testing.assert_array_equal(again, values, err_msg=name)


@pytest.mark.parametrize(
    ("name", "pattern", "value"),
    [
        # Largest and smallest numbers as the OCP 8-bit floating point specification and AMD's FNUZ formats have them.
        ("fp8_e4m3", 0x7E, 448.0), ("fp8_e4m3", 0x01, 2.0**-9), ("fp8_e5m2", 0x7B, 57344.0),
        ("fp8_e5m2", 0x01, 2.0**-16),
        ("fp8_e4m3_fnuz", 0x7F, 240.0), ("fp8_e4m3_fnuz", 0x01, 2.0**-10), ("fp8_e5m2_fnuz", 0x7F, 57344.0),
        ("fp8_e5m2_fnuz", 0x01, 2.0**-17), ("bf16", 0x3F80, 1.0), ("bf16", 0xC000, -2.0),
    ],
)  # fmt: skip
def test_patterns_have_the_values_of_their_formats(name: str, pattern: int, value: float) -> None:
    dtype = find_dtype(name)
    assert dtype.decode(np.array([pattern], dtype.storage))[0] == value


def test_eight_bit_floats_round_to_even_and_saturate() -> None:
    ocp = find_dtype("fp8_e4m3")
    # Between 16 and 18 lies 17: a tie, and 16 has the even pattern. Between 18 and 20 lies 19: 20 is even.
    np.testing.assert_array_equal(
        ocp.decode(ocp.encode(np.array([17.0, 19.0, 17.1, -1e9, 0.0]))), [16, 20, 18, -448, 0]
    )
    fnuz = find_dtype("fp8_e4m3_fnuz")
    assert fnuz.encode(np.array([-0.0, -1e-9, np.nan])).tolist() == [0, 0, 0x80]


def test_half_precision_is_rounded_once() -> None:
    dtype = find_dtype("fp16")
    # 1 + 2^-11 + 2^-40 lies just above the middle of 1 and 1 + 2^-10; through float32 it would tie and round down.
    assert float(dtype.encode(np.array([1 + 2.0**-11 + 2.0**-40]))[0]) == 1 + 2.0**-10


def test_half_an_ulp_is_half_the_distance_to_the_next_number() -> None:
    for name in ("f16", "f32", "f64"):
        dtype = find_dtype(name)
        for value in (1.0, 1.5, 3.0, 1000.0):
            stored = dtype.encode(np.array([value]))
            assert dtype.half_ulp(np.array([value]))[0] == float(np.spacing(stored[0])) / 2


def test_distances_count_numbers_and_know_nan() -> None:
    dtype = find_dtype("f32")
    one = np.array([1, 1, -0.0, 1], np.float32)
    other = np.array([1 + 2.0**-22, np.nan, 0.0, -1], np.float32)
    assert dtype.ulp_distance(one, other).tolist() == [2, -1, 0, 2 * 0x3F800000]
    assert find_dtype("f64").ulp_distance(np.array([1.0, -1.0]), np.array([1 + 2.0**-52, 1.0])).tolist() == [
        1,
        2**31 - 1,
    ]
    assert find_dtype("i32").ulp_distance(np.array([5], np.int32), np.array([-2], np.int32)).tolist() == [7]


def test_fills_are_found_again_and_only_telling_ones_count() -> None:
    for dtype in DTYPES.values():
        for turn in range(3):
            filled = np.full(4, dtype.filled(turn))
            assert dtype.is_fill(filled, turn).all()
    assert not find_dtype("i8").fill_is_telling and not find_dtype("i16").fill_is_telling
    assert find_dtype("bf16").fill_is_telling and find_dtype("i32").fill_is_telling


def test_the_table_of_names_has_every_format_with_its_width() -> None:
    assert {name: dtype.bits for name, dtype in DTYPES.items()} == BITS


def test_an_unknown_format_has_near_names() -> None:
    with pytest.raises(UnknownName, match="unknown number format 'fp8_e4m4'") as error:
        find_dtype("fp8_e4m4")
    assert "fp8_e4m3" in (error.value.hint or "")
