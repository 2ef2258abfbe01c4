"""Texts as people paste them: every fixture gives what it states, and nothing more."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import UsageError
from kbserver.hardware.rocminfo import Rocminfo, gfx_name, lds_bytes, memory_bytes, parse
from kbserver.hardware.rocminfo_text import MAX_TEXT_BYTES, decode

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "rocminfo"


def text_of(name: str) -> str:
    return (FIXTURES / name).read_text("utf-8")


def read(name: str) -> Rocminfo:
    return parse(text_of(name), name)


def test_a_complete_text_gives_every_field_of_the_gpu() -> None:
    said = read("mi355x.txt")
    cpu, gpu = said.agents
    assert (said.runtime_version, said.driver, said.complete) == ("1.15", "6.12.0", True)
    assert (cpu.kind, cpu.name, cpu.uuid) == ("CPU", "Example CPU 64-Core", None)
    assert (gpu.number, gpu.kind, gpu.name, gpu.chip_id) == (2, "GPU", "gfx950", 0x75A3)
    assert (gpu.compute_units, gpu.simds_per_cu, gpu.wavefront_size, gpu.max_waves_per_cu) == (256, 4, 64, 32)
    assert (gpu.l1_bytes, gpu.l2_bytes, gpu.l3_bytes, gpu.cacheline_bytes) == (32768, 4194304, 268435456, 128)
    assert (lds_bytes(gpu), memory_bytes(gpu), gpu.clock_reported) == (163840, 196608 * 1024, 2400)
    assert gpu.isas == ("amdgcn-amd-amdhsa--gfx950:sramecc+:xnack-",)


@pytest.mark.parametrize(
    ("name", "repair"),
    [
        ("mi355x-colours-and-scroll-marks.txt", "terminal scroll marks removed"),
        ("mi355x-one-line.txt", "lost newlines put back"),
        ("mi355x-chinese-labels.txt", None),
    ],
)
def test_a_damaged_text_gives_the_same_gpu_as_the_whole_one(name: str, repair: str | None) -> None:
    whole, damaged = read("mi355x.txt").agents[1], read(name)
    assert [agent for agent in damaged.agents if agent.kind == "GPU"] == [whole]
    assert repair is None or repair in damaged.repairs


def test_sizes_that_were_condensed_by_hand_are_read() -> None:
    (gpu,) = read("mi355x-condensed-pools.txt").agents
    assert (lds_bytes(gpu), memory_bytes(gpu)) == (163840, 196608 * 1024)
    assert gfx_name(gpu) == "gfx950"


def test_without_a_group_pool_the_lds_size_is_unknown() -> None:
    gpu = read("mi355x-cut-before-group.txt").agents[1]
    assert lds_bytes(gpu) is None


def test_a_number_that_the_end_of_the_text_may_have_cut_is_not_read() -> None:
    assert text_of("mi355x-cut-in-number.txt").endswith("Compute Unit:            25")
    assert read("mi355x-cut-in-number.txt").agents[1].compute_units is None


def test_a_size_whose_decimal_and_hexadecimal_differ_is_left_out() -> None:
    gpu = read("mi355x-garbled-group.txt").agents[1]
    assert lds_bytes(gpu) is None
    assert gpu.garbled == ("size",)
    assert gpu.marketing_name == "AMD Instinct MI355X"


def test_an_agent_without_its_head_is_still_a_gpu_with_the_isa_it_names() -> None:
    gpu, *rest = read("mi355x-stitched.txt").agents
    assert rest == []
    assert (gpu.kind, gpu.name, gfx_name(gpu)) == ("GPU", None, "gfx950")


def test_an_npu_after_the_gpu_is_not_a_gpu() -> None:
    assert [agent.kind for agent in read("npu-is-last.txt").agents] == ["CPU", "GPU", "DSP"]


def test_two_group_pools_of_different_size_are_not_decided() -> None:
    pools = ("    Segment: GROUP\n    Size: 64(0x40) KB", "    Segment: GROUP\n    Size: 160(0xa0) KB")
    one = f"Agent 2\n  Name: gfx950\n  Pool 1\n{pools[0]}\n"
    assert lds_bytes(parse(one).agents[0]) == 65536
    assert lds_bytes(parse(f"{one}  Pool 2\n{pools[1]}\n").agents[0]) is None


def test_windows_line_ends_quotes_and_full_width_colons_do_not_matter() -> None:
    lines = ("> Agent 3", ">   Name：      gfx942", ">   Compute Unit:   304", ">   Chip ID:   29857(0x74a1)", "")
    (gpu,) = parse("\r\n".join(lines)).agents
    assert (gpu.name, gpu.compute_units, gpu.chip_id) == ("gfx942", 304, 0x74A1)


@pytest.mark.parametrize("text", ["", "  \n", "hello world\n", "Agent 1\nAgent 2\n", "{}", "Name\n" * 100])
def test_a_text_without_rocminfo_in_it_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


def test_thousands_of_agents_are_refused() -> None:
    with pytest.raises(UsageError, match="more than 1024 agents"):
        parse("Name: gfx950\n" * 2000)


@pytest.mark.parametrize(
    "text",
    ["/dev/kfd" * 100_000, " " * 1_000_000 + "x", "Pool 1: GROUP" + " " * 1_000_000 + "x", "\x1b]" * 500_000],
    ids=["kfd", "blanks", "pool", "escapes"],
)
def test_hostile_lines_end_in_an_answer(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


def test_a_huge_number_is_no_number() -> None:
    (gpu,) = parse("Name: gfx950\nCompute Unit: " + "9" * 100_000 + "\nUuid: GPU-1\n").agents
    assert gpu.compute_units is None
    assert gpu.garbled == ("compute_units",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_common_encodings_are_read(encoding: str) -> None:
    said = parse(decode("Name: gfx950\nMarketing Name: Carté\n".encode(encoding), "file"))
    assert (said.agents[0].name, said.agents[0].marketing_name) == ("gfx950", "Carté")


def test_binary_and_oversized_files_are_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="binary"):
        decode(b"\x7fELF\x00\x01\x02", "rocminfo.bin")
    with pytest.raises(UsageError, match="4 MiB"):
        decode(b"a" * (MAX_TEXT_BYTES + 1), "huge.txt")
