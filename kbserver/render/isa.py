"""Text of `instruction`: the verdict first, then how to write it, then what concerns it."""

from __future__ import annotations

from collections.abc import Sequence

from kbserver.core.model import SourceRef
from kbserver.ops.instruction_results import EncodedForm, InstructionAnswer, MatrixFacts, Operand
from kbserver.render.document import Document, cell
from kbserver.render.registry import renders

MAX_FORMS = 8
MAX_RUNS = 16
MAX_MODIFIERS = 24


@renders(InstructionAnswer)
def _(answer: InstructionAnswer) -> Document:
    document = Document().say(_verdict(answer))
    for one in answer.line:
        said = f"{one.size_bytes} bytes: {one.bytes}" if one.ok else f"refused: {one.error}"
        document.say(f"assembled for {one.arch}: {said}")
    if answer.assembler:
        document.say(f"assembler: {answer.assembler}")
    if answer.matrix and answer.matrix.element:
        # Somebody asked for one place: encodings and hazards would bury it.
        _say_matrix(document, answer.matrix)
        return document.say(f"source: {_cited(answer.sources)}")
    for other in answer.alternatives:
        where = "where it is missing" if answer.exists else "instead"
        document.say(f"{where}: {other.name}: {other.why} ({', '.join(other.targets)})")
    if answer.near:
        document.say(f"near names: {', '.join(answer.near)}")
    for form in answer.encodings[:MAX_FORMS]:
        document.say(_form(form, several=answer.arch is None))
    if answer.total_encodings > MAX_FORMS:
        document.say(f"{answer.total_encodings - MAX_FORMS} more encodings; --json lists {len(answer.encodings)}")
    if answer.matrix:
        _say_matrix(document, answer.matrix)
    _say_waits(document, answer)
    for builtin in answer.builtins:
        needs = f"; elsewhere it needs {builtin.needs}" if builtin.needs else ""
        document.say(f"builtin: {builtin.name}: {builtin.signature} ({', '.join(builtin.targets) or 'none'}{needs})")
    for erratum in answer.errata:
        document.say(f"sources differ ({', '.join(erratum.on)}): {erratum.says} [{_cited(erratum.sources)}]")
    if answer.exists and answer.kind == "instruction":
        rests_on = f" [{answer.semantics_note}]" if answer.semantics else ""
        document.say(f"what it computes: {answer.semantics or answer.semantics_note}{rests_on}")
    return document.say(f"source: {_cited(answer.sources)}")


def _verdict(answer: InstructionAnswer) -> str:
    where = f"on {answer.arch} ({answer.decided_by})" if answer.arch else f"({answer.decided_by})"
    if answer.exists:
        name = answer.canonical if answer.canonical and not answer.mnemonic.startswith(answer.canonical) else None
        spelled = f", spelled {name}" if name and answer.kind == "instruction" else ""
        spelled = f", becomes {name}" if name and answer.kind == "builtin" else spelled
        also = f"; also written {', '.join(answer.aliases)}" if answer.aliases else ""
        return f"{answer.mnemonic} exists {where}{spelled}; targets: {', '.join(answer.targets)}{also}"
    return f"{answer.mnemonic} does NOT exist {where}: {answer.why}"


def _form(form: EncodedForm, *, several: bool) -> str:
    kind = f"{form.format} {form.mode}".strip()
    on = f" [{', '.join(form.targets)}]" if several else ""
    modifiers = form.modifiers[:MAX_MODIFIERS]
    lines = [f"{kind}, opcode {form.opcode}, {form.size_bytes} bytes{on}: {form.syntax}", f"  = {form.bytes}"]
    if form.operands:
        lines.append("  operands: " + "; ".join(map(_operand, form.operands)))
    if modifiers:
        lines.append(f"  modifiers: {', '.join(modifiers)}")
    return "\n".join(lines)


def _operand(operand: Operand) -> str:
    if operand.accepts == [operand.name]:
        return operand.name
    count = "/".join(map(str, operand.registers))
    width = f" x{count}" if operand.registers not in ([], [1]) else ""
    start = {1: "", 2: ", first even"}.get(operand.first_multiple_of, f", first % {operand.first_multiple_of} = 0")
    return f"{operand.name} {'|'.join(operand.accepts)}{width}{start}"


def _say_matrix(document: Document, matrix: MatrixFacts) -> None:
    cost = ", ".join(f"{name} {value}" for name, value in matrix.cost.items()) or "cost unknown: no source"
    blocks = f", {matrix.blocks} blocks" if matrix.blocks > 1 else ""
    fact = f" [{matrix.fact}]" if matrix.fact else ""
    document.say(f"matrix: M {matrix.m}, N {matrix.n}, K {matrix.k}{blocks}; {cost}{fact}")
    place = matrix.element
    if place is None:
        for name, formula in matrix.layouts.items():
            document.say(f"layout of {name}: {formula}")
        document.say(f"layout status: {matrix.layout_status}")
        return
    document.say(f"{place.answer}\n  {place.formula}\n  {place.status}")
    document.table(
        ("register", "lanes", "first lane holds", "last lane holds"),
        [(run.register_index, run.lanes, run.first, run.last) for run in place.table[:MAX_RUNS]],
    )
    if len(place.table) > MAX_RUNS:
        document.say(f"{len(place.table) - MAX_RUNS} more runs of lanes; --json has all")


def _say_waits(document: Document, answer: InstructionAnswer) -> None:
    waits = answer.waits
    if waits:
        counters = ", ".join(
            f"{name} (at most {most})" if most is not None else name for name, most in waits.counters.items()
        )
        parts = [f"class: {waits.instruction_class}"]
        parts += [f"counts in {counters}"] if counters else []
        parts += [f"finishes {waits.order}"] if waits.order else []
        masks = ", ".join(waits.sched_group_barrier)
        parts += [f"sched_group_barrier mask {masks}"] if masks else []
        parts += [waits.note] if waits.note else []
        document.say("; ".join(parts))
    for hazard in answer.hazards:
        unit = f" {hazard.unit}" if hazard.unit else ""
        name = hazard.name.removeprefix("Wait states: ")
        document.say(f"hazard: {name}: {cell(hazard.value)}{unit} [{hazard.fact}]")


def _cited(sources: Sequence[SourceRef]) -> str:
    locators: dict[str, list[str]] = {}
    for one in sources:
        locators.setdefault(one.title, []).extend([one.locator] if one.locator else [])
    return "; ".join(f"{title} ({'; '.join(found)})" if found else title for title, found in locators.items())
