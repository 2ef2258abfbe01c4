"""One runtime function: its text and the names of the functions that it calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Routine:
    """IR text of a function, the routines it calls, and the LLVM declarations it needs."""

    text: str
    needs: tuple[str, ...] = ()
    declarations: tuple[str, ...] = ()
