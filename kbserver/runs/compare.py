"""Two kernels side by side: which figures went down, which went up, and what that says. Counts, never a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kbserver.core.model import Record

LESS, MORE, MIXED, SAME, CANNOT_TELL = "LESS", "MORE", "MIXED", "SAME", "CANNOT_TELL"
THRESHOLD_PERCENT = 1.0
"""A smaller change does not decide: another compiler version makes as much."""
NOT_TIMED = "counted, not timed: kb time on the hardware tells which is faster"


@dataclass(frozen=True)
class Figure:
    """One figure of both. wanted: less or more of it is good, None: neither; decides: the verdict rests on it."""

    name: str
    before: float | None
    after: float | None
    wanted: str | None = "less"
    decides: bool = False


class ComparedFigure(Record):
    """One figure of both kernels. change_percent: null where `before` is 0 or one is unknown.

    better: whether the change is to the good, null for none, or where that cannot be said. decides: of the verdict.
    """

    figure: str
    before: float | None
    after: float | None
    change_percent: float | None
    better: bool | None
    decides: bool


class Comparison(Record):
    """Two kernels. verdict says what `after` takes of what was counted: LESS, MORE, MIXED, SAME, CANNOT_TELL.

    per: what the figures are divided by. before_ref, after_ref: the build or run that they are of.
    """

    before: str
    after: str
    before_ref: str | None
    after_ref: str | None
    of: str
    per: str | None
    verdict: str
    reason: str
    figures: list[ComparedFigure]
    notes: list[str]


def compare(
    names: tuple[str, str], refs: tuple[str | None, str | None], of: str, per: str | None, figures: Sequence[Figure],
    *, cannot_tell: str | None = None, notes: Sequence[str] = (),
) -> Comparison:  # fmt: skip
    """Return the comparison; figures that neither has are left out. cannot_tell: why there is no verdict at all."""
    rows = [_row(one) for one in figures if one.before or one.after]
    good = [row for row in rows if row.decides and row.better]
    bad = [row for row in rows if row.decides and row.better is False]
    verdict = MIXED if good and bad else LESS if good else MORE if bad else SAME
    parts = [f"{label}: {_listed(found)}" for label, found in (("better", good), ("worse", bad)) if found]
    reason = "; ".join(parts) or f"no figure that decides changed by {THRESHOLD_PERCENT:g} % or more"
    return Comparison(
        before=names[0],
        after=names[1],
        before_ref=refs[0],
        after_ref=refs[1],
        of=of,
        per=per,
        verdict=CANNOT_TELL if cannot_tell else verdict,
        reason=cannot_tell or reason,
        figures=rows,
        notes=list(notes),
    )


def _row(one: Figure) -> ComparedFigure:
    change, better = None, None
    if one.before is not None and one.after is not None:
        change = round(100 * (one.after - one.before) / one.before, 2) if one.before else None
        # What was not there at all has no percentage, and counts whatever it is.
        changed = one.after != one.before if change is None else abs(change) >= THRESHOLD_PERCENT
        if changed and one.wanted:
            better = (one.after < one.before) == (one.wanted == "less")
    return ComparedFigure(
        figure=one.name,
        before=_short(one.before),
        after=_short(one.after),
        change_percent=change,
        better=better,
        decides=one.decides,
    )


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _listed(rows: Sequence[ComparedFigure]) -> str:
    return ", ".join(
        f"{row.figure} {'from 0' if row.change_percent is None else f'{row.change_percent:+.1f} %'}" for row in rows
    )
