"""Buffer memory (MUBUF): loads, stores and atomics through a resource in four SGPRs; `lds` sends a load to LDS.

Operands: data, VGPR address, resource, SGPR offset. The address is an offset with `offen`, an index with `idxen`, with
both the index and then the offset, or `off`. The data of an atomic receive the old value.
"""

from __future__ import annotations

from kbserver.emulator.access import BadOperand, read_scalar
from kbserver.emulator.decode import Decoded
from kbserver.emulator.kernel import PRIVATE_BUFFER
from kbserver.emulator.operands import Name
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.runtime.atomic_operations import OPERATIONS
from kbserver.emulator.runtime.direct import SUFFIXES
from kbserver.emulator.runtime.elements import LOADS, STORES, Element
from kbserver.emulator.semantics.atomics import MEMORY_ATOMICS, returns_old
from kbserver.emulator.semantics.global_memory import CACHE_BITS, direct_start
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import u32, u64

_MODIFIERS = CACHE_BITS | {"offset", "offen", "idxen"}


def _resource(t: Translation, d: Decoded, address: int) -> str:
    """Return the arguments that every routine of `runtime.buffers` starts with, from operand `address` on."""
    indexed, offset = "idxen" in d.modifiers, "offen" in d.modifiers
    pointers = []
    if indexed or offset:
        first = d.register(address, "v", indexed + offset).index
        pointers = [t.registers.vgpr_pointer(first + place) for place in range(indexed + offset)]
    elif not isinstance(d.operands[address].value, Name):
        raise BadOperand("an address needs offen or idxen")
    resource = d.register(address + 1, "s", 4).index
    low, high = t.registers.sgpr_pair(resource), t.registers.sgpr_pair(resource + 2)
    scalar = read_scalar(t.registers, d.operands[address + 2], u32).to(u64)
    offsets, indices = pointers[-1] if offset else "null", pointers[0] if indexed else "null"
    return f"{low.typed}, {high.typed}, {scalar.typed}, i64 {d.number('offset')}, ptr {offsets}, ptr {indices}"


def _move(t: Translation, d: Decoded, routine: str, arguments: str) -> None:
    """Call a routine; where the runtime gave a resource for private memory, it may be meant."""
    if PRIVATE_BUFFER in t.kernel.entry.user_sgprs and "idxen" not in d.modifiers:
        routine, arguments = f"private_{routine}", f"{arguments}, ptr %scratch, i64 {t.kernel.private_bytes}"
    t.call(routine, f"{arguments}, ptr %ctx, i32 {d.index}")


def _load(suffix: str, element: Element) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        exec_ = t.registers.exec_bits.typed
        if "lds" in d.modifiers:
            start = direct_start(t, d, element)
            resource = _resource(t, d, 0)
            t.call(f"buffer_load_lds_{suffix}", f"{resource}, {exec_}, ptr %lds, {start}, ptr %ctx, i32 {d.index}")
            return
        data = t.registers.vgpr_pointer(d.register(0, "v", element.dwords).index)
        _move(t, d, f"buffer_load_{suffix}", f"{_resource(t, d, 1)}, {exec_}, ptr {data}")

    modifiers = _MODIFIERS | {"lds"} if suffix in SUFFIXES else _MODIFIERS
    return Special(function, modifiers, counter="vmcnt", places=_load_places)


def _load_places(d: Decoded) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return ((), (0, 1, 2)) if "lds" in d.modifiers else ((0,), (1, 2, 3))


def _store(suffix: str, element: Element) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        data = t.registers.vgpr_pointer(d.register(0, "v", element.dwords).index)
        exec_ = t.registers.exec_bits.typed
        _move(t, d, f"buffer_store_{suffix}", f"{_resource(t, d, 1)}, {exec_}, ptr {data}")

    return Special(function, _MODIFIERS, reads=(0, 1, 2, 3), counter="vmcnt")


def _atomic(name: str) -> Special:
    """Of a compare the data are the new value, then the value to find."""
    operation = OPERATIONS[name]
    dwords = operation.bits // 32

    def function(t: Translation, d: Decoded) -> None:
        data = d.register(0, "v", dwords * (2 if operation.two else 1)).index
        second = data + dwords if operation.two else data
        pointer = t.registers.vgpr_pointer
        result = pointer(data) if returns_old(t, d) else "null"
        t.call(
            f"buffer_atomic_{name}",
            f"{_resource(t, d, 1)}, {t.registers.exec_bits.typed}, ptr {pointer(data)}, ptr {pointer(second)}, "
            f"ptr {result}, ptr %ctx, i32 {d.index}",
        )

    return Special(function, _MODIFIERS, counter="vmcnt", places=_atomic_places)


def _atomic_places(d: Decoded) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return ((0,) if d.modifiers.keys() & {"sc0", "glc"} else (), (0, 1, 2, 3))


ROWS: dict[str, Row] = {
    **{f"buffer_load_{suffix}": _load(suffix, element) for suffix, element in LOADS.items()},
    **{f"buffer_store_{suffix}": _store(suffix, element) for suffix, element in STORES.items()},
    **{f"buffer_atomic_{name}": _atomic(operation) for name, operation in MEMORY_ATOMICS.items()},
}
