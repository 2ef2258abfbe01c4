"""Each kind of claim: what is found, why, and what would be right. Expectations are worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kbserver.claims.model import Claim

ClaimsOf = Callable[..., list[Claim]]


@pytest.mark.parametrize(
    ("text", "correction"),
    [
        ("MI350X has 64 KB of LDS per CU.", "160 KiB (gfx950)"),
        ("A workgroup can use up to 160 KB of LDS on MI300X.", "64 KiB (gfx942)"),
        ("MI355X has 32 LDS banks.", "64 banks (gfx950)"),
        ("MI350X has 256 CUs per XCD.", "32 CU per XCD (MI350X)"),
        ("CDNA 3 holds at most 16 waves per CU.", "32 waves (gfx942)"),
        ("MI300X BF16 peak is 653 TFLOPS.", "1307.4 TFLOPS (MI300X)"),
        ("The HBM bandwidth of MI300X is 8 TB/s.", "5.3 TB/s (MI300X)"),
        ("The BF16 ridge of MI300X is 123.2 FLOP/B.", "246.7 FLOP/B (MI300X)"),
        ("Our GEMM reaches 3 PFLOPS of BF16 on MI355X.", "at most 2516.6 TFLOPS (MI355X)"),
        ("MI350X reaches 8.9 TB/s of HBM bandwidth.", "at most 8 TB/s (MI350X)"),
        ("lgkmcnt is a 6-bit counter on gfx950.", "4 bits (gfx950)"),
    ],
)
def test_hardware_numbers_are_corrected(claims_of: ClaimsOf, text: str, correction: str) -> None:
    (claim,) = claims_of(text)
    assert (claim.kind, claim.verdict, claim.correction) == ("hardware_number", "contradicted", correction)
    assert claim.evidence[0].ref.startswith("fact:") or claim.evidence[0].ref == "arithmetic"


def test_a_contested_number_names_who_says_it_and_why_it_is_not_taken(claims_of: ClaimsOf) -> None:
    (claim,) = claims_of("MI350X has 320 CUs.")
    assert "said by AMD-AGI GEAK" in claim.finding
    assert "not taken" in claim.finding


def test_twice_the_dense_peak_is_a_figure_with_sparsity(claims_of: ClaimsOf) -> None:
    (unsaid,) = claims_of("The FP8 peak of MI355X is 10 PFLOPS.")
    (dense,) = claims_of("The dense FP8 peak of MI355X is 10 PFLOPS.")
    assert (unsaid.verdict, dense.verdict) == ("unknown", "contradicted")
    assert claims_of("The FP8 peak of MI355X is 10 PFLOPS with sparsity.") == []


@pytest.mark.parametrize(
    ("text", "verdict", "correction"),
    [
        ("86 VGPRs give 5 waves per SIMD.", "supported", None),
        ("86 VGPRs give 4 waves per SIMD.", "contradicted", "5 waves per SIMD"),
        ("73 VGPRs give 7 waves per SIMD.", "contradicted", "6 waves per SIMD"),
        ("128 VGPRs and 128 AGPRs allow 2 waves per SIMD.", "supported", None),
        ("VGPRs 103→93, occupancy 4→5 waves/SIMD.", "supported", None),
        ("32,576 B of LDS allows 5 workgroups on 64 KB.", "contradicted", "2 workgroups per CU"),
        ("32,576 B of LDS allows 5 workgroups per CU on gfx950.", "contradicted", "4 workgroups per CU"),
        ("256 threads (8 waves) share a tile.", "contradicted", "4 waves"),
    ],
)
def test_occupancy_is_recomputed(claims_of: ClaimsOf, text: str, verdict: str, correction: str | None) -> None:
    claims = claims_of(text)
    assert {(one.kind, one.verdict, one.correction) for one in claims} == {("occupancy", verdict, correction)}
    assert claims[0].evidence[0].ref == "arithmetic"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("8 x 38 = 304 CUs.", "supported"),
        ("8 x 38 = 305.", "contradicted"),
        ("256 = 8 XCDs x 32 active.", "supported"),
        ("floor(512/86) = 5.", "supported"),
        ("442 MB / 8 TB/s = 55 us.", "supported"),
        ("442 MB / 8 TB/s = 5.5 us.", "contradicted"),
        ("1307.4 / 5.3 = 246.7 FLOP/B.", "supported"),
        ("80 CU x 128 B x 1.42 GHz = 14.5 TB/s.", "supported"),
        ("D[5][3]: lane 16 x (5 / 4) + 3 = 19.", "supported"),
        ("5.81 -> 0.54 ms = 10.7x.", "supported"),
        ("It went from 46.7 to 1.65 s, 28.3x faster.", "supported"),
        ("It went from 46.7 s to 1.65 s, 35x faster.", "contradicted"),
        ("26.5 s to 13.2 s is a 50.1 % improvement.", "supported"),
        ("It dropped from 10 ms to 8 ms, 40 % less.", "contradicted"),
        ("16.31 GFLOP at 144.2 TFLOPS take 500 us.", "contradicted"),
        ("16 GFLOPs / 8 TB/s = memory bound.", "contradicted"),
    ],
)
def test_arithmetic_is_redone(claims_of: ClaimsOf, text: str, verdict: str) -> None:
    found = [one.verdict for one in claims_of(text) if one.kind == "arithmetic"]
    assert found == [verdict]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The regression comes from v_div_f64 on gfx90a.", "contradicted"),
        ("The v_div_f64 instruction does not exist on gfx90a.", "supported"),
        ("a v div f64 instruction that does not exist in the CDNA2 ISA", "supported"),
        ("v_permlane32_swap_b32 swaps halves on gfx950.", "supported"),
        ("On MI300X we used v_permlane32_swap_b32.", "contradicted"),
        ("The kernel reads with ds_load_b128 on MI355X.", "contradicted"),
        ("v_fmac_f32 does not exist on gfx950.", "contradicted"),
    ],
)
def test_instruction_names_are_looked_up_exactly(claims_of: ClaimsOf, text: str, verdict: str) -> None:
    (claim,) = claims_of(text)
    assert (claim.kind, claim.verdict) == ("instruction", verdict)
    assert claim.evidence[0].ref.startswith("isa:")


@pytest.mark.parametrize(
    "text",
    [
        "ds_read and v_mfma are families on gfx950.",
        "v_pk_* names a family on gfx950.",
        "ds_load_b128 is the RDNA spelling of ds_read_b128.",
        "The variable s_data on gfx950 holds the tile.",
        "## Instructions that gfx90a lacks\n\n`v_mov_b64`, `v_lshl_add_u64`.",
    ],
)
def test_families_variables_and_explanations_are_no_wrong_instruction(claims_of: ClaimsOf, text: str) -> None:
    assert "contradicted" not in {one.verdict for one in claims_of(text)}


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Built for MI350X (gfx942).", "contradicted"),
        ("MI300X (CDNA4) has it.", "contradicted"),
        ("MI355X with gfx942 was used.", "contradicted"),
        ("CDNA 4 is the MI400 series.", "contradicted"),
        ("Compiled with --offload-arch=gfx942 for MI355X.", "contradicted"),
        ("```\nhipcc --offload-arch=gfx942 k.hip  # MI355X\n```", "contradicted"),
        ("MI355X is gfx950.", "supported"),
    ],
)
def test_products_and_targets_must_belong_together(claims_of: ClaimsOf, text: str, verdict: str) -> None:
    assert [(one.kind, one.verdict) for one in claims_of(text)] == [("target", verdict)]


@pytest.mark.parametrize("text", ["Compare MI350X with gfx942.", "From MI300X to gfx950.", "MI300X and gfx950."])
def test_a_comparison_of_targets_is_no_mismatch(claims_of: ClaimsOf, text: str) -> None:
    assert claims_of(text) == []


@pytest.mark.parametrize(
    ("text", "kind", "verdict", "correction"),
    [
        ("step5_sgb takes 86 VGPRs on gfx950.", "resource", "supported", None),
        (
            "step3_nchw_lds takes 120 VGPRs.",
            "resource",
            "contradicted",
            "155 VGPRs; cite the build if yours differs",
        ),
        ("step5_sgb runs in 0.54 ms.", "time", "supported", None),
        ("step5_sgb runs in 0.40 ms.", "time", "unsourced", None),
        ("step5_sgb runs in 0.02 ms.", "time", "contradicted", "at least 55 us from cold caches"),
        ("step4_mfma is 6x slower than step3_nchw_lds.", "time", "contradicted", "23.2x"),
        ("Our kernel took 3.2 ms.", "time", "unsourced", None),
    ],
)
def test_figures_of_kernels(claims_of: ClaimsOf, text: str, kind: str, verdict: str, correction: str | None) -> None:
    assert [(one.kind, one.verdict, one.correction) for one in claims_of(text)] == [(kind, verdict, correction)]


def test_a_time_with_a_source_beside_it_is_not_unsourced(claims_of: ClaimsOf) -> None:
    found = claims_of("Our kernel took 3.2 ms [evokernel-readme, results].")
    assert [(one.kind, one.verdict) for one in found] == [("citation", "supported")]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("See lesson:0001.", "supported"),
        ("See lesson:9876.", "contradicted"),
        ("See fact:gfx950.lds.bytes_per_cu.", "supported"),
        ("See fact:gfx950.lds.nothing.", "contradicted"),
        ("See build:0123456789ab.", "contradicted"),
        ("See run:0123456789ab.", "contradicted"),
        ("See isa:gfx950/v_fmac_f32.", "supported"),
        ("See gpu_arch/general/lds.md#no-such-section.", "contradicted"),
        ("It is so [evokernel-readmee, results].", "contradicted"),
    ],
)
def test_refs_must_resolve(claims_of: ClaimsOf, text: str, verdict: str) -> None:
    assert [(one.kind, one.verdict) for one in claims_of(text)] == [("citation", verdict)]


def test_placeholders_and_foreign_brackets_are_no_citations(claims_of: ClaimsOf) -> None:
    assert claims_of("Use build:ID, run:ID, lesson:NUMBER, isa:gfx950/NAME and [x, y].") == []


@pytest.mark.parametrize(
    "text",
    [
        "s_barrier is a wave-level barrier.",
        "L2 is unified across the GPU.",
        "Prefer 32B loads over 16B.",
        "A CU has 512 VGPRs per CU.",
        "The Infinity Cache was removed on gfx950.",
    ],
)
def test_well_known_wrong_statements_are_recognised(claims_of: ClaimsOf, text: str) -> None:
    found = [one for one in claims_of(text) if one.kind == "statement"]
    assert [one.verdict for one in found] == ["contradicted"]
    assert found[0].evidence


def test_every_claim_has_evidence_a_line_and_a_scope(claims_of: ClaimsOf) -> None:
    text = "MI350X has 64 KB of LDS.\n\nIt took 3 ms.\n\n86 VGPRs give 5 waves per SIMD. See lesson:0001.\n"
    claims = claims_of(text)
    assert [(one.line, one.verdict) for one in claims] == [
        (1, "contradicted"),
        (3, "unsourced"),
        (5, "supported"),
        (5, "supported"),
    ]
    assert all(one.evidence and one.scope.decided_by for one in claims)
