"""Vector comparisons (VOPC): one bit a lane to VCC or an SGPR pair; lanes outside EXEC give 0. v_cmpx writes EXEC too.

Float conditions: `lt` to `ge` are false when a source is NaN; the `n` forms are the negations and therefore true;
`o` asks whether neither source is NaN, `u` whether one is; `lg` is less-or-greater.
"""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.ir import Value
from kbserver.emulator.rows import Row
from kbserver.emulator.types import u1, unsigned
from kbserver.emulator.vector_rows import lane

Condition = Callable[[Value, Value], Value]


def _always(result: bool) -> Condition:
    return lambda x, y: Value(x.emitter, "splat (i1 true)" if result else "splat (i1 false)", u1, x.lanes)


def _ordered(x: Value, y: Value) -> Value:
    return x.eq(x) & y.eq(y)


_INTEGER: dict[str, Condition] = {
    "f": _always(False),
    "lt": lambda x, y: x < y,
    "eq": lambda x, y: x.eq(y),
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ne": lambda x, y: x.ne(y),
    "ge": lambda x, y: x >= y,
    "t": _always(True),
}
_FLOAT: dict[str, Condition] = {
    "f": _always(False),
    "lt": lambda x, y: x < y,
    "eq": lambda x, y: x.eq(y),
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "lg": lambda x, y: (x < y) | (x > y),
    "ge": lambda x, y: x >= y,
    "o": _ordered,
    "u": lambda x, y: ~_ordered(x, y),
    "nge": lambda x, y: ~(x >= y),
    "nlg": lambda x, y: ~((x < y) | (x > y)),
    "ngt": lambda x, y: ~(x > y),
    "nle": lambda x, y: ~(x <= y),
    "neq": lambda x, y: x.ne(y),
    "nlt": lambda x, y: ~(x < y),
    "tru": _always(True),
}

_EXPONENT_BITS = {16: 5, 32: 8, 64: 11}


def _class(x: Value, wanted: Value) -> Value:
    """v_cmp_class: is x of one of the classes whose bit is set?

    Bits: 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal,
    9 +infinity.
    """
    bits = x.type.bits
    fraction_bits = bits - 1 - _EXPONENT_BITS[bits]
    raw = x.as_(unsigned(bits))
    negative = (raw >> (bits - 1)).ne(0)
    exponent = (raw >> fraction_bits) & ((1 << _EXPONENT_BITS[bits]) - 1)
    fraction = raw & ((1 << fraction_bits) - 1)
    top, none = exponent.eq((1 << _EXPONENT_BITS[bits]) - 1), exponent.eq(0)
    zero_fraction = fraction.eq(0)
    quiet = (fraction >> (fraction_bits - 1)).ne(0)
    classes = (
        (0, top & ~zero_fraction & ~quiet),
        (1, top & quiet),
        (2, top & zero_fraction & negative),
        (3, ~top & ~none & negative),
        (4, none & ~zero_fraction & negative),
        (5, none & zero_fraction & negative),
        (6, none & zero_fraction & ~negative),
        (7, none & ~zero_fraction & ~negative),
        (8, ~top & ~none & ~negative),
        (9, top & zero_fraction & ~negative),
    )
    result = Value(x.emitter, "splat (i1 false)", u1, x.lanes)
    for bit, member in classes:
        result = result | (member & ((wanted >> bit) & 1).ne(0))
    return result


def _to_exec(condition: Condition) -> Callable[[Value, Value], tuple[Value, Value]]:
    def function(x: Value, y: Value) -> tuple[Value, Value]:
        bits = condition(x, y)
        return bits, bits

    return function


def _rows() -> dict[str, Row]:
    families = [
        (("i16", "u16", "i32", "u32", "i64", "u64"), _INTEGER),
        (("f16", "f32", "f64"), _FLOAT),
    ]
    rows: dict[str, Row] = {}
    for types, conditions in families:
        for type_ in types:
            for name, condition in conditions.items():
                rows[f"v_cmp_{name}_{type_}"] = lane(f"mask = {type_} {type_}", condition)
                rows[f"v_cmpx_{name}_{type_}"] = lane(f"mask exec = {type_} {type_}", _to_exec(condition))
    for type_ in ("f16", "f32", "f64"):
        rows[f"v_cmp_class_{type_}"] = lane(f"mask = {type_} u32", _class)
        rows[f"v_cmpx_class_{type_}"] = lane(f"mask exec = {type_} u32", _to_exec(_class))
    return rows


ROWS: dict[str, Row] = _rows()
