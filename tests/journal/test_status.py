"""Status is granted by a table: which evidence proves what, on which target."""

from __future__ import annotations

import pytest

from kbserver.journal.status import Evidence, grant


def item(kind: str, arch: list[str] | None = None, locator: str | None = "page 3") -> Evidence:
    return Evidence(ref=f"{kind}:x", kind=kind, title="x", arch=arch, locator=locator)


@pytest.mark.parametrize(
    ("evidence", "arch", "granted"),
    [
        ([], ["gfx950"], "unverified"),
        ([item("build", ["gfx950"])], ["gfx950"], "verified"),
        ([item("build", ["gfx942"])], ["gfx950"], "unverified"),
        ([item("build", ["gfx950"])], ["gfx942", "gfx950"], "unverified"),
        ([item("build", ["gfx950"]), item("build", ["gfx942"])], ["gfx942", "gfx950"], "verified"),
        ([item("build", ["gfx950"])], [], "unverified"),
        ([item("vendor")], ["gfx950"], "verified"),
        ([item("vendor", locator=None)], ["gfx950"], "unverified"),
        ([item("vendor", ["gfx942"])], ["gfx950"], "unverified"),
        ([item("vendor", ["any"])], [], "verified"),
        ([item("measured")], [], "verified"),
        ([item("compiler", ["gfx950"])], ["gfx950"], "verified"),
        ([item("compiler")], ["gfx950"], "unverified"),
        ([item("derived", ["gfx950"])], ["gfx950"], "unverified"),
        ([item("secondary")], ["gfx950"], "unverified"),
        ([item("claimed")], ["gfx950"], "unverified"),
        ([item("none", ["gfx950"])], ["gfx950"], "unverified"),
        ([item("document")], ["gfx950"], "unverified"),
        ([item("lesson", ["gfx950"])], ["gfx950"], "unverified"),
        ([item("kernel")], ["gfx950"], "unverified"),
        ([item("unresolved")], ["gfx950"], "unverified"),
        ([item("kernel"), item("vendor")], ["gfx950"], "verified"),
    ],
)
def test_verified_is_granted_only_by_evidence_that_proves(
    evidence: list[Evidence], arch: list[str], granted: str
) -> None:
    assert grant("verified", evidence, arch).status == granted
    assert grant("refuted", evidence, arch).status == ("refuted" if granted == "verified" else "unverified")
    assert grant("unverified", evidence, arch).status == "unverified"


def test_a_grant_names_its_proof_and_how_far_it_goes() -> None:
    granted = grant("verified", [item("kernel"), item("build", ["gfx950"])], ["gfx950"])
    assert granted.proofs == ["build:x"]
    assert granted.reason == (
        "verified, granted by build:x (a build shows registers, LDS, scratch and instructions, not speed)"
    )


def test_a_refusal_says_why_for_each_ref() -> None:
    refused = grant("refuted", [item("secondary"), item("vendor", locator=None)], ["gfx950"])
    assert refused.proofs == []
    assert refused.reason == (
        "refuted was asked for and not granted: secondary:x is a document that repeats others, which proves nothing by "
        "itself; vendor:x names a whole document: add where in it, as `cite:ID, LOCATOR`"
    )


def test_a_refusal_names_the_targets_that_nothing_proves() -> None:
    refused = grant("verified", [item("build", ["gfx950"])], ["gfx90a", "gfx950"])
    assert refused.reason.endswith("nothing that proves speaks about gfx90a (build:x is about gfx950)")


def test_every_evidence_class_of_sources_has_a_rule() -> None:
    from kbserver.core.sources import KINDS
    from kbserver.journal.status import RULES

    assert set(KINDS) <= set(RULES)
