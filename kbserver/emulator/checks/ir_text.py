"""Read the LLVM IR text that the emulator writes: one instruction a line, operands with their types."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CLOSING = {"<": ">", "[": "]", "{": "}", "(": ")"}
_FLAGS = frozenset({
    "nuw", "nsw", "exact", "inbounds", "nneg", "disjoint", "samesign", "volatile", "fast", "nnan", "ninf", "nsz",
    "arcp", "contract", "afn", "reassoc", "tail", "musttail", "notail",
})  # fmt: skip
_VECTOR = re.compile(r"<(\d+) x (\w+)>")
_FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
_ATTRIBUTES = re.compile(r"^(?:(?:noundef|immarg|noalias|nocapture|nonnull|readonly|writeonly|align \d+)\s+)+")
_LINE = re.compile(r"(?:(%[\w.]+) = )?(\w+)\s*(.*)")


@dataclass(frozen=True, slots=True)
class Typed:
    """An operand: its LLVM type and its text, a `%name` or a constant."""

    type: str
    text: str

    @property
    def is_name(self) -> bool:
        return self.text.startswith("%")

    @property
    def all(self) -> str:
        return f"{self.type} {self.text}"


class Cursor:
    """Reads types, values and words from the left of a text."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def _blank(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1

    def accept(self, token: str) -> bool:
        """Step over `token` if it comes next."""
        self._blank()
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def _balanced(self) -> str:
        start, stack = self.at, []
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in _CLOSING:
                stack.append(_CLOSING[letter])
            elif stack and letter == stack[-1]:
                stack.pop()
                if not stack:
                    self.at += 1
                    break
            self.at += 1
        return self.text[start : self.at]

    def word(self) -> str:
        """Return the next word: up to a blank, a comma or a bracket; a bracketed text as a whole."""
        self._blank()
        if self.at < len(self.text) and self.text[self.at] in _CLOSING:
            return self._balanced()
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in " ,()[]{}<>":
            self.at += 1
        return self.text[start : self.at]

    def value(self) -> str:
        """Return the next value."""
        word = self.word()
        if word == "splat":
            self._blank()
            return f"splat {self._balanced()}"
        return word

    def typed(self) -> Typed:
        """Return the next type and value."""
        type_ = self.word()
        return Typed(type_, self.value())

    def skip_flags(self) -> None:
        """Step over flags such as nsw."""
        while True:
            before = self.at
            if self.word() not in _FLAGS:
                self.at = before
                return

    @property
    def rest(self) -> str:
        return self.text[self.at :].strip()


def split(line: str) -> tuple[str | None, str, Cursor]:
    """Return the result's name, the operation and a cursor behind it."""
    match = _LINE.match(line.strip())
    if match is None:
        raise ValueError(f"no instruction: {line}")
    cursor = Cursor(match[3])
    cursor.skip_flags()
    operation = match[2]
    if operation in ("tail", "musttail", "notail"):
        operation = cursor.word()
        cursor.skip_flags()
    return match[1], operation, cursor


def lanes(type_: str) -> int:
    """Return how many elements a type has."""
    match = _VECTOR.fullmatch(type_)
    return int(match[1]) if match else 1


def element(type_: str) -> str:
    """Return the type of one element."""
    match = _VECTOR.fullmatch(type_)
    return match[2] if match else type_


def is_float(type_: str) -> bool:
    return element(type_) in _FLOAT_BITS


def with_element(type_: str, one: str) -> str:
    """Return the type with other elements."""
    count = lanes(type_)
    return f"<{count} x {one}>" if type_.startswith("<") else one


def bits_type(type_: str) -> str | None:
    """Return the integer type with the same bits: what a definedness mask of this type looks like. None where the
    type has none (pointers, structures)."""
    one = element(type_)
    if one in _FLOAT_BITS:
        return with_element(type_, f"i{_FLOAT_BITS[one]}")
    return type_ if re.fullmatch(r"i\d+", one) else None


def bit_count(type_: str) -> int:
    """Return the bits of a type of integers or floats."""
    one = element(type_)
    return (_FLOAT_BITS.get(one) or int(one[1:])) * lanes(type_)


def arguments(text: str) -> list[Typed]:
    """Return the arguments of a call or the parameters of a definition, from the text between its brackets."""
    found = []
    for part in _parts(text):
        cursor = Cursor(part)
        type_ = cursor.word()
        found.append(Typed(type_, _ATTRIBUTES.sub("", cursor.rest)))
    return found


def _parts(text: str) -> list[str]:
    """Split at the commas that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "<[{(") - (letter in ">]})")
        if letter == "," and not depth:
            parts.append(text[start:place].strip())
            start = place + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def pair(result: str) -> str:
    """Return the type of a value with its mask."""
    masks = bits_type(result)
    return result if masks is None else f"{{ {result}, {masks} }}"


def flags(type_: str) -> str:
    """Return the type of one bit an element."""
    return f"<{type_.split(' x ')[0][1:]} x i1>" if type_.startswith("<") else "i1"


def alignment(rest: str) -> str:
    """Return the alignment that ends a load or a store, one byte when it names none."""
    match = re.search(r"align (\d+)", rest)
    return f", align {match[1]}" if match else ", align 1"


def typed_list(cursor: Cursor) -> list[Typed]:
    """Return the operands that follow, each with its type."""
    found = [cursor.typed()]
    while cursor.accept(","):
        found.append(cursor.typed())
    return found
