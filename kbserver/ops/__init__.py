"""The operations of kbserver, one module an area; Python users import them from here."""

from kbserver.ops.lessons import record_lesson
from kbserver.ops.registry import Arg, Operation, operation, operations

__all__ = ["Arg", "Operation", "operation", "operations", "record_lesson"]
