"""What every instruction does: tables from exact mnemonic to row, one module an instruction family."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module

from kbserver.emulator.rows import Row, merged

FAMILIES = (
    "atomics", "buffer_memory", "calls", "convert", "crosslane", "division", "dot", "flow", "fp8", "global_memory",
    "gpr_index", "hardware_state", "lds", "media", "mfma", "mfma_scaled", "mixed", "permutes", "private_memory",
    "salu", "scalar_memory", "scaled", "smfmac", "trigonometry", "valu_float", "valu_integer", "vop3p", "vopc",
    "waits",
)  # fmt: skip


@lru_cache(maxsize=1)
def table() -> Mapping[str, Row]:
    """Return the rows of all families by base mnemonic (without _e32, _e64, _sdwa, _dpp)."""
    return merged(*(import_module(f"{__name__}.{family}").ROWS for family in FAMILIES))


def find_row(name: str) -> Row | None:
    """Return the row of a base mnemonic, None when the emulator lacks it."""
    return table().get(name)
