"""Sparse matrix operations (SMFMAC): D = A B + D, where A keeps two of every four elements along K; EXEC is ignored.

A lane's elements of A come in pairs, each for four neighbouring k; 2 bits an element in the third source's VGPR tell
which of the four it is: element e of lane l has bits 2 e and 2 e + 1 of that lane's index set. Where the index VGPR has
room for several sets, abid chooses one when cbsz is 0; any other cbsz means the first. The two selectors of a pair are
independent of each other.

Forms of CDNA 3: AMD's matrix calculator. Wider ones of CDNA 4: hip-fpsan's tests on an MI350, and one-hot probes of
16x16x64 that a kernel's notes record; they cover index set 0, f16, bf16 and 8-bit floats. What no source settles is
refused: other index sets of the wide forms, and v_smfmac_i32_16x16x128_i8 and _32x32x64_i8, which have no row.
"""

from __future__ import annotations

from kbserver.emulator.access import BadOperand
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Emitter, Value
from kbserver.emulator.rows import Row, Special
from kbserver.emulator.semantics.matrix_formats import find_format
from kbserver.emulator.semantics.matrix_product import Body, by_rows, write_results
from kbserver.emulator.semantics.mfma import Dense, multiply_add
from kbserver.emulator.translate import Translation
from kbserver.emulator.types import u32

KEPT, OF = 2, 4
"""Elements of A that are stored, of so many along K."""
_WIDE_DWORDS = 4
"""Registers of A in the forms that CDNA 4 added."""


def _index_shift(d: Decoded, per_lane: int, wide: bool) -> int:
    """Return the first bit of the index set in use."""
    if d.number("cbsz"):
        return 0
    abid, bits = d.number("abid"), KEPT * per_lane
    if wide and abid:
        raise BadOperand(f"no source tells the index sets of {d.name}; only abid:0 is executed")
    if (abid + 1) * bits > 32:
        raise BadOperand(f"abid:{abid}: an index VGPR holds {32 // bits} sets of this form")
    return abid * bits


def _sparse(form: Dense) -> Special:
    def function(t: Translation, d: Decoded) -> None:
        formats = find_format(form.a, t.arch), find_format(form.b, t.arch)
        a_side, b_side = form.side_a(formats[0].bits, form.k * KEPT // OF), form.side_b(formats[1].bits)
        wide = a_side.dwords == _WIDE_DWORDS
        if t.arch == "gfx90a" or (wide and t.arch != "gfx950"):
            raise BadOperand(f"{t.arch} does not have this form")
        given = {
            "d": d.register(0, "v", form.result_dwords),
            "a": d.register(1, "v", a_side.dwords),
            "b": d.register(2, "v", b_side.dwords),
            "x": d.register(3, "v", 1),
        }
        first_bit = _index_shift(d, a_side.per_lane, wide)
        name = f"{d.name}.{first_bit}"
        body = Body(name, Emitter(intrinsics=t.emitter.intrinsics), tuple(given))
        a = body.array(formats[0].unpack(body.registers("a", a_side.dwords), a_side.per_lane))
        b = body.array(formats[1].unpack(body.registers("b", b_side.dwords), b_side.per_lane))
        index = body.array(body.registers("x", 1))
        results = body.array([word.as_(form.result) for word in body.registers("d", form.result_dwords)])
        depth_a, depth_b = body.depth(a_side), body.depth(b_side)
        places = [a_side.place(c) for c in range(a_side.depth)]
        lanes = body.table([lane for _, lane in places])
        bits = body.table([first_bit + KEPT * element for element, _ in places])

        def compute(a_rows: list[Value], _: Value, rows: list[Value]) -> list[Value]:
            def step(c: Value, sums: list[Value]) -> list[Value]:
                start, lane, bit, four = depth_a[c], lanes[c], bits[c].to(u32), (c >> 1) << 2
                following = []
                for i, total in zip(a_rows, sums, strict=True):
                    selector = (index.load(lane + i) >> bit) & (OF - 1)
                    row = b.load(depth_b[four + selector.to(four.type)], form.n)
                    following.append(multiply_add(a.load(start + i), row, total))
                return following

            return body.loop(a_side.depth, rows, step)

        by_rows(body, form, results, compute)
        write_results(body, results, form.result_elements)
        t.library.define(name, body.routine())
        pointers = [f"ptr {t.registers.vgpr_pointer(register.index)}" for register in given.values()]
        t.call(name, ", ".join(pointers))

    return Special(function, frozenset({"cbsz", "abid"}), writes=(0,), reads=(0, 1, 2, 3))


_SIZES = {16: ((16, 32), (32, 16), (16, 64), (32, 32)), 8: ((16, 64), (32, 32), (16, 128), (32, 64))}
"""Element bits -> (rows, K): the two of CDNA 3, then the two of CDNA 4."""

SPARSE_SHAPES: dict[str, Dense] = {
    **{
        f"v_smfmac_f32_{size}x{size}x{k}_{kind}": Dense(size, size, k, a=kind, b=kind)
        for size, k in _SIZES[16]
        for kind in ("f16", "bf16")
    },
    **{
        f"v_smfmac_f32_{size}x{size}x{k}_{a}_{b}": Dense(size, size, k, a=a, b=b)
        for size, k in _SIZES[8]
        for a in ("fp8", "bf8")
        for b in ("fp8", "bf8")
    },
    **{f"v_smfmac_i32_{size}x{size}x{k}_i8": Dense(size, size, k, a="i8", b="i8") for size, k in _SIZES[8][:2]},
}

ROWS: dict[str, Row] = {name: _sparse(form) for name, form in SPARSE_SHAPES.items()}
