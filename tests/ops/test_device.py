"""`kb device`: the right product or a named problem, and each difference from the facts with what to trust."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import UnknownName, UsageError
from kbserver.core.paths import Roots
from kbserver.ops import device_info, operations
from kbserver.ops.device import DeviceInfo
from kbserver.render import render, render_plain

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "rocminfo"

# file -> GPUs as (arch, product, CUs, LDS bytes), codes of the problems
EXPECTED = {
    "mi355x.txt": ([("gfx950", "MI355X", 256, 163840)], []),
    "mi308x-generic-name.txt": ([("gfx942", "MI308X", 80, 65536)], []),
    "mi300x-old-caches.txt": ([("gfx942", "MI300X", 304, 65536)], []),
    "mi300x-cpx-shared-uuid.txt": ([("gfx942", "MI300X", 38, 65536)] * 2, ["shared_uuid"]),
    "gfx942-unknown-chip-id.txt": ([("gfx942", None, 304, 65536)], ["unknown_chip_id"]),
    "early-stepping-gfx940.txt": (
        [("gfx940", "MI300A", 228, 65536)],
        ["no_reference_data", "arch_differs_from_product"],
    ),
    "gfx1100-wsl-khz.txt": ([("gfx1100", None, 96, 65536)], ["no_reference_data", "clock_in_khz"]),
    "npu-is-last.txt": ([("gfx1151", None, 40, 65536)], ["no_reference_data"]),
    "mi355x-cut-before-group.txt": ([("gfx950", "MI355X", 256, None)], ["incomplete_text", "lds_not_stated"]),
    "mi355x-garbled-group.txt": ([("gfx950", "MI355X", 256, None)], ["lds_not_stated", "garbled_value"]),
    "mi355x-stitched.txt": ([("gfx950", "MI355X", 256, 163840)], ["incomplete_text"]),
    "cpu-only.txt": ([], ["no_gpu"]),
    "error-not-loaded.txt": ([], ["no_gpu", "driver_not_loaded"]),
    "error-permission-denied.txt": ([], ["no_gpu", "kfd_permission_denied"]),
    "error-no-such-file.txt": ([], ["no_gpu", "kfd_missing"]),
    "error-invalid-argument.txt": ([], ["no_gpu", "kfd_invalid_argument"]),
    "error-cannot-allocate.txt": ([], ["no_gpu", "kfd_out_of_memory"]),
    "error-out-of-resources.txt": ([], ["no_gpu", "out_of_resources"]),
    "error-wsl-assert.txt": ([], ["no_gpu", "wsl_assertion", "wsl"]),
}


def summary(result: DeviceInfo) -> tuple[list[tuple[object, ...]], list[str]]:
    gpus = [(gpu.arch, gpu.product, gpu.compute_units, gpu.lds_bytes) for gpu in result.gpus]
    return gpus, [problem.code for problem in result.problems]


@pytest.mark.parametrize("name", EXPECTED)
def test_each_fixture_gives_its_gpus_and_problems(name: str) -> None:
    assert summary(device_info(path=str(FIXTURES / name))) == EXPECTED[name]


def of(name: str) -> DeviceInfo:
    return device_info(path=str(FIXTURES / name))


def test_without_a_gpu_the_answer_is_no_with_the_reason_and_the_fix() -> None:
    result = of("error-permission-denied.txt")
    assert operations()["device_info"].says_no(result)
    first = result.problems[0]
    assert first.message.startswith("no usable GPU: /dev/kfd exists")
    assert "render" in first.hint and "--device=/dev/kfd" in first.hint


def test_the_marketing_name_does_not_decide_the_product() -> None:
    gpu = of("gfx942-unknown-chip-id.txt").gpus[0]
    assert (gpu.marketing_name, gpu.product, gpu.chip_id) == ("AMD Instinct MI300X", None, "0x74ff")


def test_a_virtual_function_is_the_product_and_is_flagged() -> None:
    result = device_info(text="Agent 1\nName: gfx950\nDevice Type: GPU\nChip ID: 30128(0x75b0)\n*** Done ***\n")
    assert (result.gpus[0].product, result.gpus[0].virtual_function) == ("MI350X", True)
    assert "virtual_function" in [problem.code for problem in result.problems]


def test_partitions_are_inferred_from_the_compute_units_and_said_to_be() -> None:
    partition = of("mi300x-cpx-shared-uuid.txt").gpus[0].partition
    assert partition == "looks like CPX, one XCD per agent: MI300X has 304 CUs in 8 XCDs, this agent 38"


def test_a_clock_in_khz_is_converted_and_reported() -> None:
    assert of("gfx1100-wsl-khz.txt").gpus[0].max_clock_mhz == 2482


def test_cache_figures_of_old_releases_lose_against_the_reference() -> None:
    found = {one.field: one for one in of("mi300x-old-caches.txt").differences_from_reference}
    assert set(found) == {"l1_bytes", "l2_bytes", "l3_bytes", "cacheline_bytes"}
    assert {one.trust for one in found.values()} == {"reference"}
    l2 = found["l2_bytes"]
    assert (l2.reported, l2.reference, l2.fact) == (33554432, 4194304, "fact:gfx942.caches.l2_bytes_per_xcd")
    assert "sum over 8 XCDs" in l2.explanation
    assert (found["l3_bytes"].reported, found["l3_bytes"].reference) == (None, 268435456)
    assert l2.sources


def test_the_compute_units_of_a_partition_are_trusted_over_the_board() -> None:
    (one,) = of("mi300x-cpx-shared-uuid.txt").differences_from_reference
    assert (one.field, one.gpus, one.reported, one.reference, one.trust) == (
        "compute_units", (0, 1), 38, 304, "reported",
    )  # fmt: skip


def test_an_lds_size_unlike_the_reference_is_shown_unsettled() -> None:
    text = (FIXTURES / "mi355x.txt").read_text("utf-8").replace("160(0xa0) KB", "64(0x40) KB")
    (one,) = device_info(text=text).differences_from_reference
    assert (one.field, one.reported, one.reference, one.trust) == ("lds_bytes", 65536, 163840, "unsettled")


def test_a_target_without_facts_is_not_compared() -> None:
    result = of("early-stepping-gfx940.txt")
    assert result.differences_from_reference == []
    assert result.gpus[0].reference == "no reference data for gfx940"
    assert "Nothing was compared" in render_plain(render(result))


def test_every_record_is_the_product_it_is_filed_under(roots: Roots) -> None:
    stems = sorted(path.stem for path in (roots.content / "gpu_arch" / "rocminfo").glob("*.yaml"))
    assert stems == ["mi210", "mi250x", "mi300a", "mi300x", "mi308x", "mi325x", "mi350x", "mi355x"]
    for stem in stems:
        result = device_info(product=stem)
        assert result.gpus[0].product == stem.upper()
        assert result.sources[0].kind == "measured"


def test_a_product_without_a_record_is_an_error_with_those_that_have_one() -> None:
    with pytest.raises(UnknownName, match="device record"):
        device_info(product="MI358X")
    with pytest.raises(UnknownName, match="product"):
        device_info(product="MI999")


@pytest.mark.parametrize("path", ["/nowhere/rocminfo.txt", "/dev/zero", "/", "a\x00b"])
def test_what_is_not_a_readable_file_is_refused(path: str) -> None:
    with pytest.raises(UsageError):
        device_info(path=path)


def test_two_origins_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="one of"):
        device_info(text="Name: gfx950", product="MI355X")


def test_the_text_form_names_each_gpu_problem_and_difference() -> None:
    text = render_plain(render(of("mi300x-cpx-shared-uuid.txt")))
    assert "2 GPUs, 1 CPU agent in mi300x-cpx-shared-uuid.txt (runtime 1.15, driver 6.12.0)." in text
    assert "Problem shared_uuid (GPUs 0, 1)" in text
    assert "reported 38, reference 304 [fact:gfx942.mi300x.compute.cus]; trust the report" in text
    unknown = render_plain(render(of("mi355x-cut-before-group.txt")))
    assert "unknown" in unknown and "64 KiB" not in unknown
