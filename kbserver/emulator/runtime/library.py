"""Collect the runtime functions that one kernel needs, each once, with what they call."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module

from kbserver.emulator.runtime.routine import Routine

MODULES = (
    "atomic_operations", "atomics", "bounds", "buffers", "direct", "flat", "global_memory", "grid", "lds",
    "permutes", "private_buffers", "scalar_memory", "scratch", "transposes",
)  # fmt: skip


@lru_cache(maxsize=1)
def routines() -> Mapping[str, Routine]:
    """Return every runtime function by name."""
    table: dict[str, Routine] = {}
    for name in MODULES:
        table.update(import_module(f"kbserver.emulator.runtime.{name}").ROUTINES)
    return table


class Library:
    """The runtime part of one LLVM module."""

    def __init__(self, intrinsics: dict[str, str]) -> None:
        self._intrinsics = intrinsics
        """name -> declaration, shared with the emitter of the kernel."""
        self._required: dict[str, Routine] = {}

    def require(self, name: str) -> None:
        """Add a routine and what it needs. Raises KeyError for an unknown name."""
        if name not in self._required:
            routine = routines()[name]
            self._required[name] = routine
            for needed in routine.needs:
                self.require(needed)

    def define(self, name: str, routine: Routine) -> None:
        """Add a routine that is made for one kernel, such as one MFMA shape."""
        if name not in self._required:
            self._required[name] = routine
            for needed in routine.needs:
                self.require(needed)

    def text(self, kernel: str) -> str:
        """Return the module: declarations, runtime functions, the kernel."""
        declarations = set(self._intrinsics.values())
        for routine in self._required.values():
            declarations.update(routine.declarations)
        bodies = [self._required[name].text for name in sorted(self._required)]
        return "\n".join([*sorted(declarations), *bodies, kernel])
