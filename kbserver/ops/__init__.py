"""The operations of kbserver, one module an area; Python users import them from here."""

from kbserver.ops.assembly import inspect_assembly
from kbserver.ops.claims import check_claims
from kbserver.ops.compile import compile_kernel
from kbserver.ops.device import device_info
from kbserver.ops.facts import hardware_fact
from kbserver.ops.instruction import instruction
from kbserver.ops.knowledge import knowledge_map, read, search
from kbserver.ops.lessons import record_lesson
from kbserver.ops.occupancy import occupancy
from kbserver.ops.profile import profile_kernel
from kbserver.ops.registry import Arg, Operation, operation, operations
from kbserver.ops.time import time_kernel
from kbserver.ops.verify import verify_kernel

__all__ = [
    "Arg",
    "Operation",
    "check_claims",
    "compile_kernel",
    "device_info",
    "hardware_fact",
    "inspect_assembly",
    "instruction",
    "knowledge_map",
    "occupancy",
    "operation",
    "operations",
    "profile_kernel",
    "read",
    "record_lesson",
    "search",
    "time_kernel",
    "verify_kernel",
]
