"""Matrix operations of the small shapes, written out from AMD's matrix calculator: 4x4x4 of 16 blocks.

Products are exact in double; each is added to the float32 sum with one rounding, k ascending, as the translator does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kbserver.emulator.operands import Number
from kbserver.emulator.oracle.arithmetic import fused
from kbserver.emulator.oracle.formats import from_bits, to_bits

if TYPE_CHECKING:
    from kbserver.emulator.decode import Decoded
    from kbserver.emulator.oracle.state import Wavefront


def _half(bits: int) -> float:
    return from_bits(bits, 16)


def _brain(bits: int) -> float:
    return from_bits(bits << 16, 32)


def _4x4x4(number: Callable[[int], float]) -> Callable[[Wavefront, Decoded], None]:
    def step(wave: Wavefront, d: Decoded) -> None:
        a, b, c = (d.operands[place].register for place in (1, 2, 3))
        target = d.operands[0].register
        constant = d.operands[3].value
        assert a and b and target

        def element(first: int, lane: int, k: int) -> float:
            return number(wave.vgprs[first + k // 2][lane] >> 16 * (k % 2) & 0xFFFF)

        results = {}
        for block in range(16):
            for i in range(4):
                for j in range(4):
                    lane = 4 * block + j
                    if isinstance(constant, Number):
                        total = float(constant.value)
                    else:
                        assert c
                        total = from_bits(wave.vgprs[c.index + i][lane], 32)
                    for k in range(4):
                        exact = fused(element(a.index, 4 * block + i, k), element(b.index, lane, k), total)
                        total = from_bits(to_bits(exact, 32), 32)
                    results[i, lane] = to_bits(total, 32)
        for (i, lane), bits in results.items():
            wave.vgprs[target.index + i][lane] = bits

    return step


MATRIX = {
    "v_mfma_f32_4x4x4_16b_f16": _4x4x4(_half),
    "v_mfma_f32_4x4x4f16": _4x4x4(_half),
    "v_mfma_f32_4x4x4_16b_bf16": _4x4x4(_brain),
    "v_mfma_f32_4x4x4bf16_1k": _4x4x4(_brain),
}
