"""The moving part of a memory routine: every allowed lane's element, runs of consecutive ones as vectors."""

from __future__ import annotations

from kbserver.emulator.runtime.elements import Element
from kbserver.emulator.runtime.lane_loops import over_lanes, over_runs

_POINTER = "%pointer_{n}"
# Forms whose runs are one vector conversion. A d16 load is none: it keeps half of every destination.
_LOADS_IN_RUNS = ("", "zext", "sext")
_STORES_IN_RUNS = ("", "low", "low8")


def moves(element: Element, address: str, address_type: str, *, load: bool) -> str:
    """Return the blocks `move` to `done` for the lanes of %ok; `address` are lines that make %pointer_{n}."""
    one = address + (element.load(_POINTER) if load else element.store(_POINTER))
    if element.dwords == 1 and element.form in (_LOADS_IN_RUNS if load else _STORES_IN_RUNS):
        run = address + (element.load_run(_POINTER) if load else element.store_run(_POINTER))
        return over_runs("%ok", address_type, element.bytes, one, run, "move", "done")
    return over_lanes("%ok", one, "move", "done")
