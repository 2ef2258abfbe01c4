"""`kb occupancy`: product names, refusals and the text form."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UnknownName, UsageError
from kbserver.ops import occupancy, operations
from kbserver.render import render, render_plain


def test_a_product_name_is_resolved_and_said() -> None:
    found = occupancy(arch="MI355X", vgprs=86)
    assert (found.arch, found.arch_decided_by) == ("gfx950", "MI355X is gfx950")


def test_an_unknown_arch_is_an_error_with_near_names() -> None:
    with pytest.raises(UnknownName) as caught:
        occupancy(arch="gfx951", vgprs=86)
    assert "gfx950" in (caught.value.hint or "")


def test_a_kernel_without_registers_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one VGPR"):
        occupancy(arch="gfx950", vgprs=0)


def test_words_in_place_of_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="vgprs"):
        operations()["occupancy"].call({"arch": "gfx950", "vgprs": "many"})


def test_the_text_form_gives_answer_step_limits_and_sources() -> None:
    lines = render_plain(render(occupancy(arch="gfx942", vgprs=86, lds=32576))).splitlines()
    assert lines[0] == "2 waves per SIMD on gfx942 (given): 2 workgroups per CU, limited by lds."
    assert lines[1] == "Next step: <= 21,504 B of LDS for 3 waves per SIMD (3 workgroups per CU)."
    assert any(line.split()[:3] == ["lds", "32,768", "of"] for line in lines)
    assert lines[-1].startswith("Sources: ")
