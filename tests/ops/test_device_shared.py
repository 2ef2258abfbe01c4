"""The recorded real rocminfo texts: each gives what its notes say, or names what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.ops import device_info

INCOMPLETE = "incomplete_text"
NO_FACTS = "no_reference_data"
MI300X = ("gfx942", "MI300X", 304, 65536)

# file -> GPUs as (arch, product, CUs, LDS bytes), codes of the problems. Typed from the texts and their notes.
EXPECTED = {
    "error-hsakmt-alloc-out-of-resources": (
        [], ["no_gpu", "driver_not_loaded", "out_of_resources", "hsakmt_allocation_failed"],
    ),
    "error-libkmod-then-not-loaded-truncated": ([], ["no_gpu", "driver_not_loaded"]),
    "error-rock-not-loaded": ([], ["no_gpu", "driver_not_loaded"]),
    "error-rock-not-loaded-then-cpu-agent-truncated": ([], ["no_gpu", "driver_not_loaded"]),
    "error-wsl-assert-abort": ([], ["no_gpu", "wsl_assertion", "wsl"]),
    "error-wsl-out-of-resources": ([], ["no_gpu", "out_of_resources", "wsl"]),
    "gfx1030-rx6650xt-frozen-then-rerun": ([("gfx1030", None, 32, 65536)], [NO_FACTS]),
    "gfx1100-wsl2-clock-in-khz-no-uuid": ([("gfx1100", None, 96, 65536)], [NO_FACTS, "clock_in_khz"]),
    "gfx1151-strix-halo-with-aie-agent": ([("gfx1151", None, 40, 65536)], [NO_FACTS]),
    "gfx900-mi25-multi-blank-uuid": ([("gfx900", None, 64, 65536)] * 7, [NO_FACTS]),
    "gfx906-newlines-lost-one-line-truncated": (
        [("gfx906", None, None, 65536), ("gfx906", None, None, None)], [INCOMPLETE, NO_FACTS, "lds_not_stated"],
    ),
    "gfx906-vega20-2019-old-format-ansi": ([("gfx906", None, 60, 65536)] * 8, [NO_FACTS]),
    "gfx90a-mi210-x4-terminal-scrollback-marks": (
        [("gfx90a", "MI210", 104, 65536)] * 3 + [("gfx90a", "MI210", 104, None)], [INCOMPLETE, "lds_not_stated"],
    ),
    "gfx90a-mi250x-lumi-one-gcd": ([("gfx90a", "MI250X", 110, 65536)], []),
    "gfx90a-mi250x-missing-pools-and-isa": ([("gfx90a", "MI250X", 110, None)], ["lds_not_stated"]),
    "gfx941-docs-example-garbled": ([("gfx941", "MI300X", 304, 65536)], [NO_FACTS, "arch_differs_from_product"]),
    "gfx942-mi300a-a0-reports-gfx940": (
        [("gfx940", "MI300A", 228, 65536)], [NO_FACTS, "arch_differs_from_product"],
    ),
    "gfx942-mi300x-chinese-translated-labels": ([MI300X], [INCOMPLETE]),
    "gfx942-mi300x-cpx-two-partitions": ([("gfx942", "MI300X", 38, 65536)] * 2, [INCOMPLETE, "shared_uuid"]),
    "gfx942-mi300x-early-rocm6-l1-16-l2-8192": ([MI300X], [INCOMPLETE]),
    "gfx942-mi300x-x4-l2-32768": ([MI300X] * 4, []),
    "gfx942-mi308x-single-agent": ([("gfx942", "MI308X", 80, 65536)], []),
    "gfx942-mi325x-hand-condensed": ([("gfx942", "MI325X", 304, 65536)], [INCOMPLETE]),
    "gfx950-mi350x-issue-form-one-line": (
        [("gfx950", None, None, None)], [INCOMPLETE, "chip_id_not_stated", "lds_not_stated"],
    ),
    "gfx950-mi350x-vf-stitched-truncated": (
        [("gfx950", "MI350X", 256, 163840), ("gfx950", "MI350X", 256, None)],
        [INCOMPLETE, "virtual_function", "lds_not_stated"],
    ),
    "gfx950-mi355x-cpx-beside-spx-trimmed": (
        [("gfx950", None, 256, None)] * 2 + [("gfx950", None, 32, None)] * 2,
        [INCOMPLETE, "chip_id_not_stated", "lds_not_stated"],
    ),
    "gfx950-mi355x-group-160kb": ([("gfx950", "MI355X", 256, 163840)], [INCOMPLETE]),
    "gfx950-mi355x-stitched-truncated": ([("gfx950", "MI355X", 256, None)], [INCOMPLETE, "lds_not_stated"]),
}  # fmt: skip

# file -> fields that differ from the fact table
DIFFERING = {
    "gfx90a-mi250x-lumi-one-gcd": {"compute_units", "cacheline_bytes"},
    "gfx942-mi300x-chinese-translated-labels": {"l1_bytes", "l2_bytes", "l3_bytes", "cacheline_bytes"},
    "gfx942-mi300x-cpx-two-partitions": {"compute_units", "max_clock_mhz", "cacheline_bytes"},
    "gfx942-mi300x-early-rocm6-l1-16-l2-8192": {"l1_bytes", "l2_bytes", "l3_bytes", "cacheline_bytes"},
    "gfx942-mi300x-x4-l2-32768": {"l2_bytes", "cacheline_bytes"},
    "gfx942-mi308x-single-agent": set(),
    "gfx942-mi325x-hand-condensed": set(),
    "gfx950-mi355x-group-160kb": set(),
    "gfx941-docs-example-garbled": set(),
}


def test_the_table_names_every_recorded_text(shared_data: Path) -> None:
    assert sorted(EXPECTED) == sorted(path.stem for path in (shared_data / "rocminfo").glob("*.txt"))


@pytest.mark.parametrize("name", EXPECTED)
def test_each_recorded_text_gives_its_gpus_and_problems(name: str, shared_data: Path) -> None:
    result = device_info(path=str(shared_data / "rocminfo" / f"{name}.txt"))
    gpus = [(gpu.arch, gpu.product, gpu.compute_units, gpu.lds_bytes) for gpu in result.gpus]
    assert (gpus, [problem.code for problem in result.problems]) == EXPECTED[name]


@pytest.mark.parametrize("name", DIFFERING)
def test_each_recorded_text_differs_where_its_notes_say(name: str, shared_data: Path) -> None:
    result = device_info(path=str(shared_data / "rocminfo" / f"{name}.txt"))
    assert {one.field for one in result.differences_from_reference} == DIFFERING[name]
