"""VGPR indexing (s_set_gpr_idx_*): between on and off, M0 is added to the register numbers of vector instructions.

Compilers write exactly one form, and only that one is executed: v_mov_b32 with its source or its destination indexed.
A number past the registers that the code names reads VGPR 0 and writes nothing, as the hardware does past the
wavefront's allocation.
"""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.access import BadOperand, read_scalar
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import LANES, Value, select
from kbserver.emulator.operands import AGPR_BASE, M0, Number, Register
from kbserver.emulator.registers import VGPR_BYTES
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import u32, u64

_MODES = {"SRC0": 1, "SRC1": 2, "SRC2": 4, "DST": 8}
"""Which operands are indexed; the instruction's immediate and bits 15:12 of M0."""


def _mode(d: Decoded) -> int:
    words = d.modifiers.get("gpr_idx")
    if isinstance(words, str):
        return sum(_MODES[word] for word in words.split(",") if word)
    return d.immediate(1)


def _on(t: Translation, d: Decoded) -> None:
    mode = _mode(d)
    index = read_scalar(t.registers, d.operands[0], u32) & 0xFF
    t.registers.set_sgpr(M0, (t.registers.sgpr(M0) & 0xFFFF0F00) | index | (mode << 12))
    moves = {_MODES["SRC0"]: _move_from, _MODES["DST"]: _move_to}
    t.indexed = moves.get(mode, _refuse)


def _index(t: Translation, d: Decoded) -> None:
    index = read_scalar(t.registers, d.operands[0], u32) & 0xFF
    t.registers.set_sgpr(M0, (t.registers.sgpr(M0) & 0xFFFFFF00) | index)


def _off(t: Translation, d: Decoded) -> None:
    del d
    t.indexed = None


def _only_moves(function: Callable[[Translation, Decoded], None]) -> Callable[[Translation, Decoded], None]:
    def checked(t: Translation, d: Decoded) -> None:
        if d.name != "v_mov_b32" or d.encoding in ("sdwa", "dpp") or d.operands[1].modified:
            _refuse(t, d)
        function(t, d)

    return checked


def _refuse(t: Translation, d: Decoded) -> None:
    del t
    raise BadOperand(f"{d.name} with indexed registers is not known; only v_mov_b32 with one indexed operand is")


def _place(t: Translation, register: Register) -> tuple[Value, Value]:
    """Return (byte place in the register file, whether there is such a register)."""
    number = (t.registers.sgpr(M0) & 0xFF) + register.index
    last = t.kernel.vgpr_slots if register.index >= AGPR_BASE else min(t.kernel.vgpr_slots, AGPR_BASE)
    return number.to(u64) * VGPR_BYTES, number < last


@_only_moves
def _move_from(t: Translation, d: Decoded) -> None:
    place, exists = _place(t, d.register(1, "v", 1))
    pointer = t.emitter.offset("%v", select(exists, place, 0))
    t.registers.set_vgpr(d.register(0, "v", 1).index, t.emitter.load(pointer, u32, LANES, align=64))


@_only_moves
def _move_to(t: Translation, d: Decoded) -> None:
    place, exists = _place(t, d.register(0, "v", 1))
    source = d.operands[1]
    if source.register is not None and source.register.file == "v":
        value = t.registers.vgpr(source.register.index)
    elif source.register is not None or isinstance(source.value, Number):
        value = read_scalar(t.registers, source, u32).splat(LANES)
    else:
        raise BadOperand(f"{source.value} is no source of an indexed move")
    pointer = t.emitter.offset("%v", select(exists, place, 0))
    old = t.emitter.load(pointer, u32, LANES, align=64)
    written = select(t.registers.exec_mask, value, old)
    t.emitter.store(select(exists, written, old), pointer, align=64)
    t.registers.forget_vgprs()


ROWS: dict[str, Row] = {
    "s_set_gpr_idx_on": Special(_on, frozenset({"gpr_idx"}), reads=(0,)),
    "s_set_gpr_idx_idx": Special(_index, reads=(0,)),
    "s_set_gpr_idx_off": Special(_off),
}
