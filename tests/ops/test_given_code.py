"""Files that need no compile, code objects and assembly text: listed by `kb asm`, run by `kb verify`, `kb profile`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbserver.core.errors import UsageError
from kbserver.ops import inspect_assembly, profile_kernel, verify_kernel
from kbserver.toolchain.link import code_object
from tests.emulator.conv import compiled_text
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


@pytest.fixture(scope="module")
def conv_text() -> str:
    return compiled_text("step3_nchw_lds", "gfx942")


@needs_clang
@needs_objdump
def test_a_code_object_is_verified_as_the_variant_that_it_is(tmp_path: Path, conv_text: str) -> None:
    path = tmp_path / "mine.hsaco"
    path.write_bytes(code_object(conv_text, "gfx942"))
    report = verify_kernel(path=str(path), variant="step3_nchw_lds", seeds=[1])
    assert (report.verdict, report.arch, report.decided_by, report.source) == ("PASS", "gfx942", "the file", path.name)
    assert [line.shape for line in report.launches] == ["tiny"] * 4
    assert "KB_WIDTH=20" in report.notes[0]


@needs_clang
def test_assembly_text_that_is_wrong_fails_with_its_line(tmp_path: Path, conv_text: str) -> None:
    barrier = conv_text.index("\ts_barrier")
    path = tmp_path / "mine.s"
    path.write_text(conv_text[:barrier] + conv_text[barrier:].replace("\ts_barrier", "\ts_nop 0"))
    report = verify_kernel(path=str(path), variant="step3_nchw_lds", seeds=[1])
    assert report.verdict == "FAIL"


@needs_clang
def test_code_of_another_variant_is_refused(tmp_path: Path, conv_text: str) -> None:
    path = tmp_path / "mine.s"
    path.write_text(conv_text)
    with pytest.raises(UsageError):
        verify_kernel(path=str(path), variant="step4_mfma", seeds=[1])


@needs_clang
def test_a_kernel_with_all_sizes_as_arguments_is_tried_on_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "mine.s"
    path.write_text(compiled_text("step1_naive", "gfx950"))
    report = verify_kernel(path=str(path), variant="step1_naive", seeds=[1])
    assert report.verdict == "PASS"
    assert {line.shape for line in report.launches} == {"tiny", "held-out"}
    assert report.notes == []


@needs_clang
@needs_objdump
def test_a_code_object_is_profiled_with_the_counts_of_its_source(tmp_path: Path, conv_text: str) -> None:
    path = tmp_path / "mine.co"
    path.write_bytes(code_object(conv_text, "gfx942"))
    of_file = profile_kernel(path=str(path), variant="step3_nchw_lds")
    of_source = profile_kernel(name="step3_nchw_lds", arch="gfx942")
    assert (of_file.arch, of_file.decided_by) == ("gfx942", "the file")
    assert of_file.per_wave == of_source.per_wave
    assert of_file.lds == of_source.lds
