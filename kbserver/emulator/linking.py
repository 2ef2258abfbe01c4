"""From a kernel to the code that it can run: its functions side by side, relocations resolved, variables numbered.

Instructions get addresses as far as code can see them (s_getpc_b64 and the link registers of calls): those of the
disassembly, or 8 bytes apart in compiler output, where only differences matter. A computed jump goes to an `entry`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.decode import Decoded, decode, unsupported
from kbserver.emulator.operands import Name, Number, Operand, SymbolPart
from kbserver.toolchain.assembly import Function, Program
from kbserver.toolchain.data_objects import DataObject, read_data_objects

CODE_BASE = 3 << 48
"""No buffer lies there, and neither aperture: code cannot be read as data, nor data be taken for code."""
_INSTRUCTION_BYTES = 8
_LITERAL_AT = 4
"""A relocated literal stands 4 bytes into its instruction, and @rel32 counts from the literal's own address."""

_RELOCATION = re.compile(r"([\w.$]+)@(rel32|gotpcrel32|abs32)@(lo|hi)([+-]\d+)?")
_DIFFERENCE = re.compile(r"\(([\w.$]+)-([\w.$]+)\)(&4294967295|>>32)")
CALLS = ("s_swappc_b64", "s_call_b64")
_COMPUTED = ("s_swappc_b64", "s_setpc_b64")


@dataclass(frozen=True)
class Symbol:
    """What one slot of the launch's table of symbols holds: the address of a variable, or of code."""

    name: str
    variable: DataObject | None
    code_address: int = 0


@dataclass(frozen=True)
class Entries:
    """Instructions where a computed jump may go: functions, what follows a call, and labels too far for a branch."""

    functions: tuple[int, ...] = ()
    returns: tuple[int, ...] = ()
    labels: tuple[int, ...] = ()

    @property
    def all(self) -> tuple[int, ...]:
        return tuple(sorted({*self.functions, *self.returns, *self.labels}))


@dataclass(frozen=True)
class Linked:
    """The code of a kernel and of every function that it can reach."""

    code: tuple[Decoded, ...]
    labels: Mapping[str, int]
    addresses: tuple[int, ...]
    """address of every instruction, and one more: the end."""
    entries: Entries
    symbols: tuple[Symbol, ...]


def link(program: Program, kernel: Function) -> Linked:
    """Return the linked code. Raises UnsupportedInstruction for a symbol that the text does not define."""
    return _Linker(program).link(kernel)


def reached(program: Program, kernel: Function) -> Function:
    """Return the kernel with the functions that it can reach behind its own code, in the order of the linked code."""
    linker = _Linker(program, strict=False)
    linker.collect(kernel)
    instructions = tuple(d.instruction for d in linker.code)
    return replace(kernel, instructions=instructions, labels=MappingProxyType(linker.labels))


class _Linker:
    def __init__(self, program: Program, *, strict: bool = True) -> None:
        self.program = program
        self.strict = strict
        """Raise for a symbol that the text does not define."""
        self._variables: dict[str, DataObject] | None = None
        self.starts: dict[str, int] = {}
        self.labels: dict[str, int] = {}
        self.code: list[Decoded] = []
        self.ends: list[int] = []
        """For each instruction, where its function ends."""
        self.waiting: list[str] = []
        self.slots: dict[str, int] = {}
        self.far: set[int] = set()

    def collect(self, kernel: Function) -> None:
        """Put the code of the kernel and of every function that it can reach together."""
        self._add(kernel)
        if any(d.name in _COMPUTED and d.instruction.address is not None for d in self.code):
            # Linked code holds differences of addresses: any function may be meant.
            self.waiting += [f.name for f in self.program.functions.values() if not f.is_kernel]
        while self.waiting:
            name = self.waiting.pop()
            if name not in self.starts:
                self._add(self.program.functions[name])

    def link(self, kernel: Function) -> Linked:
        self.collect(kernel)
        self.addresses = self._addresses()
        code = tuple(self._resolved(d) for d in self.code)
        returns = (d.index + 1 for d in code if d.name in CALLS and d.index + 1 < self.ends[d.index])
        functions = (start for name, start in self.starts.items() if name != kernel.name)
        return Linked(
            code=code,
            labels=self.labels,
            addresses=self.addresses,
            entries=Entries(tuple(functions), tuple(returns), tuple(self.far)),
            symbols=tuple(self._symbol(name) for name in self.slots),
        )

    # Which functions and variables take part

    def _add(self, function: Function) -> None:
        start = len(self.code)
        self.starts[function.name] = start
        self.labels.update({label: start + place for label, place in function.labels.items()})
        self.labels[function.name] = start
        end = start + len(function.instructions)
        for instruction in function.instructions:
            d = decode(len(self.code), instruction)
            self.code.append(d)
            self.ends.append(end)
            for operand in d.operands:
                if isinstance(operand.value, Name):
                    self._note(d, operand.value.text)

    def _note(self, d: Decoded, text: str) -> None:
        match = _RELOCATION.fullmatch(text)
        name = match[1] if match else text
        if name in self.program.functions:
            self.waiting.append(name)
            if match and match[2] == "gotpcrel32":
                self._slot(name)
        elif match:
            self._note_variable(d, name)

    def _note_variable(self, d: Decoded, name: str) -> None:
        if name in self.slots:
            return
        variable = self.variables.get(name)
        if not self.strict and (variable is None or variable.problem is not None):
            return
        if variable is None or variable.problem is not None:
            why = variable.problem if variable else "the assembly text does not define it"
            raise unsupported(d.instruction, f"{name}: {why}")
        self._slot(name)
        for _, target, _ in variable.addresses:
            if target in self.program.functions:
                self.waiting.append(target)
                self._slot(target)
            else:
                self._note_variable(d, target)

    def _slot(self, name: str) -> int:
        return self.slots.setdefault(name, len(self.slots))

    @property
    def variables(self) -> Mapping[str, DataObject]:
        if self._variables is None:
            self._variables = read_data_objects(self.program.lines)
        return self._variables

    # What their addresses are

    def _addresses(self) -> tuple[int, ...]:
        known = [d.instruction.address for d in self.code]
        if all(address is not None for address in known):
            return (*(CODE_BASE + int(address or 0) for address in known), CODE_BASE + int(known[-1] or 0) + 4)
        return tuple(CODE_BASE + _INSTRUCTION_BYTES * place for place in range(len(self.code) + 1))

    def _symbol(self, name: str) -> Symbol:
        if name in self.starts:
            return Symbol(name, None, self.addresses[self.starts[name]])
        return Symbol(name, self.variables[name])

    def _resolved(self, d: Decoded) -> Decoded:
        if not any(isinstance(operand.value, Name) for operand in d.operands):
            return d
        operands = tuple(self._operand(d, operand) for operand in d.operands)
        return d if operands == d.operands else replace(d, operands=operands)

    def _operand(self, d: Decoded, operand: Operand) -> Operand:
        text = operand.value.text if isinstance(operand.value, Name) else ""
        if match := _RELOCATION.fullmatch(text):
            name, kind, high = match[1], match[2], match[3] == "hi"
            delta = int(match[4] or 0) - (0 if kind == "abs32" else self.addresses[d.index] + _LITERAL_AT)
            if name in self.starts and kind != "gotpcrel32":
                return Operand(_half(self.addresses[self.starts[name]] + delta, high=high))
            return Operand(SymbolPart(self.slots[name], kind == "gotpcrel32", delta, high))
        if (match := _DIFFERENCE.fullmatch(text)) and match[1] in self.labels and match[2] in self.labels:
            to, origin = self.labels[match[1]], self.labels[match[2]]
            self.far.add(to)
            return Operand(_half(self.addresses[to] - self.addresses[origin], high=match[3] == ">>32"))
        return operand


def _half(value: int, *, high: bool) -> Number:
    return Number(value >> 32 & 0xFFFFFFFF if high else value & 0xFFFFFFFF)


def lost(d: Decoded, address: int) -> UnsupportedInstruction:
    """Return the error of a computed jump to what is no entry of the program."""
    return unsupported(d.instruction, f"its target {address:#x} is no function, return address or label of the program")


def label_of(d: Decoded) -> str:
    """Return the label of a direct jump or call: its last operand."""
    return d.word(len(d.operands) - 1)


def targets(d: Decoded, labels: Mapping[str, int], entries: Entries, kind: str) -> list[int]:
    """Return where control can go after the last instruction of a block of this kind."""
    if kind in ("computed", "call"):
        return list(entries.all if kind == "computed" else entries.functions)
    following: list[int] = []
    if kind in ("jump", "branch"):
        label = label_of(d)
        if label not in labels:
            raise unsupported(d.instruction, f"there is no label {label} in this kernel")
        following.append(labels[label])
    if kind in ("branch", "barrier"):
        following.append(d.index + 1)
    return following
