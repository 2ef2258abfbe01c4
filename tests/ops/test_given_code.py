"""`kb asm` on files that need no compile: code objects and assembly text."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import UsageError
from kbserver.ops import inspect_assembly
from tests.toolchain.clang import needs_clang
from tests.toolchain.code_objects import SCALE, SCALE_TEXT, needs_objdump


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_WORKSPACE", str(tmp_path / "workspace"))


@needs_objdump
def test_a_code_object_is_listed_with_its_target_and_labels() -> None:
    listing = inspect_assembly(path=str(SCALE))
    assert (listing.arch, listing.decided_by, listing.kernels, listing.total) == ("gfx950", "the file", ["scale"], 17)
    assert (listing.lines[0].label, listing.lines[0].text) == ("scale", "s_load_dwordx2 s[4:5], s[0:1], 0x0")
    assert (listing.lines[4].label, listing.lines[4].text) == ("again", "v_add_u32_e32 v1, 5, v1")
    # The build stays: it can be asked again by its id.
    assert inspect_assembly(name=listing.build_id, grep="endpgm").total == 1


@needs_clang
def test_assembly_text_is_listed_with_the_lines_of_the_file() -> None:
    listing = inspect_assembly(path=str(SCALE_TEXT), source_line=27)
    assert [(line.text, line.source) for line in listing.lines] == [("s_cbranch_execz finish", "scale.s:27")]
    assert listing.compiler.startswith("given assembly text, assembled by ")


def test_another_target_than_the_files_is_refused() -> None:
    with pytest.raises(UsageError, match="holds code for gfx950, not for gfx942"):
        inspect_assembly(path=str(SCALE), arch="MI300X")
