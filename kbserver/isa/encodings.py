"""The machine encodings of gfx90a, gfx942 and gfx950, as data: where the opcode is and where each field lies.

Bit positions are those of the "Microcode Formats" chapter of the ISA documents. A field lists the values to try: 0
means "left out", and each other value is a register number so aligned that any operand width is a legal tuple.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

VGPR = 0x100
"""In a 9-bit source field, 256 and up name VGPRs; below are SGPRs, inline constants and specials."""
SDWA, DPP, LITERAL = 0xF9, 0xFA, 0xFF
LITERAL_VALUE = 0x4321
"""Fits 16 bits: wider literals of a 16-bit operand do not assemble back to the same bytes."""
FLAGS = ("glc", "gds", "lds")
"""One-bit fields that change what an instruction does and name no operand. `glc` is `sc0` on gfx942 and later."""


@dataclass(frozen=True)
class Field:
    """One field: its name as in the ISA documents, lowest bit, and the values to try."""

    name: str
    bit: int
    width: int
    values: tuple[int, ...]


@dataclass(frozen=True)
class Encoding:
    """One encoding: fixed bits, the opcode field, operand fields; `mode` tells apart ways to address of one format."""

    format: str
    dwords: int
    fixed: int
    opcode: tuple[int, int]
    """(lowest bit, width) of the opcode field."""
    fields: tuple[Field, ...]
    mode: str = ""
    end: int | None = None
    """First opcode that belongs to another encoding with the same leading bits."""

    @property
    def opcodes(self) -> range:
        return range(self.end or 1 << self.opcode[1])

    def candidates(self) -> Iterator[bytes]:
        """Yield every word of the opcode space with every combination of field values."""
        for combination in product(*(field.values for field in self.fields)):
            base = self.fixed
            for field, value in zip(self.fields, combination, strict=True):
                base |= value << field.bit
            for opcode in self.opcodes:
                yield (base | opcode << self.opcode[0]).to_bytes(4 * self.dwords, "little")

    def opcode_of(self, word: bytes) -> int:
        """Return the opcode in an encoded instruction."""
        return int.from_bytes(word, "little") >> self.opcode[0] & ((1 << self.opcode[1]) - 1)

    def used(self, word: bytes) -> int:
        """Return how many operand fields of an encoded instruction are not 0."""
        number = int.from_bytes(word, "little")
        return sum(bool(number >> f.bit & ((1 << f.width) - 1)) for f in self.fields if f.name not in FLAGS)

    def flags(self, word: bytes) -> tuple[str, ...]:
        """Return the flag bits set in an encoded instruction."""
        number = int.from_bytes(word, "little")
        return tuple(f.name for f in self.fields if f.name in FLAGS and number >> f.bit & 1)

    def field_at(self, bits: int) -> str | None:
        """Return the name of the field that holds the lowest set bit of `bits`, a difference of two words."""
        lowest = (bits & -bits).bit_length() - 1
        return next((f.name for f in self.fields if f.bit <= lowest < f.bit + f.width), None)


def _f(name: str, bit: int, width: int, *values: int) -> Field:
    return Field(name, bit, width, (*values, 0) if values else (0,))


_LITERAL = _f("literal", 32, 32)
_SRC0_9 = (VGPR + 4, 4)
_SDWA_WORD = 0x06060600 << 32  # sel fields: DWORD everywhere
_DPP_WORD = 0xFF00E400 << 32  # quad_perm:[0,1,2,3], all rows and banks


def _vop(name: str, fixed: int, opcode: tuple[int, int], *fields: Field) -> Iterator[Encoding]:
    """Yield the plain, literal, SDWA and DPP words of a 32-bit VALU encoding."""
    yield Encoding(name, 1, fixed, opcode, (_f("src0", 0, 9, *_SRC0_9), *fields))
    yield Encoding(name, 2, fixed | LITERAL | LITERAL_VALUE << 32, opcode, (*fields, _LITERAL), "literal")
    # SDWA: bit 55 and 63 of the word say that a source is an SGPR; VOPC has its own destination field.
    for scalar in (0, 1 << 55):
        for sdst in (0, 0x80 << 40) if name == "VOPC" else (0,):
            word = _SDWA_WORD & ~(0xFF << 40) | sdst if name == "VOPC" else _SDWA_WORD
            yield Encoding(name, 2, fixed | SDWA | word | scalar, opcode, (_f("src0", 32, 8, 4), *fields), "sdwa")
    yield Encoding(name, 2, fixed | DPP | _DPP_WORD, opcode, (_f("src0", 32, 8, 4), *fields), "dpp")


def _vector() -> Iterator[Encoding]:
    vdst, vsrc1 = _f("vdst", 17, 8, 12), _f("vsrc1", 9, 8, 8)
    yield from _vop("VOP1", 0b0111111 << 25, (9, 8), vdst)
    yield from _vop("VOP2", 0, (25, 6), vdst, vsrc1)
    yield from _vop("VOPC", 0b0111110 << 25, (17, 8), vsrc1)
    src = lambda name, bit, number: _f(name, bit, 9, VGPR + number, number)  # noqa: E731
    yield Encoding(
        "VOP3",
        2,
        0b110100 << 26,
        (16, 10),
        (
            _f("vdst", 0, 8, 12),
            _f("sdst", 8, 7, 20),
            src("src0", 32, 4),
            src("src1", 41, 8),
            src("src2", 50, 16),
        ),
        end=0x380,
    )
    # op_sel_hi [2] is bit 14, [1:0] are bits 60:59: set for packed math; for MAI these bits say AGPR and stay 0.
    for hi in (1 << 14 | 3 << 59, 0):
        fields = (_f("vdst", 0, 8, 64), src("src0", 32, 4), src("src1", 41, 8), src("src2", 50, 16))
        yield Encoding("VOP3P", 2, 0b110100111 << 23 | hi, (16, 7), fields)


def _scalar() -> Iterator[Encoding]:
    sdst = _f("sdst", 16, 7, 12)
    ssrc0, ssrc1 = _f("ssrc0", 0, 8, 4), _f("ssrc1", 8, 8, 8)
    simm16 = _f("simm16", 0, 16, 0x1234, 4)
    yield Encoding("SOP1", 1, 0b101111101 << 23, (8, 8), (sdst, ssrc0))
    yield Encoding("SOP2", 1, 0b10 << 30, (23, 7), (sdst, ssrc1, ssrc0), end=0x60)
    yield Encoding("SOPK", 1, 0b1011 << 28, (23, 5), (sdst, simm16), end=0x1A)
    yield Encoding("SOPK", 2, 0b1011 << 28 | LITERAL_VALUE << 32, (23, 5), (simm16, _LITERAL), "literal", end=0x1A)
    yield Encoding("SOPC", 1, 0b101111110 << 23, (16, 7), (ssrc1, ssrc0))
    yield Encoding("SOPP", 1, 0b101111111 << 23, (16, 7), (simm16,))
    sdata, sbase, glc = _f("sdata", 6, 7, 16), _f("sbase", 0, 6, 4), _f("glc", 16, 1, 1)
    smem = 0b110000 << 26
    yield Encoding("SMEM", 2, smem | 1 << 17, (18, 8), (sdata, sbase, glc, _f("offset", 32, 21, 0x10)), "imm")
    yield Encoding("SMEM", 2, smem, (18, 8), (sdata, sbase, glc, _f("soffset", 32, 7, 3)), "sgpr")
    both = (sdata, sbase, glc, _f("offset", 32, 21, 0x10), _f("soffset", 57, 7, 3))
    yield Encoding("SMEM", 2, smem | 1 << 17 | 1 << 14, (18, 8), both, "sgpr+imm")


def _memory() -> Iterator[Encoding]:
    data = (_f("addr", 32, 8, 4), _f("data0", 40, 8, 8), _f("data1", 48, 8, 16), _f("vdst", 56, 8, 24))
    yield Encoding("DS", 2, 0b110110 << 26, (17, 8), (*data, _f("gds", 16, 1, 1)))
    for segment, name in ((0, "FLAT"), (1, "SCRATCH"), (2, "GLOBAL")):
        fixed = 0b110111 << 26 | segment << 14
        for mode, saddr, lds_bit in _address_modes(name):
            vaddr = _f("addr", 32, 8, *(() if mode in ("saddr", "none") and name == "SCRATCH" else (4,)))
            # SADDR is named so that its operand is recognised; its value is the mode's.
            fields = (vaddr, _f("data", 40, 8, 8), _f("saddr", 48, 7), _f("vdst", 56, 8, 24), _f("glc", 16, 1, 1))
            yield Encoding(name, 2, fixed | saddr << 48 | lds_bit << 13, (18, 7), fields, mode)
    for mode, bits in (("off", 0), ("offen", 1 << 12), ("idxen", 1 << 13), ("bothen", 3 << 12)):
        vaddr = _f("vaddr", 32, 8, *((4,) if bits else ()))
        fields = (vaddr, _f("vdata", 40, 8, 8), _f("srsrc", 48, 5, 2), _f("soffset", 56, 8, 3))
        glc, lds = _f("glc", 14, 1, 1), _f("lds", 16, 1, 1)
        yield Encoding("MUBUF", 2, 0b111000 << 26 | bits, (18, 7), (*fields, glc, lds), mode)
        yield Encoding("MTBUF", 2, 0b111010 << 26 | 4 << 19 | 7 << 23 | bits, (15, 4), fields, mode)
    image = (_f("vaddr", 32, 8, 4), _f("vdata", 40, 8, 8), _f("srsrc", 48, 5, 2), _f("ssamp", 53, 5, 4))
    for dmask in (1, 3, 15):
        for a16 in (0, 1 << 15):
            fixed = 0b111100 << 26 | dmask << 8 | 1 << 12 | a16
            yield Encoding("MIMG", 2, fixed, (18, 7), (*image, _f("glc", 13, 1, 1)), "a16" if a16 else "")


def _address_modes(name: str) -> tuple[tuple[str, int, int], ...]:
    """Return (mode, SADDR, bit 13): that bit is LDS before gfx940, then SVE (there is a VGPR address) for scratch."""
    if name == "FLAT":
        return (("", 0, 0), ("", 0x7F, 0))
    if name == "GLOBAL":
        return (("vaddr", 0x7F, 0), ("saddr", 6, 0), ("lds vaddr", 0x7F, 1), ("lds saddr", 6, 1))
    return (
        ("vaddr", 0x7F, 1),
        ("saddr", 6, 0),
        ("vaddr+saddr", 6, 1),
        ("none", 0x7F, 0),
        ("vaddr", 0x7F, 0),
        ("lds saddr", 6, 1),
        ("lds vaddr", 0x7F, 1),
    )


def _pairs() -> Iterator[Encoding]:
    """The 16-byte scaled MFMA: `v_mfma_ld_scale_b32`, then the plain instruction; only the second opcode varies."""
    prefix = 0xD3AC0000 | (VGPR + 32 | (VGPR + 34) << 9) << 32
    fixed = prefix | (0b110100111 << 23 | 1 << 11) << 64  # bit 11 says that a scale precedes
    src = lambda name, bit, number: _f(name, bit, 9, VGPR + number)  # noqa: E731
    scales = (_f("scale_src0", 32, 9), _f("scale_src1", 41, 9))
    fields = (*scales, _f("vdst", 64, 8, 64), src("src0", 96, 4), src("src1", 105, 16), src("src2", 114, 24))
    yield Encoding("VOP3PX", 4, fixed, (80, 7), fields)


ENCODINGS: tuple[Encoding, ...] = (*_scalar(), *_vector(), *_memory(), *_pairs())
