"""What paged attention computes, which inputs its reference makes, and what its README says of the machine code."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from kbserver.ops import verify_kernel
from kbserver.runs.cases import plan
from kbserver.runs.measured import load_measured
from kbserver.runs.references.paged_attention import exact, inputs
from kbserver.runs.stage import Subject, build_case
from kbserver.runs.task import find_kernel
from kbserver.toolchain.assembly import parse_assembly
from kbserver.toolchain.sources import from_file
from tests.toolchain.clang import needs_clang

SIZES = {"S": 3, "N": 2, "G": 2, "L": 40, "B": 3, "P": 12}


def cache(**changes: np.ndarray) -> dict[str, np.ndarray]:
    """One sequence of two tokens in page 5 of 6, one KV head, one query head; other slots hold garbage."""
    k, v = np.full((6, 1, 16, 128), 1e30), np.full((6, 1, 16, 128), 1e30)
    k[5, 0, :2], v[5, 0, 0], v[5, 0, 1] = 0.0, 2.0, 4.0
    given = {"q": np.ones((1, 1, 1, 128)), "k": k, "v": v, "table": np.array([[5]]), "lengths": np.array([2])}
    return {**given, **changes}


def test_tokens_of_equal_score_are_averaged_and_slots_beyond_the_length_do_not_count() -> None:
    result, _ = exact(cache(), {"L": 2})["y"]
    assert result.shape == (1, 1, 1, 128) and (result == 3.0).all()


def test_one_token_gives_its_own_row_of_v() -> None:
    result, _ = exact(cache(lengths=np.array([1])), {"L": 2})["y"]
    assert (result == 2.0).all()


def test_a_token_that_scores_log_3_higher_counts_three_times() -> None:
    given = cache()
    # Scores are divided by sqrt(128): 128 ones times x give ln 3.
    given["k"][5, 0, 1] = np.log(3) / np.sqrt(128)
    result, _ = exact(given, {"L": 2})["y"]
    assert np.allclose(result, (2 + 3 * 4) / 4, rtol=1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_inputs_hold_the_shortest_and_the_longest_sequence_in_pages_of_their_own(seed: int) -> None:
    made = inputs(SIZES, np.random.default_rng(seed), "drawn")
    lengths, table = made["lengths"], made["table"]
    assert {1, 40} <= set(lengths) and lengths.min() >= 1 and lengths.max() == 40
    for length, row in zip(lengths, table, strict=True):
        used = -(-length // 16)
        assert (row[:used] >= 0).all() and (row[used:] == -1).all()
    owned = table[table >= 0]
    assert len(set(owned)) == len(owned) and owned.max() < SIZES["P"]
    last = table[lengths.argmax(), 2]
    assert (np.abs(made["v"][last, :, 8:]) == 1e30).all() and np.abs(made["v"][last, :, :8]).max() < 10


def test_steep_inputs_score_where_exp_overflows_float() -> None:
    made = inputs(SIZES, np.random.default_rng(3), "steep")
    longest = made["lengths"].argmax()
    keys = made["k"][made["table"][longest, 0], 0]
    assert (made["q"][longest, 0] @ keys.T / np.sqrt(128)).max() > 88.8


@lru_cache(maxsize=4)
def mnemonics(arch: str) -> list[str]:
    """Return the instructions of the first launch for eight query heads."""
    task, variant = find_kernel("paged_attention")
    case = plan(task, variant, "large", [1], ["forward"])[0]
    built = build_case(Subject(task, variant, from_file(task.source(variant)), arch), case)
    return [item.mnemonic for item in parse_assembly(built.assembly_text).functions[variant.entry].instructions]


@needs_clang
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_scores_are_summed_by_moves_in_the_addition_and_nothing_is_selected(arch: str) -> None:
    names = mnemonics(arch)
    # Four loads a page: 4 + 2 + 1 additions each; the selections that are left mask tokens beyond the end.
    assert names.count("v_add_f32_dpp") >= 28
    assert names.count("v_cndmask_b32_e64") < 14
    assert names.count("global_load_dwordx4") == 8 + 4 + 4 + 4  # queries, K before the loop, V and K in it


@pytest.mark.parametrize("name", ["paged_attention", "paged_attention_one_pass"])
def test_no_lds_access_conflicts(name: str) -> None:
    (run,) = load_measured(find_kernel(name)[0].folder)["runs"]
    assert run["counts"][name]["lds_conflicts"] == 0


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ("lane / ROW < cache.length ?", "lane / ROW < cache.length - (cache.length > 1) ?", "wrong_result"),
        ("cache.table[page < end ? page : end - 1]", "cache.table[page]", "out_of_range"),
    ],
    ids=["last token left out", "page numbers beyond the end"],
)
def test_faults_at_the_end_of_a_sequence_are_found(tmp_path: Path, old: str, new: str, check: str) -> None:
    task, variant = find_kernel("paged_attention_one_pass")
    text = task.source(variant).read_text("utf-8")
    assert text.count(old) == 1
    (tmp_path / "kernel.hip").write_text(text.replace(old, new))
    (tmp_path / "lanes.h").write_text((task.folder / "lanes.h").read_text("utf-8"))
    report = verify_kernel(
        path=str(tmp_path / "kernel.hip"), task=str(task.path), variant=variant.name, arch="gfx950",
        seeds=[1], orders=["forward"], check_workgroups=0, threads=1,
    )  # fmt: skip
    assert report.verdict == "FAIL" and check in {finding.check for finding in report.findings}
