"""Shapes that a kernel's author has not seen: a kernel that is right for one shape only must not pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kbserver.runs.expression import evaluate
from kbserver.runs.task import Task, Variant

HELD_OUT = "held-out"
_TRIES = 2000


def held_out(task: Task, variant: Variant, asked: Mapping[str, int], seed: int) -> Mapping[str, int] | None:
    """Return sizes drawn by `seed` from the task's `held_out` ranges, else from the range of its small shapes.

    They are as this variant requires, and each differs from the size `asked` for where the range has another: a kernel
    that confuses two channels may be right for eight of them. None when the range holds no sizes but those of the named
    shapes.
    """
    generator = np.random.default_rng([seed, 0x5A])
    choices = {key: _choices(task, key) for key in next(iter(task.shapes.values()))}
    for _ in range(_TRIES):
        drawn = {key: int(values[generator.integers(len(values))]) for key, values in choices.items()}
        same = [key for key, values in choices.items() if drawn[key] == asked[key] and len(values) > 1]
        if same or drawn in task.shapes.values():
            continue
        sizes = task.complete(drawn)
        if min(sizes.values()) >= 1 and all(evaluate(condition, sizes) for condition in variant.requires):
            return sizes
    return None


def _choices(task: Task, key: str) -> Sequence[int]:
    """Return the sizes that a dimension can have in a held-out shape."""
    if key in task.held_out:
        low, high, *step = task.held_out[key]
        return range(low, high + 1, *step)
    published = task.published_shape
    small = [sizes[key] for name, sizes in task.shapes.items() if name != published]
    if len(small) == 1:
        # A range needs two ends; up to twice the one small shape costs little.
        small.append(min(2 * small[0], max(small[0], task.shapes[published][key])))
    return range(min(small or [task.shapes[published][key]]), max(small or [task.shapes[published][key]]) + 1)
