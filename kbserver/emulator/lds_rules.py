"""How the LDS serves one wave instruction: banks and lane groups by target, direction and width, each with its source.

A group is the set of lanes served together (a phase): only they can conflict. `basis` says how firm a rule is:
`measured` (somebody ran it on that target), `vendor` (AMD wrote it down), `model` (carried over from a neighbour).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LANES = 64
READ, WRITE = "read", "write"
MEASURED, VENDOR, MODEL = "measured", "vendor", "model"


@dataclass(frozen=True)
class Rule:
    """One row of the table. `groups` are lanes of each phase, `source` is (id of sources.yaml, locator)."""

    banks: int
    groups: tuple[tuple[int, ...], ...]
    basis: str
    source: tuple[str, str]


def _consecutive(size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(start, start + size)) for start in range(0, LANES, size))


def _both_halves(*groups: str) -> tuple[tuple[int, ...], ...]:
    """Read "0-3,20-23": the groups of lanes 0 to 31; lanes 32 to 63 follow the same pattern."""
    low = tuple(
        tuple(lane for part in group.split(",") for lane in range(int(part.split("-")[0]), int(part.split("-")[1]) + 1))
        for group in groups
    )
    return low + tuple(tuple(lane + 32 for lane in group) for group in low)


_HALVES = _consecutive(32)
_EIGHTS_SWAPPED = _both_halves("0-3,20-23", "4-7,16-19", "8-11,28-31", "12-15,24-27")
_SIXTEENS_SWAPPED = _both_halves("0-3,12-15,20-27", "4-11,16-19,28-31")

_COUNTED = ("evokernel-trajectory", "rocprofv3 on MI350X: SQ_LDS_BANK_CONFLICT 1,401,840 of 3,776 wavefronts")
_PHASES = "hipkittens-phases"
_DH = ("dh-comms", "memory_analysis_handler.h, class conflict_set")

_GFX950: dict[tuple[str, int], Rule] = {
    (READ, 4): Rule(32, _HALVES, MEASURED, _COUNTED),
    (READ, 8): Rule(64, _HALVES, MEASURED, (_PHASES, "ds_read_b64")),
    (READ, 12): Rule(32, _EIGHTS_SWAPPED, MEASURED, (_PHASES, "ds_read_b96")),
    (READ, 16): Rule(64, _SIXTEENS_SWAPPED, MEASURED, (_PHASES, "ds_read_b128")),
    (WRITE, 4): Rule(32, _HALVES, MODEL, _DH),
    (WRITE, 8): Rule(32, _consecutive(16), MEASURED, (_PHASES, "ds_write_b64")),
    (WRITE, 12): Rule(32, _consecutive(8), MODEL, ("ck-lds-conflicts", "groups of ds_write_b128, gfx942")),
    (WRITE, 16): Rule(32, _consecutive(8), MODEL, ("ck-lds-conflicts", "groups of ds_write_b128, gfx942")),
}
_GFX942: dict[tuple[str, int], Rule] = {
    (READ, 4): Rule(32, _HALVES, MEASURED, ("shark-ai-lds", "cdna3info.md, lines 30-33")),
    (READ, 8): Rule(32, _consecutive(16), MEASURED, ("shark-ai-lds", "cdna3info.md, lines 47-50")),
    (READ, 12): Rule(32, _EIGHTS_SWAPPED, MODEL, ("hipkittens-phases", "ds_read_b96, gfx950")),
    (READ, 16): Rule(32, _EIGHTS_SWAPPED, MEASURED, ("shark-ai-lds", "cdna3info.md, lines 63-72")),
    (WRITE, 4): Rule(32, _HALVES, VENDOR, _DH),
    (WRITE, 8): Rule(32, _consecutive(16), VENDOR, _DH),
    (WRITE, 12): Rule(32, _consecutive(8), MODEL, ("ck-lds-conflicts", "groups of ds_write_b128")),
    (WRITE, 16): Rule(32, _consecutive(8), VENDOR, ("ck-lds-conflicts", "groups of ds_write_b128")),
}
_CARRIED = "rule of gfx942; not confirmed for gfx90a"
RULES: Mapping[str, Mapping[tuple[str, int], Rule]] = {
    "gfx950": _GFX950,
    "gfx942": _GFX942,
    "gfx90a": {
        key: Rule(rule.banks, rule.groups, MODEL, (rule.source[0], f"{rule.source[1]}; {_CARRIED}"))
        for key, rule in _GFX942.items()
    },
}


def find_rule(arch: str, direction: str, width: int) -> Rule:
    """Return the rule for `width` bytes a lane; narrower than a dword counts as a dword. Raises KeyError."""
    return RULES[arch][direction, max(4, width)]
