"""Global memory: per-lane loads and stores, and loads that go to LDS without passing a VGPR."""

from __future__ import annotations

from kbserver.emulator.access import BadOperand, vgpr_bits
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value
from kbserver.emulator.operands import M0, Name, Operand
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.runtime.direct import SUFFIXES
from kbserver.emulator.runtime.elements import LOADS, STORES, Element
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import u64

# Cache policy bits (gfx90a: glc slc; gfx942 and gfx950: sc0 sc1 nt) do not change what a single device sees.
CACHE_BITS = frozenset({"glc", "slc", "dlc", "sc0", "sc1", "nt"})
_MODIFIERS = CACHE_BITS | {"offset"}


def global_addresses(t: Translation, d: Decoded, address: Operand, base: Operand) -> Value:
    """Return the 64 byte addresses: VGPR pair + offset with `off`, else SGPR pair + zero-extended VGPR + offset."""
    register = address.register
    if register is None or register.file != "v":
        raise BadOperand("the address is no VGPR")
    if isinstance(base.value, Name):
        if base.value.text != "off":
            raise BadOperand(f"{base.value} is no base address")
        lanes = vgpr_bits(t.registers, register, 64)
    else:
        if base.register is None or (base.register.file, base.register.count) != ("s", 2):
            raise BadOperand("the base address is no SGPR pair")
        lanes = vgpr_bits(t.registers, register, 32).to(u64) + t.registers.sgpr_pair(base.register.index)
    return lanes + d.number("offset")


def _store_addresses(t: Translation, addresses: Value) -> None:
    t.emitter.store(addresses, "%addresses", align=64)


def _load(suffix: str, element: Element) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        destination = d.register(0, "v", element.dwords)
        _store_addresses(t, global_addresses(t, d, d.operands[1], d.operands[2]))
        data = t.registers.vgpr_pointer(destination.index)
        t.call(
            f"global_load_{suffix}",
            f"ptr %addresses, {t.registers.exec_bits.typed}, ptr {data}, ptr %ctx, i32 {d.index}",
        )

    return Special(function, _MODIFIERS, writes=(0,), reads=(1, 2), counter="vmcnt")


def _store(suffix: str, element: Element) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        source = d.register(1, "v", element.dwords)
        _store_addresses(t, global_addresses(t, d, d.operands[0], d.operands[2]))
        data = t.registers.vgpr_pointer(source.index)
        t.call(
            f"global_store_{suffix}",
            f"ptr %addresses, {t.registers.exec_bits.typed}, ptr {data}, ptr %ctx, i32 {d.index}",
        )

    return Special(function, _MODIFIERS, reads=(0, 1, 2), counter="vmcnt")


def direct_start(t: Translation, d: Decoded, element: Element) -> str:
    """Return the LDS byte where lane 0 of a direct load writes, as typed IR: M0 and the offset.

    M0 counts whole dwords of the 64 KiB of LDS, 160 KiB on gfx950. Raises BadOperand where the target has no such load.
    """
    if element.dwords > 1 and t.arch != "gfx950":
        raise BadOperand(f"{t.arch} has direct loads into LDS of a dword or less")
    base = t.registers.sgpr(M0) & (0x3FFFC if t.arch == "gfx950" else 0xFFFC)
    return (base.to(u64) + d.number("offset")).typed


def _load_to_lds(suffix: str, element: Element) -> Special:
    """The offset moves both the global and the LDS address."""

    def function(t: Translation, d: Decoded) -> None:
        start = direct_start(t, d, element)
        _store_addresses(t, global_addresses(t, d, d.operands[0], d.operands[1]))
        t.call(
            f"global_load_lds_{suffix}",
            f"ptr %addresses, {t.registers.exec_bits.typed}, ptr %lds, {start}, ptr %ctx, i32 {d.index}",
        )

    return Special(function, _MODIFIERS, reads=(0, 1), counter="vmcnt")


ROWS: dict[str, Row] = {
    **{f"global_load_{suffix}": _load(suffix, element) for suffix, element in LOADS.items()},
    **{f"global_store_{suffix}": _store(suffix, element) for suffix, element in STORES.items()},
    **{f"global_load_lds_{suffix}": _load_to_lds(suffix, LOADS[suffix]) for suffix in SUFFIXES},
}
