"""Occupancy as text: the answer in one line, a table of limits, the arithmetic, the sources."""

from __future__ import annotations

from kbserver.hardware.occupancy import Occupancy
from kbserver.render.document import Document
from kbserver.render.registry import renders

MAX_SOURCES = 6


@renders(Occupancy)
def _(result: Occupancy) -> Document:
    document = Document().say(
        f"{result.waves_per_simd:g} waves per SIMD on {result.arch} ({result.arch_decided_by}):"
        f" {result.workgroups_per_cu} workgroups per CU, limited by {result.limiter.replace('+', ' and ')}."
    )
    document.say(f"Next step: {result.next_step}.")
    document.table(
        ["resource", "used", "workgroups/CU", "waves/SIMD"],
        [
            [name, limit.used, limit.workgroups_per_cu, limit.waves_per_simd]
            for name, limit in result.limits.items()
            if limit.workgroups_per_cu is not None
        ],
    )
    for line in result.explanation:
        document.say(f"- {line}")
    titles = list(dict.fromkeys(source.title for source in result.sources))
    more = f"; {len(titles) - MAX_SOURCES} more with --json" if len(titles) > MAX_SOURCES else ""
    return document.say(f"Sources: {'; '.join(titles[:MAX_SOURCES])}{more}.")
