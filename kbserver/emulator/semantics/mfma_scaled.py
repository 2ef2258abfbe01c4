"""The f8f6f4 forms of gfx950: cbsz and blgp choose the formats of A and B; the scaled ones multiply blocks of 32 k.

Element and scale places are those that AMD's blog, CK's measured mapping and hip-fpsan's tests on an MI350 agree on.
The E8M0 scale (2^(byte - 127), 255 is NaN) of row i and of k in [32 b, 32 b + 32) is in lane `b * M + i` of its VGPR,
B's alike by column; op_sel and op_sel_hi are the low and high bit of the byte's number, first for A, then for B.

Arithmetic: AMD says that scales apply to the dot product of a block before it is added to C. Here each block's 32
products are summed in double, scaled exactly, added to the float32 sum, and rounded once: a model, as for all MFMA.
v_mfma_ld_scale_b32 has no row: what it does to instructions that do not follow it at once is not documented.
"""

from __future__ import annotations

from kbserver.emulator.access import BadOperand, constant_bits
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Emitter, Value, fma
from kbserver.emulator.operands import Number
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.semantics.matrix_formats import SELECTED, Format
from kbserver.emulator.semantics.matrix_product import Body, by_rows, write_results
from kbserver.emulator.semantics.mfma import Dense, first_results
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import f32, f64, u64

SCALE_BLOCK = 32
"""Neighbouring k with one scale."""
_FORMATS = frozenset({"cbsz", "blgp"})


def _format(d: Decoded, modifier: str) -> Format:
    number = d.number(modifier)
    if number >= len(SELECTED):
        raise BadOperand(f"{modifier}:{number} is no format: 0 E4M3, 1 E5M2, 2 E2M3, 3 E3M2, 4 E2M1")
    return SELECTED[number]


def _scale_bytes(d: Decoded) -> tuple[int, int]:
    """Return which byte of their VGPRs the scales of A and of B are."""
    parts = []
    for name in ("op_sel", "op_sel_hi"):
        bits = d.modifiers.get(name, ())
        if not isinstance(bits, tuple) or any(bits[2:]):
            raise BadOperand(f"{name} wants one bit for A and one for B")
        parts.append((*bits, 0, 0)[:2])
    low, high = parts
    return low[0] | high[0] << 1, low[1] | high[1] << 1


def _scales(register: Value, byte: int) -> Value:
    """Return the lanes' E8M0 scales as doubles."""
    code = (register >> 8 * byte) & 0xFF
    # The exponent field of a double with the same power of two; that of a NaN has all bits set and a fraction.
    exponent = code.to(u64) + (1023 - 127)
    nan = ((code + 1) >> 8).to(u64) * (0x7FF8 << 48)
    return ((exponent << 52) | nan).as_(f64)


def _multiply(shape: Dense, *, scaled: bool) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        if t.arch != "gfx950":
            raise BadOperand(f"{t.arch} has no f8f6f4 forms")
        a_format, b_format = _format(d, "cbsz"), _format(d, "blgp")
        a_side, b_side = shape.side_a(a_format.bits), shape.side_b(b_format.bits)
        given = {
            "d": d.register(0, "v", shape.result_dwords),
            "a": d.register(1, "v", a_side.dwords),
            "b": d.register(2, "v", b_side.dwords),
        }
        constant = d.operands[3].value
        name = f"{d.name}.{a_format.name}.{b_format.name}"
        if isinstance(constant, Number):
            name += f".c{constant_bits(constant, f32)}"
        else:
            given["c"] = d.register(3, "v", shape.result_dwords)
        if scaled:
            bytes_ = _scale_bytes(d)
            name += f".{bytes_[0]}.{bytes_[1]}"
            given |= {"x": d.register(4, "v", 1), "y": d.register(5, "v", 1)}
        body = Body(name, Emitter(intrinsics=t.emitter.intrinsics), tuple(given))
        a, b = (
            body.array([number.to(f64) for number in format_.unpack(body.registers(side_name, side.dwords), 32)])
            for side_name, side, format_ in (("a", a_side, a_format), ("b", b_side, b_format))
        )
        c = first_results(d, 3, body.emitter, lambda: body.registers("c", shape.result_dwords), shape)
        results = body.array(c)
        depth_a, depth_b = body.depth(a_side), body.depth(b_side)
        scales = [
            body.array([_scales(body.registers(side, 1)[0], byte)])
            for side, byte in (zip("xy", bytes_, strict=True) if scaled else ())
        ]

        def compute(a_rows: list[Value], _: Value, rows: list[Value]) -> list[Value]:
            def block(number: Value, sums: list[Value]) -> list[Value]:
                def step(k: Value, dots: list[Value]) -> list[Value]:
                    at = number * SCALE_BLOCK + k
                    row, start = b.load(depth_b[at], shape.n), depth_a[at]
                    return [fma(a.load(start + i), row, dot) for i, dot in zip(a_rows, dots, strict=True)]

                zero = body.emitter.constant(0.0, f64, shape.n)
                dots = body.loop(SCALE_BLOCK, [zero] * len(rows), step)
                if scales:
                    columns = scales[1].load(number * shape.n, shape.n)
                    factors = [scales[0].load(number * shape.m + i) for i in a_rows]
                    dots = [dot * factor * columns for dot, factor in zip(dots, factors, strict=True)]
                return [(total.to(f64) + dot).to(f32) for total, dot in zip(sums, dots, strict=True)]

            return body.loop(shape.k // SCALE_BLOCK, rows, block)

        by_rows(body, shape, results, compute)
        write_results(body, results, shape.result_elements)
        t.library.define(name, body.routine())
        pointers = [f"ptr {t.registers.vgpr_pointer(register.index)}" for register in given.values()]
        t.call(name, ", ".join(pointers))

    modifiers = _FORMATS | {"op_sel", "op_sel_hi"} if scaled else _FORMATS
    return Special(function, modifiers, writes=(0,), reads=(1, 2, 3, 4, 5) if scaled else (1, 2, 3))


SCALED_SHAPES = {"16x16x128": Dense(16, 16, 128), "32x32x64": Dense(32, 32, 64)}

ROWS: dict[str, Row] = {
    f"v_mfma_{prefix}f32_{size}_f8f6f4": _multiply(shape, scaled=bool(prefix))
    for size, shape in SCALED_SHAPES.items()
    for prefix in ("", "scale_")
}
