"""Whose number it is, and whether the sentence means it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kbserver.claims.model import Claim

ClaimsOf = Callable[..., list[Claim]]


def scopes(claims: list[Claim]) -> list[tuple[str | None, str | None, str, str]]:
    return [(one.scope.arch, one.scope.product, one.scope.decided_by, one.verdict) for one in claims]


@pytest.mark.parametrize(
    ("text", "arch", "product", "decided_by"),
    [
        ("MI350X has 64 KB of LDS per CU.", "gfx950", "MI350X", "its clause names it"),
        ("gfx950 is new. LDS per CU is 64 KB.", "gfx950", None, "an earlier sentence names it"),
        ("# CDNA 4\n\nLDS per CU is 64 KB.", "gfx950", None, "its heading names it"),
        ("| | gfx950 |\n|---|---|\n| LDS per CU | 64 KB |", "gfx950", None, "its column names it"),
        ("LDS per CU is 64 KB.\n\nAll on MI355X.", "gfx950", "MI355X", "the only target of the text"),
        ('---\narch: ["gfx950"]\n---\n\nLDS per CU is 64 KB.', "gfx950", None, "the front matter names it"),
    ],
)
def test_the_nearest_name_decides(claims_of: ClaimsOf, text: str, arch: str, product: str, decided_by: str) -> None:
    assert scopes(claims_of(text)) == [(arch, product, decided_by, "contradicted")]


def test_the_callers_target_counts_only_where_the_text_names_none(claims_of: ClaimsOf) -> None:
    assert scopes(claims_of("LDS per CU is 64 KB.", "gfx950")) == [("gfx950", None, "given", "contradicted")]
    assert scopes(claims_of("LDS per CU on gfx942 is 64 KB.", "gfx950"))[0][3] == "supported"


def test_the_folder_of_the_file_names_a_target(claims_of: ClaimsOf) -> None:
    (claim,) = claims_of("LDS per CU is 64 KB.", name="gpu_arch/cdna4/x.md")
    assert (claim.scope.arch, claim.verdict) == ("gfx950", "contradicted")


def test_without_a_target_a_number_that_differs_between_targets_is_unknown(claims_of: ClaimsOf) -> None:
    (claim,) = claims_of("LDS per CU is 64 KB.")
    assert claim.verdict == "unknown"
    assert claim.finding == "LDS size: 64 KB holds for gfx90a, gfx942, not for gfx950; name the one meant"


def test_without_a_target_a_number_that_no_target_has_is_contradicted(claims_of: ClaimsOf) -> None:
    (claim,) = claims_of("LDS per CU is 48 KB.")
    assert (claim.verdict, claim.correction) == ("contradicted", "64 KiB (gfx90a, gfx942); 160 KiB (gfx950)")


def test_a_figure_that_products_do_not_share_needs_the_product(claims_of: ClaimsOf) -> None:
    (claim,) = claims_of("The MI300 series has 304 CUs.")
    assert claim.verdict == "unknown"
    assert "MI300A" in claim.finding


def test_numbers_of_a_comparison_belong_each_to_its_own_target(claims_of: ClaimsOf) -> None:
    text = "On gfx942, LDS is 64 KiB, on gfx950 it is 160 KiB. MI308X has 4 XCDs vs MI300X's 8 XCDs."
    assert "contradicted" not in {one.verdict for one in claims_of(text)}


@pytest.mark.parametrize(
    "text",
    [
        "The claim that MI350X has 64 KB of LDS is false.",
        "We assumed that MI350X has 64 KB of LDS.",
        "Old notes say MI350X has 64 KB of LDS; that is wrong.",
        "If MI350X has 64 KB of LDS, two workgroups fit.",
        "Does MI350X have 64 KB of LDS?",
        'They wrote "MI350X has 64 KB of LDS" in the log.',
        "> MI350X has 64 KB of LDS.",
        "**Believed.** MI350X has 64 KB of LDS per CU, as MI300X has.",
        "Trap: MI350X has 64 KB of LDS.",
        "## Myths\n\n- MI350X has 64 KB of LDS.",
        "~~MI350X has 64 KB of LDS.~~",
        "```\nMI350X has 64 KB of LDS.\n```",
        "<!-- MI350X has 64 KB of LDS. -->",
        "MI350X has 160 KB of LDS per CU (not 64 KB!).",
    ],
)
def test_what_is_denied_reported_asked_quoted_or_struck_is_not_held_against_the_author(
    claims_of: ClaimsOf, text: str
) -> None:
    assert "contradicted" not in {one.verdict for one in claims_of(text)}


def test_a_right_denial_is_supported(claims_of: ClaimsOf) -> None:
    (claim,) = claims_of("LDS is not 64 KB on MI350X.")
    assert (claim.verdict, claim.finding) == ("supported", "it is indeed not 64 KB")


@pytest.mark.parametrize(
    "text",
    [
        "We tried a larger tile and it helped a little.",
        "The kernel uses 48 KB of LDS on MI350X.",
        "H100 has 228 KB of shared memory per SM.",
        "RDNA 3 has 128 KB of LDS per WGP.",
        "We copied 256 MB to flush the caches of MI300X.",
        "Only 8 of the CUs of MI300X got work.",
    ],
)
def test_ordinary_prose_and_other_machines_make_no_claim(claims_of: ClaimsOf, text: str) -> None:
    assert claims_of(text) == []
