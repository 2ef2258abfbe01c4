"""On the command line one positional is a file or a text: what the user meant is decided by its form."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.cli import _looks_like_file


@pytest.mark.parametrize("value", ["notes/post_mortem.md", "kernel.hip", "gemm.hsaco", "../a", "/tmp/x", "out.s"])
def test_a_path_is_a_file_whether_it_exists_or_not(value: str) -> None:
    assert _looks_like_file(value)


@pytest.mark.parametrize(
    "value",
    ["At 8 TB/s reading 0.44 GB takes 0.5 ms.", "step5_sgb", "see docs/verify.md", "x" * 5000, "a\0b", "1 / 2 = 3.txt"],
)
def test_a_sentence_or_a_name_is_text(value: str) -> None:
    assert not _looks_like_file(value)


def test_a_file_whose_name_has_blanks_is_a_file_when_it_exists(tmp_path: Path) -> None:
    path = tmp_path / "my notes.md"
    path.write_text("LDS\n", "utf-8")
    assert _looks_like_file(str(path))
