"""Evidence refs: each scheme is looked up where it lives; whatever does not resolve is named with the reason."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UnresolvedRef
from kbserver.core.paths import Roots
from kbserver.ops.lesson_evidence import evidence_now, look_up, resolve_evidence


def test_a_citation_carries_kind_place_and_address() -> None:
    found = look_up("cite:hipkittens-phases, ds_read_b64, groups of 32")
    assert (found.kind, found.locator, found.arch) == ("measured", "ds_read_b64, groups of 32", None)
    assert found.url and found.url.startswith("https://github.com/HazyResearch/HipKittens/")
    assert look_up("cite:hipkittens-phases").locator is None


def test_a_fact_carries_its_evidence_class_and_target() -> None:
    found = look_up("fact:gfx950.lds.bytes_per_cu")
    assert (found.kind, found.arch) == ("vendor", ["gfx950"])
    assert "160 KiB" in found.title


def test_a_lesson_is_shown_with_its_status() -> None:
    found = look_up("lesson:0001")
    assert (found.kind, found.title) == ("lesson", "[refuted] LDS is 64 KB per CU on MI350X")


def test_a_kernel_is_context() -> None:
    assert look_up("kernel:step3_nchw_lds").kind == "kernel"


BAD = [
    "cite:no-such-source, page 1",
    "cite:",
    "fact:gfx950.lds.no_such_fact",
    "fact:",
    "build:000000000000",
    "build:../../etc/passwd",
    "lesson:0999",
    "kernel:no_such_kernel",
    "gpu_arch/no_such.md",
    "gpu_arch/../../etc/passwd.md",
    "/etc/passwd.md#x",
    "run:1",
    "https://example.org/page.md",
    "just words",
    "x" * 200,
]


@pytest.mark.parametrize("ref", BAD)
def test_a_ref_that_does_not_resolve_is_refused(ref: str) -> None:
    with pytest.raises(UnresolvedRef) as caught:
        resolve_evidence(["fact:gfx950.lds.banks", ref])
    assert caught.value.message.startswith("1 of 2 evidence refs do not resolve: ")
    assert [item["ref"] for item in caught.value.details["unresolved"]] == [ref]
    assert caught.value.where == "evidence"
    assert caught.value.hint


def test_every_unresolved_ref_is_named() -> None:
    with pytest.raises(UnresolvedRef) as caught:
        resolve_evidence(["build:abc", "lesson:0001", "run:7"])
    assert [item["ref"] for item in caught.value.details["unresolved"]] == ["build:abc", "run:7"]
    assert "no run of this id in this workspace" in caught.value.message


def test_stored_evidence_that_vanished_is_kept_and_marked(roots: Roots) -> None:
    gone, there = evidence_now(["build:000000000000", "lesson:0001"])
    assert (gone.resolves, gone.kind, there.resolves) == (False, "unresolved", True)


def test_the_page_about_lessons_names_every_ref_and_every_class_that_proves(roots: Roots) -> None:
    from kbserver.journal.status import RULES
    from kbserver.ops.lesson_evidence import SCHEMES

    page = (roots.content / "docs" / "lessons.md").read_text("utf-8")
    assert [scheme for scheme in SCHEMES if f"| `{scheme}:" not in page] == []
    assert [kind for kind, rule in RULES.items() if rule.proves and kind not in page] == []
    assert {kind for kind, rule in RULES.items() if rule.proves} == {
        "build", "run", "failed_run", "profile_run", "vendor", "measured", "compiler",
    }  # fmt: skip
