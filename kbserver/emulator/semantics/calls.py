"""Calls and the program counter (SOP1, SOPK): where code is, and jumps to an address in registers.

A call writes the address of the next instruction, the return address, before it jumps. What the address is and where a
jump may go is in `linking`.
"""

from __future__ import annotations

from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value
from kbserver.emulator.rows import Flow, Row, Special
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import u64


def _next_address(t: Translation, d: Decoded) -> Value:
    return t.emitter.constant(t.kernel.addresses[d.index + 1], u64)


def _get(t: Translation, d: Decoded) -> None:
    t.registers.set_sgpr_pair(d.register(0, "s", 2).index, _next_address(t, d))


def _set(t: Translation, d: Decoded) -> None:
    t.jump_to(d, t.registers.sgpr_pair(d.register(0, "s", 2).index))


def _swap(t: Translation, d: Decoded) -> None:
    # The target may be read from the registers that take the return address.
    target = t.registers.sgpr_pair(d.register(1, "s", 2).index)
    t.registers.set_sgpr_pair(d.register(0, "s", 2).index, _next_address(t, d))
    t.jump_to(d, target)


def _call(t: Translation, d: Decoded) -> None:
    t.registers.set_sgpr_pair(d.register(0, "s", 2).index, _next_address(t, d))
    t.jump(d)


ROWS: dict[str, Row] = {
    "s_getpc_b64": Special(_get, writes=(0,)),
    "s_setpc_b64": Flow("computed", _set, reads=(0,)),
    "s_swappc_b64": Flow("call", _swap, writes=(0,), reads=(1,)),
    "s_call_b64": Flow("jump", _call, writes=(0,)),
}
