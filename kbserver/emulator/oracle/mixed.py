"""Mixed-precision fused multiply-add, from the VOP3P table of the CDNA3 manual (there v_mad_mix), with one rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kbserver.emulator.oracle.arithmetic import fused
from kbserver.emulator.oracle.formats import from_bits, to_bits
from kbserver.emulator.oracle.values import Unreadable, source

if TYPE_CHECKING:
    from kbserver.emulator.decode import Decoded
    from kbserver.emulator.oracle.state import Wavefront


def _mixed(kept: int, shift: int, size: int) -> Callable[[Wavefront, Decoded], None]:
    def step(wave: Wavefront, d: Decoded) -> None:
        if "clamp" in d.modifiers:
            raise Unreadable("clamp")
        halves = d.modifiers.get("op_sel_hi", (0, 0, 0))
        target = d.operands[0].register
        assert target
        assert isinstance(halves, tuple)
        for lane in wave.active():
            numbers = []
            for place in range(3):
                width = 16 if halves[place] else 32
                numbers.append(from_bits(source(wave, d, place, d.operands[1 + place], f"f{width}", lane), width))
            single = from_bits(to_bits(fused(*numbers), 32), 32)
            old = wave.vgprs[target.index][lane]
            wave.vgprs[target.index][lane] = old & kept | to_bits(single, size) << shift

    return step


MIXED = {
    "v_fma_mix_f32": _mixed(0, 0, 32),
    "v_fma_mixlo_f16": _mixed(0xFFFF0000, 0, 16),
    "v_fma_mixhi_f16": _mixed(0x0000FFFF, 16, 16),
}
