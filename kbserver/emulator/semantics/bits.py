"""Bit operations that the scalar and the vector unit share."""

from __future__ import annotations

from kbserver.emulator.ir import Value, call, count_zeros, select
from kbserver.emulator.types import i32, u32, unsigned


def bit_field(x: Value, offset: Value, width: Value) -> Value:
    """Return `width` bits of x from `offset` on, extended by the type's sign; 0 when the width is 0.

    A field that reaches past the top is cut there: the shift right has already brought in zeros, or the sign.
    """
    bits = x.type.bits
    spare = (bits - call("umin", width, bits)) & (bits - 1)
    field = ((x >> offset) << spare) >> spare
    return select(width.eq(0), field.like(0), field)


def find_one(x: Value, *, leading: bool) -> Value:
    """Return the position of the first one from that end, or -1 when there is none."""
    found = count_zeros(x, leading=leading).to(u32)
    return select(x.eq(0), found.like(-1), found).as_(i32)


def sign_run(x: Value) -> Value:
    """Return how many bits from the top equal the sign, or -1 when all do. x is signed."""
    unlike = x ^ (x >> (x.type.bits - 1))
    return find_one(unlike.as_(unsigned(x.type.bits)), leading=True)
