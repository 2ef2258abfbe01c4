"""What the fact table adds to an instruction: matrix cost, hazards, counter widths; and where matrix elements lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from kbserver.core.errors import UsageError
from kbserver.core.sources import cite
from kbserver.hardware.fact_model import Fact, FactTable
from kbserver.hardware.facts import load_facts
from kbserver.isa.hand import InstructionClass, class_of
from kbserver.isa.layout import BY_FORMULA, CALCULATED, MEASURED, ElementQuestion, Run, Shape, read_question
from kbserver.isa.table import Instruction
from kbserver.ops.instruction_results import ElementPlace, Hazard, LayoutRun, MatrixFacts, Waits

_LAYOUT_SOURCES = {
    CALCULATED: ("matrix-calculator",),
    MEASURED: ("hip-fpsan-mfma", "hip-fpsan-smfmac", "ck-mx-mfma", "rocm-blog-matrix-cores-cdna"),
    BY_FORMULA: ("matrix-calculator",),
}


def matrix_facts(instruction: Instruction, arch: str, element: str | None) -> MatrixFacts | None:
    """Return shape, cost and layout of a matrix instruction on `arch`; None for others. Raises UsageError."""
    shape = _shape(instruction, arch)
    if shape is None:
        if element is not None:
            raise UsageError(
                f"{instruction.name} is not a matrix instruction: it has no element layout", where="element"
            )
        return None
    fact = _cost(load_facts(), instruction.name, arch)
    cost = dict(fact.value) if fact and isinstance(fact.value, dict) else {}
    status = shape.status(instruction.targets)
    matrices = "ABD" if shape.sparse else "ABC"
    return MatrixFacts(
        m=shape.m,
        n=shape.n,
        k=shape.k,
        blocks=shape.blocks,
        cost={name: value for name, value in cost.items() if name not in ("m", "n", "k", "blocks")},
        fact=f"fact:{fact.id}" if fact else None,
        layouts={("C and D" if matrix == "C" else matrix): shape.formula(matrix) for matrix in matrices}
        | shape.extra_formulas(),
        layout_status=status,
        element=_element(shape, element, status) if element is not None else None,
        sources=[*(fact.sources if fact else ()), *(cite(one, "layouts") for one in _LAYOUT_SOURCES[status])],
    )


def _shape(instruction: Instruction, arch: str) -> Shape | None:
    forms = instruction.on(arch)
    result = next((word for form in forms for word in form.operands if word.startswith("vdst:")), None)
    return Shape.of(instruction.name, _registers(result)[0]) if result else None


def _registers(word: str) -> list[int]:
    """Return the register counts of an operand such as `src0:va4/6/8%2`."""
    numbers = word.partition(":")[2].partition("%")[0].lstrip("vascli")
    return [int(number) for number in numbers.split("/") if number]


def _cost(facts: FactTable, name: str, arch: str) -> Fact | None:
    for key in (f"{arch}.mfma.{name}", f"{arch}.mfma.{name.replace('_scale', '')}"):
        if key in facts:
            return facts.get(key)
    return None


def _element(shape: Shape, asked: str, status: str) -> ElementPlace:
    question = read_question(asked)
    matrix = question.matrix
    shape = shape.in_format(question.format)
    if isinstance(question, ElementQuestion):
        place = shape.place(matrix, question.row, question.column, question.block)
        elements = [_named(shape, matrix, (question.row, question.column, question.block))]
        lane, register, registers = place.lane, place.register, place.registers
        bits = f"{place.low_bit + place.bits - 1}:{place.low_bit}" if place.bits < 32 else None
    else:
        missing = shape.missing(matrix)
        if missing:
            raise UsageError(f"the layout of {matrix} of {shape.name} is not known: {missing}", where="element")
        lane, register, registers, bits = question.lane, question.register, 1, None
        elements = [_named(shape, matrix, one) for one in shape.elements(matrix, lane, register)]
        if not elements:
            raise UsageError(
                f"{matrix} of {shape.name} has nothing in lane {lane}, register {register}",
                where="element",
                hint=f"lanes 0 to 63, registers 0 to {max(run.register for run in shape.runs(matrix))}",
            )
    held = f"registers {register} and {register + 1}" if registers == 2 else f"register {register}"
    answer = f"{', '.join(elements)}: lane {lane}, {held} of {matrix}, counted from 0" + (
        f", bits {bits}" if bits else ""
    )
    return ElementPlace(
        asked=asked.strip(),
        matrix=matrix,
        elements=elements,
        lane=lane,
        register_index=register,
        register_count=registers,
        bits=bits,
        answer=answer,
        formula=shape.formula(matrix),
        status=status,
        table=[_run(shape, matrix, run) for run in shape.runs(matrix)],
    )


def _run(shape: Shape, matrix: str, run: Run) -> LayoutRun:
    def shown(elements: Sequence[tuple[int, int, int]]) -> str:
        return " ".join(_named(shape, matrix, element) for element in elements)

    lanes = f"{run.first_lane}-{run.last_lane}" if run.last_lane > run.first_lane else str(run.first_lane)
    return LayoutRun(register_index=run.register, lanes=lanes, first=shown(run.first), last=shown(run.last))


def _named(shape: Shape, matrix: str, element: tuple[int, int, int]) -> str:
    row, column, block = element
    return f"{matrix}[{row}][{column}]" + (f" block {block}" if shape.blocks > 1 else "")


def waits(instruction: Instruction, arch: str) -> Waits | None:
    """Return counters and scheduling bits of an instruction."""
    kind = class_of(instruction.name)
    if kind is None:
        return None
    facts = load_facts()
    return Waits(
        instruction_class=kind.name,
        counters={counter: _largest(facts, f"{arch}.waits.{counter}_bits") for counter in kind.counters},
        order=_text(facts, f"{arch}.waits.{kind.order}") if kind.order else None,
        sched_group_barrier=[hex(mask) for mask in kind.masks],
        note=kind.note,
    )


def _largest(facts: FactTable, fact_id: str) -> int | None:
    bits = facts.get(fact_id).value if fact_id in facts else None
    return 2**bits - 1 if isinstance(bits, int) else None


def _text(facts: FactTable, fact_id: str) -> str | None:
    return str(facts.get(fact_id).value) if fact_id in facts else None


def hazards(instruction: Instruction, arch: str, matrix: MatrixFacts | None, suffix: str) -> list[Hazard]:
    """Return the wait states that concern an instruction on `arch`, as far as facts give them."""
    kind = class_of(instruction.name)
    facts = load_facts()
    found = []
    for name in _hazard_names(instruction, kind, matrix, suffix):
        key = f"{arch}.hazards.{name}"
        if key in facts:
            fact = facts.get(key)
            value = _outside_xdl(instruction.name, name, arch, matrix)
            value = _for_passes(fact.value, matrix) if value is None else value
            found.append(Hazard(name=fact.name, value=value, unit=fact.unit, fact=f"fact:{key}"))
    return found


def _hazard_names(
    instruction: Instruction, kind: InstructionClass | None, matrix: MatrixFacts | None, suffix: str
) -> Iterator[str]:
    if matrix:
        from kbserver.emulator.hazard_rules import matrix_inputs

        f64, plain_f32 = matrix_inputs(instruction.name)
        if f64:
            yield f"mfma_f64_{matrix.m}x{matrix.n}x{matrix.k}_write_then_read"
            yield "mfma_f64_then_v_fma_f64"
        elif plain_f32:
            yield "mfma_f32_non_xdl_write_then_read"
        else:
            yield "mfma_xdl_write_then_read"
    yield from kind.hazards if kind else ()
    if suffix == "_dpp":
        yield "valu_writes_vgpr_then_dpp_reads_it"
    if any("lds" in form.mode.split() for form in instruction.forms):
        yield "salu_writes_m0_then_lds_add_tid_or_buffer_load_lds"


def _outside_xdl(instruction: str, hazard: str, arch: str, matrix: MatrixFacts | None) -> int | None:
    """Return the figure of an F64 or F32 form where the fact's table is that of XDL forms only, as its note says."""
    from kbserver.emulator import hazard_rules as rules

    f64, plain_f32 = rules.matrix_inputs(instruction)
    passes = matrix.cost.get("passes") if matrix else None
    if matrix is None or not isinstance(passes, int) or not (f64 or (plain_f32 and arch != "gfx90a")):
        return None
    form = rules.Traits("matrix", instruction, passes=passes, f64=f64, xdl=False, size=matrix.m)
    if hazard == "mfma_src_c_read_then_valu_write":
        return rules.matrix_c_states(arch, form)
    if hazard == "mfma_write_then_src_c_overlap":
        return rules.matrix_result_states(arch, form, "overlapping C", form)
    return None


def _for_passes(value: JsonValue, matrix: MatrixFacts | None) -> JsonValue:
    """Return the figure of this instruction's number of passes, when the fact tells them apart."""
    if not isinstance(value, dict) or matrix is None:
        return value
    passes = matrix.cost.get("passes")
    for key in (f"{passes}_passes", f"{matrix.m}x{matrix.n}"):
        if key in value:
            return value[key]
    return value.get("more_passes", value) if isinstance(passes, int) and passes > 2 else value
