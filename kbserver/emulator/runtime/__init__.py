"""Runtime functions in LLVM IR: memory access with its checks, and the loop over a grid.

Each module has a table name -> `Routine`; a kernel's module contains the routines that it needs and no others.
"""

from __future__ import annotations

from kbserver.emulator.runtime.library import Library
from kbserver.emulator.runtime.routine import Routine

__all__ = ["Library", "Routine"]
