"""The operation `instruction`: does it exist on the target, how is it written, and what takes its place."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Annotated

from kbserver.core.model import SourceRef
from kbserver.core.sources import cite
from kbserver.core.targets import targets
from kbserver.isa import hand, lookup
from kbserver.isa.line import Asked, read_question
from kbserver.isa.matrix_question import read_matrix_question
from kbserver.isa.semantics import Meaning, meaning_of, semantics
from kbserver.isa.table import TARGETS, FormRow, Instruction, instructions
from kbserver.ops.instruction_results import (
    Alternative,
    AssembledLine,
    BuiltinUse,
    EncodedForm,
    ErratumNote,
    InstructionAnswer,
    Operand,
)
from kbserver.ops.registry import Arg, operation

MAX_ENCODINGS = 16
MAX_BUILTINS = 6
_KINDS = {
    "v": "VGPR", "a": "AGPR", "s": "SGPR", "c": "inline constant", "l": "literal", "i": "immediate",
}  # fmt: skip
NO_SEMANTICS = "unknown here: the tables say how it is written and encoded, and no entry says what it computes"


@operation(
    name="instruction",
    command="isa",
    title="Instruction",
    toolset="knowledge",
    says_no=lambda result: not result.exists or result.refused,
)
def instruction(
    mnemonic: Annotated[
        str,
        Arg(
            "a mnemonic, one whole instruction, a __builtin_amdgcn_ name, or C[5][9] of 16x16x32 bf16",
            positional=True,
            words=True,
        ),
    ],
    arch: Annotated[str | None, Arg("gfx target, generation or product; without it all targets answer")] = None,
    element: Annotated[
        str | None, Arg("of a matrix instruction: C[5][9], or the other way D lane 19 register 1")
    ] = None,
) -> InstructionAnswer:
    """Look up an AMD GPU instruction before you name or write it: whether gfx90a, gfx942 and gfx950 have it, canonical
    spelling, encodings, operand constraints, modifiers, wait counters, hazards, matrix shape, cost and lane layout,
    clang builtins. A whole instruction is assembled to bytes or refused with the reason. A name that does not exist
    (RDNA, PTX, CUDA or invented) is answered with why and what takes its place.
    """
    target, decided_by = targets().resolve(arch) if arch else (None, "no target named: all are answered")
    place = read_matrix_question(mnemonic, target) if element is None else None
    if place:
        mnemonic, element = place
    asked = read_question(mnemonic)
    if asked.name.startswith("__builtin_"):
        return _builtin(asked, target, decided_by, element)
    found = lookup.look_up(asked.name, [target] if target else TARGETS)
    return _answer(asked, found, target, decided_by, element)


def _answer(
    asked: Asked, found: lookup.Found, arch: str | None, decided_by: str, element: str | None
) -> InstructionAnswer:
    wanted = [arch] if arch else list(found.targets)
    shown_arch = arch or (found.targets[-1] if found.targets else None)
    known = found.on(shown_arch) if shown_arch else None
    forms = lookup.forms_with_suffix(_forms(found, wanted), asked.suffix)
    exists = bool(forms)
    why = None if exists else _why(asked, found, known, arch)
    line, assembler = _assembled(asked, wanted or list(TARGETS))
    from kbserver.ops import instruction_facts

    meaning = meaning_of(known.name) if known else None

    matrix = instruction_facts.matrix_facts(known, shown_arch, element) if known and shown_arch else None
    if element is not None and matrix is None:
        _refuse_element(asked)
    return InstructionAnswer(
        mnemonic=asked.mnemonic,
        arch=arch,
        decided_by=decided_by,
        exists=exists,
        canonical=known.name if known else None,
        targets=[one for one in found.targets if lookup.forms_with_suffix(_forms(found, [one]), asked.suffix)],
        kind="instruction" if found.targets else "unknown",
        why=why,
        encodings=[_encoded(form) for form in forms[:MAX_ENCODINGS]],
        total_encodings=len(forms),
        aliases=[name for name in instructions().spellings(known.name) if name != asked.name] if known else [],
        matrix=matrix,
        alternatives=_alternatives(found, arch),
        near=list(found.near) if not found.targets or not exists else [],
        elsewhere=list(found.elsewhere),
        waits=instruction_facts.waits(known, shown_arch) if known and shown_arch else None,
        hazards=instruction_facts.hazards(known, shown_arch, matrix, asked.suffix) if known and shown_arch else [],
        builtins=_builtins(found, arch),
        errata=_errata(known.name if known else asked.name, arch),
        line=line,
        assembler=assembler,
        semantics=_told(meaning, asked.suffix) if meaning else None,
        semantics_note=meaning.basis.says if meaning else NO_SEMANTICS,
        llvm=instructions().llvm,
        sources=_sources(found.sources, matrix.sources if matrix else [], meaning.basis.sources if meaning else []),
    )


def _refuse_element(asked: Asked) -> None:
    from kbserver.core.errors import UsageError

    raise UsageError(
        f"{asked.name} is no matrix instruction of the target: it has no element layout",
        where="element",
        hint="name one such as v_mfma_f32_16x16x32_bf16",
    )


def _forms(found: lookup.Found, wanted: Sequence[str]) -> list[FormRow]:
    forms: list[FormRow] = []
    for arch in wanted:
        known = found.on(arch)
        forms += [form for form in known.on(arch) if form not in forms] if known else []
    return forms


def _why(asked: Asked, found: lookup.Found, known: Instruction | None, arch: str | None) -> str:
    if known is not None:
        have = sorted({f"{form.format} {form.mode}".strip() for form in known.forms})
        return f"{asked.name} exists, but has no {asked.suffix} form; it has: {', '.join(have)}"
    parts = [found.why] if found.why else []
    if found.targets:
        parts.insert(0, f"not on {arch}: only on {', '.join(found.targets)}.")
    elif found.elsewhere:
        parts.insert(0, f"on none of these targets; LLVM has it for {', '.join(found.elsewhere)}.")
    elif not parts:
        parts.append(f"LLVM {instructions().llvm} knows no such AMD GPU instruction.")
    return " ".join(parts)


def _alternatives(found: lookup.Found, arch: str | None) -> list[Alternative]:
    alternatives = []
    for one in found.instead:
        known = instructions().get(one.name)
        if known is None or (arch and arch not in known.targets):
            continue
        alternatives.append(
            Alternative(name=one.name, why=one.why, targets=list(known.targets), sources=list(found.sources))
        )
    return alternatives


def _assembled(asked: Asked, archs: Sequence[str]) -> tuple[list[AssembledLine], str | None]:
    if asked.line is None:
        return [], None
    from kbserver.ops.assemble_line import assemble

    return assemble(asked.line, archs)


def _encoded(form: FormRow) -> EncodedForm:
    return EncodedForm(
        format=form.format,
        mode=form.mode,
        opcode=form.opcode,
        size_bytes=len(form.code),
        syntax=form.syntax,
        bytes=form.code.hex(" "),
        operands=[_operand(word) for word in form.operands],
        modifiers=list(form.modifiers),
        targets=list(form.targets),
    )


def _operand(word: str) -> Operand:
    name, colon, rest = word.partition(":")
    if not colon:
        return Operand(name=name, accepts=[name], registers=[])
    kinds, _, multiple = rest.partition("%")
    letters = kinds.rstrip("0123456789/")
    return Operand(
        name=name,
        accepts=[_KINDS[letter] for letter in letters],
        registers=[int(number) for number in kinds.removeprefix(letters).split("/") if number],
        first_multiple_of=int(multiple or 1),
    )


def _builtins(found: lookup.Found, arch: str | None) -> list[BuiltinUse]:
    rows = lookup.builtins_for(sorted(set(found.canonical.values())))
    uses = [
        BuiltinUse(name=row.name, signature=row.signature, targets=list(row.on), needs=row.needs)
        for row in rows
        if arch is None or arch in row.on
    ]
    return uses[:MAX_BUILTINS]


def _errata(name: str, arch: str | None) -> list[ErratumNote]:
    return [
        ErratumNote(says=one.says, on=list(one.on), sources=list(one.sources))
        for one in hand.errata(name, [arch] if arch else TARGETS)
    ]


def _told(meaning: Meaning, suffix: str) -> str:
    """Return what it computes, with what the encoding that was asked for adds."""
    return " ".join(filter(None, (meaning.text, semantics().encodings.get(suffix))))


def _sources(*others: Sequence[SourceRef]) -> list[SourceRef]:
    generated = cite("llvm-22.1.8", "whole opcode space of the three targets decoded and assembled back")
    return list(dict.fromkeys((generated, *chain.from_iterable(others))))


def _builtin(asked: Asked, arch: str | None, decided_by: str, element: str | None) -> InstructionAnswer:
    """Answer for a clang builtin: as the instruction it becomes, with its own targets and requirement."""
    row = lookup.builtin(asked.name)
    if row is None:
        near = lookup.near_builtins(asked.name)
        why = f"clang {instructions().llvm} knows no such builtin"
        return _answer(asked, lookup.Found(asked.name, why=why, near=near), arch, decided_by, element)
    becomes = (row.on.get(arch) if arch else next((names for names in reversed(row.on.values()) if names), None)) or []
    found = lookup.look_up(becomes[0], [arch] if arch else TARGETS) if len(becomes) == 1 else lookup.Found(asked.name)
    answer = _answer(Asked(found.name, "", None), found, arch, decided_by, element)
    exists = arch in row.on if arch else bool(row.on)
    needs = f": it needs target feature {row.needs}" if row.needs else ""
    note = None if exists else lookup.look_up(_instruction_of(row), [arch] if arch else TARGETS)
    return answer.model_copy(
        update={
            "mnemonic": asked.name,
            "kind": "builtin",
            "exists": exists,
            "why": None if exists else f"clang refuses it for {arch or 'these targets'}{needs}",
            "targets": list(row.on),
            "near": [],
            "alternatives": _alternatives(note, arch) if note else [],
            "builtins": [BuiltinUse(name=row.name, signature=row.signature, targets=list(row.on), needs=row.needs)],
        }
    )


def _instruction_of(row: lookup.BuiltinRow) -> str:
    """Return the instruction that a builtin becomes where it compiles, else the name that it would have."""
    for names in row.on.values():
        if len(names) == 1:
            return names[0]
    return "v_" + row.name.removeprefix("__builtin_amdgcn_")
