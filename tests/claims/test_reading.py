"""Texts to sentences, numbers and names: what the checkers see of Markdown."""

from __future__ import annotations

from kbserver.claims.names import names
from kbserver.claims.quantities import half_unit, quantities
from kbserver.claims.sentences import sentences
from kbserver.claims.tokens import tokenize
from kbserver.core.targets import targets


def shown(text: str) -> list[tuple[int, str, str]]:
    return [(one.line, one.block.kind, one.text) for one in sentences(text)]


def test_sentences_carry_the_line_at_which_they_begin() -> None:
    assert shown("# Title\n\nFirst one. Second\none here. v_fmac_f32 is third.\n") == [
        (1, "heading", "Title"),
        (3, "paragraph", "First one."),
        (3, "paragraph", "Second one here."),
        (4, "paragraph", "v_fmac_f32 is third."),
    ]


def test_front_matter_comments_and_struck_text_are_not_read() -> None:
    text = "---\ntitle: x\n---\n<!-- hidden\ntext -->\nShown ~~gone~~ text.\n"
    assert shown(text) == [(6, "paragraph", "Shown text.")]


def test_code_is_marked_as_code_and_a_comment_in_it_is_no_heading() -> None:
    assert shown("```sh\n# not a heading\n```\nProse.\n") == [
        (2, "code", "# not a heading"),
        (4, "paragraph", "Prose."),
    ]


def test_rows_of_a_table_know_their_header_and_cells() -> None:
    row = list(sentences("## S\n\n| a | gfx950 |\n|---|---|\n| LDS | 160 KB |\n"))[-1]
    assert (row.line, row.block.kind, row.block.header, row.block.headings) == (5, "row", ("a", "gfx950"), ("S",))
    assert [row.text[low:high] for low, high in row.cells] == ["LDS", "160 KB"]


def test_abbreviations_and_decimals_end_no_sentence() -> None:
    assert [text for _, _, text in shown("See e.g. Fig. 3 for 2.5 ms. Then stop.")] == [
        "See e.g. Fig. 3 for 2.5 ms.",
        "Then stop.",
    ]


def test_citations_are_taken_out_of_the_text_that_numbers_are_read_from() -> None:
    one = next(iter(sentences("It is 64 KB [some-source, lines 82-83].")))
    assert one.cites == ("some-source, lines 82-83",)
    assert [quantity.text for quantity in one.quantities] == ["64 KB"]


def read(text: str) -> list[tuple[str, str]]:
    return [(one.text, one.dim) for one in quantities(tokenize(text))]


def test_numbers_are_read_with_their_units() -> None:
    assert read("64KB, 5.3 TB/s, 1307 TFLOPS, 36.9 FLOP/B, 10.7x, 32,576 B, 55 us, 4-bit, 8 waves, 2.4 GHz") == [
        ("64KB", "B"),
        ("5.3 TB/s", "B/s"),
        ("1307 TFLOPS", "FLOP/s"),
        ("36.9 FLOP/B", "FLOP/B"),
        ("10.7x", "x"),
        ("32,576 B", "B"),
        ("55 us", "s"),
        ("4-bit", "bit"),
        ("8 waves", "wave"),
        ("2.4 GHz", "Hz"),
    ]


def test_numbers_in_names_and_hexadecimal_are_no_numbers() -> None:
    assert read("gfx942 MI300X v_mfma_f32_4x4x4f16 0x0100 s[0:1]") == [("0", ""), ("1", "")]


def test_kb_is_1000_or_1024_bytes_and_either_is_right() -> None:
    (size,) = quantities(tokenize("160 KB"))
    assert size.is_value(163_840) and size.is_value(160_000) and not size.is_value(65_536)


def test_rounding_is_allowed_and_a_different_number_is_not() -> None:
    (rounded,) = quantities(tokenize("2300 TFLOPS"))
    assert rounded.is_value(2306.9e12) and not rounded.is_value(2516.6e12)
    (between,) = quantities(tokenize("2300-2500 TF"))
    assert between.is_value(2306.9e12) and between.is_value(2516.6e12) and not between.is_value(1307.4e12)


def test_half_a_unit_of_the_last_digit_written() -> None:
    assert [half_unit(text) for text in ("5.3", "8", "2300", "32,576")] == [0.05, 0.5, 50.0, 0.5]


def test_products_series_and_foreign_machines_are_told_apart() -> None:
    found = names(tokenize("MI300X, CDNA 4, gfx90a, the MI350 series, H100 and RDNA3"), targets())
    assert [(one.arch, one.product) for one in found] == [
        ("gfx942", "MI300X"),
        ("gfx950", None),
        ("gfx90a", None),
        ("gfx950", None),
        (None, None),
        (None, None),
    ]
