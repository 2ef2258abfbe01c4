"""Scalar access to the state of the hardware: the mode register and the clocks.

The emulator has one mode: round to nearest even, keep denormals, IEEE and DX10_CLAMP set; code may change FP16_OVFL
alone. s_getreg and s_setreg of anything else are refused, also of HW_ID and XCC_ID, which tell where the hardware
placed the wavefront. FP16_OVFL is refused in a kernel with 16-bit float arithmetic, whose overflow it would change.

A clock counts instructions, not time: it grows along the program and with every turn of a loop, equally in each run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kbserver.emulator.access import BadOperand, read_scalar, write_scalar
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value
from kbserver.emulator.operands import FP16_OVERFLOW, FUEL, Name, Operand
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import u32, u64

_HWREG = re.compile(r"hwreg\((?:HW_REG_)?(\w+)(?:,\s*(\d+),\s*(\d+))?\)")
_OVERFLOW_BIT = 23
_KNOWN = range(8)
"""Bits 3:0, rounding to nearest, are 0; bits 7:4, denormals kept, are 1."""
_FIXED = 0xF0

# Results that FP16_OVFL changes: 16-bit floats, but not comparisons, widening, or the 8-bit conversions that it is for.
_HALF = re.compile(r"v_(?!cmp|cvt_f32_|cvt_scalef32_pk_(?:fp8|bf8|fp4)_|mfma|smfmac|dot2|pack_b32|fma_mix_f32).*f16")


def half_arithmetic(code: Sequence[Decoded]) -> Decoded | None:
    """Return the first instruction whose result FP16_OVFL would change and is not modelled."""
    return next((d for d in code if _HALF.match(d.name)), None)


def _field(d: Decoded, operand: Operand) -> tuple[int, int]:
    """Return (first bit, width) of a field of MODE."""
    text = operand.value.text if isinstance(operand.value, Name) else ""
    match = _HWREG.fullmatch(text)
    if match is None or match[1] not in ("MODE", "1"):
        raise BadOperand(f"{text or operand.value}: the emulator has MODE alone of the hardware registers")
    return (int(match[2]), int(match[3])) if match[2] else (0, 32)


def _covers_overflow(first: int, width: int) -> bool:
    """Return whether the field is FP16_OVFL. Raises BadOperand when it is neither that nor rounding and denormals."""
    if (first, width) == (_OVERFLOW_BIT, 1):
        return True
    if first in _KNOWN and first + width <= _KNOWN.stop:
        return False
    raise BadOperand(f"bits {first + width - 1}:{first} of MODE are not emulated")


def _get(t: Translation, d: Decoded) -> None:
    first, width = _field(d, d.operands[1])
    if _covers_overflow(first, width):
        value = t.registers.sgpr(FP16_OVERFLOW)
    else:
        value = t.emitter.constant((_FIXED >> first) & ((1 << width) - 1), u32)
    write_scalar(t.registers, d.register(0, "s", 1), value)


def _set(t: Translation, d: Decoded) -> None:
    first, width = _field(d, d.operands[0])
    if not _covers_overflow(first, width):
        wanted = (_FIXED >> first) & ((1 << width) - 1)
        if d.operands[1].register is not None or d.immediate(1) & ((1 << width) - 1) != wanted:
            raise BadOperand("rounding modes other than to nearest even, and flushing denormals, are not emulated")
        return
    if half_arithmetic(t.kernel.code) is not None:
        raise BadOperand("FP16_OVFL in a kernel with arithmetic of 16-bit floats")
    t.registers.set_sgpr(FP16_OVERFLOW, read_scalar(t.registers, d.operands[1], u32) & 1)


def _clock(t: Translation, d: Decoded) -> None:
    left: Value = t.emitter.load(t.emitter.offset("%s", FUEL * 4), u64)
    write_scalar(t.registers, d.register(0, "s", 2), t.emitter.constant((1 << 48) + d.index, u64) - left)


ROWS: dict[str, Row] = {
    "s_getreg_b32": Special(_get, writes=(0,)),
    "s_setreg_b32": Special(_set, reads=(1,)),
    "s_setreg_imm32_b32": Special(_set),
    "s_memtime": Special(_clock, writes=(0,), counter="lgkmcnt"),
    "s_memrealtime": Special(_clock, writes=(0,), counter="lgkmcnt"),
}
