"""Build a kernel source to assembly and object code, confined, limited and cached by content.

Two steps run in a private folder: the compiler writes assembly text (`-S`), then assembles that text. The second step
finds an instruction inside inline assembly that the target lacks: `-S` copies it unread.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kbserver.core.errors import (
    CompileFailed,
    CompilerCrashed,
    NoCompiler,
    OutputTooLarge,
    UnresolvedRef,
)
from kbserver.core.process import Finished, Limits, run_limited
from kbserver.toolchain import cache, sandbox
from kbserver.toolchain.compilers import INCLUDE, Compiler, clean_environment, find_compiler
from kbserver.toolchain.diagnostics import Diagnostic, Diagnostics, parse_diagnostics
from kbserver.toolchain.flags import checked_flags, define_flags
from kbserver.toolchain.sources import Snapshot

LIMITS = Limits(wall_s=120, memory_bytes=6 << 30, output_bytes=4 << 20, file_bytes=64 << 20)

_BASE_FLAGS = (
    "-x", "hip", "--cuda-device-only", "-O3", "-std=c++17", "-gline-tables-only",
    "-fdebug-compilation-dir=.", "-fno-color-diagnostics", "-fno-caret-diagnostics", "-fno-crash-diagnostics",
    "-fno-autolink", "-ferror-limit=20",
)  # fmt: skip
_CRASH_MARKS = ("PLEASE submit a bug report", "PLEASE ATTACH THE FOLLOWING FILES", "Stack dump:", "LLVM ERROR:")
_MEMORY_MARKS = ("out of memory", "Allocation failed", "std::bad_alloc", "Cannot allocate memory")
_SIGXFSZ = 25
_FILE_DIRECTIVE = re.compile(r"(?m)^\s*\.file\s+\d")


@dataclass(frozen=True)
class Build:
    """A finished build. `isolation` is "landlock" or "none": whether the compiler could read other files."""

    build_id: str
    arch: str
    compiler_kind: str
    compiler_version: str
    isolation: str
    cached: bool
    compile_s: float
    """Wall-clock seconds that the build took when it was made."""
    source: str
    source_sha256: str
    flags: tuple[str, ...]
    diagnostics: Diagnostics
    assembly_text: str
    created: str
    image: bytes | None = None
    """The code object that was given, of a build that was not compiled here."""


def build(
    snapshot: Snapshot,
    arch: str,
    *,
    features: str = "",
    flags: Sequence[str] = (),
    defines: Mapping[str, str] | None = None,
    compiler: str | None = None,
    limits: Limits = LIMITS,
) -> Build:
    """Return the build of `snapshot` for `arch`, from the cache when the same was built before.

    features: those of the target id, as `core.targets.features_of` writes them.
    Raises UsageError for flags that are not allowed, NoCompiler, CompileFailed with the diagnostics in `details`,
    CompilerCrashed, TimedOut, OutputTooLarge and WorkspaceError. No other target or compiler is tried.
    """
    words = (*define_flags(defines or {}), *checked_flags(flags))
    found = find_compiler(compiler)
    build_id = _build_id(snapshot, arch + features, words, found)
    record = cache.lookup(build_id)
    if record is not None:
        try:
            return load_build(build_id)
        except (UnresolvedRef, KeyError, TypeError, OSError):
            pass  # another process is replacing a broken entry: build it again
    return _make(build_id, snapshot, arch, features, words, found, limits)


def load_build(build_id: str) -> Build:
    """Return a build by its id. Raises UnresolvedRef when the workspace has none of that id."""
    record, assembly = cache.load(build_id)
    noted = record["diagnostics"]
    shown = tuple(Diagnostic(**entry) for entry in noted["shown"])
    return Build(
        build_id=record["build_id"],
        arch=record["arch"],
        compiler_kind=record["compiler"]["kind"],
        compiler_version=record["compiler"]["version"],
        isolation=record["isolation"],
        cached=True,
        compile_s=record["compile_s"],
        source=record["source"],
        source_sha256=record["source_sha256"],
        flags=tuple(record["flags"]),
        diagnostics=Diagnostics(shown, noted["total"], noted["errors"], noted["warnings"]),
        assembly_text=assembly,
        created=record["created"],
        image=cache.load_object(record["build_id"]) if record.get("linked") else None,
    )


def _build_id(snapshot: Snapshot, target_id: str, words: Sequence[str], compiler: Compiler) -> str:
    headers = "" if compiler.kind == "rocm" else _tree_digest(INCLUDE)
    key = [
        cache.FORMAT,
        snapshot.digest,
        target_id,
        list(words),
        _BASE_FLAGS,
        compiler.flags,
        compiler.identity,
        headers,
    ]
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:12]


def _tree_digest(folder: Path) -> str:
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            state.update(f"{path.relative_to(folder)}\n{len(data)}\n".encode() + data)
    return state.hexdigest()


def _make(
    build_id: str,
    snapshot: Snapshot,
    arch: str,
    features: str,
    words: tuple[str, ...],
    compiler: Compiler,
    limits: Limits,
) -> Build:
    folder = cache.new_folder(build_id)
    try:
        run = CompilerRun(folder, snapshot, arch, compiler, limits, features)
        run.write_sources()
        diagnostics = run.compile(words)
        run.assemble()
        record = new_record(snapshot, arch, words, diagnostics) | {
            "compiler": {"kind": compiler.kind, "version": compiler.version, "identity": compiler.identity},
            "isolation": run.isolation,
            "compile_s": round(run.wall_s, 4),
        }
        (folder / "include").unlink(missing_ok=True)
        assembly = (folder / cache.ASSEMBLY).read_text(encoding="utf-8", errors="replace")
        cache.publish(folder, build_id, record)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Build(
        build_id=build_id,
        arch=arch,
        compiler_kind=compiler.kind,
        compiler_version=compiler.version,
        isolation=run.isolation,
        cached=False,
        compile_s=record["compile_s"],
        source=snapshot.main,
        source_sha256=record["source_sha256"],
        flags=words,
        diagnostics=diagnostics,
        assembly_text=assembly,
        created=record["created"],
    )


def new_record(snapshot: Snapshot, arch: str, words: Sequence[str], diagnostics: Diagnostics) -> dict[str, Any]:
    """Return what the record of a build says, but for its compiler."""
    return {
        "arch": arch,
        "source": snapshot.main,
        "source_sha256": hashlib.sha256(snapshot.files[snapshot.main]).hexdigest(),
        "files": sorted(snapshot.files),
        "flags": list(words),
        "diagnostics": asdict(diagnostics),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


class CompilerRun:
    """The two compiler runs of one build in its private folder: `src/` is the current folder of both."""

    def __init__(
        self,
        folder: Path,
        snapshot: Snapshot,
        arch: str,
        compiler: Compiler,
        limits: Limits,
        features: str = "",
    ) -> None:
        self.folder = folder
        self.source_folder = folder / "src"
        self.snapshot = snapshot
        self.arch = arch
        self.target_id = arch + features
        self.compiler = compiler
        self.limits = limits
        self.isolation = "none"
        self.wall_s = 0.0

    def write_sources(self) -> None:
        for name, data in self.snapshot.files.items():
            path = self.source_folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        # Through a link, our headers have the same relative path in every build: no host path gets into the output.
        (self.folder / "include").symlink_to(INCLUDE)

    def compile(self, words: Sequence[str]) -> Diagnostics:
        """Write kernel.s. Raises CompileFailed with the compiler's messages."""
        self._refuse_embedding()
        headers = () if self.compiler.kind == "rocm" else ("-isystem", "../include", "-isystem", "../include/std")
        argv = [
            *self.compiler.argv, *_BASE_FLAGS, *self.compiler.flags, f"--offload-arch={self.target_id}", "-iquote", ".",
            *headers, *words, "-S", "-o", f"../{cache.ASSEMBLY}", self.snapshot.main,
        ]  # fmt: skip
        done = self._run(argv)
        diagnostics = self._diagnostics(done)
        if "unsupported HIP gpu architecture" in done.stderr or "unknown target CPU" in done.stderr:
            raise NoCompiler(
                f"{self.compiler.version} cannot build for {self.arch}",
                where=str(self.compiler.path),
                hint="`kb doctor` lists the compilers; a newer one may know this target",
            )
        if done.returncode or not (self.folder / cache.ASSEMBLY).is_file():
            raise self._failed(diagnostics, "the compiler rejected the source")
        return diagnostics

    def _refuse_embedding(self) -> None:
        """Without isolation, refuse what copies a file into the output; a word search is no wall, and the result says
        `isolation: none`."""
        joined = b" ".join(data.replace(b"\\\r\n", b"").replace(b"\\\n", b"") for data in self.snapshot.files.values())
        if not sandbox.landlock_abi() and re.search(rb"\bembed\b|incbin|\.include", joined):
            raise CompileFailed(
                "#embed and .incbin are refused where the compiler cannot be isolated",
                where=self.snapshot.main,
                hint="Linux 5.13 or newer with Landlock isolates it",
            )

    def expand_assembly(self) -> None:
        """Write kernel.s from a source that is assembly text: macros expanded, defaults written out, line by line.

        Raises CompileFailed with the assembler's messages.
        """
        self._refuse_embedding()
        argv = [
            *self.compiler.argv, "-cc1as", "-triple", "amdgcn-amd-amdhsa", "-target-cpu", self.arch, "-filetype", "asm",
            "-debug-info-kind=constructor", "-dwarf-version=5", "-o", f"../{cache.ASSEMBLY}", self.snapshot.main,
        ]  # fmt: skip
        done = self._run(argv)
        assembly = self.folder / cache.ASSEMBLY
        if done.returncode or not assembly.is_file():
            raise self._failed(self._diagnostics(done), f"the assembler for {self.arch} rejected the text")
        text = assembly.read_text(encoding="utf-8", errors="replace")
        text = "".join(line for line in text.splitlines(True) if not line.startswith("\t.no_dead_strip\t"))
        if not _FILE_DIRECTIVE.search(text):
            # The line tables are the assembler's: it numbers its source 0, does not print the name, and closes the
            # text with debug sections that it would not accept itself.
            text = text.split("\n\t.section\t.debug_", 1)[0]
            text = f'\t.file 0 "." "{self.snapshot.main}"\n{text}\n'
        assembly.write_text(text, encoding="utf-8")

    def assemble(self) -> None:
        """Write kernel.o. Raises CompileFailed naming the source line of an instruction that the target lacks."""
        argv = [
            *self.compiler.argv, "-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={self.target_id}",
            "-c", "-o", f"../{cache.OBJECT}", f"../{cache.ASSEMBLY}",
        ]  # fmt: skip
        done = self._run(argv)
        if done.returncode:
            diagnostics = self._diagnostics(done)
            raise self._failed(self._at_source(diagnostics), f"the assembler for {self.arch} rejected the code")

    def _run(self, argv: list[str]) -> Finished:
        with sandbox.confinement(
            read=(*self.compiler.read_roots, INCLUDE), write=(self.folder, Path("/dev/null"))
        ) as enter:
            self.isolation = "none" if enter is None else "landlock"
            done = run_limited(
                argv,
                limits=self.limits,
                cwd=self.source_folder,
                env=clean_environment(self.folder),
                what="the compiler",
                preexec=enter,
            )
        self.wall_s += done.wall_s
        self._raise_on_crash(done)
        return done

    def _raise_on_crash(self, done: Finished) -> None:
        """Tell a dead compiler from one that rejects the source. Its stack dump can quote files: it is not shown."""
        text = done.stderr
        where = self.snapshot.main
        if done.returncode in (-_SIGXFSZ, 128 + _SIGXFSZ):
            size = f"{self.limits.file_bytes >> 20} MiB"
            raise OutputTooLarge(f"the compiler wrote a file larger than {size}", where=where)
        if done.returncode and any(mark in text for mark in _MEMORY_MARKS):
            raise CompilerCrashed(
                f"the compiler reached the memory limit of {self.limits.memory_bytes >> 20} MiB",
                where=where,
                hint="look for templates or macros that multiply",
                details={"reason": "memory"},
            )
        if done.returncode < 0 or (done.returncode and any(mark in text for mark in _CRASH_MARKS)):
            signal = f"signal {-done.returncode}" if done.returncode < 0 else "an internal error"
            raise CompilerCrashed(
                f"the compiler died of {signal}",
                where=where,
                hint="a smaller source or other flags may avoid it; report it to the compiler's project",
                details={"reason": "crash", "compiler": self.compiler.version, "summary": self._crash_summary(text)},
            )

    def _crash_summary(self, text: str) -> str:
        line = next((line for line in text.splitlines() if line.startswith("LLVM ERROR:")), "")
        return line[:300] if self.isolation != "none" else line[:40]

    def _diagnostics(self, done: Finished) -> Diagnostics:
        def belongs(path: str) -> bool:
            plain = path.removeprefix("./")
            return plain in self.snapshot.files or plain.startswith(("../include/", f"../{cache.ASSEMBLY}"))

        def shown(path: str) -> str:
            return path.removeprefix("./").replace("../include/", "<kbserver>/", 1).removeprefix("../")

        return parse_diagnostics(done.stderr, belongs=belongs, show_path=shown)

    def _at_source(self, diagnostics: Diagnostics) -> Diagnostics:
        """Give the assembler's messages the source line that the assembly line came from."""
        from kbserver.toolchain.assembly import parse_assembly  # imported here: only failures need it

        program = parse_assembly((self.folder / cache.ASSEMBLY).read_text(encoding="utf-8", errors="replace"))
        sources = {ins.line: ins.source for function in program.functions.values() for ins in function.instructions}
        placed = []
        for item in diagnostics.shown:
            source = sources.get(item.line or 0)
            quoted = program.lines[item.line - 1].strip()[:120] if item.line and item.line <= len(program.lines) else ""
            message = f"{item.message}: {quoted}" if quoted else item.message
            if source is not None:
                item = Diagnostic(item.severity, message, source.file, source.line, source.column or None, item.flag)
            elif quoted:
                item = Diagnostic(item.severity, message, item.file, item.line, item.column, item.flag)
            placed.append(item)
        return Diagnostics(tuple(placed), diagnostics.total, diagnostics.errors, diagnostics.warnings)

    def _failed(self, diagnostics: Diagnostics, message: str) -> CompileFailed:
        errors = [item for item in diagnostics.shown if item.severity == "error"]
        first = errors[0] if errors else None
        where = self.snapshot.main
        if first is not None:
            message += f": {first.message}"
            where = f"{first.file or where}:{first.line}" if first.line else first.file or where
        return CompileFailed(
            message,
            where=where,
            hint=_hint(errors),
            details={
                "arch": self.arch,
                "compiler": self.compiler.version,
                "isolation": self.isolation,
                "diagnostics": [asdict(item) for item in diagnostics.shown],
                "total": diagnostics.total,
            },
        )


_INCLUDES = (
    "a build reads the source, the headers that it includes in quotes from inside its own folder, and kbserver's HIP"
    " headers; nothing else"
)
_HINTS = (
    ("unknown type name '__global__'", "add #include <hip/hip_runtime.h>"),
    ("'__global__'", "add #include <hip/hip_runtime.h>"),
    ("file not found", _INCLUDES),
    ("Permission denied", _INCLUDES),
    ("incbin", _INCLUDES),
    ("exceeds limit", "the LDS of one workgroup is limited: `kb fact lds`"),
    ("not supported on this GPU", "`kb isa MNEMONIC` tells which targets have an instruction"),
    ("invalid instruction", "`kb isa MNEMONIC` tells which targets have an instruction"),
)


def _hint(errors: Sequence[Diagnostic]) -> str | None:
    return next((hint for item in errors for text, hint in _HINTS if text in item.message), None)
