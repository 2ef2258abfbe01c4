"""Vector comparisons: rules from the VOPC table of the CDNA3 manual."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from kbserver.emulator.oracle.formats import LAYOUT
from kbserver.emulator.oracle.rule import Rule, rule


def _unordered(a: float, b: float) -> bool:
    return math.isnan(a) or math.isnan(b)


_INTEGER = {
    "f": lambda a, b: False, "lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ne": lambda a, b: a != b, "ge": lambda a, b: a >= b, "t": lambda a, b: True,
}  # fmt: skip
_FLOAT = {
    "f": lambda a, b: False,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "lg": lambda a, b: not _unordered(a, b) and a != b,
    "ge": lambda a, b: a >= b,
    "o": lambda a, b: not _unordered(a, b),
    "u": _unordered,
    "nge": lambda a, b: _unordered(a, b) or a < b,
    "nlg": lambda a, b: _unordered(a, b) or a == b,
    "ngt": lambda a, b: _unordered(a, b) or a <= b,
    "nle": lambda a, b: _unordered(a, b) or a > b,
    "neq": lambda a, b: _unordered(a, b) or a != b,
    "nlt": lambda a, b: _unordered(a, b) or a >= b,
    "tru": lambda a, b: True,
}


def _class_of(bits: int, size: int) -> int:
    """Return the number of the mask bit that stands for this number's class."""
    exponent_bits, fraction_bits = LAYOUT[size]
    sign = bits >> (size - 1)
    exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << fraction_bits) - 1)
    if exponent == (1 << exponent_bits) - 1:
        if fraction:
            return 1 if fraction >> (fraction_bits - 1) else 0
        return 2 if sign else 9
    if exponent:
        return 3 if sign else 8
    if fraction:
        return 4 if sign else 7
    return 5 if sign else 6


def _class(size: int) -> Callable[[int, int], bool]:
    return lambda bits, wanted: bool(wanted >> _class_of(bits, size) & 1)


RULES: dict[str, Rule] = {
    **{
        f"v_cmp_{name}_{type_}": rule(f"mask = {type_} {type_}", function)
        for type_ in ("i16", "u16", "i32", "u32", "i64", "u64")
        for name, function in _INTEGER.items()
    },
    **{
        f"v_cmp_{name}_{type_}": rule(f"mask = {type_} {type_}", function)
        for type_ in ("f16", "f32", "f64")
        for name, function in _FLOAT.items()
    },
    **{f"v_cmp_class_f{size}": rule(f"mask = b{size} u32", _class(size)) for size in (16, 32, 64)},
}


def _to_exec(one: Rule) -> Rule:
    """v_cmpx gives the same bits, and writes them to EXEC as well."""
    return replace(one, results=("mask", "exec"), function=lambda a, b: (one.function(a, b),) * 2)


RULES |= {name.replace("v_cmp_", "v_cmpx_"): _to_exec(one) for name, one in RULES.items()}
