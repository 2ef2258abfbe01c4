"""Find a clang that can build AMD GPU code, and say why each other candidate cannot.

Order: the one named by the caller or by KB_COMPILER; ROCm's clang with its own headers and device library; a system
clang; the clang inside the pip package ziglang. A compiler that was named and does not work is an error: no other one
takes its place silently, because the figures of two compilers differ.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kbserver.core.errors import KbError, NoCompiler, UsageError
from kbserver.core.process import Limits, run_limited

INCLUDE = Path(__file__).resolve().parent / "include"
OLDEST_CLANG = 20
"""Upstream clang before 20 lacks gfx950 instructions that our kernels use."""
OLDEST_ROCM_CLANG = 17
KINDS = ("rocm", "system", "ziglang")
INSTALL_HINT = "pip install 'kbserver[compile]' (clang with the AMDGPU target, no root needed), or install ROCm"

_PROBE_LIMITS = Limits(wall_s=20, output_bytes=1 << 20)
_SYSTEM_ROOTS = tuple(map(Path, ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/dev/null")))
_SYSTEM_NAMES = ("clang-23", "clang-22", "clang-21", "clang-20", "clang")


@dataclass(frozen=True)
class Compiler:
    """One usable compiler. `argv` starts its command line; `read_roots` is what it must read to run."""

    kind: str
    path: Path
    argv: tuple[str, ...]
    version: str
    llvm_major: int
    has_device_libs: bool
    read_roots: tuple[Path, ...]
    decided_by: str = "found"

    @property
    def identity(self) -> str:
        """A hash that changes when the compiler does; the same on every machine for the same program."""
        text = f"{self.kind}\n{self.version}\n{self.path.stat().st_size}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def flags(self) -> tuple[str, ...]:
        """Headers and libraries: ROCm's own, or none but ours (see `INCLUDE`), so that no host header gets in."""
        return () if self.kind == "rocm" else ("-nogpuinc", "-nogpulib", "-nostdinc", "-nostdinc++")

    def supports(self, arch: str) -> bool:
        """Return whether it accepts `arch`, by asking it to compile nothing for it."""
        words = "-x hip --cuda-device-only -nogpuinc -nogpulib -nostdinc -nostdinc++ -fsyntax-only"
        done = run_limited(
            [*self.argv, *words.split(), f"--offload-arch={arch}", os.devnull],
            limits=_PROBE_LIMITS,
            env=clean_environment(Path("/")),
            what="the compiler",
        )
        return done.returncode == 0 and "unsupported" not in done.stderr


@dataclass(frozen=True)
class Candidate:
    """One place looked at: what was found there and, when it cannot be used, the reason."""

    kind: str
    found: str | None
    version: str | None
    usable: bool
    reason: str | None
    compiler: Compiler | None = None


def find_compiler(name: str | None = None) -> Compiler:
    """Return the compiler to use. `name` is a kind (rocm, system, ziglang) or the path of one that `survey` lists.

    Raises NoCompiler when there is none or the named one does not work, UsageError for a name that means nothing here.
    """
    named = os.environ.get("KB_COMPILER", "").strip()
    if name:
        return _named(name.strip(), named)
    if named:
        return _required(_probe_named(named), "KB_COMPILER")
    rejected = []
    for candidate in _candidates():
        if candidate.compiler:
            return candidate.compiler
        rejected.append(f"{candidate.kind}: {candidate.reason}")
    raise NoCompiler("no compiler for AMD GPUs found", hint=INSTALL_HINT, details={"looked_at": rejected})


def survey() -> list[Candidate]:
    """Return every candidate in order of preference, with the reason for each that cannot be used."""
    named = os.environ.get("KB_COMPILER", "").strip()
    first = [_probe_named(named)] if named else []
    return [*first, *_candidates()]


def clean_environment(folder: Path) -> dict[str, str]:
    """Return the environment of a compiler: no secrets of ours, temporary files in `folder`."""
    kept = {key: os.environ[key] for key in ("ROCM_PATH", "HIP_PATH", "HIP_DEVICE_LIB_PATH") if key in os.environ}
    return kept | {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(folder), "TMPDIR": str(folder)}


def _named(name: str, from_environment: str) -> Compiler:
    if name in KINDS:
        tried = [candidate for candidate in _candidates() if candidate.kind == name]
        for candidate in tried:
            if candidate.compiler:
                return candidate.compiler
        return _required(tried[-1], "the argument compiler")
    # A path is run only when this machine's owner put a compiler there: an argument may come from a remote client.
    wanted = os.path.realpath(os.path.expanduser(name))
    for candidate in survey():
        if candidate.found and os.path.realpath(candidate.found) == wanted:
            return _required(candidate, "the argument compiler")
    if from_environment and os.path.realpath(os.path.expanduser(from_environment)) == wanted:
        return _required(_probe_named(from_environment), "KB_COMPILER")
    raise UsageError(
        f"{name[:100]!r} is not a compiler that was found here",
        where="compiler",
        hint=f"one of {', '.join(KINDS)}, a path that `kb doctor` lists, or set KB_COMPILER to the path of a clang",
    )


def _required(candidate: Candidate, decided_by: str) -> Compiler:
    if candidate.compiler is None:
        raise NoCompiler(
            f"the compiler given by {decided_by} cannot be used: {candidate.reason}",
            where=candidate.found,
            hint=f"correct or unset {decided_by}; otherwise {INSTALL_HINT}",
        )
    found = candidate.compiler
    return Compiler(**{**found.__dict__, "decided_by": decided_by})


def _candidates() -> Iterator[Candidate]:
    yield _rocm()
    yield from _system()
    yield _ziglang()


def _rocm() -> Candidate:
    for clang in rocm_clangs():
        return _probe("rocm", clang, (str(clang),))
    return Candidate("rocm", None, None, False, "no ROCm under /opt/rocm*, ROCM_PATH or beside hipcc")


def rocm_clangs() -> Iterator[Path]:
    """Yield the clang of every ROCm of this machine; the other LLVM tools are beside it."""
    roots = [Path(os.environ[key]) for key in ("ROCM_PATH", "HIP_PATH") if os.environ.get(key)]
    hipcc = shutil.which("hipcc")
    if hipcc:
        roots.append(Path(hipcc).resolve().parent.parent)
    opt = Path("/opt")
    if opt.is_dir():
        roots += sorted(opt.glob("rocm*"), key=lambda path: (path.name != "rocm", path.name))
    for root in roots:
        yield from _clangs_of_rocm(root)


def _clangs_of_rocm(root: Path) -> Iterator[Path]:
    for folder in ("llvm/bin", "lib/llvm/bin"):
        clang = root / folder / "clang++"
        if clang.is_file():
            yield clang


def _system() -> Iterator[Candidate]:
    paths = [path for path in map(shutil.which, _SYSTEM_NAMES) if path]
    seen = set()
    for text in paths:
        path = Path(text)
        if path.resolve() not in seen:
            seen.add(path.resolve())
            yield _probe("system", path, (text,))
    if not paths:
        yield Candidate("system", None, None, False, f"no clang-{OLDEST_CLANG} or newer on PATH")


def _ziglang() -> Candidate:
    spec = importlib.util.find_spec("ziglang")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for folder in folders:
        zig = Path(folder) / "zig"
        if zig.is_file():
            return _probe("ziglang", zig, (str(zig), "clang"))
    return Candidate("ziglang", None, None, False, "the pip package ziglang is not installed")


def _probe_named(text: str) -> Candidate:
    path = Path(os.path.expanduser(text))
    if os.sep not in text:
        path = Path(shutil.which(text) or path)
    if not path.is_file():
        return Candidate("named", str(path), None, False, "there is no such file")
    if path.name.startswith("hipcc"):
        # hipcc is a script around the clang of its ROCm: run that, so that what runs is what is reported.
        clang = next(_clangs_of_rocm(path.resolve().parent.parent), None)
        if clang is None:
            return Candidate("rocm", str(path), None, False, "no ROCm clang beside this hipcc")
        return _probe("rocm", clang, (str(clang),))
    if path.name.startswith("zig"):
        return _probe("ziglang", path, (str(path), "clang"))
    return _probe("rocm" if _is_rocm(path) else "system", path, (str(path),))


def _is_rocm(clang: Path) -> bool:
    return _device_libraries(clang) and "rocm" in str(clang.resolve())


def _device_libraries(clang: Path) -> bool:
    root = clang.resolve().parent.parent
    places = (root.parent / "amdgcn/bitcode", root.parent.parent / "amdgcn/bitcode", root / "lib/clang")
    return any(place.is_dir() for place in places[:2]) or any(places[2].glob("*/lib/amdgcn/bitcode"))


def _probe(kind: str, path: Path, argv: tuple[str, ...]) -> Candidate:
    try:
        stat = path.stat()
    except OSError as error:
        return Candidate(kind, str(path), None, False, f"cannot read it: {error.strerror}")
    return _probe_cached(kind, path, argv, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=32)
def _probe_cached(kind: str, path: Path, argv: tuple[str, ...], size: int, mtime_ns: int) -> Candidate:
    """Ask the program for its version and targets, once a process for each state of the file."""

    def reject(reason: str, version: str | None = None) -> Candidate:
        return Candidate(kind, str(path), version, False, reason)

    try:
        text = run_limited(
            [*argv, "--version"], limits=_PROBE_LIMITS, env=clean_environment(Path("/")), what="the compiler"
        )
        listing = run_limited(
            [*argv, "--print-targets"], limits=_PROBE_LIMITS, env=clean_environment(Path("/")), what="the compiler"
        )
    except KbError as error:
        return reject(error.message)
    version = text.stdout.strip().splitlines()[0].strip()[:200] if text.stdout.strip() else ""
    number = re.search(r"clang version (\d+)\.", version)
    if text.returncode or not number:
        return reject("it is not clang: `--version` does not say `clang version`", version or None)
    major, oldest = int(number[1]), OLDEST_ROCM_CLANG if kind == "rocm" else OLDEST_CLANG
    if major < oldest:
        return reject(f"clang {major} is too old: {oldest} or newer is needed", version)
    if not re.search(r"(?m)^\s*amdgcn\b", listing.stdout):
        return reject("it was built without the AMDGPU target", version)
    compiler = Compiler(
        kind=kind,
        path=path,
        argv=argv,
        version=version,
        llvm_major=major,
        has_device_libs=kind == "rocm" and _device_libraries(path),
        read_roots=_read_roots(kind, path),
    )
    return Candidate(kind, str(path), version, True, None, compiler)


def _read_roots(kind: str, path: Path) -> tuple[Path, ...]:
    own = path.resolve().parent
    if kind == "ziglang":
        return (own,)  # statically linked: it needs nothing else of the system
    root = own.parent
    if kind == "rocm":
        rocm = root.parent.parent if root.parent.name == "lib" else root.parent
        return (*_SYSTEM_ROOTS, root, rocm, Path("/usr/include"))
    return program_roots(path)


def program_roots(path: Path) -> tuple[Path, ...]:
    """Return what a dynamically linked program must read to run: itself, its libraries, the system's."""
    real = path.resolve()
    return (*_SYSTEM_ROOTS, real, real.parent.parent / "lib")
