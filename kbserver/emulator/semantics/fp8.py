"""8-bit floats to float32: OCP formats on gfx950, FNUZ formats on gfx942. Every code converts exactly.

fp8 is E4M3, bf8 is E5M2. OCP (bias 7 and 15): E4M3 has no infinity and one NaN magnitude, E5M2 follows IEEE. FNUZ (bias
8 and 16): 0x80 is the only NaN, and there is neither infinity nor -0.

The conversions to 8 bits are not here: what becomes of a value out of range depends on the mode register, which is not
modelled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kbserver.emulator import sdwa
from kbserver.emulator.access import BadOperand, read_lanes
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value, select
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import f32, u32
from kbserver.emulator.vector_rows import Lane, lane


@dataclass(frozen=True)
class _Format:
    fraction: int
    bias: int
    fnuz: bool

    def decode(self, x: Value) -> Value:
        """Return the float32 of the low byte."""
        code, magnitude = x & 0xFF, x & 0x7F
        # The fields as those of a float32 (a subnormal code is a subnormal float32), then the difference of the biases.
        number = (magnitude << (23 - self.fraction)).as_(f32) * 2.0 ** (127 - self.bias)
        if self.fnuz:
            number = select(code.eq(0x80), number.like(float("nan")), number)
        elif self.fraction == 3:
            number = select(magnitude.eq(0x7F), number.like(float("nan")), number)
        else:
            special = select(magnitude.eq(0x7C), number.like(float("inf")), number.like(float("nan")))
            number = select(magnitude >= 0x7C, special, number)
        return (number.as_(u32) | ((x & 0x80) << 24)).as_(f32)


_FORMATS = {
    "gfx950": {"fp8": _Format(3, 7, fnuz=False), "bf8": _Format(2, 15, fnuz=False)},
    "gfx942": {"fp8": _Format(3, 8, fnuz=True), "bf8": _Format(2, 16, fnuz=True)},
}


def _format(t: Translation, name: str) -> _Format:
    if t.arch not in _FORMATS:
        raise BadOperand(f"{t.arch} has no conversions of 8-bit floats")
    return _FORMATS[t.arch][name]


def _one(name: str) -> Row:
    rows: dict[str, Lane] = {arch: lane("f32 = u32", formats[name].decode) for arch, formats in _FORMATS.items()}

    def function(t: Translation, d: Decoded) -> None:
        _format(t, name)
        rows[t.arch].translate(t, d)

    return Special(function, rows["gfx950"].modifiers, writes=(0,), reads=(1,))


def _pair(name: str) -> Row:
    return Special(_both(name), sdwa.MODIFIERS, writes=(0,), reads=(1,))


def _both(name: str) -> Callable[[Translation, Decoded], None]:
    def function(t: Translation, d: Decoded) -> None:
        form = _format(t, name)
        destination = d.register(0, "v", 2)
        operand = d.operands[1]
        if operand.modified or d.encoding == "dpp":
            raise BadOperand("input modifiers and DPP of a pair of 8-bit floats")
        word = read_lanes(t.registers, operand, u32)
        if d.encoding == "sdwa":
            word = sdwa.read(t.registers, d, 0, operand, u32)
        for place, value in enumerate((form.decode(word), form.decode(word >> 8))):
            t.registers.set_vgpr(destination.index + place, value.as_(u32))

    return function


ROWS: dict[str, Row] = {
    "v_cvt_f32_fp8": _one("fp8"),
    "v_cvt_f32_bf8": _one("bf8"),
    "v_cvt_pk_f32_fp8": _pair("fp8"),
    "v_cvt_pk_f32_bf8": _pair("bf8"),
}
