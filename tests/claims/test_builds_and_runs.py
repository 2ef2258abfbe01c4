"""Figures held against a cited build or run, in a small world whose figures are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kbserver.claims.checkers import CHECKERS, IN_CODE
from kbserver.claims.pipeline import check_text
from kbserver.claims.world import BuildFigures, World
from kbserver.ops.claims_world import current_world

BUILD = BuildFigures(
    "0123456789ab",
    "gfx950",
    "clang 22",
    {"k": {"vgprs": 42, "lds_bytes": 1024, "scratch_bytes": 0, "vgpr_spills": 0}},
)


@pytest.fixture
def world() -> World:
    def run(run_id: str) -> dict[str, Any]:
        return {"kind": "time", "device": "a GPU", "warm": {"median_ms": 1.25}}

    return replace(current_world(), build=lambda build_id: BUILD, run=run, resolve=lambda ref: "found")


def verdicts(text: str, world: World) -> list[tuple[str, str, str | None]]:
    found = check_text(text, world, CHECKERS, IN_CODE).claims
    return [(one.kind, one.verdict, one.correction) for one in found if one.kind != "citation"]


def test_figures_of_a_build_are_held_against_it(world: World) -> None:
    assert verdicts("build:0123456789ab takes 42 VGPRs and 2048 B of LDS, 0 B of scratch.", world) == [
        ("resource", "supported", None),
        ("resource", "contradicted", "1,024 B of LDS"),
        ("resource", "supported", None),
    ]


def test_times_of_a_run_are_held_against_its_record(world: World) -> None:
    assert verdicts("step5_sgb takes 1.25 ms (run:0123456789ab).", world) == [("time", "supported", None)]
    assert verdicts("step5_sgb takes 0.9 ms (run:0123456789ab).", world) == [
        ("time", "contradicted", "warm.median_ms 1.25 ms")
    ]


def test_a_run_without_times_supports_no_time(world: World) -> None:
    without = replace(world, run=lambda run_id: {"kind": "verify"})
    assert verdicts("step5_sgb takes 0.9 ms (run:0123456789ab).", without) == [("time", "unsourced", None)]


def test_without_instruction_tables_nothing_is_said_about_instructions(world: World) -> None:
    without = replace(world, exists=lambda name, arch: None)
    assert verdicts("The regression comes from v_div_f64 on gfx90a.", without) == []
