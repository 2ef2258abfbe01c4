"""Machine code that is compiled already: a code object or assembly text becomes a build like any other.

A code object is disassembled; descriptors and metadata are added to the text in the directives that `clang -S` would
write, so that everything after this reads one grammar. Assembly text goes through the assembler, which expands macros,
writes out every default of a kernel descriptor and refuses what the target lacks.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kbserver.core.errors import UnresolvedRef, UsageError
from kbserver.toolchain import cache, sandbox
from kbserver.toolchain.build import LIMITS, Build, CompilerRun, load_build, new_record
from kbserver.toolchain.bundle import gpu_images
from kbserver.toolchain.compilers import find_compiler
from kbserver.toolchain.descriptor import directives
from kbserver.toolchain.diagnostics import Diagnostics
from kbserver.toolchain.disassembler import disassemble, find_disassembler
from kbserver.toolchain.elf import CodeObject, read_code_object
from kbserver.toolchain.object_data import ObjectData
from kbserver.toolchain.sources import ASSEMBLY_SUFFIXES, OBJECT_SUFFIXES, Snapshot, read_ready

KIND = "given"
"""What a build says as its compiler's kind: the code was given."""
FORMAT = 2
"""Changes with what `as_assembly` writes."""

_TARGET = re.compile(r'(?m)^(\s*\.amdgcn_target\s+")[^"\n]*-(gfx\w[\w-]*)(?::[^"\n]*)?"')
_DUMP_LABEL = re.compile(r"([0-9a-f]{16}) <.*>:")
_DUMP_ADDRESS = re.compile(r"// ([0-9A-F]{8,16}):")
_NO_DIAGNOSTICS = Diagnostics((), 0, 0, 0)


def is_ready(path: str | Path) -> bool:
    """Return whether a file is named like machine code or assembly text."""
    return str(path).lower().endswith((*OBJECT_SUFFIXES, *ASSEMBLY_SUFFIXES))


def open_ready(path: Path, arch: str | None) -> tuple[Snapshot, str | None]:
    """Return (the file, the gfx target that it names); a file for several targets gives the one that is asked for.

    Raises UsageError when it cannot be read, or names other targets than `arch`.
    """
    snapshot = read_ready(path)
    data = snapshot.files[snapshot.main]
    if snapshot.main.lower().endswith(ASSEMBLY_SUFFIXES):
        named = _TARGET.search(data.decode("utf-8", "replace"))
        found = [named[2]] if named else []
    else:
        images = gpu_images(data, snapshot.main)
        found = list(images)
        if arch in images or len(images) == 1:
            snapshot = Snapshot(snapshot.main, {snapshot.main: images[arch if arch in images else found[0]]})
    if arch is not None and found and arch not in found:
        raise UsageError(f"the file holds code for {', '.join(found)}, not for {arch}", where=str(path),
                         hint="leave --arch out" if len(found) == 1 else None)  # fmt: skip
    if arch is None and len(found) > 1:
        raise UsageError(f"the file holds code for {', '.join(found)}", where=str(path), hint=f"--arch {found[0]}")
    return snapshot, arch or (found[0] if found else None)


def build_ready(snapshot: Snapshot, arch: str) -> Build:
    """Return the build of a file that `open_ready` gave.

    Raises Unavailable without a disassembler (code objects) or a compiler (assembly text), CompileFailed for text that
    does not assemble, UsageError for a code object that is damaged.
    """
    given = _GivenText if snapshot.main.lower().endswith(ASSEMBLY_SUFFIXES) else _GivenObject
    return given(snapshot, arch).build()


class _Given:
    """One file of ready code on its way to a build."""

    def __init__(self, snapshot: Snapshot, arch: str) -> None:
        self.snapshot, self.arch = snapshot, arch
        self.data = snapshot.files[snapshot.main]

    @property
    def tool(self) -> str:
        """What reads the code, with its version."""
        raise NotImplementedError

    def write(self, folder: Path) -> Mapping[str, Any]:
        """Write the assembly text; return what the record says beyond the usual."""
        raise NotImplementedError

    def build(self) -> Build:
        key = [cache.FORMAT, FORMAT, KIND, self.snapshot.digest, self.arch, self.tool]
        build_id = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:12]
        if cache.lookup(build_id) is not None:
            try:
                return load_build(build_id)
            except (UnresolvedRef, KeyError, TypeError, OSError):
                pass  # another process is replacing a broken entry: make it again
        folder = cache.new_folder(build_id)
        try:
            extra = self.write(folder)
            record = new_record(self.snapshot, self.arch, (), _NO_DIAGNOSTICS)
            record |= {"compiler": {"kind": KIND, "version": self.tool}, "compile_s": 0.0}
            cache.publish(folder, build_id, record | extra)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return replace(load_build(build_id), cached=False)


class _GivenObject(_Given):
    """A linked code object."""

    @property
    def tool(self) -> str:
        return f"code object, disassembled by {find_disassembler().version}"

    def write(self, folder: Path) -> Mapping[str, Any]:
        found = read_code_object(self.data, self.snapshot.main)
        text = as_assembly(found, disassemble(self.data)[0])
        (folder / cache.ASSEMBLY).write_text(text, encoding="utf-8")
        (folder / cache.OBJECT).write_bytes(self.data)
        return {"linked": True, "isolation": "landlock" if sandbox.landlock_abi() else "none"}


class _GivenText(_Given):
    """Assembly text."""

    @property
    def tool(self) -> str:
        compiler = find_compiler()
        return f"assembly text, assembled by {compiler.kind} {compiler.version}"

    def write(self, folder: Path) -> Mapping[str, Any]:
        # Features behind the target, such as xnack-, would have to be repeated to the assembler, and newer LLVM spells
        # the rest of the triple in another way; neither changes the code.
        text = _TARGET.sub(r'\1amdgcn-amd-amdhsa--\2"', self.data.decode("utf-8", "replace"))
        plain = Snapshot(self.snapshot.main, {self.snapshot.main: text.encode()})
        run = CompilerRun(folder, plain, self.arch, find_compiler(), LIMITS)
        run.write_sources()
        run.expand_assembly()
        run.assemble()
        (folder / "include").unlink(missing_ok=True)
        return {"isolation": run.isolation, "compile_s": round(run.wall_s, 4)}


def as_assembly(found: CodeObject, dump: str) -> str:
    """Return the assembly text of a code object, from what `llvm-objdump -d` printed of it.

    Symbols inside a function become labels of it, and what lies behind a function's end (padding) is left out.
    """
    variables = ObjectData(found)
    code = variables.with_symbols(list(_functions(found, dump)))
    # Variables stand first: what follows a label of a disassembly belongs to that function.
    parts = [f'\t.amdgcn_target "amdgcn-amd-amdhsa--{found.target}"', *variables.directives(), *code]
    parts += [directives(name, descriptor) for name, descriptor in found.descriptors.items()]
    if found.metadata:
        parts += ["\t.amdgpu_metadata", "---", _as_yaml(found.metadata), "...", "\t.end_amdgpu_metadata"]
    return "\n".join(parts) + "\n"


def _as_yaml(metadata: Mapping[str, Any]) -> str:
    import yaml

    try:
        return yaml.safe_dump(dict(metadata), sort_keys=False).rstrip()
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"the metadata of the code object is damaged: {str(error)[:100]}") from None


def _functions(found: CodeObject, dump: str) -> Iterator[str]:
    # A kernel's symbol wins over an alias at the same address.
    starts = {symbol.address: symbol for symbol in found.functions if symbol.name not in found.descriptors}
    starts |= {symbol.address: symbol for symbol in found.functions if symbol.name in found.descriptors}
    end = None
    for line in dump.splitlines():
        label = _DUMP_LABEL.fullmatch(line)
        if label and (symbol := starts.get(int(label[1], 16))):
            end = symbol.address + symbol.size if symbol.size else None
            yield f"\n{label[1]} <{symbol.name}>:"
        elif label:
            yield line.split(" ", 1)[1]
        elif end is None or not (place := _DUMP_ADDRESS.search(line)) or int(place[1], 16) < end:
            yield line
