"""What the bucket tasks compute, and that verification sees an order that is not stable and a place taken twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kbserver.runs.measured import load_measured
from kbserver.runs.references import bucket_dispatch, bucket_sort
from kbserver.runs.task import find_kernel
from tests.reference_kernels.broken import checks_of
from tests.toolchain.clang import needs_clang

KEYS = np.array([2, 0, 2, 1])


def test_indices_come_in_the_order_of_their_keys_and_equal_keys_in_that_of_the_input() -> None:
    found = bucket_sort.exact({"keys": KEYS}, {"N": 4, "B": 4})
    assert found["offsets"].tolist() == [0, 1, 2, 4, 4]
    assert found["order"].tolist() == [1, 3, 0, 2]


def test_a_token_is_scaled_by_the_expert_of_its_bucket() -> None:
    given = {"keys": KEYS, "x": np.array([10, 20, 30, 40]), "scale": np.array([3, 5, 7])}
    found = bucket_dispatch.exact(given, {"N": 4, "B": 3})
    assert found["y"].tolist() == [70, 60, 210, 200]
    assert found["offsets"].tolist() == [0, 1, 2, 4]


def test_keys_are_skewed_and_in_one_family_nearly_all_the_same() -> None:
    sizes = {"N": 2500, "B": 24}
    drawn, one = (
        np.bincount(bucket_sort.inputs(sizes, np.random.default_rng(2), family)["keys"], minlength=24)
        for family in bucket_sort.FAMILIES
    )
    assert drawn.min() > 0 and 1.5 < drawn.max() / drawn.mean() < 5
    assert one.max() > 0.98 * 2500


def test_global_atomics_fall_from_two_a_key_to_one_a_bucket_and_workgroup() -> None:
    runs = load_measured(find_kernel("bucket_sort")[0].folder)["runs"]
    counts = {name: one for run in runs for name, one in run["counts"].items()}
    # 2,500 keys are three tiles; each of 24 buckets occurs in each tile, and there are two passes.
    assert counts["bucket_dispatch_naive"]["global_atomics"] == 2 * 2500
    assert counts["bucket_dispatch"]["global_atomics"] == 2 * 24 * 3
    assert "global_atomics" not in counts["bucket_sort"]
    assert counts["bucket_dispatch_merged"]["lds_conflicts"] == 0 < counts["bucket_dispatch"]["lds_conflicts"]


@needs_clang
@pytest.mark.parametrize(
    ("name", "old", "new", "check"),
    [
        ("bucket_sort", "+ below;", "+ uint32_t(__builtin_popcountll(same[item])) - 1 - below;", "wrong_result"),
        ("bucket_sort_direct", "histogram[thread] = 0;\n    __syncthreads();", "histogram[thread] = 0;", "lds_race"),
        (
            "bucket_dispatch",
            "histogram[thread] = atomicAdd(&cursors[thread], histogram[thread]);",
            "histogram[thread] = cursors[thread];",
            "unwritten_output",
        ),
        ("bucket_dispatch_merged", "ds_bpermute(4 * leader,", "ds_bpermute(leader,", "unwritten_output"),
    ],
    ids=["equal keys backwards", "no barrier after clearing", "places not reserved", "answer of another lane"],
)
def test_faults_are_found(tmp_path: Path, name: str, old: str, new: str, check: str) -> None:
    assert check in checks_of(name, old, new, tmp_path)
