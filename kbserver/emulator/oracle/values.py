"""Read and write operands of one lane as bits, with the modifiers of every encoding."""

from __future__ import annotations

import struct

from kbserver.emulator.decode import Decoded
from kbserver.emulator.operands import Name, Number, Operand, Register
from kbserver.emulator.oracle.rule import width
from kbserver.emulator.oracle.state import Wavefront

_SELECT = {
    "BYTE_0": (0, 8),
    "BYTE_1": (8, 8),
    "BYTE_2": (16, 8),
    "BYTE_3": (24, 8),
    "WORD_0": (0, 16),
    "WORD_1": (16, 16),
}


class Unreadable(Exception):
    """The interpreter does not know this form of an operand."""


def constant(number: Number, word: str) -> int:
    """Return a constant's bits as the operand type `word`."""
    size, value = width(word), number.value
    if isinstance(value, float):
        return int.from_bytes(struct.pack({16: "<e", 32: "<f", 64: "<d"}[size], value), "little")
    if size == 64 and not -16 <= value <= 64:  # a literal of 32 bits
        literal = value % 2**32
        if word == "f64":
            return literal * 2**32
        return (literal - 2**32) % 2**64 if word == "i64" and literal >= 2**31 else literal
    return value % 2**size


def register_bits(wave: Wavefront, register: Register, size: int, lane: int, *, high: bool = False) -> int:
    """Return the bits of one element: of a VGPR's lane or of a scalar."""
    file = (
        [values[lane] for values in wave.vgprs[register.index : register.index + 2]] if register.file == "v" else None
    )
    low = file[0] if file else wave.scalars[register.index]
    if size == 64:
        return low | (file[1] if file else wave.scalars[register.index + 1]) << 32
    return (low >> 16 if high else low) % 2**size


def source(wave: Wavefront, d: Decoded, place: int, operand: Operand, word: str, lane: int) -> int:
    """Return a source's bits in one lane after its modifiers."""
    size = width(word)
    if word == "mask":
        return register_bits(wave, _register(operand), 64, lane) >> lane & 1
    if isinstance(operand.value, Name):
        raise Unreadable(f"operand {operand.value}")
    if isinstance(operand.value, Number):
        bits = constant(operand.value, word)
    elif d.encoding == "sdwa":
        bits = _selected(wave, d, place, operand, lane) % 2**size
    else:
        op_sel = d.modifiers.get("op_sel", ())
        high = size == 16 and isinstance(op_sel, tuple) and place < len(op_sel) and bool(op_sel[place])
        bits = register_bits(wave, operand.value, size, lane, high=high)
    if operand.absolute:
        bits &= 2 ** (size - 1) - 1
    return bits ^ 2 ** (size - 1) if operand.negate else bits


def _selected(wave: Wavefront, d: Decoded, place: int, operand: Operand, lane: int) -> int:
    bits = register_bits(wave, _register(operand), 32, lane)
    first, size = _SELECT.get(str(d.modifiers.get(f"src{place}_sel", "DWORD")), (0, 32))
    part = bits >> first & (2**size - 1)
    return (part - 2**size if operand.sign_extend and part >> (size - 1) else part) % 2**32


def _register(operand: Operand) -> Register:
    if operand.register is None:
        raise Unreadable(f"operand {operand.value}")
    return operand.register


def write(wave: Wavefront, d: Decoded, register: Register, word: str, bits: int, lane: int, *, keeps: bool) -> None:
    """Write a result to one lane of a VGPR; `keeps`: a 16-bit result leaves the high half alone."""
    target = wave.vgprs[register.index]
    size = width(word)
    if size == 64:
        wave.vgprs[register.index + 1][lane] = bits >> 32
        target[lane] = bits % 2**32
    elif d.encoding == "sdwa":
        target[lane] = _placed(d, bits, target[lane])
    elif size == 16:
        op_sel = d.modifiers.get("op_sel", ())
        if isinstance(op_sel, tuple) and len(op_sel) > 2 and op_sel[-1]:
            target[lane] = target[lane] % 2**16 | bits << 16
        else:
            target[lane] = (target[lane] >> 16 << 16 if keeps else 0) | bits
    else:
        target[lane] = bits


def _placed(d: Decoded, bits: int, old: int) -> int:
    selection = str(d.modifiers.get("dst_sel", "DWORD"))
    if selection == "DWORD":
        return bits
    first, size = _SELECT[selection]
    part = bits % 2**size
    rest = {"UNUSED_PAD": 0, "UNUSED_PRESERVE": old, "UNUSED_SEXT": 2**32 - 1 if part >> (size - 1) else 0}[
        str(d.modifiers.get("dst_unused", "UNUSED_PAD"))
    ]
    above = rest >> (first + size) << (first + size)
    below = old % 2**first if d.modifiers.get("dst_unused") == "UNUSED_PRESERVE" else 0
    return above | part << first | below
