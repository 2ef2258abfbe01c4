"""Resource figures: what the compiler wrote, unknown where it wrote no number."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.toolchain.assembly import parse_assembly
from kbserver.toolchain.resources import kernel_resources, parse_remarks

# Occupancy of the 32,576 B kernel as LLVM 22 gives it: the LDS of a CU is 64 KiB before gfx950 and 160 KiB there.
OCCUPANCY_WITH_32576_BYTES = {"gfx90a": 2, "gfx942": 2, "gfx950": 5}


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_assembly_text_and_remarks_of_one_build_agree(shared_data: Path, arch: str) -> None:
    folder = shared_data / "profiles"
    program = parse_assembly((folder / f"generated-llvm22-{arch}-asm-with-amdhsa-metadata.s").read_text("utf-8"))
    remarks = parse_remarks((folder / f"generated-llvm22-{arch}-remarks-wg256.txt").read_text("utf-8"))
    assert set(remarks) == {kernel.name for kernel in program.kernels}
    for kernel in program.kernels:
        figures = kernel_resources(kernel)
        assert {key: getattr(figures, key) for key in remarks[kernel.name]} == remarks[kernel.name]
    limited = kernel_resources(program.functions["_Z11lds_limitedILi8144EEvPf"])
    assert limited.lds_bytes == 32576
    assert limited.compiler_waves_per_simd == OCCUPANCY_WITH_32576_BYTES[arch]


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_vgprs_are_not_the_rounded_sum_of_the_metadata(shared_data: Path, arch: str) -> None:
    text = (shared_data / "profiles" / f"generated-llvm22-{arch}-asm-mfma-with-amdhsa-metadata.s").read_text("utf-8")
    figures = kernel_resources(parse_assembly(text).functions["mfma_f16"])
    assert (figures.vgprs, figures.agprs, figures.total_vgprs) == (6, 16, 24)


def test_spills_and_scratch_are_read_from_remarks(shared_data: Path) -> None:
    text = (shared_data / "profiles" / "generated-llvm22-gfx950-remarks-spill.txt").read_text("utf-8")
    (figures,) = parse_remarks(text).values()
    assert (figures["vgprs"], figures["agprs"], figures["scratch_bytes"]) == (64, 64, 1060)
    assert figures["vgpr_spills"] == 264


def test_symbolic_figures_are_unknown_not_a_crash(shared_data: Path) -> None:
    text = (shared_data / "profiles" / "generated-llvm22-gfx950-remarks-unresolved-symbols-odd.txt").read_text("utf-8")
    figures = parse_remarks(text)["tile_transpose"]
    assert figures["vgprs"] is None and figures["compiler_waves_per_simd"] is None
    assert figures["lds_bytes"] == 16640


def test_a_kernel_without_figures_has_unknown_ones() -> None:
    text = ".type k,@function\nk:\n s_endpgm\n.size k, 4\n; NumVgprs: k.num_vgpr\n"
    text += ".amdhsa_kernel k\n.end_amdhsa_kernel\n"
    figures = kernel_resources(parse_assembly(text).kernels[0])
    assert figures.vgprs is None and figures.lds_bytes is None and figures.dynamic_stack is None
