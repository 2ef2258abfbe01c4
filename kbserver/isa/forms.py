"""From decoded words to the forms of each instruction: one per format and way of addressing, with all operands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from kbserver.isa.assembler import Decoded, LlvmMc
from kbserver.isa.encodings import ENCODINGS, Encoding
from kbserver.isa.names import base_name

MAX_TRIES = 24
"""How many ways to fill one form are tried before it counts as not assemblable."""


@dataclass(frozen=True)
class Line:
    """An instruction text taken apart: mnemonic, operands, modifiers."""

    mnemonic: str
    operands: tuple[str, ...]
    modifiers: tuple[str, ...] = ()

    def text(self) -> str:
        words = [self.mnemonic]
        if self.operands:
            words.append(", ".join(self.operands))
        return " ".join([*words, *self.modifiers])


@dataclass
class Form:
    """One encoded form of an instruction on one target, filled in by enumeration, then by probing."""

    name: str
    encoding: Encoding
    line: Line
    code: bytes
    mode: str
    operands: list[str] = field(default_factory=list)
    modifiers: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str, str]:
        return self.name, self.encoding.format, self.mode


def split_line(text: str) -> Line:
    """Take an instruction text apart. Commas and blanks inside brackets belong to their word."""
    mnemonic, _, rest = text.strip().partition(" ")
    pieces = _split(rest, ",")
    if not pieces:
        return Line(mnemonic, ())
    last = _split(pieces[-1], " ")
    return Line(mnemonic, (*pieces[:-1], *last[:1]), tuple(last[1:]))


def _split(text: str, separator: str) -> list[str]:
    pieces, depth, current = [], 0, ""
    for char in text:
        depth += (char in "[(") - (char in "])")
        if char == separator and depth == 0:
            pieces.append(current.strip())
            current = ""
        else:
            current += char
    pieces.append(current.strip())
    return [piece for piece in pieces if piece]


def enumerate_forms(mc: LlvmMc, arch: str) -> list[Form]:
    """Return every form that `arch` decodes and that assembles back to the same bytes, sorted by name and format."""
    found: dict[tuple[str, str, str], list[tuple[tuple[int, int, int], Form]]] = {}
    for encoding in ENCODINGS:
        for one in mc.disassemble(arch, encoding.candidates()):
            form = _form(encoding, one)
            if form is not None:
                found.setdefault(form.key, []).append((_rank(form), form))
    for key, ranked in found.items():
        found[key] = sorted(ranked, key=lambda item: item[0], reverse=True)[:MAX_TRIES]
    candidates = [form for ranked in found.values() for _, form in ranked]
    confirmed: dict[tuple[str, str, str], Form] = {}
    for form in _confirmed(mc, arch, candidates):
        confirmed.setdefault(form.key, form)
    return sorted(_without_repeats(confirmed), key=lambda form: form.key)


def _rank(form: Form) -> tuple[int, int, int]:
    """Rank the ways to fill one form: all operands shown, no modifier needed, no register 0."""
    operands = len(form.line.operands)
    if form.encoding.format == "SOPP":
        operands = -operands  # an immediate that may be left out is left out
    return operands, -len(form.line.modifiers), form.encoding.used(form.code)


def _confirmed(mc: LlvmMc, arch: str, forms: list[Form]) -> Iterator[Form]:
    texts = [form.line.text() for form in forms]
    for form, code in zip(forms, mc.assemble(arch, texts), strict=True):
        if code == form.code:
            yield form
    # Without a suffix the assembler takes the short encoding of a few names.
    named = [replace(f, line=replace(f.line, mnemonic=f.name + "_e64")) for f in forms if f.encoding.format == "VOP3"]
    for form, code in zip(named, mc.assemble(arch, [form.line.text() for form in named]), strict=True):
        if code == form.code:
            yield form


def _form(encoding: Encoding, one: Decoded) -> Form | None:
    if "/*" in one.text:  # LLVM's remark that an operand is not legal
        return None
    line = split_line(one.text)
    flags = encoding.flags(one.code)
    mode = encoding.mode
    if mode == "off" and "off" not in line.operands:
        mode = ""
    if mode == "none" and line.operands.count("off") < 2:
        return None  # before gfx940 this is VGPR 0
    modes = [mode] if mode else []
    if "lds" in flags or "lds" in line.modifiers:
        modes = [*(mode.removeprefix("lds ") for mode in modes), "lds"]
    elif mode.startswith("lds "):
        # Bit 13 is LDS before gfx940 and chooses the address of scratch after: without the modifier it is the latter.
        return None
    if "glc" in flags:
        if not ("atomic" in line.mnemonic and {"glc", "sc0"} & set(line.modifiers)):
            return None  # a cache hint: probed as a modifier
        modes.append("returns")
    if "gds" in flags:
        modes.append("gds")
    return Form(base_name(line.mnemonic), encoding, line, one.code, " ".join(modes))


def _without_repeats(forms: dict[tuple[str, str, str], Form]) -> Iterator[Form]:
    """Leave out what another form covers: `gds` and `literal` where the plain one exists, the same bytes again."""
    seen = set()
    for (name, kind, mode), form in forms.items():
        plain = " ".join(word for word in mode.split() if word not in ("gds", "literal"))
        repeated = (plain != mode and (name, kind, plain) in forms) or (name, form.code) in seen
        if not repeated:
            seen.add((name, form.code))
            yield form
