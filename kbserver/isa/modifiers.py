"""The modifiers that are tried on every form of a format. A label in the tables means that a spelling assembled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Modifier:
    """One modifier. wraps: it goes around a source operand. replaces: words of the example it cannot stand beside."""

    label: str
    text: str = ""
    variants: tuple[str, ...] = ()
    wraps: str = ""
    replaces: tuple[str, ...] = ()
    mode: str | None = None


def _sized(name: str, value: str) -> tuple[str, tuple[str, ...]]:
    """Return a list-valued modifier for two operands, and for one, three and four."""
    return f"{name}:[{value},{value}]", tuple(f"{name}:[{','.join([value] * count)}]" for count in (1, 3, 4))


def _listed(name: str, value: str) -> Modifier:
    text, variants = _sized(name, value)
    return Modifier(name, text, variants)


_NEG = Modifier("neg", wraps="-{}")
_ABS = Modifier("abs", wraps="|{}|")
_OUTPUT = (Modifier("clamp", "clamp"), Modifier("omod", "mul:2"))

DPP_CONTROLS = tuple(
    Modifier(text, text, replaces=("quad_perm",))
    for text in (
        "quad_perm:[1,0,3,2]",
        "row_shl:1",
        "row_shr:1",
        "row_ror:1",
        "wave_shl:1",
        "wave_rol:1",
        "wave_shr:1",
        "wave_ror:1",
        "row_mirror",
        "row_half_mirror",
        "row_bcast:15",
        "row_bcast:31",
        "row_newbcast:3",
        "row_share:3",
        "row_xmask:3",
        "dpp8:[0,1,2,3,4,5,6,7]",
    )
)
_DPP = (
    *(Modifier(one.label, one.text, replaces=one.replaces, mode="dpp") for one in DPP_CONTROLS),
    Modifier("row_mask", "row_mask:0x3", mode="dpp"),
    Modifier("bank_mask", "bank_mask:0x3", mode="dpp"),
    Modifier("bound_ctrl:0", "bound_ctrl:0", ("bound_ctrl:1",), mode="dpp"),
    Modifier("fi", "fi:1", mode="dpp"),
    Modifier("neg", wraps="-{}", mode="dpp"),
    Modifier("abs", wraps="|{}|", mode="dpp"),
)
_SDWA = (
    Modifier("dst_sel", "dst_sel:WORD_1", mode="sdwa"),
    Modifier("dst_unused", "dst_unused:UNUSED_PRESERVE", mode="sdwa"),
    Modifier("src0_sel", "src0_sel:BYTE_1", mode="sdwa"),
    Modifier("src1_sel", "src1_sel:BYTE_1", mode="sdwa"),
    Modifier("sext", wraps="sext({})", mode="sdwa"),
    Modifier("neg", wraps="-{}", mode="sdwa"),
    Modifier("abs", wraps="|{}|", mode="sdwa"),
    Modifier("clamp", "clamp", mode="sdwa"),
    Modifier("omod", "mul:2", mode="sdwa"),
)
_CACHE = tuple(Modifier(word, word) for word in ("glc", "slc", "dlc", "scc", "sc0", "sc1", "nt", "nv"))


def _offsets(*values: int) -> tuple[Modifier, ...]:
    return tuple(Modifier(f"offset:{value}", f"offset:{value}") for value in values)


_FLAT_OFFSETS = _offsets(4095, 8191, -4096)
MODIFIERS: dict[str, tuple[Modifier, ...]] = {
    "VOP1": (*_DPP, *_SDWA),
    "VOP2": (*_DPP, *_SDWA),
    "VOPC": (*_DPP, *_SDWA),
    "VOP3": (
        *_OUTPUT,
        _NEG,
        _ABS,
        _listed("op_sel", "1"),
        Modifier("byte_sel", "byte_sel:1"),
        Modifier("bitop3", "bitop3:0x12"),
        Modifier("bound_ctrl", "bound_ctrl:0"),
        Modifier("fi", "fi:1"),
        Modifier("dpp", "quad_perm:[0,1,2,3]", ("row_shl:1",)),
    ),
    "VOP3P": (
        Modifier("clamp", "clamp"),
        _listed("op_sel", "1"),
        _listed("op_sel_hi", "0"),
        _listed("neg_lo", "1"),
        _listed("neg_hi", "1"),
        _NEG,
        Modifier("cbsz", "cbsz:1"),
        Modifier("abid", "abid:1", ("cbsz:1 abid:1",)),
        Modifier("blgp", "blgp:1"),
        Modifier("neg:[..]", "neg:[1,0,0]"),
    ),
    "VOP3PX": (
        _listed("op_sel", "1"),
        _listed("op_sel_hi", "1"),
        Modifier("cbsz", "cbsz:1"),
        Modifier("blgp", "blgp:1"),
    ),
    "SMEM": (
        Modifier("glc", "glc"),
        Modifier("dlc", "dlc"),
        Modifier("scc", "scc"),
        Modifier("nv", "nv"),
    ),
    "DS": (
        Modifier("offset:65535", "offset:65535"),
        Modifier("offset0:255 offset1:255", "offset0:255 offset1:255"),
        Modifier("gds", "gds"),
    ),
    "FLAT": (*_offsets(4095), *_CACHE),
    "GLOBAL": (*_FLAT_OFFSETS, *_CACHE),
    "SCRATCH": (*_FLAT_OFFSETS, *_CACHE),
    "MUBUF": (*_offsets(4095), *_CACHE, Modifier("tfe", "tfe"), Modifier("swz", "swz")),
    "MTBUF": (
        *_offsets(4095),
        *_CACHE,
        Modifier("format", "format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]", replaces=("dfmt", "nfmt")),
        Modifier("dfmt nfmt", "dfmt:4 nfmt:7", replaces=("format",)),
    ),
    "MIMG": (
        *(Modifier(word, word) for word in ("glc", "slc", "r128", "a16", "tfe", "lwe", "da", "d16")),
        Modifier("dmask", "dmask:0x1"),
    ),
}
