"""Tables: a column of one property is held against the facts, a column of several cases is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Verdicts = Callable[..., list[tuple[str, str]]]

TILES = """# MI300X

| tile | LDS | workgroups |
|---|---|---|
| 64 x 64 | 32 KiB | 2 |
| 128 x 64 | 48 KiB | 1 |
"""


def wrong(verdicts: list[tuple[str, str]]) -> int:
    return [verdict for _, verdict in verdicts].count("contradicted")


def test_what_tiles_or_workgroups_take_is_no_property_of_the_target(verdicts_of: Verdicts) -> None:
    assert wrong(verdicts_of(TILES)) == 0
    cases = "| LDS of a workgroup | MI300X |\n|---|---|\n| 16 KB | 4 |\n| 32 KB | 2 |\n"
    assert wrong(verdicts_of(cases)) == 0


@pytest.mark.parametrize(
    ("table", "count"),
    [
        ("| GPU | LDS per CU |\n|---|---|\n| MI300X | 160 KB |\n| MI355X | 64 KB |\n", 2),
        ("| GPU | LDS per CU |\n|---|---|\n| MI250X | 64 KB |\n| MI300X | 64 KB |\n| MI355X | 64 KB |\n", 1),
        ("| | MI300X | MI355X |\n|---|---|---|\n| LDS per CU | 160 KB | 160 KB |\n| L2 per XCD | 4 MB | 8 MB |\n", 2),
        (
            "| GPU | CUs | LDS |\n|---|---|---|\n| MI355X | 32 CU (XCD) | 160 KB |\n| MI300X | 32 CU (XCD) | 64 KB |\n",
            1,
        ),
        ("# MI355X\n\n| LDS per CU |\n|---|\n| 64 KB |\n", 1),
    ],
)
def test_a_wrong_property_in_a_table_is_found(verdicts_of: Verdicts, table: str, count: int) -> None:
    assert wrong(verdicts_of(table)) == count


def test_equal_tables_are_told_apart(verdicts_of: Verdicts) -> None:
    one = "| unit | LDS per CU |\n|---|---|\n| CU | {} |\n"
    text = f"# MI355X\n\n{one.format('64 KB')}\nThe same again:\n\n{one.format('160 KB')}"
    assert ("hardware_number", "contradicted") in verdicts_of(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MI355X runs bf16 causal prefill at 940 to 970 TFLOPS.", 0),
        ("MI355X runs bf16 causal prefill at 3000 TFLOPS.", 1),
        ("FP64 at 81 TFLOPS on MI300A although the specification says 61.", 0),
        ("The FP64 vector peak of MI300A is 81 TFLOPS.", 1),
        ("96 KB of shared memory compile for MI350X but not for MI300X.", 0),
        ("MI355X has matrix peaks of 78.6 TFLOPS, 157.3 TFLOPS and 2516.6 TFLOPS: it is slower in fp64.", 0),
        ("The matrix peak of MI355X: 2516.6 TFLOPS in fp64.", 1),
    ],
)
def test_rates_of_work_are_no_peaks_and_a_word_behind_a_colon_is_no_type(
    verdicts_of: Verdicts, text: str, expected: int
) -> None:
    assert wrong(verdicts_of(text)) == expected
