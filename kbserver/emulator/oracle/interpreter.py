"""Run a kernel's wavefronts instruction by instruction on the oracle's rules: slow, and independent of the translator.

Decoding is shared (the operand grammar has tests of its own); every value is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence

from kbserver.core.errors import TimedOut
from kbserver.emulator.decode import Decoded, unsupported
from kbserver.emulator.kernel import Kernel
from kbserver.emulator.operands import EXEC, SCC, VCC, Number, Operand, Register, SymbolPart
from kbserver.emulator.oracle import rules
from kbserver.emulator.oracle.calls import follow, index_mode, symbol_part
from kbserver.emulator.oracle.rule import Rule, width
from kbserver.emulator.oracle.special import CONDITIONS, steps
from kbserver.emulator.oracle.state import Wavefront
from kbserver.emulator.oracle.values import Unreadable, constant, register_bits, source, write

_IMPLICIT = ("dst", "scc", "exec", "vcc")
# gfx9: these 16-bit results leave the register's high half alone (LLVM, zeroesHigh16BitsOfDest).
_KEEP_HIGH_HALF = frozenset(
    {
        *("v_fma_f16", "v_mac_f16", "v_mad_f16", "v_mad_u16", "v_mad_i16", "v_div_fixup_f16"),
        *("v_ashr_pk_i8_i32", "v_ashr_pk_u8_i32"),
        *(f"v_{name}3_{word}" for name in ("min", "max", "med") for word in ("f16", "i16", "u16")),
    }
)


def run_workgroup(kernel: Kernel, waves: Sequence[Wavefront], *, limit: int = 1_000_000) -> None:
    """Run wavefronts in turns from barrier to barrier until all have ended.

    Raises TimedOut when one executes more than `limit` instructions, UnsupportedInstruction for what has no rule.
    """
    while not all(wave.ended for wave in waves):
        for wave in waves:
            if not wave.ended:
                _run_to_barrier(kernel, wave, limit)


def _run_to_barrier(kernel: Kernel, wave: Wavefront, limit: int) -> None:
    while True:
        d = kernel.code[wave.pc]
        wave.counts[wave.pc] = wave.counts.get(wave.pc, 0) + 1
        wave.executed += 1
        if wave.executed > limit:
            raise TimedOut(f"a wavefront executed more than {limit} instructions", where=kernel.name)
        wave.pc += 1
        if d.name == "s_endpgm":
            wave.ended = True
            return
        if d.name == "s_barrier":
            return
        if d.name in CONDITIONS:
            if CONDITIONS[d.name](wave):
                wave.pc = kernel.labels[d.word(0)]
            continue
        try:
            if not follow(kernel, wave, d) and not index_mode(wave, d):
                _execute(wave, d)
        except Unreadable as error:
            raise unsupported(d.instruction, f"the interpreter does not know {error}") from None


def _execute(wave: Wavefront, d: Decoded) -> None:
    rule = rules().get(d.name)
    if rule is None:
        step = steps().get(d.name)
        if step is None:
            raise Unreadable(d.name)
        step(wave, d)
    elif d.name.startswith("s_"):
        _scalar(wave, d, rule)
    elif d.encoding == "dpp" or d.modifiers.keys() & {"mul", "div"}:
        raise Unreadable("DPP and output scaling")
    elif rule.packed:
        _packed(wave, d, rule)
    else:
        _vector(wave, d, rule)


def _operands(d: Decoded, rule: Rule) -> tuple[list[Operand | None], list[Operand | None]]:
    operands = iter(d.operands)
    results = [None if word in _IMPLICIT else next(operands) for word in rule.results]
    return results, [None if word in _IMPLICIT else next(operands) for word in rule.sources]


def _scalar(wave: Wavefront, d: Decoded, rule: Rule) -> None:
    results, sources = _operands(d, rule)
    bits = [
        _scalar_source(wave, rule, word, operand, results) for word, operand in zip(rule.sources, sources, strict=True)
    ]
    for word, operand, value in zip(rule.results, results, rule.apply(*bits), strict=True):
        if word == "scc":
            wave.scalars[SCC] = value
        elif word == "exec":
            wave.set_pair(EXEC, value)
        elif operand is not None and operand.register is not None:
            if width(word) == 64:
                wave.set_pair(operand.register.index, value)
            else:
                wave.scalars[operand.register.index] = value


def _scalar_source(
    wave: Wavefront, rule: Rule, word: str, operand: Operand | None, results: list[Operand | None]
) -> int:
    if word == "scc":
        return wave.scc
    if word == "exec":
        return wave.exec
    if word == "dst":
        word, operand = rule.results[0], results[0]
    assert operand is not None
    if isinstance(operand.value, Number):
        if word in ("k", "uk"):
            number = int(operand.value.value) % 2**16
            return (number - 2**16) % 2**32 if word == "k" and number >> 15 else number
        return constant(operand.value, word)
    if isinstance(operand.value, SymbolPart):
        return symbol_part(wave, operand.value)
    if operand.register is None:
        raise Unreadable(str(operand.value))
    return register_bits(wave, operand.register, width(word), 0)


def _vector(wave: Wavefront, d: Decoded, rule: Rule) -> None:
    results, sources = _operands(d, rule)
    modifiers = {"bitop3": d.number("bitop3")} if "bitop3" in d.modifiers else {}
    written = []
    for lane in wave.active():
        bits = [_lane_source(wave, d, rule, place, sources, results, lane) for place in range(len(sources))]
        written.append((lane, rule.apply(*bits, clamp="clamp" in d.modifiers, **modifiers)))
    for place, word in enumerate(rule.results):
        operand = results[place]
        if word in ("mask", "exec", "vcc"):
            mask = sum(values[place] << lane for lane, values in written)
            register = Register("s", EXEC if word == "exec" else VCC, 2) if operand is None else operand.register
            assert register is not None
            wave.set_pair(register.index, mask)
            continue
        assert operand is not None
        assert operand.register is not None
        for lane, values in written:
            write(wave, d, operand.register, word, values[place], lane, keeps=d.name in _KEEP_HIGH_HALF)


def _lane_source(
    wave: Wavefront, d: Decoded, rule: Rule, place: int, sources: list[Operand | None],
    results: list[Operand | None], lane: int,
) -> int:  # fmt: skip
    word, operand = rule.sources[place], sources[place]
    if word == "vcc":
        return wave.pair(VCC) >> lane & 1
    if word == "dst":
        assert results[0] is not None
        assert results[0].register is not None
        return register_bits(wave, results[0].register, width(rule.results[0]), lane)
    assert operand is not None
    return source(wave, d, place, operand, word, lane)


def _packed(wave: Wavefront, d: Decoded, rule: Rule) -> None:
    target = d.operands[0].register
    assert target is not None
    size = width(rule.results[0])
    for lane in wave.active():
        halves = [_half_result(wave, d, rule, lane, high) for high in (0, 1)]
        if size == 32:
            for place, half in enumerate(halves):
                wave.vgprs[target.index + place][lane] = half
        else:
            wave.vgprs[target.index][lane] = halves[0] | halves[1] << 16


def _half_result(wave: Wavefront, d: Decoded, rule: Rule, lane: int, high: int) -> int:
    bits = []
    for place, word in enumerate(rule.sources):
        register = d.operands[1 + place].register
        size = width(word)
        chosen = _listed(d, "op_sel_hi" if high else "op_sel", place, default=high)
        if register is None:
            value = _packed_constant(d.operands[1 + place], word, chosen)
        elif size == 32:
            value = register_bits(wave, Register(register.file, register.index + chosen), 32, lane)
        else:
            value = register_bits(wave, register, 16, lane, high=bool(chosen))
        bits.append(value ^ _listed(d, "neg_hi" if high else "neg_lo", place) << (size - 1))
    return rule.apply(*bits, clamp="clamp" in d.modifiers)[0]


def _packed_constant(operand: Operand, word: str, high: int) -> int:
    """Return a constant of a packed operation: a float is one half with zeros above it, an integer has 32 bits."""
    if not isinstance(operand.value, Number):
        raise Unreadable(f"operand {operand.value}")
    if width(word) == 32:
        return constant(operand.value, word)
    whole = constant(operand.value, word if isinstance(operand.value.value, float) else "b32")
    return whole >> 16 * high & 0xFFFF


def _listed(d: Decoded, name: str, place: int, *, default: int = 0) -> int:
    values = d.modifiers.get(name)
    return values[place] if isinstance(values, tuple) and place < len(values) else default
