"""Dense matrix operations (MFMA): D = A B + C over blocks spread across the 64 lanes; EXEC is ignored.

Where an element lives follows from the shape: see `matrix_shape`. The order in which one MFMA adds its products is not
documented. Here k ascends and every product is fused with its addition in float32: a model, to be compared with a
tolerance. (MMA-Sim measured what MI100 to MI300X do: sums of 2 to 16 products at a time, some flushed or truncated.)

Broadcasts, by AMD's matrix calculator. cbsz: block `abid` of every 2^cbsz blocks of A stands for all of them. (AMD's
hip-fpsan has another rule where 2^cbsz is less than all blocks; its tests on hardware cover only cases in which both
agree.) blgp: lanes of B come from other lanes. f64 forms of CDNA 3 and 4 negate A, B, C instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kbserver.emulator.access import BadOperand, constant_bits
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import LANES, Emitter, Value, fma
from kbserver.emulator.operands import Number
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.semantics.matrix_formats import Format, find_format
from kbserver.emulator.semantics.matrix_product import Body, by_rows, words_of, write_results
from kbserver.emulator.semantics.matrix_shape import Shape, Side
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import Type, f32, f64, i32, u64, unsigned

_MODIFIERS = frozenset({"cbsz", "abid", "blgp"})
_B_LANES: Mapping[int, Callable[[int], int]] = {
    0: lambda lane: lane,
    1: lambda lane: lane % 32,
    2: lambda lane: lane % 32 + 32,
    3: lambda lane: (lane + 16) % LANES,
    4: lambda lane: lane % 16,
    5: lambda lane: lane % 16 + 16,
    6: lambda lane: lane % 16 + 32,
    7: lambda lane: lane % 16 + 48,
}
"""blgp -> the lane whose B a lane uses."""


@dataclass(frozen=True)
class Dense(Shape):
    """One dense form: its shape and the formats of A and B."""

    a: str = ""
    b: str = ""

    @property
    def result(self) -> Type:
        return {"i8": i32, "f64": f64}.get(self.a, f32)


@dataclass(frozen=True)
class Controls:
    """What the modifiers ask for."""

    cbsz: int = 0
    abid: int = 0
    blgp: int = 0
    negate: tuple[bool, bool, bool] = (False, False, False)

    def a_block(self, block: int) -> int:
        """Return the block of A that stands for this one."""
        return block >> self.cbsz << self.cbsz | self.abid

    def b_lanes(self) -> list[int]:
        return [_B_LANES[self.blgp](lane) for lane in range(LANES)]

    @property
    def suffix(self) -> str:
        """Part of a function's name: differs when the controls do."""
        return f".{self.cbsz}.{self.abid}.{self.blgp}.{sum(on << place for place, on in enumerate(self.negate))}"


def read_controls(t: Translation, d: Decoded, form: Dense) -> Controls:
    """Return the modifiers of a dense form. Raises BadOperand for what the form or the target does not define."""
    controls = Controls(*(d.number(name) for name in ("cbsz", "abid", "blgp")), negate=_negations(d))
    if form.a == "f64":
        if (controls.cbsz, controls.abid, controls.blgp) != (0, 0, 0):
            raise BadOperand("f64 forms broadcast nothing: cbsz, abid and blgp must be 0")
        if any(controls.negate) and t.arch == "gfx90a":
            raise BadOperand("gfx90a has no negation of f64 matrices")
        return controls
    if controls.cbsz and form.blocks == 1:
        raise BadOperand("cbsz broadcasts blocks of A, and this form has one block")
    if 1 << controls.cbsz > form.blocks or controls.abid >= 1 << controls.cbsz:
        raise BadOperand(f"cbsz:{controls.cbsz} abid:{controls.abid} does not fit {form.blocks} blocks")
    if controls.blgp and not (t.arch == "gfx90a" or form.blocks > 1 or form.a == "f32"):
        raise BadOperand(f"AMD's documents define no blgp for this form on {t.arch}")
    return controls


def _negations(d: Decoded) -> tuple[bool, bool, bool]:
    value = d.modifiers.get("neg", ())
    if not isinstance(value, tuple) or len(value) > 3:
        raise BadOperand("neg wants three numbers of one bit")
    a, b, c = (*value, 0, 0, 0)[:3]
    return bool(a), bool(b), bool(c)


def first_results(d: Decoded, place: int, e: Emitter, words: Callable[[], list[Value]], form: Dense) -> list[Value]:
    """Return C: the constant in operand `place` for every element, or what `words` read from its registers."""
    constant, type_ = d.operands[place].value, form.result
    if isinstance(constant, Number):
        bits = e.constant(constant_bits(constant, type_), unsigned(type_.bits), LANES)
        return [bits.as_(type_)] * form.result_elements
    found = words()
    if type_.bits == 64:
        return [
            (low.to(u64) | (high.to(u64) << 32)).as_(type_) for low, high in zip(found[::2], found[1::2], strict=True)
        ]
    return [word.as_(type_) for word in found]


def multiply_add(a: Value, b: Value, c: Value) -> Value:
    """Return a*b+c: wrapping for integers, rounded once for floats."""
    return a * b + c if c.type == i32 else fma(a, b, c)


def _mfma(form: Dense) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        formats = find_format(form.a, t.arch), find_format(form.b, t.arch)
        controls = read_controls(t, d, form)
        if form.m == 4:
            _side_by_side(t, d, form, formats, controls)
        else:
            _row_by_row(t, d, form, formats, controls)

    modifiers = _MODIFIERS | {"neg"} if form.a == "f64" else _MODIFIERS
    return Special(function, modifiers, writes=(0,), reads=(1, 2, 3))


def _row_by_row(t: Translation, d: Decoded, form: Dense, formats: tuple[Format, Format], controls: Controls) -> None:
    """Call the function of this form, which joins the module."""
    sides = form.side_a(formats[0].bits), form.side_b(formats[1].bits)
    d_register = d.register(0, "v", form.result_dwords)
    registers = [d_register, d.register(1, "v", sides[0].dwords), d.register(2, "v", sides[1].dwords)]
    constant = d.operands[3].value
    name = d.name + controls.suffix
    if isinstance(constant, Number):
        name += f".c{constant_bits(constant, form.result)}"
    else:
        registers.append(d.register(3, "v", form.result_dwords))
    body = Body(name, Emitter(intrinsics=t.emitter.intrinsics), ("d", "a", "b", "c")[: len(registers)])
    words = body.registers("a", sides[0].dwords), body.registers("b", sides[1].dwords)
    elements = _elements(form, sides, formats, controls, words)
    c = first_results(d, 3, body.emitter, lambda: body.registers("c", form.result_dwords), form)
    a, b, results = (body.array(values) for values in (*elements, _negated(c, controls.negate[2])))
    depth_a, depth_b = body.depth(sides[0]), body.depth(sides[1])

    def compute(a_rows: list[Value], b_columns: Value, rows: list[Value]) -> list[Value]:
        def step(k: Value, sums: list[Value]) -> list[Value]:
            row = b.load(depth_b[k] + b_columns, form.n)
            start = depth_a[k]
            return [multiply_add(a.load(start + at), row, total) for at, total in zip(a_rows, sums, strict=True)]

        return body.loop(form.k, rows, step)

    by_rows(body, form, results, compute, controls.a_block)
    write_results(body, results, form.result_elements)
    t.library.define(name, body.routine())
    t.call(name, ", ".join(f"ptr {t.registers.vgpr_pointer(register.index)}" for register in registers))


def _elements(
    form: Dense,
    sides: tuple[Side, Side],
    formats: tuple[Format, Format],
    controls: Controls,
    words: tuple[list[Value], list[Value]],
) -> tuple[list[Value], list[Value]]:
    """Return the numbers of A and of B, element by element, with what the controls do to them."""
    a, b = (form_.unpack(found, side.per_lane) for form_, found, side in zip(formats, words, sides, strict=True))
    b = [value.shuffle(controls.b_lanes()) for value in b]
    return _negated(a, controls.negate[0]), _negated(b, controls.negate[1])


def _negated(values: list[Value], negate: bool) -> list[Value]:
    return [-value for value in values] if negate else values


def _side_by_side(t: Translation, d: Decoded, form: Dense, formats: tuple[Format, Format], controls: Controls) -> None:
    """Multiply the small blocks in place: all of them fill the lanes, so that one step serves every result."""
    sides = form.side_a(formats[0].bits), form.side_b(formats[1].bits)
    destination = d.register(0, "v", form.result_dwords)

    def read(place: int, dwords: int) -> list[Value]:
        first = d.register(place, "v", dwords).index
        return [t.registers.vgpr(first + n) for n in range(dwords)]

    words = read(1, sides[0].dwords), read(2, sides[1].dwords)
    a, b = _elements(form, sides, formats, controls, words)
    c = first_results(d, 3, t.emitter, lambda: read(3, form.result_dwords), form)
    results = _negated(c, controls.negate[2])
    for element, lanes in enumerate(_places(form)):
        total = results[element]
        for k in range(form.k):
            (a_element, a_first), (b_element, b_first) = sides[0].place(k), sides[1].place(k)
            left = a[a_element].shuffle([a_first + controls.a_block(block) * form.m + i for block, i, _ in lanes])
            right = b[b_element].shuffle([b_first + block * form.n + j for block, _, j in lanes])
            total = multiply_add(left, right, total)
        results[element] = total
    registers = [word for value in results for word in words_of(value)]
    for place, word in enumerate(registers):
        t.registers.set_vgpr(destination.index + place, word, all_lanes=True)


def _places(form: Dense) -> list[list[tuple[int, int, int]]]:
    """Return, for every result element and lane, which (block, i, j) it holds."""
    table = [[(0, 0, 0)] * LANES for _ in range(form.result_elements)]
    for block in range(form.blocks):
        for i in range(form.m):
            for j in range(form.n):
                lane, element = form.result_place(block, i, j)
                table[element][lane] = (block, i, j)
    return table


def _forms(*rows: tuple[str, int, int, int, str]) -> dict[str, Dense]:
    """Return name -> form of (name with {} for the format, rows and columns, K, blocks, format)."""
    return {
        name.format(format_): Dense(size, size, k, blocks, 64 if format_ == "f64" else 32, format_, format_)
        for name, size, k, blocks, format_ in rows
    }


_EIGHT_BIT = {
    f"v_mfma_f32_{size}x{size}x{k}_{a}_{b}": Dense(size, size, k, a=a, b=b)
    for size, k in ((16, 32), (32, 16))
    for a in ("fp8", "bf8")
    for b in ("fp8", "bf8")
}
# mnemonic -> form. Blocks are written into the mnemonic (4x4x4_16b); gfx90a's spellings leave them out.
SHAPES: dict[str, Dense] = {
    **_forms(
        ("v_mfma_f32_32x32x1_2b_{}", 32, 1, 2, "f32"),
        ("v_mfma_f32_16x16x1_4b_{}", 16, 1, 4, "f32"),
        ("v_mfma_f32_4x4x1_16b_{}", 4, 1, 16, "f32"),
        ("v_mfma_f32_32x32x2_{}", 32, 2, 1, "f32"),
        ("v_mfma_f32_16x16x4_{}", 16, 4, 1, "f32"),
        ("v_mfma_f32_32x32x4_{}", 32, 4, 1, "xf32"),
        ("v_mfma_f32_16x16x8_{}", 16, 8, 1, "xf32"),
        ("v_mfma_f64_16x16x4_{}", 16, 4, 1, "f64"),
        ("v_mfma_f64_4x4x4_4b_{}", 4, 4, 4, "f64"),
        ("v_mfma_i32_32x32x4_2b_{}", 32, 4, 2, "i8"),
        ("v_mfma_i32_16x16x4_4b_{}", 16, 4, 4, "i8"),
        ("v_mfma_i32_4x4x4_16b_{}", 4, 4, 16, "i8"),
        ("v_mfma_i32_32x32x16_{}", 32, 16, 1, "i8"),
        ("v_mfma_i32_16x16x32_{}", 16, 32, 1, "i8"),
        ("v_mfma_i32_32x32x32_{}", 32, 32, 1, "i8"),  # gfx950
        ("v_mfma_i32_16x16x64_{}", 16, 64, 1, "i8"),  # gfx950
    ),
    **_forms(
        *(
            row
            for format_ in ("f16", "bf16")
            for row in (
                ("v_mfma_f32_32x32x4_2b_{}", 32, 4, 2, format_),
                ("v_mfma_f32_16x16x4_4b_{}", 16, 4, 4, format_),
                ("v_mfma_f32_4x4x4_16b_{}", 4, 4, 16, format_),
                ("v_mfma_f32_32x32x8_{}", 32, 8, 1, format_),
                ("v_mfma_f32_16x16x16_{}", 16, 16, 1, format_),
                ("v_mfma_f32_32x32x16_{}", 32, 16, 1, format_),  # gfx950
                ("v_mfma_f32_16x16x32_{}", 16, 32, 1, format_),  # gfx950
            )
        )
    ),
    **_EIGHT_BIT,
}
_GFX90A: dict[str, Dense] = _forms(
    ("v_mfma_f32_32x32x1{}", 32, 1, 2, "f32"),
    ("v_mfma_f32_16x16x1{}", 16, 1, 4, "f32"),
    ("v_mfma_f32_4x4x1{}", 4, 1, 16, "f32"),
    ("v_mfma_f32_32x32x2{}", 32, 2, 1, "f32"),
    ("v_mfma_f32_16x16x4{}", 16, 4, 1, "f32"),
    ("v_mfma_f32_32x32x4{}", 32, 4, 2, "f16"),
    ("v_mfma_f32_16x16x4{}", 16, 4, 4, "f16"),
    ("v_mfma_f32_4x4x4{}", 4, 4, 16, "f16"),
    ("v_mfma_f32_32x32x8{}", 32, 8, 1, "f16"),
    ("v_mfma_f32_16x16x16{}", 16, 16, 1, "f16"),
    ("v_mfma_f32_32x32x2{}", 32, 2, 2, "bf16"),
    ("v_mfma_f32_16x16x2{}", 16, 2, 4, "bf16"),
    ("v_mfma_f32_4x4x2{}", 4, 2, 16, "bf16"),
    ("v_mfma_f32_32x32x4{}", 32, 4, 1, "bf16"),
    ("v_mfma_f32_16x16x8{}", 16, 8, 1, "bf16"),
    ("v_mfma_f32_32x32x4{}_1k", 32, 4, 2, "bf16"),
    ("v_mfma_f32_16x16x4{}_1k", 16, 4, 4, "bf16"),
    ("v_mfma_f32_4x4x4{}_1k", 4, 4, 16, "bf16"),
    ("v_mfma_f32_32x32x8{}_1k", 32, 8, 1, "bf16"),
    ("v_mfma_f32_16x16x16{}_1k", 16, 16, 1, "bf16"),
    ("v_mfma_i32_32x32x4{}", 32, 4, 2, "i8"),
    ("v_mfma_i32_16x16x4{}", 16, 4, 4, "i8"),
    ("v_mfma_i32_4x4x4{}", 4, 4, 16, "i8"),
    ("v_mfma_i32_32x32x8{}", 32, 8, 1, "i8"),
    ("v_mfma_i32_16x16x16{}", 16, 16, 1, "i8"),
    ("v_mfma_f64_16x16x4{}", 16, 4, 1, "f64"),
    ("v_mfma_f64_4x4x4{}", 4, 4, 4, "f64"),
)

ROWS: dict[str, Row] = {name: _mfma(form) for name, form in (SHAPES | _GFX90A).items()}
