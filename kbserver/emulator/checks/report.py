"""What the checks found on one launch, in words: which instruction, which place, which wavefronts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kbserver.emulator.checks.races import Access, Race
from kbserver.emulator.checks.runtime import ADDRESS, BRANCH, EXEC, STORED
from kbserver.emulator.kernel import Kernel

LDS_RACE, GLOBAL_RACE, UNINITIALISED = "LDS race", "global race", "uninitialised read"
CHECKS = (LDS_RACE, GLOBAL_RACE, UNINITIALISED)
ERROR, NOTE = "error", "note"

_REACHED = {
    STORED: "stores a value that depends on",
    ADDRESS: "takes an address, or the choice of lanes, from",
    BRANCH: "branches on",
    EXEC: "sets EXEC from",
}


@dataclass(frozen=True)
class CheckFinding:
    """One finding: kind of CHECKS, error or note, how often, and the place in the source."""

    kind: str
    severity: str
    message: str
    where: str
    count: int


@dataclass(frozen=True)
class CheckReport:
    """What was checked and what was found. `lost` rows of the trace did not fit; 0 when every access was seen."""

    findings: tuple[CheckFinding, ...]
    workgroups: int
    checked: int
    accesses: int
    lost: int
    compile_s: float
    wall_s: float


def is_atomic(name: str) -> bool:
    """Return whether a mnemonic is an atomic operation: of memory, or the read-modify-write operations of the LDS."""
    if not name.startswith("ds_"):
        return "atomic" in name
    return not name.startswith(("ds_read", "ds_write", "ds_bpermute", "ds_permute", "ds_swizzle", "ds_nop"))


def atomic_sites(kernel: Kernel) -> np.ndarray:
    """Return for every instruction whether it is atomic."""
    return np.array([is_atomic(d.name) for d in kernel.code], bool)


def place_of(kernel: Kernel, site: int) -> str:
    """Return the source line of an instruction, or its line in the assembly text."""
    instruction = kernel.code[site].instruction
    return str(instruction.source) if instruction.source else f"assembly line {instruction.line}"


def text_of(kernel: Kernel, site: int) -> str:
    """Return an instruction as written, on one line."""
    return f"`{' '.join(kernel.code[site].instruction.text.split())}`"


def told(kernel: Kernel, race: Race, describe: Callable[[int], str]) -> CheckFinding:
    """Return a race in words; `describe` says which buffer a global address lies in."""
    last = race.address + race.bytes - 1
    place = f"LDS bytes {race.address}-{last}" if race.memory == "LDS" else describe(race.address)
    apart = race.first.workgroup != race.second.workgroup
    between = "with no atomic to order them" if apart else "with no barrier between them"
    groups = f"workgroups {race.first.workgroup} and {race.second.workgroup}" if apart else (
        f"workgroup {race.first.workgroup}"
    )  # fmt: skip
    one, other = (_side(kernel, side) for side in (race.first, race.second))
    message = f"{one} and {other} touch {place} of {groups}" if race.memory == "LDS" else (
        f"{one} and {other} touch {place}, {groups}"
    )  # fmt: skip
    if race.equal:
        message += f", {between}; both write the same value"
    else:
        message += f", {between}"
    kind = LDS_RACE if race.memory == "LDS" else GLOBAL_RACE
    return CheckFinding(kind, NOTE if race.equal else ERROR, message, place_of(kernel, race.second.site), race.places)


def _side(kernel: Kernel, access: Access) -> str:
    verb = "write" if access.value is not None else "read"
    return f"the {verb} {text_of(kernel, access.site)} ({place_of(kernel, access.site)}, wavefront {access.wave})"


def used(kernel: Kernel, use: tuple[int, int, int, int], origin: str, count: int) -> CheckFinding:
    """Return the use of an undefined value in words; `use` is kind, site, workgroup, wavefront."""
    kind, site, workgroup, wave = use
    message = f"{text_of(kernel, site)} {_REACHED[kind]} {origin}; wavefront {wave}, workgroup {workgroup}"
    return CheckFinding(UNINITIALISED, ERROR, message, place_of(kernel, site), count)
