"""The operations of kbserver, one module an area; Python users import them from here.

Operations are imported when they are first asked for: a command that needs one does not pay for the others.
"""

from typing import Any

from kbserver.ops.registry import HOMES, Arg, Operation, find_operation, operation, operation_of, operations

__all__ = ["Arg", "Operation", "operation", "operation_of", "operations", *HOMES]


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return find_operation(name).run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
