"""v_trig_preop_f64 (VOP3): a piece of 2/pi, with which a compiler reduces large arguments of sine and cosine.

The manual's text: 53 bits of the 1201 fraction bits of 2/pi, from the segment that the second source numbers (53 bits
each, later ones for exponents above 1077), as a double with their weight; past the last bit there are zeros. For
exponents from 1968 on the weight is 2^128 larger.
"""

from __future__ import annotations

from functools import lru_cache

from kbserver.emulator.ir import Value, select
from kbserver.emulator.rows import Row
from kbserver.emulator.semantics.valu_float import power_of_two
from kbserver.emulator.types import f64, i32, u32, u64
from kbserver.emulator.vector_rows import lane

BITS = 1201
_WORD = 32


@lru_cache(maxsize=1)
def two_over_pi() -> int:
    """Return floor(2 / pi * 2^1201), with pi from Machin's formula in integers."""
    guard = 64
    one = 1 << (BITS + guard)

    def arctan_of_inverse(n: int) -> int:
        power = total = one // n
        place = 1
        while power:
            power //= n * n
            place += 2
            total += power // place * (1 if place % 4 == 1 else -1)
        return total

    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    return (2 * one * (one >> guard)) // pi


def _words() -> list[int]:
    """Return the 64 bits from every 32nd fraction bit on, until nothing is left."""
    count = -(-BITS // _WORD)
    spread = two_over_pi() << (count * _WORD + 64 - BITS)
    return [(spread >> ((count - k) * _WORD)) & (2**64 - 1) for k in range(count)]


def _piece(x: Value, segment: Value) -> Value:
    exponent = ((x.as_(u64) >> 52) & 0x7FF).to(u32)
    late = exponent > 1077
    start = (segment & 31) * 53 + select(late, exponent - 1077, exponent.like(0))
    index, rest = start >> 5, (start & 31).to(u64)
    words = _words()
    high = low = x.as_(u64).like(0)
    for number, word in enumerate(words):
        high = select(index.eq(number), high.like(word), high)
        low = select((index + 2).eq(number), low.like(word), low)
    # 64 bits from the start on; a shift by 64 is none here.
    joined = (high << rest) | select(rest.eq(0), low.like(0), low >> ((64 - rest) & 63))
    weight = (start.like(0) - start - 53).as_(i32) + select(exponent >= 1968, start.as_(i32).like(128), 0)
    return power_of_two((joined >> 11).to(f64), weight)


ROWS: dict[str, Row] = {"v_trig_preop_f64": lane("f64 = f64 u32", _piece)}
