"""Floats of 4, 6 and 8 bits as values: every code to float32, and a float32 to the nearest code (ties to even).

fp8 is E4M3, bf8 is E5M2: OCP's formats on gfx950 (bias 7 and 15; E4M3 has no infinity and one NaN magnitude, E5M2
follows IEEE), the FNUZ formats on gfx942 (bias 8 and 16; 0x80 is the only NaN, there is neither infinity nor -0). fp4
is E2M1, fp6 is E2M3, bf6 is E3M2, OCP's microscaling formats: no infinity and no NaN.

What lies past the largest number becomes NaN (infinity in OCP's E5M2), or under MODE.FP16_OVFL the largest number,
infinity included; the formats of 4 and 6 bits always give the largest number. NaN becomes 0 there, as in AMD's
emulator rocjitsu.
"""

from __future__ import annotations

from dataclasses import dataclass

from kbserver.emulator.ir import Value, absolute, call, select
from kbserver.emulator.types import f32, u32


@dataclass(frozen=True)
class SmallFloat:
    """One format: how many bits, how many of them fraction, and how its top codes are used."""

    bits: int
    fraction: int
    bias: int
    largest: int
    """The code of the largest finite number."""
    beyond: int | None
    """The code of what is larger, without its sign; None when the largest number stands for it."""
    nan: int | None
    """The code of NaN; None when the format has none."""
    fnuz: bool = False

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    def decode(self, x: Value) -> Value:
        """Return the float32 of the low bits of a dword."""
        code, magnitude = x & (2 * self.sign - 1), x & (self.sign - 1)
        # The fields as those of a float32 (a subnormal code is a subnormal float32), then the difference of the biases.
        number = (magnitude << (23 - self.fraction)).as_(f32) * 2.0 ** (127 - self.bias)
        nan = number.like(float("nan"))
        if self.fnuz:
            number = select(code.eq(self.sign), nan, number)
        elif self.nan is not None:
            infinite = self.beyond != self.nan
            number = select(magnitude > self.largest, nan, number)
            number = select(magnitude.eq(self.beyond or 0), number.like(float("inf")), number) if infinite else number
        return (number.as_(u32) | ((x & self.sign) << (32 - self.bits))).as_(f32)

    def encode(self, x: Value, saturate: Value) -> Value:
        """Return the code nearest to a float32, in a dword. saturate: one bit, whether MODE.FP16_OVFL is set."""
        magnitude = absolute(x)
        bits = magnitude.as_(u32)
        drop = 23 - self.fraction
        # A carry out of the fraction runs into the exponent, which is what rounding up to the next power of two needs.
        rounded = (bits + ((1 << (drop - 1)) - 1) + ((bits >> drop) & 1)) >> drop
        normal = rounded - ((127 - self.bias) << self.fraction)
        steps = call("roundeven", magnitude * 2.0 ** (self.bias - 1 + self.fraction)).to(u32)
        code = select(magnitude < 2.0 ** (1 - self.bias), steps, normal)
        largest = code.like(self.largest)
        limit = largest if self.beyond is None else select(saturate.splat(code.lanes), largest, self.beyond)
        code = select(code > self.largest, limit, code)
        code = select(x.ne(x), code.like(self.nan or 0), code)
        sign = (x.as_(u32) >> (32 - self.bits)) & self.sign
        if self.fnuz:
            # No -0, and NaN has its sign bit already.
            return select(code.eq(0) | code.eq(self.sign), code, code | sign)
        return code | sign if self.nan is not None else select(x.ne(x), code, code | sign)


_OCP = {
    "fp8": SmallFloat(8, 3, 7, largest=0x7E, beyond=0x7F, nan=0x7F),
    "bf8": SmallFloat(8, 2, 15, largest=0x7B, beyond=0x7C, nan=0x7F),
    "fp4": SmallFloat(4, 1, 1, largest=0x7, beyond=None, nan=None),
    "fp6": SmallFloat(6, 3, 1, largest=0x1F, beyond=None, nan=None),
    "bf6": SmallFloat(6, 2, 3, largest=0x1F, beyond=None, nan=None),
}
_FNUZ = {
    "fp8": SmallFloat(8, 3, 8, largest=0x7F, beyond=0x80, nan=0x80, fnuz=True),
    "bf8": SmallFloat(8, 2, 16, largest=0x7F, beyond=0x80, nan=0x80, fnuz=True),
}
FORMATS = {"gfx950": _OCP, "gfx942": _FNUZ}
"""target -> name -> format; gfx90a has none."""
