"""Data-parallel primitives (DPP): the first source of a vector operation comes from another lane.

The lane that each control reads is a fixed list of 64 (None where there is no such lane). A lane whose source does not
exist or is inactive reads 0 under bound_ctrl, and is not written otherwise; row_mask and bank_mask switch off whole
rows of 16 lanes, and banks of 4 lanes in every row.
"""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.access import BadOperand, vgpr_bits
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import LANES, Value, select
from kbserver.emulator.operands import Operand
from kbserver.emulator.registers import Registers
from kbserver.emulator.types import Type, u1, u64

_ROW = 16


def _in_row(source: Callable[[int], int]) -> list[int | None]:
    """Lanes of a row from positions in it; a position outside 0..15 does not exist."""
    places = [source(lane % _ROW) for lane in range(LANES)]
    return [lane - lane % _ROW + p if 0 <= p < _ROW else None for lane, p in zip(range(LANES), places, strict=True)]


def _in_wave(source: Callable[[int], int]) -> list[int | None]:
    return [p if 0 <= (p := source(lane)) < LANES else None for lane in range(LANES)]


# control -> (number) -> source lanes
_CONTROLS: dict[str, Callable[[int], list[int | None]]] = {
    "row_shl": lambda n: _in_row(lambda place: place + n),
    "row_shr": lambda n: _in_row(lambda place: place - n),
    "row_ror": lambda n: _in_row(lambda place: (place - n) % _ROW),
    "row_newbcast": lambda n: _in_row(lambda place: n),
    "wave_shl": lambda n: _in_wave(lambda lane: lane + 1),
    "wave_rol": lambda n: _in_wave(lambda lane: (lane + 1) % LANES),
    "wave_shr": lambda n: _in_wave(lambda lane: lane - 1),
    "wave_ror": lambda n: _in_wave(lambda lane: (lane - 1) % LANES),
    # The last lane of a row (of half a wave) is given to every lane of the next row (half).
    "row_bcast": lambda n: [
        (lane // (n + 1) * (n + 1) - 1) if lane > n else None for lane in range(LANES)
    ],
    "row_mirror": lambda n: _in_row(lambda place: _ROW - 1 - place),
    "row_half_mirror": lambda n: _in_row(lambda place: place // 8 * 8 + 7 - place % 8),
}  # fmt: skip

MODIFIERS = frozenset({*_CONTROLS, "quad_perm", "row_mask", "bank_mask", "bound_ctrl"})


def source_lanes(d: Decoded) -> list[int | None]:
    """Return the lane that each lane reads."""
    quad = d.modifiers.get("quad_perm")
    if isinstance(quad, tuple) and len(quad) == 4 and all(0 <= place < 4 for place in quad):
        return [lane // 4 * 4 + quad[lane % 4] for lane in range(LANES)]
    for name, lanes in _CONTROLS.items():
        if name in d.modifiers:
            return lanes(d.number(name))
    raise BadOperand("no DPP control that the emulator knows")


def read(registers: Registers, d: Decoded, operand: Operand | None, type_: Type) -> tuple[Value, Value]:
    """Return (the value that each lane receives, one bit a lane: is the result written there)."""
    register = operand.register if operand is not None else None
    if register is None or register.file != "v":
        raise BadOperand("the first source of DPP is a VGPR")
    lanes = source_lanes(d)
    emitter = registers.emitter
    places = [0 if lane is None else lane for lane in lanes]
    value = vgpr_bits(registers, register, type_.bits).shuffle(places)
    exists = sum(1 << lane for lane, source in enumerate(lanes) if source is not None)
    valid = registers.exec_mask.shuffle(places) & _mask(registers, exists)
    rows, banks = d.number("row_mask", 0xF), d.number("bank_mask", 0xF)
    enabled = sum(1 << lane for lane in range(LANES) if rows >> lane // _ROW & 1 and banks >> lane % _ROW // 4 & 1)
    written = _mask(registers, enabled)
    # The assembler spells the set bit `bound_ctrl:0` on gfx9, and `bound_ctrl:1` in newer releases.
    if "bound_ctrl" in d.modifiers:
        value = select(valid, value, emitter.constant(0, value.type, LANES))
    else:
        written = written & valid
    return value.as_(type_), written


def _mask(registers: Registers, bits: int) -> Value:
    constant = registers.emitter.constant(bits, u64)
    return Value(registers.emitter, constant.lane_mask().ref, u1, LANES)
