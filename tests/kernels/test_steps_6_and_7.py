"""Steps 6 and 7 by counted work, and the reading of 8 bytes in the tile of the case study (lesson:0014)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.ops import profile_kernel, verify_kernel
from kbserver.runs.profile_report import ProfileReport
from tests.toolchain.clang import ROOT, compile_hip, needs_clang

pytest.importorskip("llvmlite")
pytestmark = needs_clang

KERNELS = ROOT / "kernels"
READS = """    uint32_t p[3] = {ds_read_b32<offset>(address), ds_read_b32<offset + 4>(address),
                     ds_read_b32<offset + 8>(address)};
    wait_lds();
    arrived(p[0], p[1], p[2]);
"""
WIDE_READS = """    uint64_t two;
    asm volatile("ds_read_b64 %0, %1 offset:%2" : "=v"(two) : "v"(address), "n"(offset));
    uint32_t third = ds_read_b32<offset + 8>(address);
    wait_lds();
    asm volatile("" : "+v"(two), "+v"(third));
    const uint32_t p[3] = {(uint32_t)two, (uint32_t)(two >> 32), third};
"""


def paper(**which: str) -> ProfileReport:
    return profile_kernel(shape="paper", threads=2, **which)


def test_an_iteration_of_step6_dot2_is_dot_products_and_nothing_to_unpack() -> None:
    loop = compile_hip(KERNELS / "step6_dot2.hip", "gfx950").largest_block()
    assert loop["v_dot2c_f32_bf16_e32"] + loop["v_dot2c_f32_bf16"] == 300
    assert loop["v_and_b32"] == 0
    assert not any(name.startswith("ds_read") and "b64" not in name for name in loop)


def test_an_iteration_of_step6_packed_is_500_packed_fma_and_144_unpacks() -> None:
    loop = compile_hip(KERNELS / "step6_packed.hip", "gfx950").largest_block()
    assert loop["v_pk_fma_f32"] == 500
    assert sum(count for name, count in loop.items() if name.startswith(("v_and_b32", "v_lshlrev_b32"))) == 144


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("step6_dot2", "gfx950"),
        ("step6_packed", "gfx950"),
        pytest.param("step6_packed", "gfx942", marks=pytest.mark.slow),
        ("step7_toeplitz", "gfx950"),
        ("step7_toeplitz", "gfx942"),
    ],
)
def test_steps_6_and_7_compute_the_convolution_on_the_small_and_on_an_unseen_shape(name: str, arch: str) -> None:
    report = verify_kernel(name=name, arch=arch, seeds=[1], orders=["seeded"], threads=1)
    assert (report.verdict, report.findings) == ("PASS", [])
    assert {line.shape for line in report.launches} == {"tiny", "held-out"}


@pytest.mark.slow
def test_step7_makes_two_planes_of_a_wavefront_s_share_with_150_matrix_operations_and_no_conflicts() -> None:
    report = paper(name="step7_toeplitz")
    assert report.per_wave["SQ_INSTS_MFMA"] == 150
    assert report.per_wave["SQ_INSTS_VALU"] - 150 < 170
    assert report.lds is not None and report.lds.conflict_passes == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["step6_dot2", "step6_packed"])
def test_step6_issues_less_than_two_fifths_of_the_valu_instructions_and_has_no_conflicts(name: str) -> None:
    before, after = paper(name="step5_sgb"), paper(name=name)
    assert after.lds is not None and after.lds.conflict_passes == 0 and after.lds.misaligned == 0
    ratio = after.per_wave["SQ_INSTS_VALU"] * after.waves / (before.per_wave["SQ_INSTS_VALU"] * before.waves)
    assert ratio < 0.4


@pytest.mark.slow
def test_reads_of_8_bytes_in_the_tile_of_step5_are_all_unaligned_and_conflict_less(tmp_path: Path) -> None:
    text = (KERNELS / "step5_sgb.hip").read_text("utf-8")
    assert text.count(READS) == 1
    wide = tmp_path / "wide.hip"
    wide.write_text(text.replace(READS, WIDE_READS), "utf-8")
    assert verify_kernel(path=str(wide), variant="step5_sgb", seeds=[1], threads=1).verdict == "PASS"
    before, after = paper(name="step5_sgb").lds, paper(path=str(wide), variant="step5_sgb").lds
    assert before is not None and after is not None
    assert (before.active_passes, before.conflict_passes, before.misaligned) == (1120.25, 371.25, 0)
    assert (after.active_passes, after.conflict_passes, after.misaligned) == (655.25, 123.75, 108.75)
