"""Cues count in their clause: consequences, causes and backing of a statement, each in the sentence it stands in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kbserver.claims.clauses import clause
from kbserver.claims.model import Claim
from kbserver.core.yamlio import load_yaml

ClaimsOf = Callable[..., list[Claim]]
SENTENCES: list[dict[str, str]] = load_yaml(Path(__file__).parent / "sentences.yaml")


@pytest.mark.parametrize("expect", ["contradicted", "unsourced", "supported"])
def test_each_sentence_gets_its_verdict(expect: str, claims_of: ClaimsOf) -> None:
    missed = [
        one["text"]
        for one in SENTENCES
        if one["expect"] == expect and expect not in {claim.verdict for claim in claims_of(one["text"])}
    ]
    assert missed == []


def test_what_is_not_said_is_not_contradicted(claims_of: ClaimsOf) -> None:
    wrong = [
        (one["text"], claim.finding)
        for one in SENTENCES
        if one["expect"] in ("none", "supported", "unsourced")
        for claim in claims_of(one["text"])
        if claim.verdict == "contradicted"
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "inside", "expected"),
    [
        ("LDS is 64 KB , so two fit", 0, "LDS is 64 KB ,"),
        ("two fit because LDS is 64 KB", 3, "because LDS is 64 KB"),
        ("XCDs have 36 CUs , of which 32 are active", 0, "XCDs have 36 CUs , of which 32 are active"),
        ("L2 is 4 MB , Infinity Cache is 256 MB", 5, "Infinity Cache is 256 MB"),
    ],
)
def test_a_clause_ends_where_a_reason_or_a_consequence_begins(text: str, inside: int, expected: str) -> None:
    words = text.split()
    low, high = clause([word.lower() for word in words], inside, inside + 1)
    assert " ".join(words[low:high]) == expected


@pytest.mark.parametrize(
    ("text", "correction"),
    [
        ("LDS is 64 KB per CU on MI350X, so only two workgroups fit.", "160 KiB (gfx950)"),
        ("v_mfma_f32_32x32x16_bf16 takes 64 cycles on gfx950.", "32 cycles"),
        ("The 16-pass v_mfma_f32_32x32x16_bf16 hides two loads on gfx950.", "8 passes"),
        ("VGPRs are allocated in blocks of 16 on gfx942.", "8 registers (gfx942)"),
        ("Occupancy is limited to 3 waves because the kernel uses 128 VGPRs on gfx950.", "4 waves per SIMD"),
        ("The MI300X has 8 XCDs with 40 active CUs each.", "38 CU per XCD (MI300X)"),
        ("At 8 TB/s reading 0.44 GB takes 0.5 ms.", "55 us"),
        ("1 GB / 5.3 TB/s = 1 ms", "1 GB / 5.3 TB/s = 0.18868"),
    ],
)
def test_the_right_value_stands_with_it(text: str, correction: str, claims_of: ClaimsOf) -> None:
    assert [claim.correction for claim in claims_of(text) if claim.verdict == "contradicted"] == [correction]


def test_cus_that_are_built_are_not_told_from_active_ones_by_a_bare_number(claims_of: ClaimsOf) -> None:
    (claim,) = claims_of("Each XCD of MI300X has 40 CUs.")
    assert (claim.verdict, claim.evidence[0].ref) == ("unknown", "fact:gfx942.compute.physical_cus_per_xcd")


@pytest.mark.parametrize("ref", ["fact:gfx950.lds.bytes_per_cu", "isa:gfx950/v_fma_f32", "gpu_arch/cdna4/lds.md"])
def test_a_fact_beside_a_time_does_not_back_it(ref: str, claims_of: ClaimsOf) -> None:
    found = claims_of(f"The kernel took 0.3 ms. It reads what {ref} says.")
    assert "unsourced" in [claim.verdict for claim in found]


def test_a_run_beside_a_time_backs_it(claims_of: ClaimsOf) -> None:
    found = claims_of("The kernel took 0.3 ms. It was recorded as run:0123456789ab then.")
    assert "unsourced" not in [claim.verdict for claim in found]


def test_a_kernel_keeps_its_own_target_where_an_earlier_sentence_names_another(claims_of: ClaimsOf) -> None:
    found = claims_of("MI300X has 304 CUs. step5_sgb uses 96 VGPRs.")
    assert [claim.correction for claim in found if claim.kind == "resource"] == [
        "86 VGPRs; cite the build if yours differs"
    ]
