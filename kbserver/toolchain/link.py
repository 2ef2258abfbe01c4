"""Make the code object that a driver loads: assemble the text of a build and link it, confined, cached by content."""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from pathlib import Path

from kbserver.core.errors import NoCompiler, ToolFailure, WorkspaceError
from kbserver.core.paths import current_roots
from kbserver.core.process import Limits, run_limited
from kbserver.toolchain import sandbox
from kbserver.toolchain.compilers import Compiler, clean_environment, find_compiler

FORMAT = 1
ELF = b"\x7fELF"
_LIMITS = Limits(wall_s=60, memory_bytes=4 << 30, file_bytes=64 << 20)


def code_object(assembly: str, arch: str) -> bytes:
    """Return the ELF code object of an assembly text for a gfx target.

    Raises NoCompiler when there is no linker for AMD GPUs, ToolFailure with the tool's first line when the text does
    not assemble or link.
    """
    compiler = find_compiler()
    linker = linker_of(compiler)
    key = hashlib.sha256(f"{FORMAT}\n{arch}\n{compiler.identity}\n{assembly}".encode()).hexdigest()[:24]
    place = current_roots().cache / "code_objects" / f"{key}.hsaco"
    try:
        kept = place.read_bytes()
        if kept.startswith(ELF):
            return kept
    except OSError:
        pass
    folder = place.with_name(f".tmp-{key}-{uuid.uuid4().hex[:8]}")
    try:
        folder.mkdir(parents=True)
        (folder / "kernel.s").write_text(assembly, encoding="utf-8")
        assemble = [*compiler.argv, "-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-c"]
        _run([*assemble, "-o", "kernel.o", "kernel.s"], folder, compiler, "the assembler")
        _run([*linker, "-shared", "--no-undefined", "-o", "kernel.hsaco", "kernel.o"], folder, compiler, "the linker")
        image = (folder / "kernel.hsaco").read_bytes()
        os.replace(folder / "kernel.hsaco", place)
    except OSError as error:
        raise WorkspaceError(f"cannot make a code object: {error.strerror}", where=str(place.parent)) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return image


def linker_of(compiler: Compiler) -> tuple[str, ...]:
    """Return the command line of the LLD that belongs to a compiler. Raises NoCompiler when it has none."""
    if compiler.kind == "ziglang":
        return (compiler.argv[0], "ld.lld")
    real = compiler.path.resolve()
    suffix = compiler.path.name.removeprefix("clang")
    for name in (f"ld.lld{suffix}", "ld.lld", "lld"):
        for folder in (real.parent, compiler.path.parent):
            if (folder / name).is_file():
                return (str(folder / name), *(("-flavor", "gnu") if name == "lld" else ()))
    raise NoCompiler(
        "there is no LLD beside the compiler, so no code object can be linked",
        where=str(compiler.path),
        hint="install lld of the same LLVM version, or pip install 'kbserver[compile]'",
    )


def _run(argv: list[str], folder: Path, compiler: Compiler, what: str) -> None:
    with sandbox.confinement(read=(*compiler.read_roots, Path(argv[0]).resolve().parent),
                             write=(folder, Path("/dev/null"))) as enter:  # fmt: skip
        done = run_limited(argv, limits=_LIMITS, cwd=folder, env=clean_environment(folder), what=what, preexec=enter)
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if line.strip()), f"status {done.returncode}")
        raise ToolFailure(f"{what} refused the build: {first[:300]}", where="kernel.s")
