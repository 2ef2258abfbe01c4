"""A second, slow and independent account of every instruction: plain Python on one lane's numbers, from the manuals.

The translator is checked against it mnemonic by mnemonic, and whole kernels are audited with the interpreter that runs
on it. Nothing here may use `semantics`: a mistake must be made twice to go unseen.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kbserver.emulator.oracle.rule import Rule


@lru_cache(maxsize=1)
def rules() -> Mapping[str, Rule]:
    """Return the rule of every mnemonic that has one value a lane (or a wavefront) as its result."""
    from kbserver.emulator.oracle import (
        convert,
        division,
        dot,
        media,
        salu,
        trigonometry,
        valu_float,
        valu_integer,
        vop3p,
        vopc,
    )

    table: dict[str, Rule] = {}
    for family in (convert, division, dot, media, salu, trigonometry, valu_float, valu_integer, vop3p, vopc):
        twice = table.keys() & family.RULES.keys()
        if twice:
            raise ValueError(f"defined twice: {sorted(twice)}")
        table.update(family.RULES)
    return table
