"""Values that move between lanes, or between lanes and scalars."""

from __future__ import annotations

from kbserver.emulator.access import read_scalar, write_scalar
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value, count_zeros, select
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


ROWS: dict[str, Row] = {
    "v_readfirstlane_b32": Special(_read_first_lane, writes=(0,), reads=(1,)),
    "v_readlane_b32": Special(_read_lane, writes=(0,), reads=(1, 2)),
    "v_writelane_b32": Special(_write_lane, writes=(0,), reads=(0, 1, 2)),
}
