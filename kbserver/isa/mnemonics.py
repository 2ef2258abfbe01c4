"""Every mnemonic that LLVM's assembler knows for any AMD GPU, and which targets take it.

The assembler's table of mnemonics lies in the LLVM library as length-prefixed strings; a bare mnemonic is refused with
"instruction not supported on this GPU" when the target lacks it, and otherwise for its missing operands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kbserver.core.errors import Unavailable
from kbserver.isa.assembler import LlvmMc
from kbserver.isa.forms import Form
from kbserver.isa.names import base_name

OTHER_TARGETS = ("gfx900", "gfx906", "gfx908", "gfx1030", "gfx1100", "gfx1150", "gfx1200", "gfx1250")
_KNOWN = b"v_permlanex16_b32"
_ALLOWED = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_.")
_UNSUPPORTED = "instruction not supported on this GPU"
_LONGEST_TABLE = 1 << 17


def known_mnemonics(mc: LlvmMc) -> list[str]:
    """Return all mnemonics of the assembler's table, sorted. Raises Unavailable when the library cannot be read."""
    folder = Path(mc.path).resolve().parent.parent / "lib"
    for library in sorted(folder.glob("libLLVM.so.*")):
        names = _names_in(library.read_bytes())
        if names:
            return names
    raise Unavailable("the table of mnemonics was not found in LLVM's library", where=str(folder))


def _names_in(data: bytes) -> list[str]:
    needle = bytes([len(_KNOWN)]) + _KNOWN
    place = data.find(needle)
    if place < 0:
        return []
    start = next(
        (at for at in range(max(0, place - _LONGEST_TABLE), place) if _read(data, at, place)[1] == place), place
    )
    return sorted(set(_read(data, start, len(data))[0]))


def _read(data: bytes, at: int, end: int) -> tuple[list[str], int]:
    """Read length-prefixed names from `at` up to `end` or the first that is none; return them and where it stopped."""
    names = []
    while at < end:
        size = data[at]
        name = data[at + 1 : at + 1 + size]
        if not size or not _ALLOWED.issuperset(name):
            break
        names.append(name.decode("ascii"))
        at += 1 + size
    return names, at


def supported(mc: LlvmMc, arch: str, names: Sequence[str]) -> set[str]:
    """Return those of `names` that `arch` takes."""
    answers = mc.assemble(arch, list(names))
    return {name for name, answer in zip(names, answers, strict=True) if _is_known(answer)}


def _is_known(answer: bytes | str) -> bool:
    return isinstance(answer, bytes) or not answer.startswith((_UNSUPPORTED, "invalid instruction", "unrecognized"))


def aliases(mc: LlvmMc, arch: str, names: set[str], forms: Sequence[Form]) -> dict[str, str]:
    """Return spelling -> canonical name, for the spellings in `names` that LLVM takes and prints differently.

    A spelling means what it assembles to: it is tried with the operands of every form of its family.
    """
    canonical = {form.code: form.name for form in forms}
    have = set(canonical.values())
    questions = []
    for name in sorted(name for name in names if base_name(name) not in have):
        family = "_".join(name.split("_")[:2])
        for form in forms:
            if form.name.startswith(family):
                mnemonic = name + form.line.mnemonic.removeprefix(form.name)
                questions.append((name, form.line.text().replace(form.line.mnemonic, mnemonic, 1)))
    answers = mc.assemble(arch, [text for _, text in questions])
    found = {}
    for (name, _), code in zip(questions, answers, strict=True):
        if isinstance(code, bytes) and code in canonical:
            found[name] = canonical[code]
    return found


def is_internal(name: str) -> bool:
    """Return whether a mnemonic is the assembler's own way to write another (`v_cmp_eq_f32_e32`), or none at all."""
    return base_name(name) != name or not re.match(r"(?:[a-z]+_)", name)
