"""Steps of the conversions that write a part of a register or a block: the VOP3 tables of the CDNA3 and CDNA4 manuals.

Scaling: the exponent field of a float32 is an E8M0 code; narrowing divides, widening multiplies. What a code of 255
does is taken from rocjitsu.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from kbserver.emulator.oracle.convert import bf16_bits
from kbserver.emulator.oracle.formats import from_bits, to_bits
from kbserver.emulator.oracle.fp8 import SIZE, nearest, value
from kbserver.emulator.oracle.values import source

if TYPE_CHECKING:
    from kbserver.emulator.decode import Decoded
    from kbserver.emulator.oracle.state import Wavefront

Step = Callable[["Wavefront", "Decoded"], None]


def _chosen(d: Decoded, place: int) -> int:
    bits = d.modifiers.get("op_sel", ())
    return bits[place] if isinstance(bits, tuple) and place < len(bits) else 0


def _target(d: Decoded) -> int:
    register = d.operands[0].register
    assert register
    return register.index


def _words(wave: Wavefront, d: Decoded, place: int, lane: int) -> list[int]:
    register = d.operands[place].register
    assert register
    return [wave.vgprs[register.index + n][lane] for n in range(register.count)]


def _put(wave: Wavefront, index: int, lane: int, first: int, size: int, bits: int) -> None:
    old = wave.vgprs[index][lane]
    above, below = old >> (first + size) << (first + size), old % 2**first
    wave.vgprs[index][lane] = above + bits * 2**first + below


def _times(number: float, power: int) -> float:
    """Return number * 2^power as a float32."""
    if number == 0 or not math.isfinite(number):
        return number
    return from_bits(to_bits(Fraction(number) * Fraction(2) ** power, 32), 32)


def _elements(words: list[int], kind: str) -> list[float]:
    if kind == "f32":
        return [from_bits(word, 32) for word in words]
    halves = [half for word in words for half in (word % 65536, word // 65536)]
    return [from_bits(half, 16) if kind == "f16" else from_bits(half * 65536, 32) for half in halves]


def _rounded(number: float, power: int, kind: str) -> int:
    """Return the bits of number * 2^power as the kind, rounded once."""
    if kind == "bf16":
        return bf16_bits(_times(number, power))
    exact = Fraction(number) * Fraction(2) ** power if math.isfinite(number) and number else number
    return to_bits(exact, int(kind[1:]))


def unscaled(name: str) -> Callable[[bool, bool], Step]:
    """v_cvt_pk_<name>_f32, for FNUZ or OCP formats, saturating or not."""

    def build(fnuz: bool, saturate: bool) -> Step:
        def step(wave: Wavefront, d: Decoded) -> None:
            for lane in wave.active():
                numbers = [from_bits(source(wave, d, n, d.operands[1 + n], "f32", lane), 32) for n in range(2)]
                codes = [nearest(number, name, fnuz=fnuz, saturate=saturate) for number in numbers]
                _put(wave, _target(d), lane, 16 * _chosen(d, 2), 16, codes[0] + 256 * codes[1])

        return step

    return build


def _field(wave: Wavefront, d: Decoded, place: int, lane: int) -> int:
    return source(wave, d, place - 1, d.operands[place], "u32", lane) // 2**23 % 256


def _narrow(name: str, kind: str) -> Step:
    size = SIZE[name]

    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            field = _field(wave, d, len(d.operands) - 1, lane)
            if field == 255:
                continue
            if kind == "f32":
                numbers = [from_bits(source(wave, d, n, d.operands[1 + n], "f32", lane), 32) for n in range(2)]
            else:
                numbers = _elements(_words(wave, d, 1, lane), kind)
            codes = [nearest(_times(number, 127 - field), name, fnuz=False) for number in numbers]
            last = len(d.operands) - 1
            first = 8 * (_chosen(d, 2) + 2 * _chosen(d, 3)) if name == "fp4" else 16 * _chosen(d, last)
            _put(wave, _target(d), lane, first, 2 * size, codes[0] + 2**size * codes[1])

    return step


def _number(code: int, name: str, field: int) -> float:
    return math.nan if field == 255 else value(code % 2 ** SIZE[name], name, fnuz=False)


def _widen(name: str, kind: str) -> Step:
    size = SIZE[name]

    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            field, (word,) = _field(wave, d, 2, lane), _words(wave, d, 1, lane)
            word >>= 8 * (_chosen(d, 0) + 2 * _chosen(d, 1)) if name == "fp4" else 16 * _chosen(d, 0)
            bits = [_rounded(_number(word >> size * n, name, field), field - 127, kind) for n in range(2)]
            if kind == "f32":
                for n in range(2):
                    wave.vgprs[_target(d) + n][lane] = bits[n]
            else:
                wave.vgprs[_target(d)][lane] = bits[0] + 65536 * bits[1]

    return step


def _widen_one(name: str, kind: str) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            field, (word,) = _field(wave, d, 2, lane), _words(wave, d, 1, lane)
            word >>= 8 * (_chosen(d, 0) + 2 * _chosen(d, 1))
            bits = _rounded(_number(word, name, field), field - 127, kind)
            if kind == "f16":
                _put(wave, _target(d), lane, 16 * _chosen(d, 2), 16, bits)
            else:
                wave.vgprs[_target(d)][lane] = bits

    return step


def _narrow_block(name: str, kind: str) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            field = _field(wave, d, len(d.operands) - 1, lane)
            if field == 255:
                continue
            numbers = _elements(_words(wave, d, 1, lane), kind)
            if kind == "f32":
                second = _elements(_words(wave, d, 2, lane), kind)
                numbers = [number for pair in zip(numbers, second, strict=True) for number in pair]
            joined = sum(nearest(_times(x, 127 - field), name, fnuz=False) << 6 * n for n, x in enumerate(numbers))
            for n in range(6):
                wave.vgprs[_target(d) + n][lane] = joined >> 32 * n & 0xFFFFFFFF

    return step


def _widen_block(name: str, kind: str) -> Step:
    def step(wave: Wavefront, d: Decoded) -> None:
        for lane in wave.active():
            field = _field(wave, d, 2, lane)
            joined = sum(word << 32 * n for n, word in enumerate(_words(wave, d, 1, lane)))
            size = 32 if kind == "f32" else 16
            bits = (_rounded(_number(joined >> 6 * n, name, field), field - 127, kind) << size * n for n in range(32))
            result = sum(bits)
            for n in range(size):
                wave.vgprs[_target(d) + n][lane] = result >> 32 * n & 0xFFFFFFFF

    return step


def _steps() -> dict[str, Step]:
    table: dict[str, Step] = {}
    for kind in ("f32", "f16", "bf16"):
        for name in ("fp8", "bf8", "fp4"):
            table[f"v_cvt_scalef32_pk_{name}_{kind}"] = _narrow(name, kind)
            table[f"v_cvt_scalef32_pk_{kind}_{name}"] = _widen(name, kind)
        for name in ("fp6", "bf6"):
            table[f"v_cvt_scalef32_{'2xpk16' if kind == 'f32' else 'pk32'}_{name}_{kind}"] = _narrow_block(name, kind)
            table[f"v_cvt_scalef32_pk32_{kind}_{name}"] = _widen_block(name, kind)
    for name in ("fp8", "bf8"):
        table[f"v_cvt_scalef32_f32_{name}"] = _widen_one(name, "f32")
        table[f"v_cvt_scalef32_f16_{name}"] = _widen_one(name, "f16")
    return table


SCALED = _steps()
