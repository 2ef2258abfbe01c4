"""inspect_assembly: the code of a build, found by text, source line and kernel."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UnknownName, UnresolvedRef, UsageError
from kbserver.ops import compile_kernel, inspect_assembly
from kbserver.render import render, render_plain
from kbserver.toolchain.compilers import survey

pytestmark = pytest.mark.skipif(
    not any(candidate.usable for candidate in survey()),
    reason="SKIPPED LOUDLY: no compiler for AMD GPUs here (pip install 'kbserver[compile]')",
)

SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(64) first(float *p, int n) {
  for (int i = 0; i < n; ++i)
    asm volatile("s_nop 3");
  p[threadIdx.x] = 1.0f;
}
extern "C" __global__ void __launch_bounds__(64) second(float *p) { p[threadIdx.x] = 2.0f; }
"""


@pytest.fixture
def build_id() -> str:
    return compile_kernel(source=SOURCE).build_id


def test_a_build_is_shown_whole_with_labels_and_source_lines(build_id: str) -> None:
    listing = inspect_assembly(build_id)
    assert (listing.build_id, listing.arch, listing.decided_by) == (build_id, "gfx950", "the build")
    assert listing.kernels == ["first", "second"]
    assert listing.total == len(listing.lines) and not listing.truncated
    assert [line.text for line in listing.lines if line.text.startswith("s_endpgm")] == ["s_endpgm", "s_endpgm"]
    assert {line.label for line in listing.lines} >= {"first", "second"}
    assert listing.lines == inspect_assembly(f"build:{build_id}", arch="MI355X").lines
    assert listing.lines == inspect_assembly(build=build_id).lines


def test_one_source_line_gives_its_instructions(build_id: str) -> None:
    listing = inspect_assembly(build_id, source_line=4)
    assert [line.text for line in listing.lines] == ["s_nop 3"]
    assert listing.lines[0].source == "source.hip:4" and (listing.lines[0].label or "").startswith(".LBB0_")


def test_one_kernel_gives_only_its_instructions(build_id: str) -> None:
    both = inspect_assembly(build_id).total
    parts = [inspect_assembly(build_id, kernel=name).total for name in ("first", "second")]
    assert sum(parts) == both and all(parts)
    with pytest.raises(UnknownName, match="unknown function 'third'"):
        inspect_assembly(build_id, kernel="third")


@pytest.mark.parametrize(
    ("grep", "expected"),
    [
        ("s_nop", {"s_nop 3"}),
        ("S_NOP", {"s_nop 3"}),
        ("s_nop|s_endpgm", {"s_nop 3", "s_endpgm"}),
        ("s_nop\\|s_endpgm", {"s_nop 3", "s_endpgm"}),
        ("s_*3", {"s_nop 3"}),
        ("[", None),
        ("(a+)+$", set()),
        ("no such text", set()),
    ],
)
def test_text_is_found_literally_with_alternatives_and_stars(build_id: str, grep: str, expected: set | None) -> None:
    found = {line.text for line in inspect_assembly(build_id, kernel="first", grep=grep).lines}
    if expected is None:
        assert all("[" in text for text in found)
    else:
        assert {text for text in found if "s_nop" in text or "s_endpgm" in text} == expected


def test_a_hostile_pattern_takes_linear_time(build_id: str) -> None:
    assert inspect_assembly(build_id, grep="s*" * 100).total >= 0
    for bad in ("", "|", "*", "x" * 201):
        with pytest.raises(UsageError, match="text to find"):
            inspect_assembly(build_id, grep=bad)


def test_long_answers_are_cut_and_say_where_to_go_on(build_id: str) -> None:
    whole = inspect_assembly(build_id).lines
    page = inspect_assembly(build_id, limit=3)
    assert (page.total, page.truncated, page.next_start) == (len(whole), True, 4)
    assert "start=4" in render_plain(render(page))
    rest = inspect_assembly(build_id, start=4)
    assert [*page.lines, *rest.lines] == whole and not rest.truncated and rest.next_start is None
    past = inspect_assembly(build_id, start=10_000)
    assert (past.lines, past.truncated) == ([], False)
    for bad in ({"start": 0}, {"limit": 0}):
        with pytest.raises(UsageError, match="count from 1"):
            inspect_assembly(build_id, **bad)


def test_a_kernel_name_is_compiled_first() -> None:
    listing = inspect_assembly("step1_naive", grep="s_endpgm")
    assert listing.total == 1 and listing.decided_by == "default"


def test_what_names_no_build_fails_loud(build_id: str) -> None:
    for ref in ("000000000000", "build:nothing"):
        with pytest.raises(UnresolvedRef, match="no such build"):
            inspect_assembly(ref)
    with pytest.raises(UnknownName, match="unknown kernel"):
        inspect_assembly("nothing")
    with pytest.raises(UsageError, match="exactly one of name, build and path"):
        inspect_assembly()
    with pytest.raises(UsageError, match="made for gfx950, not for gfx942"):
        inspect_assembly(build_id, arch="gfx942")
