"""Conversions of 8-bit floats (VOP1, VOP3): to float32, exactly, and from float32, to the nearest.

The formats are those of the target: OCP on gfx950, FNUZ on gfx942. A value past the largest number follows
MODE.FP16_OVFL. The stochastic forms (v_cvt_sr_*) are not here: AMD's pseudocode rounds to nearest after adding the
random bits, AMD's emulator rocjitsu truncates.
"""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator import sdwa
from kbserver.emulator.access import BadOperand, apply_float_modifiers, read_lanes
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value
from kbserver.emulator.matching import list_bit
from kbserver.emulator.operands import FP16_OVERFLOW
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.semantics.small_floats import FORMATS, SmallFloat
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import f32, u32
from kbserver.emulator.vector_rows import Lane, lane


def format_of(t: Translation, name: str) -> SmallFloat:
    """Return the format that the name means on the target."""
    if name not in FORMATS.get(t.arch, {}):
        raise BadOperand(f"{t.arch} has no conversions of 8-bit floats")
    return FORMATS[t.arch][name]


def saturates(t: Translation) -> Value:
    """Return one bit: does the mode ask for the largest number in place of an overflow?"""
    return t.registers.sgpr(FP16_OVERFLOW).ne(0)


def place(old: Value, value: Value, first: int, width: int) -> Value:
    """Return old with `width` bits from bit `first` on replaced."""
    mask = ((1 << width) - 1) << first
    return (old & (0xFFFFFFFF ^ mask)) | ((value & ((1 << width) - 1)) << first)


def read_f32(t: Translation, d: Decoded, position: int) -> Value:
    """Return a float32 source with its modifiers."""
    operand = d.operands[position]
    return apply_float_modifiers(read_lanes(t.registers, operand, f32), operand)


def _one(name: str) -> Row:
    rows: dict[str, Lane] = {arch: lane("f32 = u32", formats[name].decode) for arch, formats in FORMATS.items()}

    def function(t: Translation, d: Decoded) -> None:
        format_of(t, name)
        rows[t.arch].translate(t, d)

    return Special(function, rows["gfx950"].modifiers, writes=(0,), reads=(1,))


def _both(name: str) -> Callable[[Translation, Decoded], None]:
    def function(t: Translation, d: Decoded) -> None:
        form = format_of(t, name)
        destination = d.register(0, "v", 2)
        operand = d.operands[1]
        if operand.modified or d.encoding == "dpp":
            raise BadOperand("input modifiers and DPP of a pair of 8-bit floats")
        word = read_lanes(t.registers, operand, u32)
        if d.encoding == "sdwa":
            word = sdwa.read(t.registers, d, 0, operand, u32)
        for number, value in enumerate((form.decode(word), form.decode(word >> 8))):
            t.registers.set_vgpr(destination.index + number, value.as_(u32))

    return function


def _narrow(name: str) -> Callable[[Translation, Decoded], None]:
    """Two float32 to one half of the destination; op_sel's third bit chooses the high one, and the other half stays."""

    def function(t: Translation, d: Decoded) -> None:
        form = format_of(t, name)
        destination = d.register(0, "v", 1).index
        low, high = (form.encode(read_f32(t, d, position), saturates(t)) for position in (1, 2))
        if list_bit(d, "op_sel", 0) or list_bit(d, "op_sel", 1):
            raise BadOperand("op_sel of a float32 source")
        pair = low | (high << 8)
        first = 16 if list_bit(d, "op_sel", 2) else 0
        t.registers.set_vgpr(destination, place(t.registers.vgpr(destination), pair, first, 16))

    return function


ROWS: dict[str, Row] = {
    **{f"v_cvt_f32_{name}": _one(name) for name in ("fp8", "bf8")},
    **{f"v_cvt_pk_f32_{n}": Special(_both(n), sdwa.MODIFIERS, writes=(0,), reads=(1,)) for n in ("fp8", "bf8")},
    **{
        f"v_cvt_pk_{name}_f32": Special(_narrow(name), frozenset({"op_sel"}), writes=(0,), reads=(0, 1, 2))
        for name in ("fp8", "bf8")
    },
}
