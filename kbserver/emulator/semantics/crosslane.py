"""Values that move between lanes, or between lanes and scalars.

v_permlane16_swap_b32 and v_permlane32_swap_b32 exchange halves of rows, or of the wavefront, whatever EXEC is: AMD's
pseudocode does not mention EXEC, and AMD's emulator rocjitsu ignores it. Their modifiers bound_ctrl and fi, which
would say what inactive lanes give, are refused.
"""

from __future__ import annotations

from kbserver.emulator.access import read_scalar, write_scalar
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import LANES, Value, count_zeros, select
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import u32, u64


def _read_first_lane(t: Translation, d: Decoded) -> None:
    """The lowest active lane; lane 0 when none is active."""
    exec_ = t.registers.exec_bits
    first = select(exec_.eq(0), exec_.like(0), count_zeros(exec_, leading=False))
    write_scalar(t.registers, d.register(0, "s", 1), _vector(t, d, 1).lane(first))


def _vector(t: Translation, d: Decoded, position: int) -> Value:
    return t.registers.vgpr(d.register(position, "v", 1).index)


def _lane_number(t: Translation, d: Decoded, position: int) -> Value:
    return (read_scalar(t.registers, d.operands[position], u32) & 63).to(u64)


def _read_lane(t: Translation, d: Decoded) -> None:
    """EXEC does not matter."""
    write_scalar(t.registers, d.register(0, "s", 1), _vector(t, d, 1).lane(_lane_number(t, d, 2)))


def _write_lane(t: Translation, d: Decoded) -> None:
    """EXEC does not matter."""
    destination = d.register(0, "v", 1)
    value = read_scalar(t.registers, d.operands[1], u32)
    old = t.registers.vgpr(destination.index)
    t.registers.set_vgpr(destination.index, old.with_lane(_lane_number(t, d, 2), value), all_lanes=True)


def _swap(t: Translation, d: Decoded) -> None:
    first, second = d.register(0, "v", 1).index, d.register(1, "v", 1).index
    a, b = t.registers.vgpr(first), t.registers.vgpr(second)
    t.registers.set_vgpr(first, b)
    t.registers.set_vgpr(second, a)


def _exchange(stride: int) -> Special:
    """Exchange the upper half of every 2 * stride lanes of the destination with the lower half of the source."""
    lanes = range(LANES)
    lower = sum(1 << lane for lane in lanes if lane // stride % 2 == 0)

    def function(t: Translation, d: Decoded) -> None:
        first, second = d.register(0, "v", 1).index, d.register(1, "v", 1).index
        a, b = t.registers.vgpr(first), t.registers.vgpr(second)
        mask = t.emitter.constant(lower, u64).lane_mask()
        new_a = select(mask, a, b.shuffle([max(lane - stride, 0) for lane in lanes]))
        new_b = select(mask, a.shuffle([min(lane + stride, LANES - 1) for lane in lanes]), b)
        t.registers.set_vgpr(first, new_a, all_lanes=True)
        t.registers.set_vgpr(second, new_b, all_lanes=True)

    return Special(function, writes=(0, 1), reads=(0, 1))


ROWS: dict[str, Row] = {
    "v_readfirstlane_b32": Special(_read_first_lane, writes=(0,), reads=(1,)),
    "v_readlane_b32": Special(_read_lane, writes=(0,), reads=(1, 2)),
    "v_swap_b32": Special(_swap, writes=(0, 1), reads=(0, 1)),
    "v_permlane16_swap_b32": _exchange(16),  # gfx950
    "v_permlane32_swap_b32": _exchange(32),  # gfx950
    "v_writelane_b32": Special(_write_lane, writes=(0,), reads=(0, 1, 2)),
}
