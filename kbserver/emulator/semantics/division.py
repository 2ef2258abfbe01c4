"""The steps of an IEEE division: v_div_scale, v_div_fmas, v_div_fixup (VOP3).

A compiler divides with v_div_scale (moves numerator and denominator to where a Newton iteration neither overflows nor
underflows), v_rcp, fused multiply-adds, v_div_fmas (the last one, which undoes the scaling) and v_div_fixup (sign and
special values).

The f32 and f64 rows depart from the pseudocode of AMD's manuals (CDNA3 and CDNA4 print the same) on purpose: executed
as printed, LLVM's sequence gives wrong quotients. They follow the rules that AMD's own emulator, rocjitsu, states and
says were checked on gfx1100 and gfx1201 GPUs:
- v_div_scale decides by exponent fields alone. (The text asks whether 1/S1 and S2/S1 are subnormal, for f32 in the
  wrong format, leaves D unwritten where no branch scales, and scales a huge denominator up where only down helps.)
- v_div_fmas undoes 2^64 (2^128 for f64), up when the addend is 2 or more, else down, and rounds once. (The text
  multiplies by 2^32, and 2^64, whatever the direction.)
- v_div_fixup takes a quotient that is no finite number for an overflow. (The text asks for an exponent field of all
  ones of the denominator, which the branches before have taken.)
With them LLVM's sequences for f32 and f64 give the exact quotient rounded once in all 7,680 cases of
tests/emulator/test_division.py. gfx90a, gfx942 and gfx950 themselves were not measured: a kernel that looks at the
result of one step alone sees a model.

v_div_fixup_f16 is as printed; v_div_fixup_legacy_f16 is its form that zeroes the high half.
"""

from __future__ import annotations

from dataclasses import dataclass

from kbserver.emulator.ir import Value, absolute, fma, select, sign_bit
from kbserver.emulator.rows import Row
from kbserver.emulator.semantics.valu_float import power_of_two
from kbserver.emulator.types import f64, i32, i64, unsigned
from kbserver.emulator.vector_rows import lane


@dataclass(frozen=True)
class _Format:
    """Numbers of the manual for one width: exponent differences and fields are biased."""

    bits: int
    fraction: int
    bias: int
    scale: int
    far: int
    """Exponent difference from which on the quotient comes near the end of the range, above or below."""
    tiny: int
    """Largest exponent field of a numerator that is scaled up for being tiny."""
    vanishes: int
    """Exponent difference below which the quotient rounds to zero."""

    def exponent(self, x: Value) -> Value:
        field = (x.as_(unsigned(self.bits)) >> self.fraction) & (2 * self.bias + 1)
        return field.to(i32)


_F32 = _Format(32, 23, 127, 64, 96, 24, -150)
_F64 = _Format(64, 52, 1023, 128, 768, 53, -1075)


def _scale(form: _Format) -> Row:
    def function(x: Value, denominator: Value, numerator: Value) -> tuple[Value, Value]:
        up, down = (power_of_two(x, _exponent(x, sign * form.scale)) for sign in (1, -1))
        is_denominator = x.as_(unsigned(form.bits)).eq(denominator.as_(unsigned(form.bits)))
        below, above = form.exponent(denominator), form.exponent(numerator)
        huge_quotient, tiny_quotient = (above - below) >= form.far, (above - below) <= -form.far
        huge_denominator = below >= 2 * form.bias - 1  # its inverse is subnormal
        # From the last branch to the first: an earlier one overrides.
        result = select(above <= form.tiny, up, x)
        result = select(tiny_quotient, select(is_denominator, x, up), result)
        result = select(huge_denominator, select(tiny_quotient & ~is_denominator, x, down), result)
        result = select(below.eq(0), up, result)
        result = select(huge_quotient, select(is_denominator, up, x), result)
        flag = huge_quotient | (tiny_quotient & below.ne(0))
        zero = denominator.eq(0.0) | numerator.eq(0.0)
        return select(zero, x.like(float("nan")), result), flag

    return lane(f"f{form.bits} mask = f{form.bits} f{form.bits} f{form.bits}", function)


def _exponent(x: Value, number: int) -> Value:
    return x.emitter.constant(number, i32, x.lanes)


def _fmas(form: _Format) -> Row:
    def function(a: Value, b: Value, c: Value, scaled: Value) -> Value:
        up = form.exponent(c) > form.bias
        power = select(up, _exponent(c, form.scale), _exponent(c, -form.scale))
        moved = _scaled_f32(a, b, c, power) if form.bits == 32 else _scaled_f64(a, b, c, power)
        return select(scaled, moved, fma(a, b, c))

    return lane(f"f{form.bits} = f{form.bits} f{form.bits} f{form.bits} vcc", function)


def _scaled_f32(a: Value, b: Value, c: Value, power: Value) -> Value:
    """(a * b + c) * 2^power, rounded once: the sum in double rounded to odd keeps what the last rounding needs."""
    product, addend = a.to(f64) * b.to(f64), c.to(f64)
    total, rest = _two_sum(product, addend)
    bits = total.as_(i64)
    away = (rest > 0.0).eq(total > 0.0)
    odd = select(away, bits + 1, bits - 1).as_(f64)
    inexact = ((rest < 0.0) | (rest > 0.0)) & (bits & 1).eq(0)
    return power_of_two(select(inexact, odd, total), power).to(a.type)


def _scaled_f64(a: Value, b: Value, c: Value, power: Value) -> Value:
    """(a * b + c) * 2^power, rounded once.

    Only a subnormal result is rounded a second time, and only a tie of that second rounding can go wrong: there the
    error of the first one says which neighbour is the nearer. A sum that overflows before it is scaled down is formed
    from the scaled factors instead.
    """
    first = fma(a, b, c)
    result = power_of_two(first, power)
    lost = first - power_of_two(result, -power)
    half = power_of_two(first.like(5e-324), -power) * 0.5
    rest = _error_sign(a, b, c, first)
    beyond = ((lost > 0.0) & (rest > 0.0)) | ((lost < 0.0) & (rest < 0.0))
    step = select(lost > 0.0, first.like(5e-324), first.like(-5e-324))
    result = select(absolute(lost).eq(half) & beyond, result + step, result)
    larger = absolute(a) > absolute(b)
    scaled = power_of_two(select(larger, a, b), power)
    early = fma(scaled, select(larger, b, a), power_of_two(c, power))
    return select(absolute(first).eq(float("inf")) & (power < 0), early, result)


def _error_sign(a: Value, b: Value, c: Value, first: Value) -> Value:
    """Return a number with the sign of (a * b + c) - first, where first is that sum rounded (Boldo and Muller)."""
    product = a * b
    low = fma(a, b, -product)
    addend, smallest = _two_sum(c, low)
    total, rest = _two_sum(product, addend)
    return ((total - first) + rest) + smallest


def _two_sum(x: Value, y: Value) -> tuple[Value, Value]:
    """Return the rounded sum and what the rounding left out."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _special_quotients(quotient: Value, denominator: Value, numerator: Value, result: Value) -> Value:
    """Return |result| with the sign of the quotient, or what IEEE says of zero, infinity and NaN."""
    infinity, nan, zero = (quotient.like(number) for number in (float("inf"), float("nan"), 0.0))
    above, below = absolute(numerator), absolute(denominator)
    result = select(below.eq(infinity) | above.eq(0.0), zero, result)
    result = select(below.eq(0.0) | above.eq(infinity), infinity, result)
    result = select(sign_bit(numerator).ne(sign_bit(denominator)), -result, result)
    undefined = (below.eq(0.0) & above.eq(0.0)) | (below.eq(infinity) & above.eq(infinity))
    return select(undefined | below.ne(below) | above.ne(above), nan, result)


def _fixup(form: _Format) -> Row:
    def function(quotient: Value, denominator: Value, numerator: Value) -> Value:
        infinity, zero = quotient.like(float("inf")), quotient.like(0.0)
        result = select(form.exponent(quotient).eq(2 * form.bias + 1), infinity, absolute(quotient))
        gone = (form.exponent(numerator) - form.exponent(denominator)) < form.vanishes
        return _special_quotients(quotient, denominator, numerator, select(gone, zero, result))

    return lane(f"f{form.bits} = f{form.bits} f{form.bits} f{form.bits}", function)


def _fixup_half(quotient: Value, denominator: Value, numerator: Value) -> Value:
    return _special_quotients(quotient, denominator, numerator, absolute(quotient))


ROWS: dict[str, Row] = {
    **{f"v_div_scale_f{form.bits}": _scale(form) for form in (_F32, _F64)},
    **{f"v_div_fmas_f{form.bits}": _fmas(form) for form in (_F32, _F64)},
    **{f"v_div_fixup_f{form.bits}": _fixup(form) for form in (_F32, _F64)},
    "v_div_fixup_f16": lane("f16 = f16 f16 f16", _fixup_half, keeps_high_half=True),
    "v_div_fixup_legacy_f16": lane("f16 = f16 f16 f16", _fixup_half),
}
