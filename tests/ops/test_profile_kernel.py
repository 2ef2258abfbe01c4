"""profile_kernel end to end: a kernel of the case study, somebody's file, and calls that cannot be answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import CompileFailed, UnknownName, UsageError
from kbserver.ops import profile_kernel, read
from kbserver.ops.profile import read_sample
from kbserver.render import all as _all  # noqa: F401
from kbserver.render.document import render_plain
from kbserver.render.registry import render

ROOT = Path(__file__).resolve().parents[2]


def test_step_3_at_the_published_size_stands_beside_the_published_counters() -> None:
    report = profile_kernel("step3_nchw_lds", shape="paper", sample=4)
    assert (report.workgroups, report.waves, report.sampled_workgroups) == (30208, 120832, 4)
    differences = {one.counter: one.difference_percent for one in report.published}
    # Published figures are whole numbers of another build: within 5 %, conversions and addresses apart.
    assert {name: value for name, value in differences.items() if abs(value) > 5} == {
        "SQ_INSTS_VALU_CVT": -23.68,
        "SQ_INSTS_VALU_INT32": -23.86,
    }
    assert all(one.explanation for one in report.published if abs(one.difference_percent) > 1)
    per_wave = report.per_wave
    assert report.hot_loop.mnemonics["v_fmac_f32"] == 150
    assert report.hot_loop.iterations == 7.25  # 1,800 pairs: 29 wave iterations of four wavefronts
    # 48.25 stores clear the tile; 33.75 rows, 11 weight loads, two stores an iteration.
    assert per_wave["SQ_INSTS_VALU_FMA_F32"] == 7.25 * 150
    assert per_wave["SQ_INSTS_LDS"] == 7.25 * 45 + 48.25
    assert per_wave["SQ_INSTS_VMEM"] == 33.75 + 11 + 2 * 7.25
    assert report.lds.conflict_passes == 371.25  # 1,401,840 of 3,776 wavefronts
    assert report.lds.active_passes == 2 * 374.5 + 371.25


def test_every_part_of_a_profile_adds_up() -> None:
    report = profile_kernel("step3_nchw_lds", sample="all")
    assert report.exact_addresses
    assert report.per_wave["SQ_INSTS"] == sum(report.mix.values()) == 432.5
    memory = report.global_
    assert memory.requests == report.per_wave["SQ_INSTS_VMEM"] == memory.reads + memory.writes
    assert memory.bytes == memory.bytes_read + memory.bytes_written
    # 8 channels x 2 planes of 180 outputs of two bytes, over 64 wavefronts.
    assert memory.bytes_written == 8 * 2 * 180 * 2 / 64
    assert report.lds.accesses == report.lds.reads + report.lds.writes == 26.25
    assert report.hot_lines[0].source.startswith("step3_nchw_lds.hip:")
    assert report.to_json()["global"]["line_bytes"] == 128
    assert report.published == []  # published for another shape


def test_a_sample_estimates_what_all_workgroups_measure() -> None:
    whole, part = (profile_kernel("step1_naive", sample=sample) for sample in ("all", 3))
    assert part.per_wave == whole.per_wave
    assert not part.exact_addresses
    assert part.global_.lines == pytest.approx(whole.global_.lines, rel=0.1)
    assert any("3 of 12 workgroups" in note for note in part.notes)


def test_a_file_of_ones_own_is_profiled_as_a_variant(tmp_path: Path) -> None:
    text = (ROOT / "kernels" / "step3_nchw_lds.hip").read_text("utf-8")
    wide = text.replace("TILE_W = WIDTH + 2 * PAD", "TILE_W = WIDTH + 2 * PAD + 8")
    assert wide != text
    path = tmp_path / "mine.hip"
    path.write_text(wide, encoding="utf-8")
    report = profile_kernel(path=str(path), variant="step3_nchw_lds", sample="all")
    assert report.source == "mine.hip"
    # A pitch of 16 dwords: rows 0 and 2 of a half wavefront lie on the same banks, so the conflicts double.
    assert report.lds.conflict_passes > profile_kernel("step3_nchw_lds", sample="all").lds.conflict_passes


def test_the_text_names_target_counters_model_and_what_it_rests_on() -> None:
    report = profile_kernel("step3_nchw_lds", arch="gfx942")
    text = render_plain(render(report))
    for part in (
        "gfx942 (given)",
        "SQ_INSTS_VALU ",
        "32 banks, 2 phases, measured [shark-ai-lds]",
        "hot loop",
        "note: ",
    ):
        assert part in text
    assert f"run:{report.run_id}" in text


def test_a_recorded_profile_is_read_again() -> None:
    report = profile_kernel("step2_nhwc")
    text = read(f"run:{report.run_id}").text
    assert "kb profile of kernel:step2_nhwc" in text
    assert f"SQ_INSTS_VALU {report.per_wave['SQ_INSTS_VALU']:g}" in text


def test_a_file_that_does_not_compile_is_told_as_that(tmp_path: Path) -> None:
    path = tmp_path / "broken.hip"
    path.write_text("this is no kernel", encoding="utf-8")
    with pytest.raises(CompileFailed):
        profile_kernel(path=str(path), variant="step1_naive")


@pytest.mark.parametrize("sample", ["0", "-1", "some", "", "4097", "1e3", "99999999999999999999"])
def test_a_sample_is_a_number_of_workgroups_or_all(sample: str) -> None:
    with pytest.raises(UsageError):
        read_sample(sample)


def test_samples_that_are_right() -> None:
    assert read_sample("all") is None
    assert read_sample(" ALL ") is None
    assert (read_sample("7"), read_sample(4096)) == (7, 4096)


def test_wrong_calls_name_what_is_wrong() -> None:
    with pytest.raises(UnknownName):
        profile_kernel("step9")
    with pytest.raises(UnknownName):
        profile_kernel("step1_naive", shape="huge")
    with pytest.raises(UsageError, match="name or a file"):
        profile_kernel()
    with pytest.raises(UsageError, match="seed"):
        profile_kernel("step1_naive", seed=-1)
    with pytest.raises(UsageError, match="written for"):
        profile_kernel("step3_nchw_lds", arch="gfx90a")


def test_called_functions_and_private_memory_are_counted(tmp_path: Path) -> None:
    text = (ROOT / "kernels" / "step1_naive.hip").read_text("utf-8")
    for search, change in (
        (
            "namespace {\n",
            "__device__ __attribute__((noinline)) int row_of(int y) { return y & 3; }\nnamespace {\n",
        ),
        ("float sum = 0.0f;", "volatile float trail[4]; trail[row_of(y)] = 1; float sum = 0.0f;"),
    ):
        text = text.replace(search, change, 1)
    path = tmp_path / "my.hip"
    path.write_text(text)
    report = profile_kernel(path=str(path), variant="step1_naive", sample=100)
    # Every wavefront with outputs stores one dword a lane: 2,880 outputs are 45 full wavefronts of the grid's 48.
    assert report.scratch is not None
    assert (report.scratch.requests, report.scratch.bytes) == (45 / 48, 2880 * 4 / 48)
    assert report.per_wave["SQ_INSTS"] == sum(report.mix.values())
