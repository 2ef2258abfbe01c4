"""Add definedness masks and an access trace to the IR of a kernel, as MemorySanitizer does to compiled programs.

Works on the text of the whole module, kernel and runtime functions alike, and knows nothing of instructions of the
machine: a row that the translator learns is covered the day it is written. Every value gets a mask, every pointer into
watched memory a companion that points to the masks, and functions of the module take and return masks besides values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kbserver.emulator.checks import runtime
from kbserver.emulator.checks.function import Function
from kbserver.emulator.checks.ir_text import arguments
from kbserver.emulator.context import CONTEXT

_DEFINE = re.compile(r"define (internal )?(\S+|<[^>]*>) @([\w.]+)\((.*)\)([^)]*)\{$")


def instrument(ir: str) -> str:
    """Return the module with masks and trace; `run` and `kernel` keep their signatures."""
    blocks = list(_functions(ir.split("\n")))
    functions = {
        match[3]: (match[2], arguments(match[4]))
        for match, _ in blocks
        if match is not None and match[3] not in ("run", "kernel")
    }
    out = [runtime.support(CONTEXT)]
    declared = set(runtime.DECLARATIONS)
    for match, lines in blocks:
        if match is None:
            declared.update(line for line in lines if line.startswith("declare"))
            out.extend(line for line in lines if not line.startswith("declare"))
        elif match[3] == "run":
            out.extend(_grid_loop(match, lines))
        else:
            function = Function(match[3], match[2], arguments(match[4]), functions)
            out.extend(function.run(lines))
    return "\n".join([*sorted(declared), *out])


def _functions(lines: list[str]) -> Iterator[tuple[re.Match[str] | None, list[str]]]:
    """Yield every definition with its lines, and None with those outside."""
    outside: list[str] = []
    match, body = None, []
    for line in lines:
        if match is None:
            match = _DEFINE.match(line.strip())
            if match is None:
                outside.append(line)
            body = []
        elif line.strip() == "}":
            yield match, body
            match = None
        else:
            body.append(line)
    yield None, outside


def _grid_loop(match: re.Match[str], lines: list[str]) -> Iterator[str]:
    """The loop over workgroups: what it fills becomes as defined as the start of a workgroup is."""
    yield match[0]
    for line in lines:
        yield line
        text = line.strip()
        if text.startswith(("call void @llvm.memset", "call void @llvm.memcpy")):
            given = arguments(text[text.index("(") + 1 : -1])
            yield f"  call void @check_fresh(ptr {given[0].text}, {given[2].all})"
    yield "}"
