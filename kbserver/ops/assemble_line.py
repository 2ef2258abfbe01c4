"""One instruction through the assembler of a clang that is installed here: bytes or the refusal, for each target."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kbserver.core.errors import KbError, NoCompiler
from kbserver.core.process import Limits, run_limited
from kbserver.ops.instruction_results import AssembledLine
from kbserver.toolchain import sandbox
from kbserver.toolchain.compilers import Compiler, clean_environment, find_compiler

_LIMITS = Limits(wall_s=10, output_bytes=256 << 10, file_bytes=1 << 20)
_ENCODING = re.compile(r"(?:;|//) encoding: \[([^\]]*)\]")
_ERROR = re.compile(r"error: (.*)")
_FIXUP = re.compile(r"[A-Z]|0b")


def assemble(line: str, archs: Sequence[str]) -> tuple[list[AssembledLine], str]:
    """Return for each target what the assembler says of `line`, and which assembler it was or why there is none.

    `line` must have passed `kbserver.isa.line.read_question`: the assembler would follow directives.
    """
    try:
        compiler = find_compiler()
    except NoCompiler as error:
        return [], f"none: {error.message}"
    try:
        return [_assemble(compiler, line, arch) for arch in archs], f"{compiler.kind} {compiler.version}"
    except KbError as error:
        return [], f"{compiler.kind} {compiler.version} failed: {error.message}"


def _assemble(compiler: Compiler, line: str, arch: str) -> AssembledLine:
    with tempfile.TemporaryDirectory(prefix="kb-asm-") as name:
        folder = Path(name)
        (folder / "line.s").write_text(line + "\n", encoding="ascii")
        words = f"-cc1as -triple amdgcn-amd-amdhsa -target-cpu {arch} -filetype asm -show-encoding line.s -o -"
        with sandbox.confinement(read=compiler.read_roots, write=(folder, Path("/dev/null"))) as enter:
            done = run_limited(
                [*compiler.argv, *words.split()],
                limits=_LIMITS,
                cwd=folder,
                env=clean_environment(folder),
                what="the assembler",
                preexec=enter,
            )
    error = _ERROR.search(done.stderr)
    found = _ENCODING.search(done.stdout)
    if error or done.returncode or not found:
        message = error[1] if error else f"the assembler gave no encoding (status {done.returncode})"
        return AssembledLine(arch=arch, ok=False, bytes=None, size_bytes=None, error=message[:300])
    pieces = found[1].split(",")
    # A label that is not there leaves a place for the linker: those bytes are not known yet.
    shown = " ".join("??" if _FIXUP.match(piece) else piece.removeprefix("0x") for piece in pieces)
    return AssembledLine(arch=arch, ok=True, bytes=shown, size_bytes=len(pieces), error=None)
