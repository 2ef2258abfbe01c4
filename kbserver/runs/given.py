"""Verifying machine code that was given instead of a source: its sizes are what they are."""

from __future__ import annotations

from collections.abc import Sequence

from kbserver.runs.cases import Case
from kbserver.runs.stage import Subject
from kbserver.toolchain.ready import is_ready


def cases_of_subject(subject: Subject, cases: Sequence[Case]) -> tuple[Case, ...]:
    """Return the cases that can run: of given code only those that need the same macros as the first."""
    if not is_ready(subject.snapshot.main):
        return tuple(cases)
    wanted = [_defines(subject, case) for case in cases]
    return tuple(case for case, defines in zip(cases, wanted, strict=True) if defines == wanted[0])


def notes_on(subject: Subject, case: Case) -> list[str]:
    """Return what the verdict on given code does not say."""
    defines = _defines(subject, case)
    if not is_ready(subject.snapshot.main) or not defines:
        return []
    sizes = ", ".join(f"{name}={value}" for name, value in defines.items())
    return [
        f"the sizes of this variant are compiled in; the file is taken to be built for shape {case.shape} ({sizes}), "
        "and no second shape was tried"
    ]


def _defines(subject: Subject, case: Case) -> dict[str, str]:
    return subject.task.defines_for(subject.variant, case.sizes, case.shape)
