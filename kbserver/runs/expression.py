"""Small arithmetic of task files: `ceil(C * OD / 256)`, `W % 4 == 0`. Exact numbers, no names but those given."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

MAX_LENGTH = 200
_LIMIT = 10**18

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_CALLS: dict[str, Callable[..., Any]] = {"ceil": math.ceil, "floor": math.floor, "min": min, "max": max}
_REAL_CALLS: dict[str, Callable[..., Any]] = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log, "log2": math.log2}


def evaluate(expression: str | int, names: Mapping[str, int]) -> int | bool:
    """Return the whole number (or truth value) of an expression over `names`.

    Raises ValueError that says what is wrong: an unknown name, another operation, or a result that is not whole.
    """
    if isinstance(expression, int):
        return expression
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"expression longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        value = _value(tree.body, names)
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"not an expression: {expression!r}") from None
    except (ZeroDivisionError, TypeError) as error:
        raise ValueError(f"{expression!r}: {error}") from None
    if isinstance(value, bool):
        return value
    if value != int(value) or abs(value) > _LIMIT:
        raise ValueError(f"{expression!r} is not a whole number: {value}")
    return int(value)


def number(expression: str | int | float, names: Mapping[str, int | float]) -> float:
    """Return the real number of an expression such as `1 / sqrt(D)` or `1e-5`. Raises ValueError as `evaluate` does."""
    if isinstance(expression, (int, float)):
        return float(expression)
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"expression longer than {MAX_LENGTH} characters")
    try:
        value = float(_value(ast.parse(expression.strip(), mode="eval").body, names, real=True))
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"not an expression: {expression!r}") from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(f"{expression!r}: {error}") from None
    if not math.isfinite(value):
        raise ValueError(f"{expression!r} is not a finite number")
    return value


def _value(node: ast.expr, names: Mapping[str, int | float], real: bool = False) -> Any:
    if real:
        found = _real(node, names)
        if found is not None:
            return found
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return Fraction(number)
        case ast.Name(id=name):
            if name not in names:
                raise ValueError(f"unknown name {name!r}; known: {', '.join(sorted(names))}")
            return Fraction(names[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names, real)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, names, real), _value(right, names, real))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            return _COMPARE[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as arguments, keywords=[]) if name in _CALLS:
            return Fraction(_CALLS[name](*(_value(argument, names, real) for argument in arguments)))
    raise ValueError(f"{ast.unparse(node)!r} is not allowed in an expression")


def _real(node: ast.expr, names: Mapping[str, int | float]) -> float | None:
    """Return the value of what only real expressions have; None for anything else."""
    match node:
        case ast.Constant(value=float() as value):
            return value
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _REAL_CALLS:
            return float(_REAL_CALLS[name](float(_value(argument, names, real=True))))
    return None
