"""What every instruction does: tables from exact mnemonic to row, one module an instruction family."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kbserver.emulator.rows import Row, merged


@lru_cache(maxsize=1)
def table() -> Mapping[str, Row]:
    """Return the rows of all families by base mnemonic (without _e32, _e64, _sdwa, _dpp)."""
    from kbserver.emulator.semantics import (
        atomics,
        buffer_memory,
        calls,
        convert,
        crosslane,
        division,
        dot,
        flow,
        fp8,
        global_memory,
        gpr_index,
        hardware_state,
        lds,
        media,
        mfma,
        mfma_scaled,
        mixed,
        permutes,
        private_memory,
        salu,
        scalar_memory,
        scaled,
        smfmac,
        trigonometry,
        valu_float,
        valu_integer,
        vop3p,
        vopc,
        waits,
    )

    families = (
        atomics,
        buffer_memory,
        calls,
        convert,
        crosslane,
        division,
        dot,
        flow,
        fp8,
        global_memory,
        gpr_index,
        hardware_state,
        lds,
        media,
        mfma,
        mfma_scaled,
        mixed,
        permutes,
        private_memory,
        salu,
        scalar_memory,
        scaled,
        smfmac,
        trigonometry,
        valu_float,
        valu_integer,
        vop3p,
        vopc,
        waits,
    )
    return merged(*(family.ROWS for family in families))


def find_row(name: str) -> Row | None:
    """Return the row of a base mnemonic, None when the emulator lacks it."""
    return table().get(name)
