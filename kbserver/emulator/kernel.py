"""A kernel ready to be translated: its decoded code and what its descriptor says about launch and registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kbserver.core.errors import UnknownName, UnsupportedInstruction, UsageError
from kbserver.emulator.decode import Decoded, unsupported
from kbserver.emulator.linking import Entries, Symbol, link
from kbserver.emulator.operands import AGPR_BASE
from kbserver.emulator.rows import Row
from kbserver.emulator.semantics import find_row
from kbserver.toolchain.assembly import Function, Program

TARGETS = ("gfx90a", "gfx942", "gfx950")
# LDS of a workgroup: fact:gfx90a.lds.bytes_per_workgroup and its like.
LDS_LIMIT_BYTES = {"gfx90a": 64 << 10, "gfx942": 64 << 10, "gfx950": 160 << 10}

DYNAMIC_STACK_BYTES = 4096
"""Private memory of a lane beyond the descriptor's, for kernels whose metadata says that the stack has no known size.
The HIP runtime lets the program choose (hipDeviceSetLimit); a kernel that needs more gets a finding."""

# User SGPRs in the order in which the hardware fills them (LLVM AMDGPU usage, "Initial Kernel Execution State").
PRIVATE_BUFFER = "private_segment_buffer"
_USER_SGPRS = (
    (PRIVATE_BUFFER, 4),
    ("dispatch_ptr", 2),
    ("queue_ptr", 2),
    ("kernarg_segment_ptr", 2),
    ("dispatch_id", 2),
    ("flat_scratch_init", 2),
    ("private_segment_size", 1),
)


@dataclass(frozen=True)
class Entry:
    """Where a wavefront finds what at its start: SGPR numbers, and sizes in bytes."""

    user_sgprs: Mapping[str, int]
    """name of `_USER_SGPRS` -> first SGPR."""
    preload_first: int
    preload_dwords: int
    preload_offset_dwords: int
    workgroup_ids: tuple[int | None, int | None, int | None]
    lds_bytes: int
    kernarg_bytes: int
    private_bytes: int
    """Private memory of one lane as the descriptor gives it."""
    fp16_overflow: bool = False
    """MODE.FP16_OVFL at the start."""
    dynamic_stack: bool = False
    """True when the kernel may need more, by calls whose depth or target the compiler does not know."""
    work_item_axes: int = 1
    """Of the work-item ids x, y, z the first ones that v0 holds."""


@dataclass(frozen=True)
class Kernel:
    """One kernel of a program, decoded for one target."""

    name: str
    arch: str
    code: tuple[Decoded, ...]
    rows: tuple[Row, ...]
    labels: Mapping[str, int]
    entry: Entry
    arguments: tuple[Mapping[str, Any], ...]
    """The argument descriptions of the metadata: offset, size, value_kind."""
    vgpr_slots: int
    """Registers of the unified file that the emulator holds for a wavefront."""
    max_workgroup: int
    addresses: tuple[int, ...] = ()
    """What s_getpc_b64 tells of each instruction, and of the end."""
    entries: Entries = field(default_factory=Entries)
    symbols: tuple[Symbol, ...] = ()
    """What the table of symbols holds."""

    @property
    def private_bytes(self) -> int:
        """Return the bytes of private memory that a lane has."""
        size = self.entry.private_bytes + (DYNAMIC_STACK_BYTES if self.entry.dynamic_stack else 0)
        return -(-size // 4) * 4


def load_kernel(program: Program, name: str | None = None, arch: str | None = None) -> Kernel:
    """Return a kernel of the program, the only one when no name is given.

    Raises UnknownName for a name that the program lacks, UsageError for a target that the emulator lacks and
    UnsupportedInstruction for the first instruction that it does not know.
    """
    function = _find(program, name)
    target = arch or (program.target or "").split(":")[0]
    if target not in TARGETS:
        raise UsageError(f"the emulator executes {', '.join(TARGETS)}, not {target or 'an unnamed target'}", where=name)
    if not function.instructions:
        raise UsageError("the kernel has no instructions", where=function.name)
    linked = link(program, function)
    code = linked.code
    rows = tuple(_row(d) for d in code)
    entry = read_entry(function)
    if entry.fp16_overflow:
        _check_overflow_mode(code)
    return Kernel(
        name=function.name,
        arch=target,
        code=code,
        rows=rows,
        labels=linked.labels,
        entry=entry,
        arguments=tuple(MappingProxyType(dict(a)) for a in _arguments(function)),
        vgpr_slots=_vgpr_slots(code),
        max_workgroup=int(function.metadata.get("max_flat_workgroup_size", 1024)),
        addresses=linked.addresses,
        entries=linked.entries,
        symbols=linked.symbols,
    )


def _find(program: Program, name: str | None) -> Function:
    kernels = {function.name: function for function in program.kernels}
    if name is None:
        if len(kernels) != 1:
            raise UsageError(f"name the kernel: the program has {len(kernels)}", hint=", ".join(sorted(kernels)))
        return next(iter(kernels.values()))
    if name not in kernels:
        raise UnknownName("kernel", name, kernels)
    return kernels[name]


def _row(d: Decoded) -> Row:
    row = find_row(d.name)
    if row is None:
        raise unsupported(d.instruction, f"the emulator does not know {d.name}")
    return row


def _arguments(function: Function) -> Sequence[Mapping[str, Any]]:
    entries = function.metadata.get("args", ())
    return [{str(key).removeprefix("."): value for key, value in entry.items()} for entry in entries]


def _vgpr_slots(code: Sequence[Decoded]) -> int:
    registers = [o.register for d in code for o in d.operands if o.register is not None and o.register.file == "v"]
    top = max((register.index + register.count for register in registers), default=1)
    if top > 2 * AGPR_BASE:
        raise UsageError(f"the code names vector register {top - 1}, past the file of {2 * AGPR_BASE}")
    return top


def _check_overflow_mode(code: Sequence[Decoded]) -> None:
    """Raise UnsupportedInstruction for 16-bit arithmetic under FP16_OVFL, which changes its overflows."""
    from kbserver.emulator.semantics.hardware_state import half_arithmetic

    d = half_arithmetic(code)
    if d is not None:
        raise unsupported(d.instruction, "arithmetic of 16-bit floats under .amdhsa_fp16_overflow")


def read_entry(function: Function) -> Entry:
    """Return the entry state that the `.amdhsa_*` directives describe. Raises UsageError for one that is no number."""
    words = function.descriptor

    def number(key: str, default: int = 0) -> int:
        try:
            return int(words.get(key, default), 0) if isinstance(words.get(key, default), str) else default
        except ValueError:
            raise UsageError(f".amdhsa_{key} is no number: {words[key]!r}", where=function.name) from None

    if number("float_round_mode_32") or number("float_round_mode_16_64"):
        raise UnsupportedInstruction("rounding modes other than to nearest even are not emulated", where=function.name)
    if number("float_denorm_mode_32", 3) != 3 or number("float_denorm_mode_16_64", 3) != 3:
        raise UnsupportedInstruction("modes that flush denormals are not emulated", where=function.name)
    place, user = 0, {}
    for key, count in _USER_SGPRS:
        if number(f"user_sgpr_{key}"):
            user[key] = place
            place += count
    preload = number("user_sgpr_kernarg_preload_length")
    count = number("user_sgpr_count", place + preload)
    ids: list[int | None] = []
    place_of_id = max(count, place + preload)
    for axis in "xyz":
        wanted = number(f"system_sgpr_workgroup_id_{axis}", 1 if axis == "x" else 0)
        ids.append(place_of_id if wanted else None)
        place_of_id += bool(wanted)
    return Entry(
        user_sgprs=MappingProxyType(user),
        preload_first=place,
        preload_dwords=preload,
        preload_offset_dwords=number("user_sgpr_kernarg_preload_offset"),
        workgroup_ids=(ids[0], ids[1], ids[2]),
        lds_bytes=number("group_segment_fixed_size"),
        kernarg_bytes=number("kernarg_size"),
        private_bytes=number("private_segment_fixed_size"),
        fp16_overflow=bool(number("fp16_overflow")),
        dynamic_stack=bool(number("uses_dynamic_stack")),
        work_item_axes=min(3, 1 + number("system_vgpr_workitem_id")),
    )
