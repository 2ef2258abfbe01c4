"""The five convolution kernels compile clean and come out with the figures that were published for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.yamlio import parse_yaml
from tests.toolchain.clang import ROOT, Compiled, assembles, compile_hip, needs_clang

pytestmark = needs_clang

KERNELS = ROOT / "kernels"
TASK = parse_yaml((KERNELS / "task.yaml").read_text("utf-8"), "kernels/task.yaml")
VARIANTS = {variant["name"]: variant for variant in TASK["variants"]}
BUILDS = [(name, arch) for name, variant in VARIANTS.items() for arch in variant["arches"]]


def built(name: str, arch: str = "gfx950", *flags: str) -> Compiled:
    result = compile_hip(KERNELS / f"{name}.hip", arch, flags)
    assert result.status == 0, result.diagnostics
    return result


@pytest.mark.parametrize(("name", "arch"), BUILDS)
def test_every_variant_compiles_without_a_warning_on_every_arch_it_names(name: str, arch: str) -> None:
    assert built(name, arch).diagnostics == ""


@pytest.mark.parametrize(("name", "arch"), BUILDS)
def test_its_inline_assembly_is_accepted_by_the_assembler(name: str, arch: str, tmp_path: Path) -> None:
    assert assembles(built(name, arch).text, arch, tmp_path) == ""


@pytest.mark.parametrize(("name", "arch"), BUILDS)
def test_no_variant_spills_or_uses_scratch(name: str, arch: str) -> None:
    result = built(name, arch)
    assert result.figure("private_segment_fixed_size") == 0
    assert result.figure("vgpr_spill_count") == 0
    assert result.figure("sgpr_spill_count") == 0


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("shape", ["tiny", "small"])
def test_every_variant_builds_for_the_small_shapes_with_the_defines_of_the_task(name: str, shape: str) -> None:
    sizes = TASK["shapes"][shape]
    flags = tuple(f"-D{macro}={sizes[size]}" for macro, size in VARIANTS[name]["defines"].items())
    assert built(name, "gfx950", *flags).diagnostics == ""


def test_the_paper_shape_is_what_the_sources_compile_without_defines() -> None:
    sizes = TASK["shapes"]["paper"]
    for variant in VARIANTS.values():
        flags = tuple(f"-D{macro}={sizes[size]}" for macro, size in variant["defines"].items())
        assert built(variant["name"], "gfx950", *flags).blocks == built(variant["name"], "gfx950").blocks


@pytest.mark.parametrize(("name", "vgprs", "waves"), [("step3_nchw_lds", 155, 3), ("step5_sgb", 86, 5)])
def test_registers_waves_and_lds_equal_the_published_figures(name: str, vgprs: int, waves: int) -> None:
    result = built(name)
    assert result.figure("vgpr_count") == vgprs
    assert result.figure("agpr_count") == 0
    assert result.waves_per_simd == waves
    assert result.figure("group_segment_fixed_size") == 32576
    assert result.figure("max_flat_workgroup_size") == 256


def test_step4_equals_the_published_lds_and_waves_and_needs_no_scratch() -> None:
    result = built("step4_mfma")
    assert result.figure("group_segment_fixed_size") == 21504
    assert result.waves_per_simd == 2
    assert result.figure("max_flat_workgroup_size") == 64
    assert "v_mfma_f32_4x4x4_16b_bf16" in result.mnemonics


@pytest.mark.parametrize("name", ["step3_nchw_lds", "step5_sgb"])
def test_an_iteration_is_150_fmac_45_lds_reads_and_90_unpacks(name: str) -> None:
    loop = built(name).largest_block()
    assert loop["v_fmac_f32"] == 150
    assert loop["ds_read_b32"] == 45
    assert loop["v_and_b32"] == 45
    assert 45 <= loop["v_lshlrev_b32"] <= 48  # 45 unpacks, the rest is addresses
    assert loop["v_cvt_pk_bf16_f32"] == 2


def test_step3_waits_once_for_all_reads_and_step5_once_a_row() -> None:
    assert built("step3_nchw_lds").largest_block()["s_waitcnt"] == 1
    assert built("step5_sgb").largest_block()["s_waitcnt"] == 15


def test_step5_carries_a_pair_of_scheduling_groups_for_each_filter_row() -> None:
    text = built("step5_sgb").text
    assert text.count("sched_group_barrier mask(0x00000100) size(3)") == 15
    assert text.count("sched_group_barrier mask(0x00000002) size(10)") == 15


@pytest.mark.parametrize("name", ["step3_nchw_lds", "step5_sgb"])
def test_rows_go_to_lds_without_a_register_and_are_waited_for_before_the_barrier(name: str) -> None:
    lines = [line.strip() for line in built(name).text.splitlines()]
    copies = [i for i, line in enumerate(lines) if line.startswith("global_load_lds_dword")]
    barriers = [i for i, line in enumerate(lines) if line == "s_barrier"]
    assert len(barriers) == 2
    assert barriers[0] < min(copies) <= max(copies) < barriers[1]
    assert "s_waitcnt vmcnt(0)" in lines[max(copies) : barriers[1]]
    for copy in copies:
        assert lines[copy - 1] == "s_nop 0"
        assert lines[copy - 2].startswith("s_mov_b32 m0, s")


@pytest.mark.parametrize("name", ["step3_nchw_lds", "step5_sgb"])
def test_no_value_read_from_lds_is_touched_before_its_wait(name: str) -> None:
    pending: set[str] = set()
    for line in built(name).text.splitlines():
        words = line.split(";")[0].replace(",", " ").split()
        if not words:
            continue
        if words[0] == "ds_read_b32":
            assert words[2] not in pending
            pending.add(words[1])
        elif words[0] == "s_waitcnt" and "lgkmcnt(0)" in words:
            pending.clear()
        else:
            assert not pending.intersection(words[1:]), line
    assert not pending


@pytest.mark.parametrize("name", ["step3_nchw_lds", "step5_sgb"])
def test_gfx90a_is_refused_with_the_instruction_that_it_lacks(name: str) -> None:
    result = compile_hip(KERNELS / f"{name}.hip", "gfx90a")
    assert result.status != 0
    assert "global_load_lds_dword exists on gfx942 and gfx950 only" in result.diagnostics


@pytest.mark.parametrize(("name", "vgprs"), [("step3_nchw_lds", 155), ("step5_sgb", 86)])
def test_gfx942_keeps_the_registers_and_its_64_kb_of_lds_leave_two_waves(name: str, vgprs: int) -> None:
    result = built(name, "gfx942")
    assert result.figure("vgpr_count") == vgprs
    assert result.waves_per_simd == 2
    assert "v_cvt_pk_bf16_f32" not in result.mnemonics


def test_without_the_reserve_the_tile_alone_is_allocated() -> None:
    result = built("step3_nchw_lds", "gfx950", "-DKB_LDS_BYTES=0")
    assert result.figure("group_segment_fixed_size") == 3 * 49 * 84 * 2
