"""What the assembler takes in place of each operand, and which modifiers: one line a question, in one batch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kbserver.isa.assembler import LlvmMc
from kbserver.isa.encodings import LITERAL_VALUE
from kbserver.isa.forms import Form, Line
from kbserver.isa.modifiers import MODIFIERS, Modifier

_REGISTER = re.compile(r"([vas])(?:(\d+)|\[(\d+):(\d+)\])$")
KINDS = ("v", "a", "s", "c", "l")
"""VGPR, AGPR, SGPR, inline constant, literal: the letters of an operand in the tables."""
_MOVED = {"v": 96, "a": 96, "s": 32}
"""By how many registers an operand is moved to see which field of the encoding changes."""
_FORMATS = ("cbsz:0", "cbsz:2", "cbsz:4", "blgp:2", "blgp:4")
"""8-, 6- and 4-bit data in A, then in B."""
MAI_WIDTHS = (4, 6, 8)
"""Widths of an A or B operand that the format bits of f8f6f4 choose from."""


@dataclass(frozen=True)
class _Question:
    form: int
    line: str
    what: str
    """kind, field, start or mod: what an operand or the form gets when the line assembles."""
    places: tuple[int, ...] = ()
    value: str = ""


class _Answers:
    """What was accepted, by form and operand."""

    def __init__(self) -> None:
        self.kinds: dict[tuple[int, int], list[str]] = {}
        self.fields: dict[tuple[int, int], str] = {}
        self.starts: dict[tuple[int, int], list[int]] = {}

    def take(self, question: _Question, form: Form, code: bytes) -> None:
        same_length = len(code) == len(form.code)
        for place in question.places:
            key = question.form, place
            if question.what == "kind" and (same_length or question.value == "l"):
                self.kinds.setdefault(key, []).append(question.value)
            elif question.what == "start" and same_length:
                self.starts.setdefault(key, []).append(int(question.value))
            elif question.what == "field" and same_length:
                difference = int.from_bytes(code, "little") ^ int.from_bytes(form.code, "little")
                self.fields[key] = form.encoding.field_at(difference) or "?"
        # LLVM 22 takes some values that the field cannot hold and encodes 0: what changes nothing is not support.
        if question.what == "mod" and code != form.code and question.value not in form.modifiers:
            form.modifiers.append(question.value)

    def operand(self, number: int, form: Form, place: int) -> str:
        """Return one operand of form `number` as the tables write it."""
        key = number, place
        field = self.fields.get(key) or _by_place(form, place)
        return _operand(form, place, field, self.kinds.get(key, []), self.starts.get(key, []))


def probe(mc: LlvmMc, arch: str, forms: Sequence[Form]) -> None:
    """Fill in `operands` and `modifiers` of every form."""
    questions = [question for number, form in enumerate(forms) for question in _questions(number, form)]
    answers = _Answers()
    for question, code in zip(questions, mc.assemble(arch, [one.line for one in questions]), strict=True):
        if isinstance(code, bytes):
            answers.take(question, forms[question.form], code)
    for number, form in enumerate(forms):
        form.operands = [answers.operand(number, form, place) for place in range(len(form.line.operands))]


def _by_place(form: Form, place: int) -> str | None:
    """Return the field of a VOP3 operand by its position, for those that cannot be moved alone."""
    names = ("vdst", "src0", "src1", "src2")
    is_register = _REGISTER.match(form.line.operands[place])
    return names[place] if is_register and form.encoding.format in ("VOP3", "VOP3P") and place < len(names) else None


def _operand(form: Form, place: int, field: str | None, kinds: list[str], starts: list[int]) -> str:
    """Return one operand as the tables write it, `src0:vscl1`; without a register it is its own name, `vcc`, `off`.

    `%2` behind the width says that the first register's number must be even, `%4` a multiple of four.
    """
    token = form.line.operands[place]
    register = _REGISTER.match(token)
    if register is None:
        if field:
            return f"{field}:i"
        return token if token.isalpha() else "imm:i"
    name = field or "?"
    if name == "vdst" and register[1] == "s":
        name = "sdst"
    if form.encoding.format == "SMEM" and name == "soffset":
        kinds = ["s"]  # a constant there is the form with an immediate
    letters = "".join(letter for letter in KINDS if letter in kinds)
    widths = "/".join(sorted({str(register_width(token)), *(kind for kind in kinds if kind.isdigit())}, key=int))
    step = next((step for step in (1, 2, 4) if step in starts), 4) if register_width(token) > 1 else 1
    return f"{name}:{letters}{widths}" + (f"%{step}" if step > 1 else "")


def register_width(token: str) -> int:
    """Return how many 32-bit registers a register operand names."""
    match = _REGISTER.match(token)
    if match is None:
        raise ValueError(token)
    return 1 if match[2] else int(match[4]) - int(match[3]) + 1


def _questions(number: int, form: Form) -> Iterator[_Question]:
    line = form.line
    registers = [place for place, token in enumerate(line.operands) if _REGISTER.match(token)]
    for place, token in enumerate(line.operands):
        if place in registers:
            yield from _register_questions(number, form, place)
        elif token.startswith("0x") or token.isdigit():
            other = hex(LITERAL_VALUE + 1) if token == hex(LITERAL_VALUE) else "0x13"
            yield _Question(number, _with(line, {place: other}), "field", (place,))
    # C and D of a matrix instruction, data and result of an atomic: both AGPRs or both VGPRs.
    for places in {*((0, place) for place in registers[1:]), (0, *registers[2:])}:
        if len(places) > 1 and all(line.operands[place].startswith("v") for place in places):
            tokens = {place: "a" + line.operands[place][1:] for place in places}
            yield _Question(number, _with(line, tokens), "kind", places, "a")
    for modifier in MODIFIERS.get(form.encoding.format, ()):
        for changed in _modified(form, modifier):
            yield _Question(number, changed, "mod", (), modifier.label)


def _register_questions(number: int, form: Form, place: int) -> Iterator[_Question]:
    line, token = form.line, form.line.operands[place]
    letter, width, first = token[0], register_width(token), _first(token)
    scalar = first if first < 96 else 8
    others = {"v": _tuple("v", first, width), "a": _tuple("a", first, width), "s": _tuple("s", scalar // 4 * 4, width)}
    for kind, other in (*others.items(), ("c", "1"), ("l", hex(LITERAL_VALUE))):
        yield _Question(number, _with(line, {place: other}), "kind", (place,), kind)
    moved = {place: _tuple(letter, first + _MOVED[letter], width)}
    yield _Question(number, _with(line, moved), "field", (place,))
    for step in (1, 2, 4) if width > 1 else ():
        shifted = {place: _tuple(letter, first + step, width)}
        yield _Question(number, _with(line, shifted), "start", (place,), str(step))
    if form.name.endswith("f8f6f4"):
        for wide in MAI_WIDTHS:
            for formats in _FORMATS:
                changed = _with(line, {place: _tuple("v", first, wide)})
                yield _Question(number, f"{changed} {formats}", "kind", (place,), str(wide))


def _first(token: str) -> int:
    match = _REGISTER.match(token)
    if match is None:
        raise ValueError(token)
    return int(match[2] or match[3])


def _tuple(letter: str, first: int, width: int) -> str:
    return f"{letter}{first}" if width == 1 else f"{letter}[{first}:{first + width - 1}]"


def _with(line: Line, tokens: Mapping[int, str]) -> str:
    return replace(line, operands=tuple(tokens.get(n, old) for n, old in enumerate(line.operands))).text()


def _modified(form: Form, modifier: Modifier) -> Iterator[str]:
    """Yield the form's line with the modifier, at each place where it may stand."""
    line = form.line
    if modifier.mode is not None and modifier.mode not in form.mode:
        return
    if modifier.wraps:
        for place, token in enumerate(line.operands[1:], 1):
            if _REGISTER.match(token):
                yield _with(line, {place: modifier.wraps.format(token)})
        return
    for text in (modifier.text, *modifier.variants):
        replaced = (text.split(":")[0], *modifier.replaces)
        places = [n for n, word in enumerate(line.modifiers) if word.split(":")[0] in replaced]
        if places:
            kept = [word for n, word in enumerate(line.modifiers) if n not in places]
            orders = [[*kept[: places[0]], text, *kept[places[0] :]]]
        else:
            orders = [[*line.modifiers, text], [text, *line.modifiers]]
        yield from (replace(line, modifiers=tuple(words)).text() for words in orders)
