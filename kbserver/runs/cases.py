"""What a verification launches: shapes, seeds, wave orders and fills, decided before anything runs."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kbserver.core.errors import UnknownName, UsageError
from kbserver.runs.shapes import HELD_OUT, held_out
from kbserver.runs.task import Task, Variant

ORDERS = ("forward", "reversed", "seeded")
HARDWARE = "hardware"
LARGE_OUTPUTS = 4_000_000
"""From this many outputs on, one seed and one order are the default; the held-out shape gets the other orders."""
MAX_SEEDS, MAX_SEED = 16, 2**32 - 1

FILLS = (0xFFFF, 0x5F3C, 0x7FA5)
"""Patterns that the output is filled with before a launch, in turns. The second is a number, about 1.4e19: a kernel
that computes only where it finds a NaN must not pass. None is near a right result."""


@dataclass(frozen=True)
class Turn:
    """One launch of a case: the wave order, whether registers and LDS are filled with NaN, and the output's fill."""

    order: str
    poison: bool
    fill: int


@dataclass(frozen=True)
class Case:
    """One shape and what is launched on it."""

    shape: str
    sizes: Mapping[str, int]
    seeds: tuple[int, ...]
    turns: tuple[Turn, ...]
    large: bool = False
    """Its launch takes long enough that the next case can be prepared meanwhile."""
    checked: bool = False
    """Races and uses of unwritten memory are looked for, in `sample` workgroups; None: as many as take little."""
    sample: int | None = None


def plan(
    task: Task, variant: Variant, shape: str, seeds: Sequence[int] | None, orders: Sequence[str] | None
) -> tuple[Case, ...]:
    """Return the cases: the shape that was asked for, then a held-out one where the variant allows another.

    Without `seeds`, they are drawn anew, so that nobody can prepare for them. Raises UsageError and UnknownName for
    seeds and orders that do not exist.
    """
    sizes = task.dimensions(shape)
    task.defines(variant, shape)
    large = _outputs(task, sizes) > LARGE_OUTPUTS
    chosen = _seeds(seeds, 1 if large else 2)
    wanted = _orders(orders)
    first = Case(shape, sizes, chosen, _turns(wanted if orders or not large else ORDERS[:1], stale=not large), large)
    other = held_out(task, variant, sizes, chosen[0])
    if other is None:
        return (first,)
    return first, Case(HELD_OUT, other, chosen, _turns(wanted, stale=True))


def with_checks(cases: Sequence[Case], sample: int | None) -> tuple[Case, ...]:
    """Return the cases, the first of them to be checked on `sample` workgroups; 0: none of them."""
    return (replace(cases[0], checked=sample != 0, sample=sample), *cases[1:])


def on_hardware(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Return the cases for a GPU, which orders wavefronts itself: a launch for each fill, to see whether they agree."""
    turns = tuple(Turn(HARDWARE, True, fill) for fill in FILLS)
    return tuple(replace(case, turns=turns) for case in cases)


def _outputs(task: Task, sizes: Mapping[str, int]) -> int:
    count = 0
    for name, tensor in task.problem.tensors.items():
        if tensor.is_result:
            product = 1
            for size in task.problem.shape(name, sizes):
                product *= size
            count += product
    return count


def _turns(orders: Sequence[str], *, stale: bool) -> tuple[Turn, ...]:
    """Return a launch an order; `stale` adds one whose registers and LDS hold what the workgroup before left there."""
    turns = [Turn(order, True, FILLS[place % len(FILLS)]) for place, order in enumerate(orders)]
    if stale:
        turns.append(Turn(orders[0], False, FILLS[0]))
    return tuple(turns)


def _seeds(seeds: Sequence[int] | None, default: int) -> tuple[int, ...]:
    if not seeds:
        return tuple(secrets.randbelow(MAX_SEED) for _ in range(default))
    if len(seeds) > MAX_SEEDS or not all(0 <= seed <= MAX_SEED for seed in seeds):
        raise UsageError(f"seeds are up to {MAX_SEEDS} numbers from 0 to {MAX_SEED}", where="seeds")
    return tuple(dict.fromkeys(seeds))


def _orders(orders: Sequence[str] | None) -> tuple[str, ...]:
    for order in orders or ():
        if order not in ORDERS:
            raise UnknownName("wave order", order, ORDERS, where="orders")
    return tuple(dict.fromkeys(orders or ORDERS))
