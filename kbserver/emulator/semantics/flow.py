"""Control flow (SOPP): branches, the end of the wavefront and the barrier."""

from __future__ import annotations

from collections.abc import Callable

from kbserver.emulator.access import BadOperand
from kbserver.emulator.context import ABORTED, CONTEXT, ENDED, slot_pointer
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value
from kbserver.emulator.operands import VCC
from kbserver.emulator.registers import Registers
from kbserver.emulator.rows import Flow, Row
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import u64


def _when(condition: Callable[[Registers], Value]) -> Flow:
    def function(t: Translation, d: Decoded) -> None:
        t.branch(d, condition(t.registers))

    return Flow("branch", function)


def _end(t: Translation, d: Decoded) -> None:
    t.leave(ENDED)


def _trap(t: Translation, d: Decoded) -> None:
    """s_trap 2 is what __builtin_trap and a failed assertion compile to: the launch fails there."""
    if d.immediate(0) != 2:
        raise BadOperand("a trap other than 2, the one that ends a kernel")
    site = t.emitter.constant(d.index, u64)
    t.emitter.store(site, slot_pointer(t.emitter, "%ctx", CONTEXT, "lost_site"))
    t.leave(ABORTED)


def _barrier(t: Translation, d: Decoded) -> None:
    t.leave(d.index + 1)


ROWS: dict[str, Row] = {
    "s_branch": Flow("jump", lambda t, d: t.jump(d)),
    "s_cbranch_scc0": _when(lambda r: r.scc.eq(0)),
    "s_cbranch_scc1": _when(lambda r: r.scc),
    "s_cbranch_vccz": _when(lambda r: r.sgpr_pair(VCC).eq(0)),
    "s_cbranch_vccnz": _when(lambda r: r.sgpr_pair(VCC).ne(0)),
    "s_cbranch_execz": _when(lambda r: r.exec_bits.eq(0)),
    "s_cbranch_execnz": _when(lambda r: r.exec_bits.ne(0)),
    "s_endpgm": Flow("end", _end),
    "s_trap": Flow("end", _trap),
    "s_barrier": Flow("barrier", _barrier),
}
