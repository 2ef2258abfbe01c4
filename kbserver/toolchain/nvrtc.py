"""Build a portable kernel for an NVIDIA GPU with NVRTC, to cross-check the harness and numerics on real silicon.

Code that only AMD hardware has a meaning for is refused with the line, before any compiler sees it.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kbserver.core.errors import CompileFailed, NoCompiler, UsageError
from kbserver.core.process import Limits, run_limited
from kbserver.toolchain import cache, sandbox
from kbserver.toolchain.build import Build, load_build
from kbserver.toolchain.compilers import INCLUDE, clean_environment
from kbserver.toolchain.flags import define_flags
from kbserver.toolchain.sources import Snapshot

HEADERS = INCLUDE / "portable"
CHILD = "kbserver.toolchain.nvrtc_child"
LOG, RESULT = "log.txt", "result.json"
_LIMITS = Limits(wall_s=120, memory_bytes=16 << 30, file_bytes=64 << 20)
_AMD_ONLY = (
    (re.compile(r"__builtin_amdgcn_\w+"), "a builtin of AMD GPUs"),
    (re.compile(r"\b__gfx[0-9a-f]+__"), "a test for an AMD target"),
    (re.compile(r"\basm\b"), "inline assembly of AMD GPUs"),
    (re.compile(r"\baddress_space\s*\("), "an address space of AMD GPUs"),
    (re.compile(r"\bamdgpu_\w+"), "an attribute of AMD GPUs"),
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def refuse_amd_only(snapshot: Snapshot) -> None:
    """Raise UsageError for the first line that only an AMD GPU has a meaning for."""
    for name, data in snapshot.files.items():
        # Comments become blanks of the same length, so that lines keep their numbers.
        text = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), data.decode("utf-8", "replace"))
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, why in _AMD_ONLY:
                if pattern.search(line):
                    raise UsageError(
                        f"the kernel is for AMD hardware only: `{' '.join(line.split())[:80]}` is {why}",
                        where=f"{name}:{number}",
                        hint="on a CUDA device run a portable form: step1_naive, step2_nhwc, step3_plain, step5_plain",
                    )


def build_portable(snapshot: Snapshot, arch: str, defines: Mapping[str, str] | None = None) -> Build:
    """Return the PTX of a portable source for `sm_NN`, from the cache when the same was built before.

    Raises UsageError for AMD-only code, NoCompiler without NVRTC, CompileFailed with its messages.
    """
    refuse_amd_only(snapshot)
    words = define_flags(defines or {})
    key = [cache.FORMAT, "nvrtc", snapshot.digest, arch, list(words), _headers_digest()]
    build_id = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:12]
    made = cache.lookup(build_id) is None
    if made:
        _make(build_id, snapshot, arch, words)
    return replace(load_build(build_id), cached=not made)


def _headers_digest() -> str:
    state = hashlib.sha256()
    for path in sorted(HEADERS.rglob("*.h")):
        state.update(path.read_bytes())
    return state.hexdigest()


def _make(build_id: str, snapshot: Snapshot, arch: str, words: tuple[str, ...]) -> None:
    folder = cache.new_folder(build_id)
    try:
        for name, data in snapshot.files.items():
            path = folder / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        answer, wall_s = _compile(folder, snapshot.main, arch, words)
        record: dict[str, Any] = {
            "arch": arch,
            "compiler": {"kind": "nvrtc", "version": f"NVRTC {answer['version']}", "identity": answer["version"]},
            "isolation": answer["isolation"],
            "compile_s": round(wall_s, 4),
            "source": snapshot.main,
            "source_sha256": hashlib.sha256(snapshot.files[snapshot.main]).hexdigest(),
            "files": sorted(snapshot.files),
            "flags": list(words),
            "diagnostics": {"shown": [], "total": 0, "errors": 0, "warnings": 0},
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        cache.publish(folder, build_id, record)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _compile(folder: Path, main: str, arch: str, words: tuple[str, ...]) -> tuple[dict[str, Any], float]:
    options = [f"--gpu-architecture={arch}", "--std=c++17", f"--include-path={HEADERS}", "--include-path=src", *words]
    python = {"PYTHONPATH": ":".join(path for path in sys.path if path), "PYTHONDONTWRITEBYTECODE": "1"}
    system = (Path("/usr"), Path("/lib"), Path("/lib64"), Path("/etc/ld.so.cache"), Path("/opt"))
    readable = [*(Path(path) for path in (*sys.path, sys.prefix, sys.base_prefix) if path), HEADERS, *system]
    present = [path for path in readable if path.exists()]
    with sandbox.confinement(read=present, write=(folder, Path("/dev/null"))) as enter:
        done = run_limited(
            [sys.executable, "-P", "-m", CHILD, main, cache.ASSEMBLY, *options],
            limits=_LIMITS,
            cwd=folder,
            env=clean_environment(folder) | python,
            what="NVRTC",
            preexec=enter,
        )
    try:
        answer = json.loads((folder / RESULT).read_text("utf-8"))
    except (OSError, ValueError):
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise NoCompiler(
            f"NVRTC did not run: {last[:300]}", hint="it comes with CUDA and with PyTorch's wheels"
        ) from None
    if answer["missing"]:
        raise NoCompiler(answer["missing"], where="--device cuda", hint="NVRTC comes with CUDA and PyTorch's wheels")
    if not answer["built"]:
        lines = [line for line in answer["log"].splitlines() if "error" in line]
        raise CompileFailed(
            f"NVRTC rejected the source: {lines[0][:300] if lines else answer['log'][:300]}",
            where=main,
            details={"arch": arch, "compiler": f"NVRTC {answer['version']}", "log": answer["log"][:4000]},
        )
    return answer | {"isolation": "none" if enter is None else "landlock"}, done.wall_s
