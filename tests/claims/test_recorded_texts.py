"""Real texts with known faults: what is found in them, literally. Skipped loudly where they are not at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.claims.model import CONTRADICTED, SUPPORTED, Claim
from kbserver.hardware.known_claims import load_known_claims
from kbserver.ops.claims import check


@pytest.fixture
def seeds(shared_data: Path) -> Path:
    folder = shared_data.parent / "seeds"
    if not folder.is_dir():
        pytest.skip("SKIPPED LOUDLY: the three recorded documents (../shared/seeds) are not beside this checkout")
    return folder


def claims(path: Path) -> list[Claim]:
    return list(check(path.read_text("utf-8"), name=path.name).claims)


def wrong(path: Path) -> list[tuple[int, str]]:
    return [
        (claim.line, claim.finding.split(" (said by")[0]) for claim in claims(path) if claim.verdict == CONTRADICTED
    ]


def test_the_case_study_is_wrong_in_three_places(seeds: Path) -> None:
    assert wrong(seeds / "evokernel-readme.txt") == [
        (48, "step4_mfma is not 6x slower than step3_nchw_lds"),
        (83, "16 GFLOPs / 8 TB/s divides work by bytes a second: that is neither a time nor an intensity"),
        (
            121,
            "It counts static LDS when the workgroup size is declared; it is right that dynamic LDS is not counted and "
            "that the remark is only an upper bound.",
        ),
    ]


def test_its_retracted_claims_are_not_held_against_it(seeds: Path) -> None:
    told = " ".join(claim.finding for claim in claims(seeds / "evokernel-readme.txt"))
    assert "64" not in told.replace("64 threads", "")
    assert "queue" not in told


def test_its_published_figures_are_supported(seeds: Path) -> None:
    found = {claim.finding for claim in claims(seeds / "evokernel-readme.txt") if claim.verdict == SUPPORTED}
    assert {
        "step3_nchw_lds: 155 VGPRs, as published",
        "step5_sgb: 86 VGPRs, as published",
        "LDS size: 160KB",
        "MI350X is CDNA4",
    } <= found


def test_the_skill_is_wrong_about_32_byte_loads_and_launch_bounds(seeds: Path) -> None:
    assert [told for _, told in wrong(seeds / "hip-kernel-optimization-skill.txt")] == [
        "no load or store of a lane is wider than 16 bytes",
        "the second argument is no number of blocks on AMD GPUs",
    ]


def test_the_blog_is_right_that_v_div_f64_does_not_exist_and_has_no_source_for_its_times(seeds: Path) -> None:
    found = claims(seeds / "profiling-driven-optimization-blog.txt")
    assert wrong(seeds / "profiling-driven-optimization-blog.txt") == []
    assert ("v_div_f64 does not exist on gfx90a", SUPPORTED) in {(one.finding, one.verdict) for one in found}
    assert sum(one.verdict == "unsourced" for one in found) >= 5


def test_the_wrong_columns_of_the_contested_facts_are_found(shared_data: Path) -> None:
    assert wrong(shared_data / "contested_facts.md") == [
        (10, "LDS size: not 64 KB"),
        (12, "compute units: not 320"),
        (13, "L2 cache: not 256 MB"),
        (14, "Infinity Cache: not 512 MB"),
        (15, "MI350X is not gfx942"),
        (16, "LDS banks: not 32"),
        (19, "L2 cache line: not 64"),
        (20, "waves per CU at most: not 16"),
        (22, "BF16 peak: not 1600"),
        (23, "BF16 peak: not 653"),
        (24, "s_barrier is no wave-level barrier"),
        (25, "VGPRs and AGPRs are not separate files"),
        (
            26,
            "It counts static LDS when the workgroup size is declared; it is right that dynamic LDS is not counted and "
            "that the remark is only an upper bound.",
        ),
    ]


# Lists of several figures in one sentence, and a sentence that only points elsewhere.
NOT_FOUND = {"mi308x-ridges", "cdna3-peaks-and-ridges"}


def test_every_known_wrong_claim_but_two_is_found() -> None:
    verdicts = {known.id: {one.verdict for one in check(known.claim).claims} for known in load_known_claims()}
    wrong_ones = {known.id for known in load_known_claims() if known.verdict in ("contradicted", "unit_error")}
    assert {name for name in wrong_ones if CONTRADICTED not in verdicts[name]} == NOT_FOUND
    assert verdicts["vmem-queue-64"] == {"unsourced"}
    assert verdicts["confirmed-by-sources"] == {SUPPORTED}
