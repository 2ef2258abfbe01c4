"""What is no profile, was cut, or means harm: refused or read in part, with the reason, and never for long."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from kbserver.core.errors import UsageError
from kbserver.ops import profile_kernel
from kbserver.runs.profiler_import import read, rocpd, tables
from kbserver.runs.profiler_import.read import import_profile

HEADER = "Dispatch_Id,Kernel_Name,Grid_Size,Workgroup_Size,Counter_Name,Counter_Value\n"
ROW = '1,"k(int)",4096,256,"SQ_WAVES",64\n'
KERNELS = (
    "guid", "dispatch_id", "name", "start", '"end"', "grid_x", "grid_y", "grid_z", "workgroup_x", "workgroup_y",
    "workgroup_z",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("empty.csv", b"", "empty"),
        ("blank.csv", b"\n\n \n", "empty"),
        ("header.csv", HEADER.encode(), "only a header, nothing was collected"),
        ("other.csv", b"a,b\n1,2\n", "a, b"),
        ("secret.csv", b"root:x:0:0:/root\nnobody\n", "1 of them, not all names"),
        ("kernel.s", b"s_endpgm\n", "assembly"),
        ("x.pftrace", b"..", "Perfetto"),
        ("results.json", b"{}", "JSON of rocprofv3 is not read"),
        ("binary.csv", b"\0\0\0", "no text"),
        ("latin.csv", HEADER.encode() + b'1,"k\xe9(int)",4096,256,"SQ_WAVES",64\n', "not UTF-8"),
        ("quote.csv", HEADER.encode() + b'1,"k(int),4096,256,SQ_WAVES,64\n', "no rows: broken after row 0"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UsageError, match="nothing to import") as caught:
        import_profile(str(path))
    assert reason in caught.value.message


def test_a_file_that_was_cut_gives_its_whole_rows_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "cut.csv"
    path.write_text(HEADER + ROW + ROW[:6])
    profile = import_profile(str(path))
    assert profile.files[0].rows == 1
    assert any(note.startswith("cut.csv: broken after row 1") for note in profile.notes)
    path.write_text(HEADER + ROW + "2,k,4096\n")
    assert any("1 rows have another number of cells" in note for note in import_profile(str(path)).notes)
    path.write_text(HEADER + ROW[:-2])  # 64 became 6
    assert any("its last value may be cut" in note for note in import_profile(str(path)).notes)


def test_text_of_a_windows_shell_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    for encoding in ("utf-16", "utf-8-sig"):
        path = tmp_path / f"{encoding}.csv"
        path.write_bytes((HEADER + ROW).encode(encoding))
        assert import_profile(str(path)).kernels[0].waves == 64


@pytest.mark.parametrize("path", ["/dev/zero", "/nonexistent/x.csv", "~nobody-has-this-name/x", "a\0b", ""])
def test_paths_that_are_no_file_are_refused_at_once(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        profile_kernel(from_path=path or str(tmp_path / "empty"))
    assert caught.value.code == "usage"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        import_profile(str(pipe))
    with pytest.raises(UsageError, match="holds no files"):
        import_profile(str(tmp_path))


def test_links_that_lead_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.csv"
    outside.write_text(HEADER + ROW)
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "link.csv").symlink_to(outside)
    (folder / "own.csv").write_text(HEADER + ROW)
    assert [one.path for one in import_profile(str(folder)).files] == ["own.csv"]


def test_too_much_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big.csv"
    path.write_text(HEADER + 3 * ROW)
    monkeypatch.setattr(read, "MAX_ROWS", 2)
    with pytest.raises(UsageError, match="more than 500,000 rows"):
        import_profile(str(path))
    monkeypatch.setattr(tables, "MAX_BYTES", 10)
    with pytest.raises(UsageError, match="0 MiB, more than 0"):
        import_profile(str(path))


def test_one_bad_file_of_a_folder_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "b.csv").write_text(HEADER + ROW)
    profile = import_profile(str(tmp_path))
    assert [(one.path, one.refused is None) for one in profile.files] == [("a.csv", False), ("b.csv", True)]


def database(path: Path, view: str) -> Path:
    with sqlite3.connect(path) as opened:
        opened.execute(f"CREATE VIEW kernels AS {view}")
    return path


def select(tail: str, name: str = "'k'") -> str:
    values = dict.fromkeys(KERNELS, "1") | {"name": name}
    return "SELECT " + ", ".join(f"{value} AS {column}" for column, value in values.items()) + tail


def test_a_database_whose_views_never_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rocpd, "MAX_STEPS", 20)
    product = ", ".join(f"(SELECT 1 AS c UNION ALL SELECT 2) t{n}" for n in range(40))
    path = database(tmp_path / "endless.db", select(f" FROM {product} WHERE t0.c + t39.c > 4"))
    with pytest.raises(UsageError, match="compute for too long"):
        import_profile(str(path))


def test_a_database_may_not_recurse_or_make_a_huge_value(tmp_path: Path) -> None:
    recursive = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) " + select(" FROM n")
    with pytest.raises(UsageError, match="not authorized"):
        import_profile(str(database(tmp_path / "recursive.db", recursive)))
    with pytest.raises(UsageError, match="cannot be read"):
        import_profile(str(database(tmp_path / "huge.db", select("", "hex(zeroblob(900000000))"))))


def test_a_cut_or_empty_database_is_refused(tmp_path: Path) -> None:
    path = database(tmp_path / "whole.db", select(" WHERE 0"))
    with pytest.raises(UsageError, match="no dispatches"):
        import_profile(str(path))
    cut = tmp_path / "cut.db"
    cut.write_bytes(path.read_bytes()[:700])
    with pytest.raises(UsageError, match="cannot be read"):
        import_profile(str(cut))


def test_a_database_that_was_not_closed_is_read_and_its_state_is_said(tmp_path: Path) -> None:
    path = database(tmp_path / "open.db", select(""))
    (tmp_path / "open.db-wal").write_bytes(b"x")
    assert any("-wal" in note for note in import_profile(str(path)).notes)
