"""Importing profiles: old and new columns, many passes, names with commas, values that cannot be, what is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from kbserver.core.errors import UsageError
from kbserver.ops import profile_kernel
from kbserver.render import render, render_plain
from kbserver.runs.profiler_import.read import import_profile
from kbserver.runs.profiler_import.report import ImportedKernel, ImportedProfile
from kbserver.runs.profiler_import.summary import short_name

NAME = 'void k<float, 4>(float*, "x", int) [clone .kd]'
NEW = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Process_Id","Grid_Size","Kernel_Name","Workgroup_Size",'
    '"LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value",'
    '"Start_Timestamp","End_Timestamp"\n'
)
OLD = "Correlation_Id,Dispatch_Id,Agent_Id,Grid_Size,Kernel_Name,Workgroup_Size,VGPR_Count,Counter_Name,Counter_Value\n"


def new_row(dispatch: int, counter: str, value: str, *, grid: int = 4096, agent: str = '"Agent 2"') -> str:
    name = NAME.replace('"', '""')
    return f'1,{dispatch},{agent},7,{grid},"{name}",256,0,0,8,0,16,"{counter}",{value},1000,{1000 + 2000 * dispatch}\n'


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def only_kernel(profile: ImportedProfile) -> ImportedKernel:
    assert profile.total_kernels == 1
    return profile.kernels[0]


def counter(kernel: ImportedKernel, name: str) -> tuple[float, float | None, str | None]:
    found = next(one for one in kernel.counters if one.name == name)
    return found.median, found.per_wave, found.unit


def test_counters_of_a_launch_are_put_together_and_divided_by_its_wavefronts(tmp_path: Path) -> None:
    rows = [
        new_row(1, "SQ_WAVES", "64"), new_row(1, "SQ_INSTS_VALU", "6400.000000"), new_row(1, "SQ_WAVE_CYCLES", "128"),
        new_row(2, "SQ_WAVES", "64"), new_row(2, "SQ_INSTS_VALU", "6528"), new_row(2, "FETCH_SIZE", "10"),
    ]  # fmt: skip
    profile = import_profile(str(write(tmp_path, "x_counter_collection.csv", NEW + "".join(rows))))
    kernel = only_kernel(profile)
    assert (kernel.name, kernel.short_name, kernel.dispatches) == (NAME, "k", 2)
    assert (kernel.waves, kernel.waves_from, kernel.grid, kernel.workgroup) == (64, "SQ_WAVES", 4096, 256)
    assert counter(kernel, "SQ_INSTS_VALU") == (6464.0, 101.0, None)
    assert counter(kernel, "SQ_WAVE_CYCLES") == (128.0, 2.0, "quad-cycles: 4 clocks each")
    assert counter(kernel, "FETCH_SIZE") == (10.0, None, "KB of 1,024 bytes, beyond L2")
    assert kernel.duration is not None and (kernel.duration.median_us, kernel.duration.total_us) == (3.0, 6.0)
    assert "all times are of runs with counters: counting changes them, use a kernel trace for times" in profile.notes
    assert profile.impossible == []


def test_old_columns_are_read_too(tmp_path: Path) -> None:
    text = OLD + '1,1,1,4096,"k(int)",256,8,"SQ_INSTS_LDS",640\n'
    kernel = only_kernel(import_profile(str(write(tmp_path, "old.csv", text))))
    assert (kernel.waves, kernel.waves_from) == (64, "grid and workgroup, wavefronts of 64")
    assert counter(kernel, "SQ_INSTS_LDS") == (640.0, 10.0, None)
    assert kernel.duration is None


def test_times_come_from_the_trace_when_there_is_one(tmp_path: Path) -> None:
    trace = (
        "Kind,Agent_Id,Dispatch_Id,Kernel_Name,Start_Timestamp,End_Timestamp,Private_Segment_Size,Group_Segment_Size,"
        "Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z\n"
    )
    rows = "".join(f'KERNEL_DISPATCH,1,{n},"{{}}",{10**18},{10**18 + 500 + n},0,1024,8,8,4,64,64,1\n' for n in range(3))
    name = NAME.replace('"', '""')
    write(tmp_path, "a_kernel_trace.csv", trace + rows.replace("{}", name))
    write(tmp_path, "a_counter_collection.csv", NEW + new_row(1, "SQ_WAVES", "64"))
    profile = import_profile(str(tmp_path))
    kernel = only_kernel(profile)
    assert [one.format for one in profile.files] == ["rocprofv3 counter_collection", "rocprofv3 kernel_trace"]
    assert kernel.duration is not None
    assert (kernel.duration.dispatches, kernel.duration.median_us) == (3, 0.501)
    assert kernel.grid == 4096


def test_one_column_a_channel_is_summed_and_merged_passes_do_not_confuse(tmp_path: Path) -> None:
    text = (
        "Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Arch_VGPR,Kernel_Name,TCC_HIT[0],TCC_HIT[1],"
        "SQ_INSTS_VMEM,Wave_Size_1,Correlation_ID_1,SQ_EMPTY\n"
        '0,1,128,64,0,4,"vecCopy(double*, int) (.kd)",3,4,2,64,0,\n'
    )
    profile = import_profile(str(write(tmp_path, "pmc_perf.csv", text)))
    kernel = only_kernel(profile)
    assert kernel.short_name == "vecCopy"
    assert {one.name: one.median for one in kernel.counters} == {"TCC_HIT_sum": 7.0, "SQ_INSTS_VMEM": 2.0}
    assert "1 counter cells are blank or no number and were left out" in profile.notes


@pytest.mark.parametrize(
    ("rows", "odd", "reason"),
    [
        ([("TCC_64B_READS", "-12")], "TCC_64B_READS", "cannot be negative"),
        ([("MemUnitBusyPercent", "303")], "MemUnitBusyPercent", "above 100 %"),
        ([("SQ_LDS_BANK_CONFLICT", "9"), ("SQ_LDS_IDX_ACTIVE", "8")], "SQ_LDS_BANK_CONFLICT", "more than SQ_LDS_IDX"),
        ([("SQ_WAVES", "8")], "SQ_WAVES", "the grid has 64 wavefronts"),
    ],
)
def test_values_that_cannot_be_are_flagged(tmp_path: Path, rows: list[tuple[str, str]], odd: str, reason: str) -> None:
    text = NEW + "".join(new_row(1, name, value) for name, value in rows)
    (found,) = import_profile(str(write(tmp_path, "odd.csv", text))).impossible
    assert (found.kernel, found.counter) == ("k", odd)
    assert reason in found.reason


def test_channels_are_left_out_where_their_sum_is_a_column_too(tmp_path: Path) -> None:
    text = "Dispatch_ID,Grid_Size,Kernel_Name,TCC_HIT[0],TCC_HIT[1],TCC_HIT_sum\n0,64,k,3,4,8\n"
    kernel = only_kernel(import_profile(str(write(tmp_path, "pmc_perf.csv", text))))
    assert [(one.name, one.median) for one in kernel.counters] == [("TCC_HIT_sum", 8.0)]


def test_several_rows_for_one_dispatch_are_summed_and_said(tmp_path: Path) -> None:
    rows = new_row(1, "SQ_WAVES", "32") + new_row(1, "SQ_WAVES", "32")
    profile = import_profile(str(write(tmp_path, "xcc.csv", NEW + rows)))
    assert counter(only_kernel(profile), "SQ_WAVES")[0] == 64.0
    assert any(note.startswith("several rows for one dispatch and counter (SQ_WAVES)") for note in profile.notes)
    assert profile.impossible == []


def test_wavefronts_that_were_summed_over_instances_are_named_as_such(tmp_path: Path) -> None:
    (found,) = import_profile(str(write(tmp_path, "x.csv", NEW + new_row(1, "SQ_WAVES", "512")))).impossible
    assert "8 times as many: summed over instances" in found.reason


def test_cycles_that_are_sums_over_xcds_are_explained_by_the_clock_they_would_mean(tmp_path: Path) -> None:
    # 32,000 cycles in 2 us are 16 GHz, 2 GHz an XCD of eight.
    profile = import_profile(str(write(tmp_path, "g.csv", NEW + new_row(1, "GRBM_GUI_ACTIVE", "32000"))))
    (note,) = [note for note in profile.notes if note.startswith("GRBM counters")]
    assert note.endswith("as it stands GRBM_GUI_ACTIVE of k would mean 16.0 GHz")


def test_requests_and_kilobytes_have_their_units(tmp_path: Path) -> None:
    rows = new_row(1, "TCC_EA0_RDREQ_sum", "10") + new_row(1, "FETCH_SIZE", "1280")
    profile = import_profile(str(write(tmp_path, "f.csv", NEW + rows)))
    assert (
        counter(only_kernel(profile), "TCC_EA0_RDREQ_sum")[2] == "requests of 32, 64 or 128 bytes beyond L2, not bytes"
    )
    (odd,) = profile.impossible
    assert (odd.counter, odd.value) == ("FETCH_SIZE", 1280.0) and "bytes taken for KB" in odd.reason


def test_an_end_before_the_start_is_flagged_and_not_a_duration(tmp_path: Path) -> None:
    text = NEW + new_row(1, "SQ_WAVES", "64").replace(",1000,3000", ",3000,1000")
    profile = import_profile(str(write(tmp_path, "t.csv", text)))
    assert [one.counter for one in profile.impossible] == ["duration"]
    assert only_kernel(profile).duration is None


@pytest.mark.parametrize("value", ["", "nan", "NaN", "inf", "n/a"])
def test_blank_and_unreadable_values_are_left_out_and_counted(tmp_path: Path, value: str) -> None:
    profile = import_profile(str(write(tmp_path, "b.csv", NEW + new_row(1, "SQ_INSTS_VALU", value))))
    assert only_kernel(profile).counters == []
    assert any("left out" in note for note in profile.notes)


def test_lds_of_zero_beside_lds_instructions_is_explained(tmp_path: Path) -> None:
    profile = import_profile(str(write(tmp_path, "l.csv", NEW + new_row(1, "SQ_INSTS_LDS", "5"))))
    assert any(note.startswith("LDS bytes 0 beside LDS instructions") for note in profile.notes)


def test_samples_give_shares_lanes_and_stall_reasons(tmp_path: Path) -> None:
    prefix = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
    text = (
        "Sample_Timestamp,Exec_Mask,Dispatch_Id,Instruction,Instruction_Comment,Correlation_Id,Wave_Issued_Instruction,"
        "Instruction_Type,Stall_Reason,Wave_Count\n"
        f'1,18446744073709551615,1,"s_waitcnt vmcnt(0)","/a/b/x.cpp:7",1,0,NO_INST,{prefix}WAITCNT,4\n'
        f'2,255,1,"s_waitcnt vmcnt(0)","/a/b/x.cpp:7",1,0,NO_INST,{prefix}WAITCNT,4\n'
        '3,1,1,"v_add_f32 v0, v1, v2","/a/b/x.cpp:8",1,1,VALU,,4\n'
    )
    profile = import_profile(str(write(tmp_path, "pc.csv", text)))
    first, second = profile.samples
    assert (first.instruction, first.source, first.samples, first.active_lanes) == (
        "s_waitcnt vmcnt(0)", "x.cpp:7", 2, 36.0,
    )  # fmt: skip
    assert (first.share_percent, first.stalls) == (66.67, {"WAITCNT": 100.0})
    assert (second.active_lanes, second.stalls) == (1.0, {})


def test_statistics_of_a_thread_trace_are_read(tmp_path: Path) -> None:
    text = (
        "CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source\n"
        '1,100,"s_waitcnt lgkmcnt(0)",8,4000,3900,10,/a/k.hip:3\n1,104,v_nop,8,32,0,0,\n'
    )
    first = import_profile(str(write(tmp_path, "stats.csv", text))).trace[0]
    assert (first.instruction, first.hits, first.latency, first.stall, first.source) == (
        "s_waitcnt lgkmcnt(0)", 8, 4000, 3900, "k.hip:3",
    )  # fmt: skip


def rocpd(path: Path) -> Path:
    """Make a database with the two views that every rocpd output has, over tables named by a run."""
    with sqlite3.connect(path) as database:
        database.executescript("""
            CREATE TABLE d_1 (guid, dispatch_id, name, start, "end", gx, gy, gz, wx, wy, wz, lds, vgpr);
            INSERT INTO d_1 VALUES ('g', 1, 'step3(float*, int)', 100, 5100, 256, 59, 8, 256, 1, 1, 32576, 160);
            CREATE VIEW kernels AS SELECT guid, dispatch_id, name, start, "end", ("end" - start) AS duration,
              gx AS grid_x, gy AS grid_y, gz AS grid_z, wx AS workgroup_x, wy AS workgroup_y, wz AS workgroup_z,
              lds AS lds_size, 0 AS scratch_size, vgpr AS vgpr_count, 0 AS accum_vgpr_count, 32 AS sgpr_count FROM d_1;
            CREATE TABLE a_1 (id, type, name, product_name, uuid);
            INSERT INTO a_1 VALUES (0, 'CPU', 'EPYC', '', 1), (1, 'GPU', 'gfx950', 'AMD Instinct MI355X', 2);
            CREATE VIEW rocpd_info_agent AS SELECT * FROM a_1;
            CREATE TABLE p_1 (dispatch_id, counter_name, part);
            INSERT INTO p_1 VALUES (1, 'SQ_INSTS_VALU', 4087000.0), (1, 'SQ_INSTS_VALU', 520.0),
              (1, 'SQ_WAVES', 1888.0), (1, 'SQ_BLANK', NULL);
            CREATE VIEW counters_collection AS SELECT d.guid, p.dispatch_id, d.name AS kernel_name, p.counter_name,
              SUM(p.part) AS value, d.start, d."end", 120832 AS grid_size, 256 AS workgroup_size,
              JSON_EXTRACT('{"size": 1}', '$.size') AS extra
              FROM p_1 p JOIN d_1 d USING (dispatch_id) GROUP BY d.guid, p.dispatch_id, p.counter_name;
        """)
    return path


def test_a_rocpd_database_is_read_through_its_views(tmp_path: Path) -> None:
    path = rocpd(tmp_path / "results.db")
    before = path.read_bytes()
    profile = import_profile(str(path))
    kernel = only_kernel(profile)
    assert [one.format for one in profile.files] == ["rocpd"]
    assert (kernel.short_name, kernel.vgprs, kernel.lds_bytes, kernel.grid) == ("step3", 160, 32576, 120832)
    assert counter(kernel, "SQ_INSTS_VALU")[1] == 2165.0
    assert kernel.dispatches == 1  # it is in both views
    assert any(note.startswith("all times are of runs with counters") for note in profile.notes)
    assert kernel.duration is not None and kernel.duration.median_us == 5.0
    assert [(one.name, one.arch) for one in profile.agents] == [("AMD Instinct MI355X", "gfx950")]
    assert "GPU AMD Instinct MI355X (gfx950): clock unknown" in render_plain(
        render(profile_kernel(from_path=str(path)))
    )
    assert path.read_bytes() == before and not list(tmp_path.glob("results.db-*"))


def test_another_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (x)")
    with pytest.raises(UsageError, match="no view `kernels`"):
        import_profile(str(path))


def test_long_names_are_cut_for_display_only(tmp_path: Path) -> None:
    long = "void ns::" + "very_long_" * 20 + "kernel<" + "int, " * 500 + "int>(float*)"
    text = OLD + f'1,1,1,4096,"{long}",256,8,"SQ_INSTS_LDS",640\n'
    kernel = only_kernel(import_profile(str(write(tmp_path, "old.csv", text))))
    assert len(kernel.name) == 300 and len(kernel.short_name) == 60


def test_names_are_shortened_as_people_call_them() -> None:
    assert short_name("void at::native::elementwise<4, Fill<int>, std::array<char*, 1ul> >(int, F)") == (
        "at::native::elementwise"
    )
    assert short_name("step5_sgb.kd") == "step5_sgb"
    assert short_name("Cijk_Ailk_Bljk_BBS_BH_MT256x256x64") == "Cijk_Ailk_Bljk_BBS_BH_MT256x256x64"


def test_an_import_alone_needs_no_kernel_and_reads_as_text(tmp_path: Path) -> None:
    path = write(tmp_path, "c.csv", NEW + new_row(1, "SQ_WAVES", "64") + new_row(1, "SQ_INSTS_VALU", "-1"))
    report = profile_kernel(from_path=str(path))
    assert report.imported is not None and report.run_id == ""
    text = render_plain(render(report))
    assert "k: 1 dispatch, median 2 us" in text
    assert "impossible [SQ_INSTS_VALU] of k: -1; a count cannot be negative" in text


def test_an_imported_kernel_stands_beside_the_emulators_counts(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    name = '"step1_naive(__hip_bfloat16 const*, int) [clone .kd]"'
    text = OLD + "".join(
        f"1,1,1,3072,{name},256,8,{counter_name},{value}\n"
        for counter_name, value in (
            ("SQ_WAVES", 48),
            ("SQ_INSTS_LDS", 0),
            ("SQ_INSTS_SALU", 9600),
            ("SQ_INSTS_VMEM", -5),
            ("FETCH_SIZE", 3),
        )
    )
    report = profile_kernel(name="step1_naive", from_path=str(write(tmp_path, "c.csv", text)), threads=1)
    assert report.imported is not None
    compared = {one.counter: one for one in report.imported.compared}
    assert "SQ_INSTS_VMEM" not in compared  # a negative count has no ratio
    assert compared["FETCH_SIZE"].imported == 3 * 1024 / 48
    assert (compared["FETCH_SIZE"].remark or "").startswith("in bytes; the emulator counts what wavefronts ask for")
    assert compared["SQ_INSTS_SALU"].imported == 200.0
    assert compared["SQ_INSTS_SALU"].ratio == round(200 / report.per_wave["SQ_INSTS_SALU"], 4)
    assert compared["SQ_INSTS_SALU"].emulated == report.per_wave["SQ_INSTS_SALU"]
    with pytest.raises(UsageError, match="no kernel step2_nhwc"):
        profile_kernel(name="step2_nhwc", from_path=str(tmp_path / "c.csv"), threads=1)


def test_every_recorded_file_is_read_or_refused_with_a_reason(shared_data: Path) -> None:
    read, refused = 0, 0
    for path in sorted((shared_data / "profiles").iterdir()):
        try:
            profile = import_profile(str(path))
        except UsageError as error:
            assert path.suffix in (".s", ".txt", ".md"), f"{path.name}: {error.message}"
            refused += 1
        else:
            assert path.suffix == ".csv" and profile.files[0].rows > 0
            read += 1
    assert (read, refused) == (28, 20)


def test_recorded_counters_have_their_known_values(shared_data: Path) -> None:
    folder = shared_data / "profiles"
    phase = import_profile(str(folder / "gfx950-mi355x-rocprofv3-counter_collection-lds-phase-b128.csv"))
    (kernel,) = [one for one in phase.kernels if one.short_name.startswith("micro_tk")][:1]
    assert {one.name: one.median for one in kernel.counters} == {"SQ_INSTS_LDS": 1.0, "SQ_LDS_BANK_CONFLICT": 1.0}
    # Channels and their sum are both columns there: the file's own sum is 73,037.
    mi200 = import_profile(str(folder / "gfx90a-mi200-104cu-rocprof-compute-vcopy-pmc_perf.csv"))
    assert counter(only_kernel(mi200), "TCC_HIT_sum")[0] == 73037.0
    assert counter(only_kernel(mi200), "SQ_INSTS_VALU")[1] == 10.0
    agents = import_profile(str(folder / "gfx950-mi355x-x8-rocprofv3-agent_info.csv")).agents
    assert len(agents) == 8
    assert (agents[0].product, agents[0].compute_units, agents[0].lds_bytes) == ("MI355X", 256, 160 * 1024)
    odd = import_profile(str(folder / "gfx950-mi350-rocprof-compute-vcopy-sysinfo.csv"))
    assert {one.counter for one in odd.impossible} == {"max_sclk", "compute_units"}
    roofline = import_profile(str(folder / "gfx90a-mi200-104cu-rocprof-compute-roofline.csv")).roofline
    assert roofline["HBMBw"] == pytest.approx(1388.76, abs=0.01)


@pytest.mark.parametrize(
    ("counters", "duration_us", "said"),
    [
        # AMD's copy on MI300X: 2,562,960 in 16.16 us (rocprof-compute-test-data, dispatch_0).
        ({"GRBM_GUI_ACTIVE": 2_562_960}, 16.16, ("GRBM_GUI_ACTIVE of k, 16.16 us, counts time around it too",)),
        ({"VALUBusy": 3, "OccupancyPercent": 2}, 16.16, ("OccupancyPercent, VALUBusy divide by it and are too low",)),
        ({"MeanOccupancyPerCU": 2}, None, ("GRBM_GUI_ACTIVE of a kernel below 1 ms",)),
        ({"GRBM_GUI_ACTIVE": 33_600_000, "VALUBusy": 90}, 2000, ()),
        ({"SQ_BUSY_CYCLES": 532_875, "VALUUtilization": 99}, 16.16, ()),  # neither is made of GRBM_GUI_ACTIVE
    ],
)
def test_clocks_around_a_short_kernel_are_said_and_what_they_make_too_low(
    counters: dict[str, float], duration_us: float | None, said: tuple[str, ...], tmp_path: Path
) -> None:
    rows = "".join(new_row(1, name, str(value)) for name, value in counters.items())
    stamps = "," if duration_us is None else f"1000,{1000 + round(1000 * duration_us)}"
    profile = import_profile(str(write(tmp_path, "g.csv", NEW + rows.replace("1000,3000", stamps))))
    found = [note for note in profile.notes if "counts time around it too" in note]
    assert [part in note for part, note in zip(said, found, strict=True)] == [True] * len(said)


def test_what_a_file_does_not_say_is_not_shown_as_zero(tmp_path: Path) -> None:
    path = write(tmp_path, "old.csv", OLD + '1,1,1,4096,"k(int)",256,8,"SQ_WAVES",64\n')
    text = render_plain(render(profile_kernel(from_path=str(path))))
    assert "8 VGPR" in text and "AGPR" not in text and "None" not in text


def test_mean_times_of_merged_passes_are_read(tmp_path: Path) -> None:
    # As in AMD's record of MI350: the columns of time are means and end in a half.
    header = "Dispatch_ID,Grid_Size,Kernel_Name,Start_Timestamp,End_Timestamp\n"
    text = header + "0,64,k,1248227792617386.5,1248227792639148.5\n"
    kernel = only_kernel(import_profile(str(write(tmp_path, "pmc_perf.csv", text))))
    assert kernel.duration is not None and kernel.duration.median_us == 21.762
