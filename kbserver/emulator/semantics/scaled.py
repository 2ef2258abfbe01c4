"""Scaled conversions of gfx950 (VOP3): floats of 4, 6 and 8 bits to and from wider ones, with a power of two.

The scale is the exponent field e of a float32 and stands for 2^(e - 127), as an E8M0 code does. Narrowing divides by
it, rounds to float32, then to the nearest code; widening multiplies and rounds once. A field of 255, NaN as E8M0,
leaves the destination alone when narrowing and gives NaN when widening: AMD's emulator rocjitsu does so, AMD's
pseudocode is silent. The stochastic forms (v_cvt_scalef32_sr_*) are not here, as in `fp8`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kbserver.emulator.access import BadOperand, read_lanes
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value, select
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.semantics.convert import to_bf16
from kbserver.emulator.semantics.fp8 import place, read_f32, saturates
from kbserver.emulator.semantics.small_floats import FORMATS, SmallFloat
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import f16, f32, f64, u16, u32, u64

_OP_SEL = frozenset({"op_sel"})
_WIDE = {"f32": 32, "f16": 16, "bf16": 16}


def _format(t: Translation, name: str) -> SmallFloat:
    if t.arch != "gfx950":
        raise BadOperand(f"{t.arch} has no scaled conversions")
    return FORMATS[t.arch][name]


def _scale(t: Translation, d: Decoded, position: int) -> Value:
    if d.operands[position].modified:
        raise BadOperand("modifiers of the scale")
    return (read_lanes(t.registers, d.operands[position], u32) >> 23) & 0xFF


def _power(field: Value, *, inverse: bool) -> Value:
    """Return 2^(field - 127), or its inverse, as a double."""
    wide = field.to(u64)
    biased = (127 + 1023) - wide if inverse else wide + (1023 - 127)
    return (biased << 52).as_(f64)


def _selected(d: Decoded, length: int) -> tuple[int, ...]:
    """Return op_sel's bits; its length says which of them belong to the destination."""
    bits = d.modifiers.get("op_sel", (0,) * length)
    if not isinstance(bits, tuple) or len(bits) > length or any(bit not in (0, 1) for bit in bits):
        raise BadOperand(f"op_sel has not {length} bits")
    return (*bits, *(0,) * (length - len(bits)))


def _halves(word: Value, kind: str) -> list[Value]:
    """Return the float32 of both halves of a dword."""
    parts = [word & 0xFFFF, word >> 16]
    if kind == "f16":
        return [part.to(u16).as_(f16).to(f32) for part in parts]
    return [(part << 16).as_(f32) for part in parts]


def _plain(t: Translation, d: Decoded, position: int) -> Value:
    if d.operands[position].modified:
        raise BadOperand("neg and abs of packed elements")
    return read_lanes(t.registers, d.operands[position], u32)


def _narrow(name: str, kind: str) -> Callable[[Translation, Decoded], None]:
    """v_cvt_scalef32_pk_<name>_<kind>: two elements into a half (fp4: a byte) of the destination."""

    def function(t: Translation, d: Decoded) -> None:
        form = _format(t, name)
        sources = 3 if kind == "f32" else 2
        bits = _selected(d, 4 if name == "fp4" or sources == 3 else 3)
        values = [read_f32(t, d, 1), read_f32(t, d, 2)] if kind == "f32" else _halves(_plain(t, d, 1), kind)
        field = _scale(t, d, sources)
        codes = [form.encode((x.to(f64) * _power(field, inverse=True)).to(f32), saturates(t)) for x in values]
        if any(bits[:2]) or (name != "fp4" and any(bits[2:-1])):
            raise BadOperand("op_sel of a source")
        first = 8 * (bits[2] + 2 * bits[3]) if name == "fp4" else 16 * bits[-1]
        destination = d.register(0, "v", 1).index
        old = t.registers.vgpr(destination)
        new = place(old, codes[0] | (codes[1] << form.bits), first, 2 * form.bits)
        t.registers.set_vgpr(destination, select(field.eq(255), old, new))

    return function


def _widened(t: Translation, name: str, word: Value, field: Value) -> Value:
    """Return the scaled double of the code in the low bits of a dword."""
    number = _format(t, name).decode(word).to(f64) * _power(field, inverse=False)
    return select(field.eq(255), number.like(float("nan")), number)


def _bits(number: Value, kind: str) -> Value:
    """Return the bits of a double rounded to the kind, in a dword."""
    if kind == "f32":
        return number.to(f32).as_(u32)
    return (number.to(f16).as_(u16) if kind == "f16" else to_bf16(number.to(f32))).to(u32)


def _widen(name: str, kind: str) -> Callable[[Translation, Decoded], None]:
    """v_cvt_scalef32_pk_<kind>_<name>: two codes of the byte or half that op_sel chooses."""

    def function(t: Translation, d: Decoded) -> None:
        form = _format(t, name)
        bits = _selected(d, 3)
        first = 8 * (bits[0] + 2 * bits[1]) if name == "fp4" else 16 * bits[0]
        if bits[2] or (name != "fp4" and bits[1]):
            raise BadOperand("op_sel of the destination")
        word, field = _plain(t, d, 1) >> first, _scale(t, d, 2)
        low, high = (_bits(_widened(t, name, word >> shift, field), kind) for shift in (0, form.bits))
        if kind == "f32":
            destination = d.register(0, "v", 2).index
            t.registers.set_vgpr(destination, low)
            t.registers.set_vgpr(destination + 1, high)
        else:
            t.registers.set_vgpr(d.register(0, "v", 1).index, low | (high << 16))

    return function


def _widen_one(name: str, kind: str) -> Callable[[Translation, Decoded], None]:
    """v_cvt_scalef32_<kind>_<name>: one byte, to a dword or to the half that op_sel's third bit chooses."""

    def function(t: Translation, d: Decoded) -> None:
        bits = _selected(d, 3)
        word, field = _plain(t, d, 1) >> (8 * (bits[0] + 2 * bits[1])), _scale(t, d, 2)
        destination = d.register(0, "v", 1).index
        value = _bits(_widened(t, name, word, field), kind)
        if kind == "f16":
            value = place(t.registers.vgpr(destination), value, 16 * bits[2], 16)
        elif bits[2]:
            raise BadOperand("op_sel of the destination")
        t.registers.set_vgpr(destination, value)

    return function


def _block(t: Translation, d: Decoded, position: int, dwords: int) -> list[Value]:
    first = d.register(position, "v", dwords).index
    return [t.registers.vgpr(first + number) for number in range(dwords)]


def _store_codes(t: Translation, d: Decoded, codes: Sequence[Value], field: Value) -> None:
    """Write 32 codes of 6 bits to six registers, lowest first."""
    first = d.register(0, "v", 6).index
    words: list[Value] = [codes[0].like(0)] * 6
    for number, code in enumerate(codes):
        word, shift = divmod(6 * number, 32)
        words[word] = words[word] | (code << shift)
        if shift > 26:
            words[word + 1] = words[word + 1] | (code >> (32 - shift))
    for number, word in enumerate(words):
        t.registers.set_vgpr(first + number, select(field.eq(255), t.registers.vgpr(first + number), word))


def _narrow_block(name: str, kind: str) -> Callable[[Translation, Decoded], None]:
    """v_cvt_scalef32_pk32_<name>_<kind>, and 2xpk16 for float32, whose two sources alternate."""

    def function(t: Translation, d: Decoded) -> None:
        form = _format(t, name)
        if kind == "f32":
            blocks = (_block(t, d, 1, 16), _block(t, d, 2, 16))
            values = [word.as_(f32) for pair in zip(*blocks, strict=True) for word in pair]
        else:
            values = [half for word in _block(t, d, 1, 16) for half in _halves(word, kind)]
        field = _scale(t, d, 3 if kind == "f32" else 2)
        power = _power(field, inverse=True)
        _store_codes(t, d, [form.encode((x.to(f64) * power).to(f32), saturates(t)) for x in values], field)

    return function


def _widen_block(name: str, kind: str) -> Callable[[Translation, Decoded], None]:
    """v_cvt_scalef32_pk32_<kind>_<name>: 32 codes of six registers."""

    def function(t: Translation, d: Decoded) -> None:
        words, field = _block(t, d, 1, 6), _scale(t, d, 2)
        destination = d.register(0, "v", _WIDE[kind])
        results = []
        for number in range(32):
            word, shift = divmod(6 * number, 32)
            code = words[word] >> shift
            if shift > 26:
                code = code | (words[word + 1] << (32 - shift))
            results.append(_bits(_widened(t, name, code, field), kind))
        if kind != "f32":
            results = [results[n] | (results[n + 1] << 16) for n in range(0, 32, 2)]
        for number, result in enumerate(results):
            t.registers.set_vgpr(destination.index + number, result)

    return function


def _rows() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for kind in _WIDE:
        reads = (0, 1, 2, 3) if kind == "f32" else (0, 1, 2)
        for name in ("fp8", "bf8", "fp4"):
            rows[f"v_cvt_scalef32_pk_{name}_{kind}"] = Special(_narrow(name, kind), _OP_SEL, (0,), reads)
            rows[f"v_cvt_scalef32_pk_{kind}_{name}"] = Special(_widen(name, kind), _OP_SEL, (0,), (1, 2))
        for name in ("fp6", "bf6"):
            form = f"2xpk16_{name}" if kind == "f32" else f"pk32_{name}"
            rows[f"v_cvt_scalef32_{form}_{kind}"] = Special(_narrow_block(name, kind), writes=(0,), reads=reads)
            rows[f"v_cvt_scalef32_pk32_{kind}_{name}"] = Special(_widen_block(name, kind), writes=(0,), reads=(1, 2))
    for kind in ("f32", "f16"):
        for name in ("fp8", "bf8"):
            reads = (1, 2) if kind == "f32" else (0, 1, 2)
            rows[f"v_cvt_scalef32_{kind}_{name}"] = Special(_widen_one(name, kind), _OP_SEL, (0,), reads)
    return rows


ROWS: dict[str, Row] = _rows()
