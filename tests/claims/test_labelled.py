"""Precision and recall on labelled sentences: what is called contradicted is wrong, without exception."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kbserver.core.yamlio import load_yaml
from kbserver.ops.claims import check

ENTRIES: dict[str, list[dict[str, Any]]] = load_yaml(Path(__file__).parent / "labelled.yaml")
PARTS = ("tuning", "held_out", "second_held_out")


def verdicts(entry: dict[str, Any]) -> set[str]:
    arch = entry.get("arch")
    given = (arch, None, "given") if arch else None
    return {claim.verdict for claim in check(entry["text"], given).claims}


def of(part: str, expect: str) -> list[dict[str, Any]]:
    return [entry for entry in ENTRIES[part] if entry["expect"] == expect]


def test_the_set_is_half_true_a_quarter_false_and_a_quarter_undecidable() -> None:
    counts = {expect: len(of("tuning", expect)) for expect in ("supported", "contradicted", "none")}
    assert counts == {"supported": 46, "contradicted": 24, "none": 24}


@pytest.mark.parametrize("part", PARTS)
def test_nothing_true_and_nothing_undecidable_is_called_contradicted(part: str) -> None:
    wrong = [e["text"] for e in ENTRIES[part] if e["expect"] != "contradicted" and "contradicted" in verdicts(e)]
    assert wrong == []


@pytest.mark.parametrize("part", PARTS)
def test_nothing_false_and_nothing_undecidable_is_called_supported(part: str) -> None:
    wrong = [
        entry["text"]
        for entry in ENTRIES[part]
        # A false sentence may hold a true part beside the false one.
        if entry["expect"] != "supported"
        and "supported" in verdicts(entry)
        and not (entry["expect"] == "contradicted" and "contradicted" in verdicts(entry))
    ]
    assert wrong == []


@pytest.mark.parametrize(("part", "floor"), [("tuning", 0.95), ("held_out", 0.9), ("second_held_out", 0.9)])
def test_most_of_what_is_false_is_found(part: str, floor: float) -> None:
    false = of(part, "contradicted")
    found = [entry for entry in false if "contradicted" in verdicts(entry)]
    assert len(found) / len(false) >= floor


@pytest.mark.parametrize(("part", "floor"), [("tuning", 0.95), ("held_out", 0.9), ("second_held_out", 0.9)])
def test_most_of_what_is_true_is_supported(part: str, floor: float) -> None:
    true = of(part, "supported")
    found = [entry for entry in true if "supported" in verdicts(entry)]
    assert len(found) / len(true) >= floor
