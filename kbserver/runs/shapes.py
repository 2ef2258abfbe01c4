"""Shapes that a kernel's author has not seen: a kernel that is right for one shape only must not pass."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kbserver.runs.expression import evaluate
from kbserver.runs.task import Task, Variant

HELD_OUT = "held-out"
_TRIES = 2000


def held_out(task: Task, variant: Variant, asked: Mapping[str, int], seed: int) -> Mapping[str, int] | None:
    """Return sizes drawn by `seed` from the range that the task's small shapes span, as this variant requires.

    Each differs from the size `asked` for where the range has another: a kernel that confuses two channels may be right
    for eight of them. None when the range holds no sizes but those of the named shapes.
    """
    small = [sizes for name, sizes in task.shapes.items() if name != task.published_shape] or list(task.shapes.values())
    generator = np.random.default_rng([seed, 0x5A])
    spans = {key: [sizes[key] for sizes in small] for key in small[0]}
    for _ in range(_TRIES):
        drawn = {key: int(generator.integers(min(span), max(span), endpoint=True)) for key, span in spans.items()}
        same = [key for key, span in spans.items() if drawn[key] == asked[key] and min(span) < max(span)]
        if same or drawn in task.shapes.values():
            continue
        sizes = task.derived(drawn)
        if min(sizes.values()) >= 1 and all(evaluate(condition, sizes) for condition in variant.requires):
            return sizes
    return None
