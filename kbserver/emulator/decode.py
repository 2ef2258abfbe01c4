"""An instruction of the assembly text to its decoded form: base mnemonic, encoding, typed operands, modifiers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.operands import Name, Number, Operand, Register, parse_operand
from kbserver.toolchain.assembly import Instruction

_ENCODINGS = ("_e32", "_e64", "_sdwa", "_dpp")
_WITH_VALUE = re.compile(r"([a-z_0-9]+):(.+)")
_WITH_ARGUMENT = re.compile(r"([a-z_0-9]+)\((.*)\)")


@dataclass(frozen=True)
class Decoded:
    """One instruction as the semantics read it. `modifiers` map a name to an int, a tuple of ints, a word or True."""

    index: int
    """Position in the kernel, from 0; the site number of every counter and finding."""
    name: str
    encoding: str
    """"" when the mnemonic has no encoding suffix, else e32, e64, sdwa or dpp."""
    operands: tuple[Operand, ...]
    modifiers: Mapping[str, int | str | bool | tuple[int, ...]]
    instruction: Instruction

    def number(self, modifier: str, default: int = 0) -> int:
        """Return a modifier's value as a number. Raises UnsupportedInstruction when it is not one."""
        value = self.modifiers.get(modifier, default)
        if isinstance(value, (str, tuple)):
            raise unsupported(self.instruction, f"the value of {modifier} is not a number")
        return int(value)

    def register(self, position: int, file: str, count: int | None = None) -> Register:
        """Return an operand that must be a register of this file (and width)."""
        operand = self.operands[position] if position < len(self.operands) else None
        register = operand.register if operand is not None and not operand.modified else None
        if register is None or register.file != file or (count is not None and register.count != count):
            wanted = f"{count} consecutive {file.upper()}GPR" if count else f"{file.upper()}GPR"
            raise unsupported(self.instruction, f"operand {position} must be {wanted}")
        return register

    def immediate(self, position: int) -> int:
        """Return an operand that must be an integer."""
        value = self.operands[position].value if position < len(self.operands) else None
        if not isinstance(value, Number) or not isinstance(value.value, int):
            raise unsupported(self.instruction, f"operand {position} must be an integer")
        return value.value

    def word(self, position: int) -> str:
        """Return an operand that must be a name, such as a label."""
        value = self.operands[position].value if position < len(self.operands) else None
        if not isinstance(value, Name):
            raise unsupported(self.instruction, f"operand {position} must be a name")
        return value.text


def unsupported(instruction: Instruction, why: str) -> UnsupportedInstruction:
    """Return the error that names the instruction, its operands and its place."""
    place = f"assembly line {instruction.line}"
    if instruction.source is not None:
        place += f", {instruction.source}"
    return UnsupportedInstruction(
        f"cannot execute `{' '.join(instruction.text.split())}`: {why}",
        where=place,
        hint="the emulator never skips an instruction; `kbserver/emulator/semantics` lists what it knows",
        details={"mnemonic": instruction.mnemonic, "operands": list(instruction.operands), "line": instruction.line},
    )


def base_name(mnemonic: str) -> tuple[str, str]:
    """Split a mnemonic into its base and its encoding."""
    for suffix in _ENCODINGS:
        if mnemonic.endswith(suffix):
            return mnemonic.removesuffix(suffix), suffix[1:]
    return mnemonic, ""


def decode(index: int, instruction: Instruction) -> Decoded:
    """Return the decoded form of one instruction."""
    name, encoding = base_name(instruction.mnemonic)
    operands, modifiers = [], {}
    for text in instruction.operands:
        found = _modifier(text)
        if found is None:
            operands.append(parse_operand(text))
        else:
            modifiers[found[0]] = found[1]
    for text in instruction.modifiers:
        key, value = _modifier(text) or (text, True)
        modifiers[key] = value
    return Decoded(index, name, encoding, tuple(operands), MappingProxyType(modifiers), instruction)


def _modifier(text: str) -> tuple[str, int | str | bool | tuple[int, ...]] | None:
    """Read `name:value` or `name(value)`; None for anything else. neg(), abs() and sext() belong to operands."""
    if match := _WITH_VALUE.fullmatch(text):
        return match[1], _value(match[2])
    match = _WITH_ARGUMENT.fullmatch(text)
    if match and match[1] not in ("neg", "abs", "sext", "hwreg", "sendmsg"):
        return match[1], _value(match[2])
    return None


def _value(text: str) -> int | str | tuple[int, ...]:
    if text.startswith("[") and text.endswith("]"):
        items = [_value(item.strip()) for item in text[1:-1].split(",") if item.strip()]
        return tuple(items) if all(isinstance(item, int) for item in items) else text
    try:
        return int(text, 0)
    except ValueError:
        return text
