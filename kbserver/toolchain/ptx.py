"""What PTX text says about a kernel: how many instructions, how many arguments, whether it has atomic operations."""

from __future__ import annotations

import re

from kbserver.core.errors import UnknownName

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{]*)\{", re.S)


def describe_ptx(text: str, entry: str) -> tuple[int, int, bool]:
    """Return (instructions, arguments, has atomics) of an entry. Raises UnknownName."""
    found = {match[1]: match for match in _ENTRY.finditer(text)}
    if entry not in found:
        raise UnknownName("kernel", entry, found)
    match = found[entry]
    end = text.find("\n}", match.end())
    body = text[match.end() : end if end >= 0 else len(text)]
    instructions = [line.strip() for line in body.splitlines() if re.match(r"\s*(?:@!?%p\d+\s+)?[a-z]", line)]
    return (
        len(instructions),
        match[2].count(".param"),
        any(re.search(r"\b(?:atom|red)\.", line) for line in instructions),
    )
