"""Instructions as search entries, one a mnemonic, and as text for `kb read isa:gfx950/NAME`."""

from __future__ import annotations

from collections.abc import Iterator

from kbserver.core.errors import UnknownName, UnresolvedRef
from kbserver.core.model import SourceRef
from kbserver.core.sources import cite
from kbserver.core.targets import targets
from kbserver.isa import hand
from kbserver.isa.lookup import look_up
from kbserver.isa.semantics import meaning_of
from kbserver.isa.table import TARGETS, FormRow, Instruction, has_tables, instructions
from kbserver.knowledge.entries import Entry
from kbserver.knowledge.refs import unresolved

SCHEME = "isa:"


def instruction_entries() -> list[Entry]:
    """Return one entry a mnemonic, under the ref of the newest target that has it; none in content without tables."""
    if not has_tables():
        return []
    table = instructions()
    source = (_source(),)
    return [
        Entry(
            ref=f"{SCHEME}{one.targets[-1]}/{one.name}",
            title=one.name,
            kind="instruction",
            text=_summary(one),
            arch=one.targets,
            tags=tuple(table.spellings(one.name)),
            sources=source,
        )
        for one in table.all()
    ]


def open_instruction(ref: str) -> tuple[str, str, tuple[SourceRef, ...]]:
    """Return (title, text, sources) of `isa:TARGET/NAME`; any spelling and product name opens. Raises UnresolvedRef."""
    if not has_tables():
        raise unresolved(ref, (), "instruction")
    arch_name, slash, name = ref.removeprefix(SCHEME).partition("/")
    if not slash or not name:
        raise UnresolvedRef("an instruction ref names target and mnemonic", where=ref, hint="isa:gfx950/v_fma_f32")
    try:
        arch, _ = targets().resolve(arch_name)
    except UnknownName as error:
        raise UnresolvedRef(error.message, where=ref, hint=error.hint) from None
    found = look_up(name.lower(), [arch])
    instruction = found.on(arch)
    if instruction is None:
        near = [f"{SCHEME}{arch}/{one}" for one in found.near]
        if found.why or found.targets:
            raise UnresolvedRef(
                f"{arch} has no {name[:60]}",
                where=ref,
                hint=f"`kb isa {name[:60]} --arch {arch}` says what takes its place",
            )
        raise unresolved(ref, near, "instruction")
    return f"{instruction.name} on {arch}", "\n".join(_lines(instruction, arch)), (_source(),)


def _source() -> SourceRef:
    return cite("llvm-22.1.8", "whole opcode space decoded and assembled back")


def _summary(instruction: Instruction) -> str:
    kind = hand.class_of(instruction.name)
    formats = ", ".join(dict.fromkeys(form.format for form in instruction.forms))
    newest = instruction.on(instruction.targets[-1])[0]
    only = " only" if len(instruction.targets) < len(TARGETS) else ""
    counts = f" Counts in {' and '.join(kind.counters)}." if kind and kind.counters else ""
    named = f" ({kind.name})" if kind else ""
    meaning = meaning_of(instruction.name)
    computes = f" {meaning.text}" if meaning else ""
    return (
        f"{instruction.name}{named}: {formats} on {', '.join(instruction.targets)}{only}."
        f"{computes}{counts} Example: {newest.syntax}"
    )


def _lines(instruction: Instruction, arch: str) -> Iterator[str]:
    yield _summary(instruction)
    also = instructions().spellings(instruction.name)
    if also:
        yield f"Also written: {', '.join(also)}"
    meaning = meaning_of(instruction.name)
    yield f"What it computes: {meaning.basis.says}." if meaning else "What it computes is unknown here."
    for form in instruction.on(arch):
        yield from _form(form)
    for erratum in hand.errata(instruction.name, [arch]):
        yield f"Sources differ: {erratum.says} [{', '.join(source.id for source in erratum.sources)}]"
    yield (
        "Operands: v VGPR, a AGPR, s SGPR, c inline constant, l literal, i immediate, then the number of registers;"
        " %2: the first is even."
    )
    yield f"More (layout, hazards, builtins): kb isa {instruction.name} --arch {arch}"


def _form(form: FormRow) -> Iterator[str]:
    kind = f"{form.format} {form.mode}".strip()
    yield f"- {kind}, opcode {form.opcode}, {len(form.code)} bytes: `{form.syntax}` = {form.code.hex(' ')}"
    details = [f"operands {' '.join(form.operands)}"] if form.operands else []
    details += [f"modifiers {', '.join(form.modifiers)}"] if form.modifiers else []
    if details:
        yield f"  {'; '.join(details)}"
