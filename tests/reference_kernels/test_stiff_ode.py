"""What the stiff network computes, what its README says of occupancy, and which faults verification sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kbserver.ops import compile_kernel
from kbserver.runs.measured import load_measured
from kbserver.runs.references.stiff_ode import exact, inputs
from kbserver.runs.task import find_kernel
from tests.reference_kernels.broken import checks_of
from tests.toolchain.clang import needs_clang


def test_one_reaction_takes_from_two_species_and_gives_to_two() -> None:
    # 0 + 1 -> 2 + 3 at the rate 2 (1 + 1 * 0.5) = 3: the flux of 1 and 2 is 6, half a unit of time 3.
    given = {
        "a": np.array([2.0]), "b": np.array([1.0]), "temperature": np.array([0.5]),
        "y0": np.array([[1.0, 2.0, 4.0, 8.0]]), "reactants": np.array([[0, 1]]),
        "starts": np.array([0, 0, 1, 1, 2, 3, 3, 4, 4]), "terms": np.zeros(4, int), "weights": np.ones(4, int),
    }  # fmt: skip
    y, magnitude = exact(given, {"R": 1, "T": 1, "dt": 0.5})["y"]
    assert np.allclose(y, [[1 / (1 + 3), 4 / (2 + 3), 4 + 3, 8 + 3]], rtol=1e-15)
    assert (magnitude == y * (2 + 18)).all()


def test_tables_are_ragged_and_reactions_have_two_different_reactants_and_products() -> None:
    sizes = {"Z": 2, "S": 128, "R": 896, "T": 6}
    made = inputs(sizes, np.random.default_rng(4), "drawn")
    lengths = np.diff(made["starts"])
    assert len(lengths) == 256 and lengths.sum() == 4 * 896
    assert np.median(lengths) < 8 and lengths.max() > 200
    rows = np.repeat(np.arange(256), lengths)
    for side in (0, 1):
        pairs = rows[rows % 2 == side], made["terms"][rows % 2 == side]
        assert (np.bincount(pairs[1], minlength=896) == 2).all()
        assert len(set(zip(*map(np.ndarray.tolist, pairs), strict=True))) == 2 * 896
    assert (made["reactants"][:, 0] != made["reactants"][:, 1]).all()


def test_float64_stays_a_thousand_times_inside_the_bound() -> None:
    sizes = {"Z": 2, "S": 24, "R": 72, "T": 6, "dt": 0.01}
    made = inputs(sizes, np.random.default_rng(5), "drawn")
    made["temperature"] = np.array([0.6, 1.9])
    y, magnitude = exact(made, sizes)["y"]
    wide = {name: value.astype(np.longdouble) if value.dtype == float else value for name, value in made.items()}
    rates = wide["a"] * (1 + wide["b"] * wide["temperature"][:, None])
    better, (first, second) = wide["y0"], wide["reactants"].T
    table = np.zeros((48, 72), np.longdouble)
    np.add.at(table, (np.repeat(np.arange(48), np.diff(wide["starts"])), wide["terms"]), wide["weights"])
    for _ in range(6):
        sums = (rates * better[:, first] * better[:, second]) @ table.T
        dt = np.longdouble(0.01)
        better = better * (better + dt * sums[:, 0::2]) / (better + dt * sums[:, 1::2])
    assert (np.abs(better - y) <= 2.0**-52 * magnitude / 1000).all()


def test_staging_saves_requests_and_packing_saves_work() -> None:
    (run,) = load_measured(find_kernel("stiff_ode")[0].folder)["runs"]
    counts = {name.removeprefix("stiff_ode_"): one for name, one in run["counts"].items()}
    assert counts["naive"]["vmem"] > 100 * counts["staged"]["vmem"]
    assert counts["cooperative"]["active_lanes"] > 20 * counts["staged"]["active_lanes"]
    # Many active lanes are no less work: rows of seven entries keep few of 64 lanes busy with something useful.
    assert 0.9 * counts["staged"]["valu"] < counts["cooperative"]["valu"] > 5 * counts["packed"]["valu"]


@needs_clang
def test_rates_in_registers_let_twice_as_many_workgroups_share_a_compute_unit_of_gfx942() -> None:
    # 64 KiB hold two workgroups of 24,840 bytes and four of 15,888; each puts one wavefront on a SIMD.
    for name, lds_bytes, waves in (("packed", 24_840, 2), ("registers", 15_888, 4)):
        (kernel,) = compile_kernel(name=f"stiff_ode_{name}", arch="gfx942", shape="zones").kernels
        assert (kernel.lds_bytes, kernel.scratch_bytes, kernel.occupancy.waves_per_simd) == (lds_bytes, 0, waves)


@needs_clang
@pytest.mark.parametrize(
    ("name", "old", "new", "check"),
    [
        (
            "stiff_ode_staged",
            "zone.y[both >> 8];\n        }\n        __syncthreads();",
            "zone.y[both >> 8]; }",
            "lds_race",
        ),
        ("stiff_ode_cooperative", "end = zone.start[row + 1];", "end = zone.start[row + 1] - 1;", "wrong_result"),
        ("stiff_ode_packed", "    value += moved<0x141, 0xf>(value);", "    //", "wrong_result"),
        ("stiff_ode_registers", "uint16_t(first | second << 8);", "uint16_t(first | first << 8);", "wrong_result"),
    ],
    ids=["no barrier before the sums", "last entry of a row", "half of the lanes not added", "wrong reactant"],
)
def test_faults_are_found(tmp_path: Path, name: str, old: str, new: str, check: str) -> None:
    assert check in checks_of(name, old, new, tmp_path)
