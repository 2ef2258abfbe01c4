"""Constants and variables of a code object: its data sections as directives, and code that reaches them by symbol.

Linked code takes an address as the difference from its own: s_getpc_b64, s_add_u32, s_addc_u32. Where the sum lies in a
data section, both additions get back the relocation that the compiler had written, against a symbol for the section.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kbserver.core.errors import UsageError
from kbserver.toolchain.elf import CodeObject, Section

_GETPC = re.compile(r"\ts_getpc_b64 s\[(\d+):\d+\]\s+// ([0-9A-F]+):")
_ADD = re.compile(r"\t(s_add_u32|s_addc_u32) s(\d+), s(\d+), (?:lit\()?(0x[0-9a-f]+)\)?(\s+// ([0-9A-F]+):.*)")
_LITERAL_AT = 4
"""A literal stands 4 bytes into its instruction, and a relative relocation counts from the literal's own address."""
_BYTES_A_LINE = 32
MAX_BYTES = 64 << 20


class ObjectData:
    """The data sections of one code object, and which of them its code uses."""

    def __init__(self, found: CodeObject) -> None:
        self.found = found
        self.used: list[Section] = []
        self._functions = {symbol.address: symbol.name for symbol in found.functions}

    def with_symbols(self, lines: Sequence[str]) -> list[str]:
        """Return lines of a disassembly in which sums that lie in data sections are relocations."""
        result = list(lines)
        counters: dict[int, int] = {}
        sums: dict[int, tuple[int, re.Match[str], int]] = {}
        for place, line in enumerate(lines):
            if match := _GETPC.match(line):
                counters[int(match[1])] = int(match[2], 16) + 4
            elif (match := _ADD.match(line)) is None:
                continue
            elif match[1] == "s_add_u32" and int(match[3]) in counters:
                sums[int(match[2])] = place, match, counters.pop(int(match[3]))
            elif match[1] == "s_addc_u32" and int(match[2]) - 1 in sums:
                at, low, counter = sums.pop(int(match[2]) - 1)
                target = counter + (int(match[4], 16) << 32 | int(low[4], 16)) & (1 << 64) - 1
                if section := self._section(target):
                    # What is added is symbol + addend - address of the literal, and shall be target - counter.
                    addend = target - section.address - counter + _LITERAL_AT
                    result[at] = _relocated(low, section, "lo", addend)
                    result[place] = _relocated(match, section, "hi", addend)
        return result

    def _section(self, address: int) -> Section | None:
        found = next((s for s in self.found.data if s.address <= address < s.address + s.size), None)
        if found is not None and found not in self.used:
            self.used.append(found)
        return found

    def directives(self) -> Iterator[str]:
        """Yield the sections that are used, and those that their pointers lead to, as a compiler would write them."""
        place = 0
        while place < len(self.used):
            yield from self._section_text(self.used[place])
            place += 1

    def _section_text(self, section: Section) -> Iterator[str]:
        if section.size > MAX_BYTES:
            raise UsageError(f"the code object has {section.size} bytes of variables, more than are read")
        name = _symbol(section)
        yield f'\t.section\t{".data" if section.writable else ".rodata"},"a"'
        yield f"\t.type\t{name},@object"
        yield f"{name}:"
        data = self.found.bytes_of(section)
        place = 0
        for offset, target in sorted(self.found.pointers_in(section).items()):
            if offset < place:
                continue  # two pointers that overlap: no linker writes that
            yield from _bytes(data[place:offset])
            yield f"\t.quad\t{self._pointer(target)}"
            place = offset + 8
        yield from _bytes(data[place:])
        yield f"\t.size\t{name}, {section.size}"

    def _pointer(self, target: int) -> str:
        if target in self._functions:
            return self._functions[target]
        section = self._section(target)
        return str(target) if section is None else f"{_symbol(section)}+{target - section.address}"


def _symbol(section: Section) -> str:
    return f"data_at_{section.address:x}"


def _relocated(match: re.Match[str], section: Section, half: str, addend: int) -> str:
    offset = addend + int(match[6], 16)
    return f"\t{match[1]} s{match[2]}, s{match[3]}, {_symbol(section)}@rel32@{half}{offset:+d}{match[5]}"


def _bytes(data: bytes) -> Iterator[str]:
    if data and not any(data):
        yield f"\t.zero\t{len(data)}"
        return
    for place in range(0, len(data), _BYTES_A_LINE):
        yield "\t.byte\t" + ",".join(map(str, data[place : place + _BYTES_A_LINE]))
