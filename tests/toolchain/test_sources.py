"""What a build reads: the source and its quoted includes, refused when they are not that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kbserver.core.errors import UsageError
from kbserver.toolchain.sources import MAX_SOURCE_BYTES, from_file, from_text


def write(folder: Path, **files: str | bytes) -> Path:
    for name, data in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def test_quoted_includes_inside_the_folder_are_taken_along(tmp_path: Path) -> None:
    write(tmp_path, k_dot_hip='#include "sub/a.h"\n  #  include "b.hpp"\nint x;')
    write(tmp_path, sub__a_dot_h='#include "c.h"\n#include "../b.hpp"')
    write(tmp_path, sub__c_dot_h="int c;", b_dot_hpp="int b;", unused_dot_h="int u;")
    snapshot = from_file(tmp_path / "k.hip")
    assert sorted(snapshot.files) == ["b.hpp", "k.hip", "sub/a.h", "sub/c.h"]
    assert snapshot.main == "k.hip"


def test_headers_that_include_each_other_end(tmp_path: Path) -> None:
    write(tmp_path, k_dot_hip='#include "a.h"\nint x;', a_dot_h='#include "b.h"\n#include "a.h"')
    write(tmp_path, b_dot_h='#include "a.h"')
    assert sorted(from_file(tmp_path / "k.hip").files) == ["a.h", "b.h", "k.hip"]


@pytest.mark.parametrize(
    "name", ["../secret.h", "/etc/passwd", ".ssh/id_rsa", ".hidden/x.h", "notes.txt", "link.h", "gone.h"]
)
def test_nothing_outside_the_folder_and_no_other_file_is_taken(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "kernel"
    write(tmp_path, secret_dot_h="s", secret="s")
    write(folder, k_dot_hip=f'#include "{name}"\nint x;', notes_dot_txt="n")
    write(folder / ".ssh", id_rsa="key")
    write(folder / ".hidden", x_dot_h="h")
    (folder / "link.h").symlink_to(tmp_path / "secret")
    assert sorted(from_file(folder / "k.hip").files) == ["k.hip"]


def test_the_digest_changes_with_every_byte_and_every_header(tmp_path: Path) -> None:
    write(tmp_path, k_dot_hip='#include "a.h"\nint x;', a_dot_h="int a;")
    first = from_file(tmp_path / "k.hip").digest
    write(tmp_path, a_dot_h="int b;")
    second = from_file(tmp_path / "k.hip").digest
    assert first != second and second == from_file(tmp_path / "k.hip").digest


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "empty"), (b"\xef\xbb\xbf \r\n", "empty"), (b"int x;\0", "NUL"), ("int x;".encode("utf-16"), "UTF-16"),
     (b"/" * (MAX_SOURCE_BYTES + 1), "larger than")],
)  # fmt: skip
def test_what_is_no_source_text_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "k.hip"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=message):
        from_file(path)


def test_folder_missing_file_pipe_and_foreign_names_are_refused(tmp_path: Path) -> None:
    write(tmp_path, conv_dot_hip="int x;", notes_dot_txt="n", secret="s")
    (tmp_path / "k.hip").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe.hip")
    refused = (("", "folder"), ("notes.txt", "named like"), ("k.hip", "named like"), ("pipe.hip", "regular"))
    for name, message in refused:
        with pytest.raises(UsageError, match=message):
            from_file(tmp_path / name)
    with pytest.raises(UsageError, match="no such file") as error:
        from_file(tmp_path / "conf.hip")
    assert (error.value.hint or "").startswith("near: conv.hip")


def test_odd_file_names_do_not_reach_the_command_line(tmp_path: Path) -> None:
    for name in ("-o.hip", "a b.hip", "x\ny.hip"):
        (tmp_path / name).write_text("int x;")
        assert from_file(tmp_path / name).main == "source.hip"


def test_text_is_a_source_of_its_own() -> None:
    assert from_text("int x;").files == {"source.hip": b"int x;"}
    with pytest.raises(UsageError, match="empty"):
        from_text(" \n")
