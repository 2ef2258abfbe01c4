"""Private memory (scratch_*) and flat addresses (flat_*), which are private memory, LDS or global memory by aperture.

A scratch address is the sum of VGPR, SGPR and offset, each of which may be off, in the lane's own memory. Flat
instructions count in vmcnt and in lgkmcnt, because before its address is seen nobody knows which will serve.
"""

from __future__ import annotations

from kbserver.emulator.access import BadOperand, vgpr_bits
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import LANES, Value
from kbserver.emulator.operands import Name, Operand
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.runtime.atomic_operations import OPERATIONS
from kbserver.emulator.runtime.elements import LOADS, STORES, Element
from kbserver.emulator.semantics.atomics import MEMORY_ATOMICS, call_atomic, returns_old
from kbserver.emulator.semantics.global_memory import CACHE_BITS
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import i32, u32

_MODIFIERS = CACHE_BITS | {"offset"}
FLAT_COUNTER = "vmcnt and lgkmcnt"


def _is_off(operand: Operand) -> bool:
    return isinstance(operand.value, Name) and operand.value.text == "off"


def _scratch_addresses(t: Translation, d: Decoded, lanes: Operand, scalar: Operand) -> Value:
    """Return 64 addresses of 32 bits, which wrap."""
    address = t.emitter.constant(d.number("offset"), i32).as_(u32)
    if not _is_off(scalar):
        register = scalar.register
        if register is None or (register.file, register.count) != ("s", 1):
            raise BadOperand(f"{scalar.value} is no scalar part of a private address")
        address = t.registers.sgpr(register.index) + address
    if _is_off(lanes):
        return address.splat(LANES)
    if lanes.register is None or lanes.register.file != "v":
        raise BadOperand(f"{lanes.value} is no vector part of a private address")
    return vgpr_bits(t.registers, lanes.register, 32) + address


def _scratch(t: Translation, d: Decoded, routine: str, lanes: Operand, data: int, element: Element) -> None:
    register = d.register(data, "v", element.dwords)
    t.emitter.store(_scratch_addresses(t, d, lanes, d.operands[2]), "%addresses", align=64)
    t.call(
        routine,
        f"ptr %addresses, {t.registers.exec_bits.typed}, ptr {t.registers.vgpr_pointer(register.index)}, "
        f"ptr %scratch, i64 {t.kernel.private_bytes}, ptr %ctx, i32 {d.index}",
    )


def _scratch_load(suffix: str, element: Element) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        _scratch(t, d, f"scratch_load_{suffix}", d.operands[1], 0, element)

    return Special(function, _MODIFIERS, writes=(0,), reads=(1, 2), counter="vmcnt")


def _scratch_store(suffix: str, element: Element) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        _scratch(t, d, f"scratch_store_{suffix}", d.operands[0], 1, element)

    return Special(function, _MODIFIERS, reads=(0, 1, 2), counter="vmcnt")


def flat_addresses(t: Translation, d: Decoded, address: int) -> None:
    """Store the 64 flat addresses of an instruction where runtime functions read them."""
    lanes = vgpr_bits(t.registers, d.register(address, "v", 2), 64) + d.number("offset")
    t.emitter.store(lanes, "%addresses", align=64)


def _flat(t: Translation, d: Decoded, routine: str, address: int, data: int, element: Element) -> None:
    register = d.register(data, "v", element.dwords)
    flat_addresses(t, d, address)
    t.call(
        routine,
        f"ptr %addresses, {t.registers.exec_bits.typed}, ptr {t.registers.vgpr_pointer(register.index)}, ptr %lds, "
        f"ptr %scratch, i64 {t.kernel.private_bytes}, ptr %ctx, i32 {d.index}",
    )


def _flat_load(suffix: str, element: Element) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        _flat(t, d, f"flat_load_{suffix}", 1, 0, element)

    return Special(function, _MODIFIERS, writes=(0,), reads=(1,), counter=FLAT_COUNTER)


def _flat_store(suffix: str, element: Element) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        _flat(t, d, f"flat_store_{suffix}", 0, 1, element)

    return Special(function, _MODIFIERS, reads=(0, 1), counter=FLAT_COUNTER)


def _atomic_places(d: Decoded) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return ((0,), (1, 2)) if len(d.operands) == 3 else ((), (0, 1))


def _flat_atomic(name: str) -> Special:
    """[old,] address, data. Of a compare the data are the new value, then the value to find."""
    operation = OPERATIONS[name]
    dwords = operation.bits // 32
    width = dwords * (2 if operation.two else 1)

    def function(t: Translation, d: Decoded) -> None:
        returns = returns_old(t, d)
        if len(d.operands) != 2 + returns:
            raise BadOperand("the old value is returned exactly when sc0 (glc on gfx90a) is set")
        to = d.register(0, "v", dwords) if returns else None
        data = d.register(1 + returns, "v", width).index
        flat_addresses(t, d, int(returns))
        call_atomic(t, d, f"flat_atomic_{name}", "%addresses", 0, data, data + width - dwords, to)

    return Special(function, _MODIFIERS, counter=FLAT_COUNTER, places=_atomic_places)


ROWS: dict[str, Row] = {
    **{f"scratch_load_{suffix}": _scratch_load(suffix, element) for suffix, element in LOADS.items()},
    **{f"scratch_store_{suffix}": _scratch_store(suffix, element) for suffix, element in STORES.items()},
    **{f"flat_load_{suffix}": _flat_load(suffix, element) for suffix, element in LOADS.items()},
    **{f"flat_store_{suffix}": _flat_store(suffix, element) for suffix, element in STORES.items()},
    **{f"flat_atomic_{name}": _flat_atomic(operation) for name, operation in MEMORY_ATOMICS.items()},
}
