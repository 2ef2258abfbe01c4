"""The checkers, one a kind of claim, in the order in which their findings stand at one place. To add one, add a row."""

from __future__ import annotations

from kbserver.claims import (
    arithmetic,
    citations,
    costs,
    granules,
    hardware,
    instructions,
    occupancy,
    peaks,
    resources,
    statements,
    targets_named,
    times,
)
from kbserver.claims.pipeline import Checker

CHECKERS: tuple[Checker, ...] = (
    hardware.check,
    granules.check,
    peaks.check,
    targets_named.check,
    instructions.check,
    costs.check,
    occupancy.check,
    resources.check,
    arithmetic.check,
    times.check,
    statements.check,
    citations.check,
)
IN_CODE: tuple[Checker, ...] = (targets_named.check,)
"""The only ones that read code blocks: code is not prose, and examples of errors stand there."""
