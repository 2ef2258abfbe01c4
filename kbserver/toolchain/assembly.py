"""AMDGPU assembly text to a program: functions, instructions, labels, kernel descriptors and metadata.

One grammar reads what `clang -S` writes and what `llvm-objdump -d` prints. Nothing is guessed: a value that is not a
plain number (LLVM prints symbolic expressions when a callee is unknown) stays text, and readers treat it as unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kbserver.core.errors import ContentError

MAX_LINES = 2_000_000

_LABEL = re.compile(r'^\s*(?:"((?:[^"\\]|\\.)+)"|([A-Za-z_.$@?][\w.$@?]*)):(?!:)\s*')
_DUMP_LABEL = re.compile(r"^(?:([0-9a-fA-F]{8,16})\s+)?<([^>]+)>:\s*$")
_DUMP_ADDRESS = re.compile(r"^\s*([0-9A-Fa-f]{8,16}):")
_DUMP_TARGET = re.compile(r"<([^>+]+)(?:\+0x([0-9a-fA-F]+))?>\s*$")
_DUMP_LOCATION = re.compile(r"^;\s+(\S.*):(\d+)(?: \(discriminator \d+\))?$")
_JUMP = re.compile(r"s_branch|s_cbranch_\w+|s_call_b64")
_MNEMONIC = re.compile(r"^([a-z][a-z0-9_]*)(?:\s+(.*))?$")
_FILE = re.compile(r'^\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?')
_LOC = re.compile(r"^\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?")
_TYPE = re.compile(r'^\.type\s+(?:"((?:[^"\\]|\\.)+)"|([^,\s]+))\s*,\s*[@%]function')
_SIZE = re.compile(r'^\.size\s+(?:"((?:[^"\\]|\\.)+)"|([^,\s]+))\s*,')
_SET = re.compile(r'^\.(?:set|equ)\s+(?:"((?:[^"\\]|\\.)+)"|([^,\s]+))\s*,\s*(.+)$')
_TARGET = re.compile(r'gfx\w[^"\s]*')
_LITERAL = re.compile(r"\blit\((-?(?:0x[0-9a-fA-F]+|\d+))\)")
_NOTE = re.compile(r"^;\s*([A-Za-z][\w:/ \[\]]*?)\s*[:=]\s*(\S.*)$")


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a source file, from `.loc`."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction. `line` counts the lines of the assembly text from 1.

    `operands` are the comma-separated operands, in order; `modifiers` the words that follow an operand (`offset:16`,
    `lgkmcnt(0)`). `address` and `target` are known only for disassembly; `source` only with line tables.
    """

    line: int
    mnemonic: str
    operands: tuple[str, ...]
    modifiers: tuple[str, ...]
    text: str
    source: Location | None = None
    inline: bool = False
    """True between the marks of inline assembly."""
    address: int | None = None
    target: str | None = None


@dataclass(frozen=True)
class Function:
    """One function of the text; a kernel when it has a descriptor or metadata."""

    name: str
    first_line: int
    last_line: int
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    """label -> index of the instruction it stands before; len(instructions) when it stands after the last."""
    is_kernel: bool = False
    descriptor: Mapping[str, str] = field(default_factory=dict)
    """`.amdhsa_*` directives, without that prefix, as written."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The kernel's entry of `amdhsa.kernels`, keys without the leading dot."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """The compiler's comment block after the function, for example `NumVgprs` or `Occupancy`."""


@dataclass(frozen=True)
class Program:
    """A whole assembly text."""

    target: str | None
    functions: Mapping[str, Function]
    lines: tuple[str, ...]
    symbols: Mapping[str, str]
    """`.set` symbols with their expression as written."""
    unread: tuple[tuple[int, str], ...] = ()
    """(line, text) of statements that are neither label, directive nor instruction."""
    problems: tuple[str, ...] = ()

    @property
    def kernels(self) -> tuple[Function, ...]:
        return tuple(function for function in self.functions.values() if function.is_kernel)


def parse_assembly(text: str) -> Program:
    """Return the program in `text`. Odd text never fails the parse: it is listed in `unread` and `problems`."""
    return _Parser().parse(text)


def split_operands(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split what follows a mnemonic into operands and modifiers; brackets and `|abs|` bars keep commas together."""
    operands: list[str] = []
    modifiers: list[str] = []
    for part in _split(text, ","):
        words = list(_split(part, " \t"))
        operands += words[:1]
        modifiers += words[1:]
    return tuple(operands), tuple(modifiers)


def _split(text: str, separators: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, ch in enumerate(text):
        if ch in "([{":
            depth += 1
        elif ch in ")]}":
            depth = max(0, depth - 1)
        elif depth == 0 and ch in separators:
            if text[start:position].strip():
                yield text[start:position].strip()
            start = position + 1
    if text[start:].strip():
        yield text[start:].strip()


@dataclass
class _Open:
    """A function while its lines are read."""

    name: str
    first_line: int
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    last_line: int = 0
    dumped: bool = False


class _Parser:
    def __init__(self) -> None:
        self.functions: dict[str, _Open] = {}
        self.current: _Open | None = None
        self.last: _Open | None = None
        self.declared: set[str] = set()
        self.files: dict[str, str] = {}
        self.symbols: dict[str, str] = {}
        self.descriptors: dict[str, dict[str, str]] = {}
        self.descriptor: dict[str, str] | None = None
        self.yaml_lines: list[str] | None = None
        self.yaml_text: str | None = None
        self.target: str | None = None
        self.source: Location | None = None
        self.inline = False
        self.unread: list[tuple[int, str]] = []
        self.problems: list[str] = []

    def parse(self, text: str) -> Program:
        lines = tuple(text.splitlines())
        if len(lines) > MAX_LINES:
            raise ContentError(f"assembly of more than {MAX_LINES} lines is not read")
        for number, line in enumerate(lines, 1):
            self._line(number, line)
        metadata = self._metadata()
        functions = {name: self._close(opened, metadata) for name, opened in self.functions.items()}
        return Program(
            target=self.target,
            functions=MappingProxyType(functions),
            lines=lines,
            symbols=MappingProxyType(self.symbols),
            unread=tuple(self.unread),
            problems=tuple(self.problems),
        )

    def _line(self, number: int, line: str) -> None:
        if self.yaml_lines is not None:
            if line.strip() == ".end_amdgpu_metadata":
                self.yaml_text, self.yaml_lines = "\n".join(self.yaml_lines), None
            else:
                self.yaml_lines.append(line)
            return
        stripped = line.strip()
        if not stripped:
            return
        if stripped[0] == ";":
            self._comment(stripped)
            return
        dump = _DUMP_LABEL.match(stripped)
        if dump:
            self._label(number, dump[2], starts=dump[1] is not None)
            return
        while label := _LABEL.match(line):
            self._label(number, label[1] or label[2], starts=False)
            line = line[label.end() :]
        statement, comment = _without_comment(line)
        if not statement:
            return
        if statement[0] == ".":
            self._directive(number, statement)
        else:
            self._instruction(number, statement, comment)

    def _comment(self, text: str) -> None:
        body = text.lstrip("; ")
        if body.startswith("#ASMSTART"):
            self.inline = True
        elif body.startswith("#ASMEND"):
            self.inline = False
        elif self.current is not None and self.current.dumped:
            # `llvm-objdump -l` prints `; file:line` before the instructions of that line.
            if place := _DUMP_LOCATION.match(text):
                line = int(place[2])
                self.source = Location(place[1].removeprefix("./"), line, 0) if line else None
        elif self.current is None and self.last is not None:
            # The block of figures follows the function that it describes.
            note = _NOTE.match(text)
            if note:
                self.last.notes.setdefault(note[1], note[2].strip())

    def _label(self, number: int, name: str, *, starts: bool) -> None:
        if starts or name in self.declared:
            self.current = self.functions.setdefault(name, _Open(name, number))
            self.last = self.current
            self.current.dumped = starts
            self.source = None
        if self.current is not None:
            self.current.labels[name] = len(self.current.instructions)
            self.current.last_line = number
            if name.startswith(".Lfunc_end"):
                self.current = None

    def _directive(self, number: int, text: str) -> None:
        word = text.split(None, 1)[0]
        handler = _DIRECTIVES.get(word)
        if handler is not None:
            handler(self, text)
        elif word.startswith(".amdhsa_") and self.descriptor is not None:
            key, _, value = text.partition(" ")
            self.descriptor[key.removeprefix(".amdhsa_")] = value.strip()

    def _on_loc(self, text: str) -> None:
        match = _LOC.match(text)
        if match:
            line = int(match[2])
            known = self.files.get(match[1])
            # Line 0 is code that belongs to no line, such as spills.
            self.source = Location(known, line, int(match[3] or 0)) if known is not None and line else None

    def _on_file(self, text: str) -> None:
        match = _FILE.match(text)
        if match:
            folder, name = (match[2], match[3]) if match[3] is not None else ("", match[2])
            self.files[match[1]] = name if folder in ("", ".") or name.startswith("/") else f"{folder}/{name}"

    def _on_type(self, text: str) -> None:
        match = _TYPE.match(text)
        if match:
            self.declared.add(match[1] or match[2])

    def _on_size(self, text: str) -> None:
        match = _SIZE.match(text)
        if match and self.current is not None and (match[1] or match[2]) == self.current.name:
            self.current = None

    def _on_set(self, text: str) -> None:
        match = _SET.match(text)
        if match:
            self.symbols[match[1] or match[2]] = match[3].strip()

    def _on_kernel(self, text: str) -> None:
        name = text.split(None, 1)[1].strip().strip('"') if " " in text else ""
        self.descriptor = self.descriptors.setdefault(name, {})

    def _on_end_kernel(self, text: str) -> None:
        self.descriptor = None

    def _on_target(self, text: str) -> None:
        found = _TARGET.search(text)
        self.target = found[0] if found else None

    def _on_metadata(self, text: str) -> None:
        self.yaml_lines = []

    def _instruction(self, number: int, text: str, comment: str) -> None:
        match = _MNEMONIC.match(text)
        if match is None or self.current is None:
            if not text.startswith(("Disassembly of section", "file format")):
                self.unread.append((number, text))
            return
        words = match[2] or ""
        if "lit(" in words and "f64" not in match[1]:
            # LLVM marks literals that an inline constant could replace; only for f64 would that be another value.
            words = _LITERAL.sub(r"\1", words)
        operands, modifiers = split_operands(words)
        address, target = None, None
        if dumped := _DUMP_ADDRESS.match(comment):
            address = int(dumped[1], 16)
            named = _DUMP_TARGET.search(comment)
            target = named[0].strip() if named else None
        self.current.last_line = number
        self.current.instructions.append(
            Instruction(number, match[1], operands, modifiers, text, self.source, self.inline, address, target)
        )

    def _metadata(self) -> dict[str, dict[str, Any]]:
        text = self.yaml_text if self.yaml_text is not None else "\n".join(self.yaml_lines or ())
        if not text.strip():
            return {}
        from kbserver.core.yamlio import parse_yaml  # imported here: only texts with metadata need YAML

        try:
            data = parse_yaml(text.replace("\n...", "\n"), "amdgpu_metadata")
        except ContentError as error:
            self.problems.append(f"metadata cannot be read: {error.message}")
            return {}
        kernels = data.get("amdhsa.kernels") if isinstance(data, dict) else None
        result = {}
        for entry in kernels if isinstance(kernels, list) else ():
            if isinstance(entry, dict):
                plain = {str(key).removeprefix("."): value for key, value in entry.items()}
                result[str(plain.get("symbol", plain.get("name", ""))).removesuffix(".kd")] = plain
        return result

    def _close(self, opened: _Open, metadata: dict[str, dict[str, Any]]) -> Function:
        if opened.dumped:
            _name_targets(opened)
        descriptor = self.descriptors.get(opened.name)
        entry = metadata.get(opened.name)
        return Function(
            name=opened.name,
            first_line=opened.first_line,
            last_line=opened.last_line,
            instructions=tuple(opened.instructions),
            labels=MappingProxyType(opened.labels),
            is_kernel=descriptor is not None or entry is not None,
            descriptor=MappingProxyType(descriptor or {}),
            metadata=MappingProxyType(entry or {}),
            notes=MappingProxyType(opened.notes),
        )


_DIRECTIVES = {
    ".loc": _Parser._on_loc,
    ".file": _Parser._on_file,
    ".type": _Parser._on_type,
    ".size": _Parser._on_size,
    ".set": _Parser._on_set,
    ".equ": _Parser._on_set,
    ".amdhsa_kernel": _Parser._on_kernel,
    ".end_amdhsa_kernel": _Parser._on_end_kernel,
    ".amdgcn_target": _Parser._on_target,
    ".amdgpu_metadata": _Parser._on_metadata,
}


def _name_targets(opened: _Open) -> None:
    """Give the jumps of a disassembled function, which count dwords from the next instruction, a label to go to."""
    code = opened.instructions
    at = {instruction.address: place for place, instruction in enumerate(code)}
    for place, jump in enumerate(code):
        distance = jump.operands[-1] if jump.operands else ""
        if jump.address is None or not _JUMP.fullmatch(jump.mnemonic) or not distance.isdecimal():
            continue
        address = jump.address + 4 + 4 * ((int(distance) + 0x8000 & 0xFFFF) - 0x8000)
        label = f"{opened.name}+{address - code[0].address:#x}"  # type: ignore[operator]
        if address in at:
            opened.labels.setdefault(label, at[address])
        elif jump.target:
            label = jump.target.strip("<>")
        operands = (*jump.operands[:-1], label)
        code[place] = replace(jump, operands=operands, text=f"{jump.mnemonic} {', '.join(operands)}")


def _without_comment(line: str) -> tuple[str, str]:
    """Return (statement, comment). Quotes keep comment marks; `;` and `//` start a comment, `/* */` encloses one."""
    if '"' not in line and ";" not in line and "/" not in line:
        return line.strip(), ""
    kept, position, quoted = [], 0, False
    while position < len(line):
        ch = line[position]
        if quoted:
            quoted = ch != '"' or line[position - 1] == "\\"
        elif ch == '"':
            quoted = True
        elif ch == ";" or line.startswith("//", position):
            return "".join(kept).strip(), line[position:].lstrip(";/ ").strip()
        elif line.startswith("/*", position):
            end = line.find("*/", position + 2)
            position = len(line) if end < 0 else end + 2
            kept.append(" ")
            continue
        kept.append(ch)
        position += 1
    return "".join(kept).strip(), ""
