"""Well-known wrong statements are told wrong by sections that exist: one that was renamed would silence its row."""

from __future__ import annotations

from kbserver.claims.statements import ROWS
from kbserver.ops import check_claims, read


def test_every_section_that_a_row_rests_on_opens() -> None:
    sections = [row.section for row in ROWS if row.section is not None]
    assert sections
    assert [section for section in sections if not read(section).text] == []


def test_blocks_as_the_second_launch_bound_are_told_wrong() -> None:
    told = check_claims("Add __launch_bounds__(maxThreads, minBlocks) to guarantee occupancy.")
    assert [claim.finding for claim in told.claims] == ["the second argument is no number of blocks on AMD GPUs"]
