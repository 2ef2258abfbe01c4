"""Variables in AMDGPU assembly text (`__device__`, `__constant__`, tables of constants): their bytes, and which of
them are the address of a symbol."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_OBJECT = re.compile(r'^\.type\s+(?:"((?:[^"\\]|\\.)+)"|([^,\s]+))\s*,\s*[@%]object')
_LABEL = re.compile(r'^(?:"((?:[^"\\]|\\.)+)"|([\w.$@?]+)):\s*(?:;.*)?$')
_SIZES = {
    ".byte": 1, ".short": 2, ".2byte": 2, ".value": 2, ".long": 4, ".4byte": 4, ".int": 4, ".quad": 8, ".8byte": 8,
}  # fmt: skip
_ADDRESS = re.compile(r'(?:"((?:[^"\\]|\\.)+)"|([A-Za-z_.$][\w.$]*))\s*([+-]\s*\d+)?')
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)")
_NAMED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"f": b"\f", b'"': b'"', b"\\": b"\\"}
_READ_ONLY = (".rodata", ".data.rel.ro")
MAX_BYTES = 64 << 20


@dataclass(frozen=True)
class DataObject:
    """One variable. `addresses` are the (offset, symbol, addend) of 8-byte fields that hold the address of a symbol.

    `problem` says what of its text was not understood; its bytes are then not known.
    """

    name: str
    data: bytes
    addresses: tuple[tuple[int, str, int], ...]
    writable: bool
    problem: str | None = None


def read_data_objects(lines: Iterable[str]) -> dict[str, DataObject]:
    """Return the variables that the text defines, by name."""
    reader = _Reader()
    for line in lines:
        reader.line(line.strip())
    reader.close()
    return reader.objects


class _Reader:
    def __init__(self) -> None:
        self.objects: dict[str, DataObject] = {}
        self.declared: set[str] = set()
        self.section = ".text"
        self.name: str | None = None
        self._start()

    def _start(self) -> None:
        self.data = bytearray()
        self.addresses: list[tuple[int, str, int]] = []
        self.problem: str | None = None

    def line(self, text: str) -> None:
        if match := _OBJECT.match(text):
            self.declared.add(match[1] or match[2])
        elif match := _LABEL.match(text):
            name = match[1] or match[2]
            self.close()
            if name in self.declared:
                self.name = name
        elif text.startswith((".section", ".text", ".data", ".bss")):
            self.close()
            self.section = text.split(None, 1)[1] if text.startswith(".section") else text.split(None, 1)[0]
        elif self.name is not None and text.startswith("."):
            word, _, rest = text.replace("\t", " ").partition(" ")
            self._directive(word, rest)

    def _directive(self, word: str, rest: str) -> None:
        if word == ".size":
            self.close()
        elif word in _SIZES:
            for item in _without_comment(rest).split(","):
                self._number(item.strip(), _SIZES[word])
        elif word in (".zero", ".skip", ".space"):
            self._fill(_without_comment(rest))
        elif word in (".ascii", ".asciz", ".string"):
            self._text(rest, ended=word != ".ascii")

    def _number(self, text: str, size: int) -> None:
        try:
            self.data += (int(text, 0) % (1 << 8 * size)).to_bytes(size, "little")
            return
        except ValueError:
            pass
        match = _ADDRESS.fullmatch(text)
        if match is None or size != 8:
            self.problem = f"{text!r} is neither a number nor the address of a symbol"
        else:
            self.addresses.append((len(self.data), match[1] or match[2], int((match[3] or "0").replace(" ", ""))))
        self.data += bytes(size)

    def _fill(self, text: str) -> None:
        count, _, value = text.partition(",")
        try:
            number, byte = int(count, 0), int(value or "0", 0) % 256
        except ValueError:
            self.problem = f"the fill {text!r} is no number of bytes"
            return
        if number + len(self.data) > MAX_BYTES:
            self.problem = f"it has more than {MAX_BYTES} bytes"
        else:
            self.data += bytes([byte]) * number

    def _text(self, text: str, *, ended: bool) -> None:
        first, last = text.find('"'), text.rfind('"')
        raw = text[first + 1 : last].encode()
        self.data += _ESCAPE.sub(lambda m: _NAMED.get(m[1]) or bytes([int(m[1], 8) % 256]), raw)
        self.data += b"\0" if ended else b""

    def close(self) -> None:
        if self.name is not None:
            writable = not self.section.startswith(_READ_ONLY)
            self.objects[self.name] = DataObject(
                self.name, bytes(self.data), tuple(self.addresses), writable, self.problem
            )
        self.name = None
        self._start()


def _without_comment(text: str) -> str:
    return text.partition(";")[0].strip()
